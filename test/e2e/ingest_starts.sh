#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Records of starts, which slurmctld writes since Slurm 25.05, in a real Postgres: a running job has its
# owner, account and name as facts; the record of its end takes their place, in whichever order they
# come, and nothing is there twice.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
umask 077; echo 'test=* a-token-of-this-test' >token; umask 022

agg_start() { # at a port that is free: tries again when another took it
	local i
	for i in 1 2 3; do
		PORT=$(free_port)
		"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$PORT" --ingest.token-file="$SCRATCH/token" --ingest.jobs-from=token:test \
			--security.drop-privileges=false --rollup.delay=200ms --linker.grace=100ms --linker.lost-after=10m >>"$SCRATCH/agg.log" 2>&1 &
		agg_pid=$!
		started $agg_pid
		within 20 curl -sf -o /dev/null "http://127.0.0.1:$PORT/health" && return
	done
	return 1
}
push() { # lines of batch_make
	"$make" | curl -s -m 100 -H 'Content-Type: application/x-ceems-batch' -H 'Authorization: Bearer a-token-of-this-test' \
		--data-binary @- "http://127.0.0.1:$PORT/api/v1/ingest" | grep -q '"refused":\[\]' || echo "# refused"
	# until all of it is linked and summed up
	wait_for 60 settled || echo "# does not settle"
}
sql() { psql_do -c "$1"; }
is_sql() { [ "$(sql "$1")" = "$2" ]; }
settled() { is_sql "SELECT (SELECT count(*) FROM dirty WHERE due < now() + interval '1 h') + (SELECT count(*) FROM unit_node WHERE unit IS NULL) + (SELECT count(*) FROM job_record WHERE unit IS NULL)" 0; }
# the units of a job: state, who says so, owner, account, name, seconds after T of start and end
units() { sql "SELECT string_agg(concat_ws(' ', u.restarts, u.state, u.known_by, p.name, j.name, u.name, extract(epoch FROM u.started)::bigint - $T, coalesce((extract(epoch FROM u.ended)::bigint - $T)::text, '-')), ', ' ORDER BY u.submitted, u.id) FROM unit u LEFT JOIN person p ON p.id = u.person LEFT JOIN project j ON j.id = u.project WHERE u.uuid = '$1'"; }
cpu() { sql "SELECT string_agg(coalesce(u.cpu_user_ns::text, '-'), ' ' ORDER BY u.submitted, u.id) FROM unit u WHERE u.uuid = '$1'"; }

pg_start || { ok "Postgres starts" false; tap_done; }
T=$(($(date +%s) / 3600 * 3600 - 7200))
agg_start || { ok "the aggregator starts" false; sed "s,^,# ," agg.log; tap_done; }
started=7 requeued=2 running=1

