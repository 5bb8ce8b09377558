#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A federation of two real clusters with one slurmdbd: each job is offered to both and runs on one. Each
# controller's records, sent to one aggregator, make one run of it, on the cluster where it ran; the other's
# sibling is revoked and uses nothing. Two ceemsd report what the jobs' processes used.
#   slurm_federation.sh [24.11]
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
. test/pg.sh
need_jobcomp "$@"
need_pg
for p in mariadbd slurmdbd; do command -v $p >/dev/null || skip_all "$p is not installed"; done
for p in ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
FED=$SCRATCH/b
eval "$(declare -f test_cleanup | sed 's/^test_cleanup/rig_cleanup/')"
test_cleanup() { rig_cleanup; $rig stop "$FED"; pg_cleanup; }
version=(${jobcomp_version:+--slurm=$jobcomp_version})
$rig start "$SLURM" "${version[@]}" --dbd --cluster=feda --jobcomp --contain >"$SCRATCH/rig.log" 2>&1 &&
	$rig start "$FED" "${version[@]}" --dbd-of="$SLURM" --cluster=fedb --jobcomp --contain >>"$SCRATCH/rig.log" 2>&1 ||
	{ sed 's/^/# /' "$SCRATCH/rig.log"; ok "two clusters start" false; tap_done; }
. "$SLURM/env"
in_b() { $rig exec "$FED" "$@"; }
sacctmgr -i add federation fed clusters=feda,fedb >"$SCRATCH/sacctmgr.log"
joined() { scontrol show federation | grep -q 'Sibling: .*FedState:ACTIVE.*Recv:Yes/Yes' && in_b scontrol show federation | grep -q 'Sibling: .*FedState:ACTIVE.*Recv:Yes/Yes'; }
ok "they are a federation" wait_for 60 joined

pg_start || { ok "Postgres starts" false; tap_done; }
port=$(free_port) munge=$SLURM/munge.sock
up() { curl -sf -m 20 -o /dev/null "http://127.0.0.1:$port/health"; }
"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$port" --db.url="$PGURL" --no-security.drop-privileges --identity.munge-socket="$munge" \
	--ingest.munge-socket="$munge" --ingest.user='root=*' --ingest.jobs-from=munge:root --rollup.delay=500ms --linker.grace=5s \
	>"$SCRATCH/aggregator.log" 2>&1 </dev/null &
started $!
ok "the aggregator starts" wait_for 30 up
for c in feda fedb; do
	dir=$SLURM
	[ $c = feda ] || dir=$FED
	"$BUILD/ceems-courier" --ship.spool="$dir/jobcomp" --aggregator.url="http://127.0.0.1:$port" --aggregator.munge-socket="$munge" >"$SCRATCH/courier.$c" 2>&1 </dev/null &
	started $!
	"$BUILD/ceemsd" --path.rundir="$dir/run" --web.listen-address=127.0.0.1:0 --collector.slurm --collector.slurm.nodes="$(cat "$dir/nodes")" --unit.linger=10s \
		--no-security.drop-privileges --reports.enabled --reports.spool="$SCRATCH/spool.$c" --reports.interval=2s --cluster=$c \
		--aggregator.url="http://127.0.0.1:$port" --aggregator.munge-socket="$munge" >"$SCRATCH/ceemsd.$c" 2>&1 </dev/null &
	started $!
	ok "ceemsd of $c starts" wait_for 20 test -e "$dir/run/ring"
done
db() { psql_do -c "$1" 2>/dev/null; }
is_db() { [ "$(db "$1")" = "$2" ]; }
batch() { sbatch -o /dev/null -e /dev/null --mem=20 "$@" | sed -n 's/^Submitted batch job \([0-9]*\).*/\1/p'; }
cat >"$SLURM/jobs/work" <<'END'
#!/bin/bash
for ((i = 0; i < 30000; i++)); do :; done
sleep 2
END
chmod 755 "$SLURM/jobs/work"
jobs=()
wait_ran() { [ "$(ran | wc -l)" = "$1" ]; }
ran() { sacct --federation -D -X -n -P -S now-1hour -o JobIDRaw,Cluster,State --name=fed | sed -n 's/|COMPLETED$//p' | sort; }
# half of them when only one cluster runs jobs, half when only the other does
in_b scontrol update PartitionName=main State=DOWN
for i in 1 2 3 4; do jobs+=("$(batch -J fed "$SLURM/jobs/work")"); done
wait_for 60 wait_ran 4
in_b scontrol update PartitionName=main State=UP
scontrol update PartitionName=main State=DOWN
for i in 1 2; do jobs+=("$(batch -J fed "$SLURM/jobs/work")"); done
jobs+=("$(batch -J fed -M fedb "$SLURM/jobs/work")" "$(in_b sbatch -J fed -o /dev/null -e /dev/null --mem=20 "$SLURM/jobs/work" | grep -o "[0-9]*")")
never=$(batch -J never -H "$SLURM/jobs/work")
scancel "$never"
ids=$(printf '%s\n' "${jobs[@]}" | sort)
is "eight jobs have a number each, in the whole federation" "$(sort -u <<<"$ids" | grep -c '^[0-9]\{8,\}$')" 8
all_ran() { [ "$(ran | cut -d'|' -f1)" = "$ids" ]; }
ok "they run" wait_for 60 all_ran
ran >"$SCRATCH/ran"
is "some on each cluster" "$(cut -d'|' -f2 "$SCRATCH/ran" | sort -u | paste -sd' ')" "feda fedb"
units() { db "SELECT u.uuid || '|' || c.name FROM unit u JOIN cluster c ON c.id = u.cluster WHERE u.name = 'fed' AND u.state = 'COMPLETED' AND u.cpu_user_ns > 0 ORDER BY 1"; }
all_units() { [ "$(units | sort)" = "$(cat "$SCRATCH/ran")" ]; }
wait_for 60 all_units
is "each is one run that has been paid for, on the cluster where Slurm says it ran" "$(units | sort)" "$(cat "$SCRATCH/ran")"
is "what else there is of them was revoked: without nodes, CPU time and energy" \
	"$(db "SELECT DISTINCT state, coalesce(cpu_user_ns + cpu_system_ns, 0), coalesce(host_uj, 0), (SELECT count(*) FROM unit_node n WHERE n.unit = u.id) FROM unit u WHERE name = 'fed' AND state <> 'COMPLETED'")" "REVOKED|0|0|0"
is "the usage of the clusters has each job once" "$(db "SELECT sum(n) FROM (SELECT count(DISTINCT u.uuid) n FROM unit_day d JOIN unit u ON u.id = d.unit WHERE u.name = 'fed' AND d.cpu_user_ns > 0 GROUP BY u.cluster) x")" 8
is "one that was cancelled before it ran used nothing anywhere" "$(db "SELECT count(*) FROM unit u WHERE uuid = '$never' AND (cpu_user_ns > 0 OR state NOT IN ('CANCELLED', 'REVOKED'))")" 0
is "nothing is nobody's" "$(db "SELECT count(*) FROM unit WHERE known_by = 'node'")" 0
tap_done
