#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the kernel counts for a job of a real Slurm - files, network, software events - from its control
# groups to its user's screen: ceemsd, courier, aggregator, cacct. What was not counted from the job's
# begin to its end is not known, which is not 0.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/slurm.sh"
. "$TOP/test/pg.sh"
need_slurm
for p in cacct ceems_aggregator ceems-courier; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
kinds=(--collector.ebpf.io-metrics --collector.ebpf.network-metrics --collector.perf.software-events)
why=$("$BUILD/ceems-opener" "${kinds[@]:0:2}" --collector.perf 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
need_pg

rig_start --jobcomp --contain --nodes=counts$$
pg_start >"$SCRATCH/pg.log" 2>&1 || { sed 's/^/# /' "$SCRATCH/pg.log"; ok "Postgres starts" false; tap_done; }
export TZ=UTC HOME=$SCRATCH
unset CEEMS_TOKEN_FILE XDG_CONFIG_HOME
MUNGE=$(sed -n 's/^AuthInfo=socket=//p' "$SLURM_CONF")
port=$(free_port)
aggregator=(--db.url="$PGURL" --identity.munge-socket="$MUNGE" --ingest.munge-socket="$MUNGE" --ingest.user='root=*'
	--ingest.jobs-from=munge:root --admin.users=root --rollup.delay=0s --security.run-as-user="")
"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$port" "${aggregator[@]}" >"$SCRATCH/agg.log" 2>&1 &
started $!
export CEEMS_API_URL=http://127.0.0.1:$port CEEMS_MUNGE_SOCKET=$MUNGE
node_start() {
	ceemsd_start "${kinds[@]}" --reports.enabled --reports.interval=1h --reports.spool="$SCRATCH/spool" \
		--cluster="$(sed -n 's/^ClusterName=//p' "$SLURM_CONF")"
}
node_start
wait_for 30 curl -sf -o /dev/null "$CEEMS_API_URL/health" || sed 's/^/# /' "$SCRATCH/agg.log"
ok "everything runs" wait_for 20 ceemsd_up
cacct() { setpriv --reuid="$1" --regid="$1" --clear-groups "$BUILD/cacct" "${@:2}" 2>>"$SCRATCH/cacct.err"; }
send() {
	timeout 200 "$BUILD/ceems-courier" --once --aggregator.url="$CEEMS_API_URL" --aggregator.munge-socket="$MUNGE" \
		--ship.spool="$SCRATCH/spool" --ship.spool="$SLURM/jobcomp" >>"$SCRATCH/courier.log" 2>&1
}

# --- a job that writes ten megabytes below a mount with a name that is hard to show
mount=$JOBS/$'a "b\n\xff'
mkdir "$mount" && mount -t tmpfs none "$mount" && chmod 777 "$mount"
eval "rig_cleanup() $(declare -f test_cleanup | sed 1d)"
test_cleanup() { umount -l "$mount"; rig_cleanup; }
cat >"$JOBS/work.py" <<'P'
import mmap, os, socket, sys
fd = os.open(os.environb[b"WHERE"] + b"/f", os.O_CREAT | os.O_WRONLY)
for i in range(2560): os.write(fd, b"x" * 4096)
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); there.bind(("127.0.0.1", 0))
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(100): here.sendto(b"x" * 1000, there.getsockname()); there.recv(1000)
m = mmap.mmap(-1, 3000 * 4096)
m.madvise(mmap.MADV_NOHUGEPAGE)
for i in range(3000): m[i * 4096] = 1
P
WHERE=$mount as daemon srun -J counted python3 -S -B "$JOBS/work.py"
mkfifo "$JOBS/go" "$JOBS/go2" && chmod 666 "$JOBS/go" "$JOBS/go2"
WHERE=$mount as daemon srun -J across bash -c "read x <$JOBS/go; head -c 1000000 /dev/zero >\"\$WHERE/across\"" >/dev/null 2>&1 &
across=$!
running() { scrape && [ "$(value ceems_compute_units)" = 1 ]; }
ok "a job runs" wait_for 60 running
told() { send; [ -n "$(cacct daemon -n -P --name counted -o FileWrites)" ]; }
ok "the other one is counted" wait_for 60 told
is "its user sees what was written, to the byte and call" \
	"$(cacct daemon -n -P --noconvert --name counted -o FileWrite,FileWrites,FileWriteErrors | awk -F'|' '{ print ($1 >= 10485760 && $1 < 10600000), ($2 >= 2560 && $2 < 2700), $3 }')" "1 1 0"
report() { cacct "$1" report "$(cacct daemon -n -P --name counted -o JobIDRaw)" --json | jq -c "$2"; }
is "by mount" "$(report daemon '.mounts[0]')" \
	"{\"path\":\"$JOBS/a \\\"b??\",\"read_bytes\":0,\"read_calls\":0,\"read_errors\":0,\"write_bytes\":10485760,\"write_calls\":2560,\"write_errors\":0}"