end=$(date -u -d @$((T + 70)) +%FT%TZ)
sql "SELECT import_jobs('[{\"cluster\":\"c1\",\"uuid\":\"4\",\"restarts\":0,\"submitted\":$((T - 9)),\"part\":$T,\"state\":3,\"record\":{\"state\":\"COMPLETED\",\"user\":\"bob\",\"account\":\"physics\",\"name\":\"sim\",\"started\":\"$(date -u -d @$T +%FT%TZ)\",\"ended\":\"$end\"}}]')" >/dev/null
begun="event=$started state=$running submit=$((T - 9)) start=$T name=sim nodes=n1 node_count=1"
push <<-E
	job id=1 $begun
	interval instance=10 unit=1 started=$((T + 1)) t0=$((T + 1)) t1=$((T + 61)) user=50 cpus=2 name=forged
	interval instance=20 unit=2 started=$((T + 1)) t0=$((T + 1)) t1=$((T + 61)) user=50 cpus=2
	job id=3 submit=$((T - 9)) start=$T end=$((T + 50)) state=5 user=bob name=sim nodes=n1 node_count=1
	final instance=70 unit=7 started=$((T + 1)) ended=$((T + 61)) user=50 cpus=2
	job id=6 $begun user=bob
	final instance=60 unit=6 started=$((T + 1)) ended=$((T + 61)) user=50 cpus=2
	job id=8 $begun user=bob
	interval instance=80 unit=8 started=$((T + 1)) t0=$((T + 1)) t1=$((T + 61)) user=50 cpus=2
	final instance=80 unit=8 started=$((T + 1)) ended=$((T + 61)) user=50 cpus=2
	job id=9 submit=$((T - 9)) start=$T end=$((T + 2)) user=ann name=short nodes=n1,n2 node_count=2
	interval instance=95 unit=9 started=$T t0=$T t1=$((T + 3)) user=50 mean=300 cpus=2
	interval instance=96 unit=9 node=n2 started=$T t0=$T t1=$((T + 3)) user=50 mean=300 cpus=2
	final instance=95 unit=9 started=$T ended=$((T + 3)) user=50 mean=300 cpus=2
	final instance=96 unit=9 node=n2 started=$T ended=$((T + 3)) user=50 mean=300 cpus=2
	job id=10 submit=$((T - 9)) start=$T end=$((T + 99)) user=ann name=long nodes=n1,n2 node_count=2
	final instance=97 unit=10 started=$T ended=$((T + 99)) user=50 mean=300 cpus=2
	final instance=98 unit=10 node=n2 started=$T ended=$((T + 33)) user=50 mean=300 cpus=2
	E
is "a running job has owner, account and name from slurmctld" "$(units 1)" "0 RUNNING jobcomp ann physics sim 0 -"
is "what its node tells is its own" "$(cpu 1)" 50
memory() { sql "SELECT m.members::jsonb->>'memory_mean_bytes', h.j->0->>'memory_mean_bytes' FROM unit u, api_units(ARRAY[u.id]) m, api_hours(u.id, u.started, u.ended, 9) AS h(j) WHERE u.uuid = '$1'"; }
is "the mean of a job's memory is of the time that its nodes told, not of whole seconds" "$(memory 9)" "600|600"
is "where some of its nodes had it for a part of the time, of all of its time" "$(memory 10)" "400|"
is "a job that only its node knows" "$(units 2)" "0 RUNNING node 1 -"
ok "one that only nodes tell of is over after the grace" wait_for 60 is_sql "SELECT state FROM unit WHERE uuid = '7'" COMPLETED
is "nodes that have all ended do not end what slurmctld says runs: it may be between two steps" "$(units 6)" "0 RUNNING jobcomp bob physics sim 0 -"
sql "UPDATE unit_node SET heard = now() - interval '11 min' WHERE instance = 60"

push <<-E
	job id=1 $begun
	job id=2 $begun user=bob
	job id=3 $begun user=bob
	job id=4 $begun user=bob
	job id=5 $begun user=bob
	job id=5 event=$started state=$running submit=$((T - 9)) start=$((T + 30)) user=bob name=sim nodes=n1 node_count=1
	job id=7 $begun user=bob
	interval instance=81 unit=8 node=n2 started=$((T + 3700)) t0=$((T + 3700)) t1=$((T + 3760)) user=7 cpus=2
	E
is "a start told twice is one" "$(sql "SELECT count(*) FROM job_record WHERE uuid = '1'")" 1
is "a job that its node told of first is the one of the start" "$(units 2)" "0 RUNNING jobcomp bob physics sim 0 -"
is "a start after its end changes nothing" "$(units 3)" "0 FAILED jobcomp bob physics sim 0 50"
is "a start does not undo what an import says of the end" "$(units 4)" "0 COMPLETED import bob physics sim 0 70"
is "of two starts, one of them forgotten by slurmctld, the last counts" "$(units 5)" "0 RUNNING jobcomp bob physics sim 30 -"
is "a start that comes after the nodes' end begins nothing again" "$(units 7)" "0 COMPLETED jobcomp bob physics sim 0 61"

