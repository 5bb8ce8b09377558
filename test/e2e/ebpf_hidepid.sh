#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# /proc with hidepid=2, and ceemsd's user in the group of gid= (doc/install.md): steps are found, followed by
# the kernel, and end as anywhere. Without gid=, ceemsd says so, and finds them all the same.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
have_root || skip_all "needs root to mount"
for c in curl unshare; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.io-metrics --collector.perf 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
mkdir "$SCRATCH/proc"
export group=$(id -g nobody)
unshare -m mount -t proc -o "hidepid=2,gid=$group" proc "$SCRATCH/proc" 2>/dev/null || skip_all "procfs cannot be mounted here"
. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
of_job() { sed -n "s|^$1{[^}]*uuid=\"$job\"[^}]*} ||p" "$SCRATCH/metrics"; }
chmod 755 "$SCRATCH"

step_make 0
start() { # options of the mount, where its files are
	unshare -m bash -c 'mount -t proc -o "$0" proc "$1" && shift && exec "$@"' "$1" "$SCRATCH/proc" \
		"$BUILD/ceemsd" --path.procfs="$SCRATCH/proc" --path.rundir="$SCRATCH/$2" --web.listen-address=127.0.0.1:$port \
		--security.run-as-user=nobody --collector.slurm --collector.ebpf.io-metrics --collector.perf.software-events \
		--unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/$2.log" 2>&1 &
	daemon=$!
	started $daemon
}
start "hidepid=2,gid=$group" run
ok "ceemsd starts" wait_for 60 scrape
like "the kernel follows the steps" "$(cat "$SCRATCH/run.log")" "ebpf: the kernel follows the control groups of steps"
is "other users see no process of others" "$(nsenter -t $daemon -m setpriv --reuid=games --regid=games --clear-groups ls "$SCRATCH/proc" | grep -c "^$sleeper\$")" 0
known() { scrape && [ -n "$(of_job ceems_perf_page_faults_total)" ]; }
ok "a step of before is found" wait_for 60 known
run_in 0 dd if=/dev/zero of="$SCRATCH/file" bs=4096 count=100 status=none
written() { scrape && [ "$(of_job ceems_ebpf_write_bytes_total | sort -n | tail -1)" = 409600 ]; }
ok "what it writes is counted" wait_for 30 written
step_remove 0
step_make 1
run_in 1 dd if=/dev/zero of="$SCRATCH/file" bs=4096 count=100 status=none
both() { scrape && [ "$(of_job ceems_ebpf_write_bytes_total | sort -n | tail -1)" = 819200 ]; }
ok "so is that of a step that comes later" wait_for 60 both
step_remove 1
ok "its end is the kernel's" wait_for 60 unit_ended
kill "$daemon"
wait "$daemon"
is "it ends well" $? 0
is "it said nothing of hidden processes" "$(grep -c hidepid "$SCRATCH/run.log")" 0

job=$((job + 100000))
step_make 0
start hidepid=2 other
ok "ceemsd starts without the group" wait_for 60 scrape
like "it says what it misses" "$(cat "$SCRATCH/other.log")" "does not show us the processes of other users \(hidepid\)"
ok "a step of before is found" wait_for 60 known
step_remove 0
ok "its end is seen" wait_for 60 unit_ended
tap_done
