#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_aggregator --export: units, days and usage of a period as CSV that another reader understands, with the values of the
# tables; jobstats' AdminComment as jobstats reads it; SUPReMM's summaries for Open XDMoD.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
agg_begin
T=$(($(date +%s) / 86400 * 86400 - 4 * 86400))
day() { date -u -d "@$((T + $1 * 86400))" +%F; }
push "job id=1 submit=$((T - 9)) start=$T end=$((T + 100)) user=ann name=sim nodes=n1,n2 node_count=2" \
	"interval instance=10 unit=1 started=$T t0=$T t1=$((T + 100)) user=80000000 system=20000000 package=5000000 host=9000000 cpus=2" \
	"interval instance=11 unit=1 node=n2 started=$T t0=$T t1=$((T + 100)) user=40000000 system=10000000 package=1000000 host=3000000 cpus=2" \
	"final instance=10 unit=1 started=$T ended=$((T + 100)) user=80000000 system=20000000 mean=1048576 peak=2097152 package=5000000 host=9000000 cpus=2 memory=4194304" \
	"final instance=11 unit=1 node=n2 started=$T ended=$((T + 100)) user=40000000 system=10000000 mean=3145728 peak=4194304 package=1000000 host=3000000 cpus=2 memory=4194304" \
	"job id=2 submit=$((T + 5)) start=$((T + 90000)) end=$((T + 90050)) user=bob name=other nodes=n1 node_count=1" \
	"job id=3 submit=$((T + 5)) start=$((T + 300000)) end=$((T + 300050)) user=bob name=late nodes=n1 node_count=1"
settle
sql "UPDATE unit SET name = E'a, \"b\"\nc\\\\d é' WHERE uuid = '1'"
export_() { "$agg" --db.url="$PGURL" --security.drop-privileges=false --export="$1" --from="$(day 0)" --to="${2:-$(day 3)}" 2>"$SCRATCH/said"; }
# prints a column of CSV that is read with the strictness of RFC 4180
column() { python3 -c 'import csv, sys
rows = list(csv.reader(sys.stdin, strict=True))
assert all(len(r) == len(rows[0]) for r in rows), "rows of several lengths"
for r in rows[1:]: print(repr(r[rows[0].index(sys.argv[1])]))' "$1" | paste -sd' '; }
export_ units >"$SCRATCH/units.csv"
is "units that ended in the period, in order" "$(column uuid <"$SCRATCH/units.csv")" "'1' '2'"
is "their number is said" "$(cat "$SCRATCH/said")" "ceems_aggregator: 2 rows"
is "a name with all that CSV knows comes through" "$(column name <"$SCRATCH/units.csv" | cut -d' ' -f1-3)" "'a, \"b\"\\nc\\\\d é'"
is "times are UTC" "$(column ended <"$SCRATCH/units.csv")" "'$(day 0) 00:01:40+00' '$(day 1) 01:00:50+00'"
is "energy is the table's, to the microjoule" "$(column energy_uj <"$SCRATCH/units.csv") $(column cpu_user_ns <"$SCRATCH/units.csv")" \
	"'$(sql "SELECT energy_total_uj(package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj) FROM unit WHERE uuid = '1'")' '' '$(sql "SELECT cpu_user_ns FROM unit WHERE uuid = '1'")' ''"
is "a narrower period has less" "$(export_ units "$(day 1)" | column uuid)" "'1'"
is "days sum up to units" "$(export_ days | column host_uj | tr -d \')" "$(sql "SELECT u.host_uj FROM unit_day d JOIN unit u ON u.id = d.unit WHERE u.uuid = '1'")"
is "usage is by user and day" "$(export_ usage | column user)" "'ann'"
is "of which manager each is told, for there may be several of a cluster's name" "$(for k in units days usage; do export_ $k | column manager; done | paste -sd' ')" "'slurm' 'slurm' 'slurm' 'slurm'"
is "a period without anything has its names" "$("$agg" --db.url="$PGURL" --security.drop-privileges=false --export=units --from=2020-01-01 --to=2020-01-02 2>/dev/null | cut -d, -f1-3)" "cluster,manager,uuid"
jobstats() { export_ jobstats | python3 -c 'import base64, csv, gzip, json, sys
for r in csv.DictReader(sys.stdin):
    c = r["admin_comment"]
    print(r["job"], c if c == "JS1:None" else json.dumps(json.loads(gzip.decompress(base64.b64decode(c[4:]))), sort_keys=True))'; }
jobstats >"$SCRATCH/js"
is "jobstats' summary has each node" "$(sed -n 's/^1 //p' "$SCRATCH/js")" '{"gpus": 0, "nodes": {"n1": {"cpus": 2, "total_memory": 4194304, "total_time": 0.1, "used_memory": 2097152}, "n2": {"cpus": 2, "total_memory": 4194304, "total_time": 0.1, "used_memory": 4194304}}, "total_time": 100}'
is "a job that no node told of has none" "$(sed -n 's/^2 //p' "$SCRATCH/js")" "JS1:None"
doc=$(export_ supremm | head -n 1)
is "SUPReMM's has the job" "$(jq -c '[._id, .acct.id, .acct.user, .acct.nodes, .acct.start_time, .acct.end_time, .acct.exit_status, .acct.host_list]' <<<"$doc")" "[\"1-$((T + 100))\",\"1\",\"ann\",2,$T,$((T + 100)),\"COMPLETED\",[\"n1\",\"n2\"]]"
is "and statistics over its nodes, memory in KiB, energy in joules" "$(jq -c '[.memory.used_minus_cache, .ipmi.energy.avg, .summarization.datasource]' <<<"$doc")" '[{"avg":2048,"cnt":2,"max":3072,"min":1024},6,"ceems"]'
is "what is not known is an error of theirs, not 0" "$(export_ supremm | sed -n 2p | jq -c '[.ipmi.energy, .cpu.jobcpus.user]')" '[{"error":2},{"error":2}]'
for bad in nosuch 'units; DROP TABLE unit'; do like "--export=$bad is refused" "$("$agg" --db.url="$PGURL" --security.drop-privileges=false --export="$bad" --from="$(day 0)" --to="$(day 1)" 2>&1)" "must be units, days, usage, jobstats or supremm"; done
like "so is a period without an end" "$("$agg" --db.url="$PGURL" --security.drop-privileges=false --export=units --from="$(day 0)" 2>&1)" "to=: a day"
like "a full disk is said" "$("$agg" --db.url="$PGURL" --security.drop-privileges=false --export=units --from="$(day 0)" --to="$(day 1)" 2>&1 >/dev/full)" "standard output"
tap_done