# the record of the requeue of job 8 is late: its second run was taken for the first until now
push <<-E
	final instance=10 unit=1 started=$((T + 1)) ended=$((T + 101)) user=90 cpus=2
	interval instance=10 unit=1 started=$((T + 1)) t0=$((T + 61)) t1=$((T + 101)) user=40 cpus=2
	job id=1 submit=$((T - 9)) start=$((T + 4)) end=$((T + 102)) user=ann account=physics name=sim nodes=n1 node_count=1
	job id=8 event=$requeued state=1024 submit=$((T - 9)) start=$T end=$((T + 62)) user=bob name=sim nodes=n1 node_count=1
	job id=8 event=$started state=$running restarts=1 submit=$((T + 62)) start=$((T + 3699)) user=bob name=sim nodes=n2 node_count=1
	E
is "the end takes the start's place, with its times" "$(units 1)" "0 COMPLETED jobcomp ann physics sim 4 102"
is "and is no second part" "$(sql "SELECT count(*) FROM unit WHERE resized IS NOT NULL")" 0
is "nothing is counted twice" "$(cpu 1)" 90
is "each run of a requeued job has its times" "$(units 8)" "0 REQUEUED jobcomp bob physics sim 0 62, 1 RUNNING jobcomp bob physics sim 3699 -"
is "and what its own node used" "$(cpu 8)" "50 7"
is "in its days as well" "$(sql "SELECT string_agg(d.cpu_user_ns::text, ' ' ORDER BY u.submitted) FROM unit_day d JOIN unit u ON u.id = d.unit WHERE u.uuid = '8'")" "50 7"
is "and in the days of the person" "$(sql "SELECT sum(cpu_ns) FROM usage_day d JOIN person p ON p.id = d.person WHERE p.name = 'bob'")" \
	"$(sql "SELECT sum(d.cpu_user_ns) FROM unit_day d JOIN person p ON p.id = d.person WHERE p.name = 'bob'")"

ok "nodes end it when nothing is heard for linker.lost-after" wait_for 60 is_sql "SELECT state FROM unit WHERE uuid = '6'" COMPLETED
like "no line of the aggregator speaks of an error" "$(grep -c 'level=error' agg.log)" '^0$'
# The end comes while the start is being linked: this session is the linker, held at the unit's row.
kill $agg_pid
wait $agg_pid 2>/dev/null
row() { # state event: a record of job 90
	sql "INSERT INTO job_record (cluster, uuid, restarts, submitted, part, state, record) SELECT id, '90', 0, to_timestamp($T), to_timestamp($T), $1, jsonb_build_object('started', to_timestamp($T), $2) FROM cluster WHERE name = 'c1'" >/dev/null
}
row 1 "'event', 'started'"
sql "SELECT link_jobs(10)" >/dev/null
sql "UPDATE job_record SET unit = NULL WHERE uuid = '90'" >/dev/null
mkfifo hold
psql_do -f hold >held.log 2>&1 &
holder=$!
started $holder
exec 7>hold
echo "BEGIN; SELECT 'held' FROM unit WHERE uuid = '90' FOR UPDATE;" >&7
ok "the unit's row is held" wait_for 60 grep -q held held.log
sql "SELECT link_jobs(10)" >/dev/null &
linker=$!
started $linker
ok "the linker waits for it" wait_for 60 is_sql "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%link_jobs%' AND pid <> pg_backend_pid()" t
row 3 "'state', 'COMPLETED', 'ended', to_timestamp($T + 50)"
echo "COMMIT;" >&7
exec 7>&-
wait $holder $linker
sql "SELECT link_jobs(10)" >/dev/null
is "a record that comes while another of its run is linked is linked next" "$(sql "SELECT state, ended IS NOT NULL FROM unit WHERE uuid = '90'" | tr '|' ' ')" "COMPLETED t"
tap_done
