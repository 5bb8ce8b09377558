#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 100 000 processes of one step, none of which lives for a millisecond: each one's write is counted, also while ceemsd is
# killed again and again (test/fake/fd_keeper.py keeps its programs, as systemd does).
# timeout 600
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.io-metrics 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
. "$(dirname "$0")/../step_group.sh"
tmp=$SCRATCH/mnt
mkdir -p "$tmp"
mount -t tmpfs none "$tmp" || skip_all "no tmpfs can be mounted here"
mounts=$tmp
port=$(free_port) || exit 1
keeper=$SCRATCH/keeper
mkdir -m 755 "$keeper"
python3 test/fake/fd_keeper.py "$keeper" "$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm --collector.slurm.nodes="$node" \
	--collector.ebpf.io-metrics --unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
written() { curl -sf "http://127.0.0.1:$port/metrics" | sed -n "s|^ceems_ebpf_write_bytes_total{.*uuid=\"$job\",mountpoint=\"$tmp\"} ||p"; }
step_make 0
known() { curl -sf "http://127.0.0.1:$port/metrics" | grep -q "^ceems_ebpf_open_requests_total.*uuid=\"$job\""; }
ok "the step is found" wait_for 60 known
# as often as that takes
: >"$SCRATCH/busy"
kill_again() {
	while [ -e "$SCRATCH/busy" ]; do
		sleep 1
		rm -f "$keeper/again"
		kill -9 "$(cat "$keeper/pid")"
		while [ -e "$keeper/pid" ]; do sleep 0.05; done
		: >"$keeper/again"
		echo x >>"$SCRATCH/kills"
		wait_for 60 test -e "$keeper/pid"
	done
}
kill_again &
killer=$!
run_in 0 "$BUILD/io_many" "$tmp/f" 100000
is "the processes run" $? 0
rm "$SCRATCH/busy"
wait $killer
echo "# ceemsd was killed $(wc -l <"$SCRATCH/kills") times"
all_counted() { [ "$(written)" = 100000 ]; }
ok "each one's byte is counted" wait_for 60 all_counted
step_remove 0
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0
tap_done