is "what it sent and received" "$(cacct daemon -n -P --noconvert --name counted -o UDPOut,UDPIn)" "100000|100000"
like "its software events" "$(cacct daemon -n -P --name counted -o MinorFaults,CtxSwitches)" '^[3-9][0-9]{3,}\|[1-9]'
is "all of it in one view" "$(cacct daemon -n -P --noconvert --counts --name counted | awk -F'|' '{ print NF, ($7 >= 10485760), ($10 >= 100000) }')" "19 1 1"
is "node by node" "$(report daemon '[.node_counts[] | .node, .counts.write_calls >= 2560, .mounts[0].write_calls]')" "[\"counts$$\",true,2560]"
is "nobody else does" "$(cacct bin -n -P -a --name counted -o FileWrite; cacct bin -n -P --name counted -o FileWrite)" ""
before=$(psql_do -c "SELECT count(*), sum((counts->>'write_calls')::bigint) FROM unit_counts")

# --- one that ran before ceemsd was started again: nobody knows what it wrote before
kill -9 "$ceemsd_pid"; wait "$ceemsd_pid" 2>/dev/null
node_start
ok "ceemsd is killed and starts again" wait_for 20 ceemsd_up
echo >"$JOBS/go"
wait $across
ok "the job ends" wait_for 60 no_job
ended() { send; [ "$(cacct daemon -n -P --name across -o State)" = COMPLETED ] && [ -n "$(cacct daemon -n -P --name across -o TotalCPU)" ] && [ "$(psql_do -c "SELECT bool_and(final) FROM unit_node")" = t ]; }
ok "all final reports are there" wait_for 60 ended
is "what it wrote is not known, but its CPU time is" "$(cacct daemon -n -P --name across -o FileWrite,FileWrites,UDPOut,MinorFaults; cacct daemon -n -P --name across -o TotalCPU | grep -c :)" $'|||\n1'
is "what the other one did stands as it was" "$(psql_do -c "SELECT count(*), sum((counts->>'write_calls')::bigint) FROM unit_counts")" "$before"

# --- a step that asks is told at its end
WHERE=$mount as daemon srun -J asks --ceems-report python3 -S -B -c "
import os
fd = os.open(os.environb[b'WHERE'] + b'/asks', os.O_CREAT | os.O_WRONLY)
os.write(fd, b'x' * 3000000)
open('$JOBS/go2').read()" 2>"$SCRATCH/asks" >/dev/null &
asks=$!
page_has() { # what ceemsd wrote down after it had seen the bytes: the page is written twice from then on
	scrape && grep -q '^ceems_ebpf_write_bytes_total{.*b??"} 3000000$' "$SCRATCH/metrics" || return
	local i was
	for i in 1 2; do
		was=$(stat -c %y "$RUNDIR/counts")
		wait_for 10 eval '[ "$(stat -c %y "$RUNDIR/counts")" != "$was" ]' || return
	done
}
ok "a step that asks for a report has written" wait_for 60 page_has
echo >"$JOBS/go2"
wait $asks
like "its report says what it wrote" "$(cat "$SCRATCH/asks")" $'  files      about [0-9.]+ [KM]iB read, 2\\.8[0-9]* MiB written\n  network    about .* received, .* sent'
asks_told() { send; [ -n "$(cacct daemon -n -P --name asks -o FileWrite)" ]; }
ok "its records have it" wait_for 60 asks_told

# --- under systemd the programs go on, with what the steps have that run
kill "$ceemsd_pid"; wait "$ceemsd_pid"
mkdir -m 755 "$SCRATCH/keeper"
CEEMSD_UNDER="python3 test/fake/fd_keeper.py $SCRATCH/keeper" node_start
ok "ceemsd starts as a service" wait_for 20 ceemsd_up
WHERE=$mount as daemon srun -J kept python3 -S -B -c "
import os
fd = os.open(os.environb[b'WHERE'] + b'/kept', os.O_CREAT | os.O_WRONLY)
os.write(fd, b'x' * 5000)
open('$JOBS/go').read()
os.write(fd, b'x' * 7000)" >/dev/null 2>&1 &
kept=$!
ok "a job runs there" wait_for 60 running
written() { grep -q '^ceems_ebpf_write_bytes_total{.*b??"} 5000$' "$SCRATCH/metrics" || { scrape; false; }; }
ok "it has written" wait_for 60 written
kill -9 "$(cat "$SCRATCH/keeper/pid")"
ok "ceemsd is killed there" wait_for 20 test ! -e "$SCRATCH/keeper/pid"
: >"$SCRATCH/keeper/again"
ok "it is started again" wait_for 20 ceemsd_up
echo >"$JOBS/go"
wait $kept
ok "the job there ends" wait_for 60 no_job
kept_told() { send; [ -n "$(cacct daemon -n -P --name kept -o FileWrite)" ]; }
ok "what it wrote before and after is known" wait_for 60 kept_told
is "to the byte" "$(psql_do -c "SELECT m->>'write_bytes' FROM unit_counts, jsonb_array_elements(mounts) m WHERE m->>'path' LIKE '%b??' ORDER BY (m->>'write_bytes')::bigint")" $'12000\n3000000\n10485760'

# --- who is erased is erased from the paths of mounts
"$BUILD/ceems_aggregator" --erase=daemon "${aggregator[@]}" >>"$SCRATCH/agg.log" 2>&1
is "an erased user's mounts are gone, the sums stay" "$(psql_do -c "SELECT mounts IS NULL, counts ? 'write_bytes' FROM unit_counts")" $'t|t\nt|t\nt|t'
tap_done
