#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Counting reads and writes where things are odd: 10 000 mounts, a process that is moved to another job, two ceemsd on
# one host.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3 unshare mount; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.io-metrics 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
. "$(dirname "$0")/../step_group.sh"
tmp=$SCRATCH/mnt
mkdir -p "$tmp"
mount -t tmpfs none "$tmp" || skip_all "no tmpfs can be mounted here"
mounts=$tmp
port=$(free_port) || exit 1
other=$(free_port) || exit 1
daemons=()
for p in $port $other; do
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run.$p" --web.listen-address=127.0.0.1:$p --collector.slurm --collector.slurm.nodes="$node" \
		--collector.ebpf.io-metrics --unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/ceemsd.$p.log" 2>&1 &
	daemons+=($!)
	started $!
done
for p in $port $other; do ok "a ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$p/health"; done
scrape() { curl -sf "http://127.0.0.1:${1:-$port}/metrics" >"$SCRATCH/metrics"; }
writes() { # job mount: bytes and calls
	for w in write_bytes write_requests; do
		sed -n "s|^ceems_ebpf_${w}_total{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$1\",mountpoint=\"$2\"} ||p" "$SCRATCH/metrics"
	done | xargs
}
known() { # job: by both
	scrape $other && grep -q "^ceems_ebpf_open_requests_total.*uuid=\"$1\"" "$SCRATCH/metrics" &&
		scrape && grep -q "^ceems_ebpf_open_requests_total.*uuid=\"$1\"" "$SCRATCH/metrics"
}

# A process that is moved: what it does counts for the job where it is
step_make 0
first_sleeper=$sleeper first_stepd=$stepd first_job=$job
job=1$first_job
step_make 0
second_sleeper=$sleeper second_stepd=$stepd second_job=$job
ok "one job is found by both" wait_for 60 known "$first_job"
ok "another, too" wait_for 60 known "$second_job"
cat >"$SCRATCH/move.sh" <<S
for ((i = 0; i < 100; i++)); do echo x >>"$tmp/f"; done
for c in $controllers; do echo \$\$ >/sys/fs/cgroup/\$c/slurm_$node/uid_0/job_$second_job/step_0/task_0/cgroup.procs; done
for ((i = 0; i < 200; i++)); do echo x >>"$tmp/f"; done
S
job=$first_job
run_in 0 bash "$SCRATCH/move.sh"
scrape
is "a process counts for the job that it is in" "$(writes "$first_job" "$tmp")" "200 100"
is "and after it was moved for the other" "$(writes "$second_job" "$tmp")" "400 200"
scrape $other
is "two ceemsd on one host count the same" "$(writes "$first_job" "$tmp"), $(writes "$second_job" "$tmp")" "200 100, 400 200"

# 10 000 mounts: 15 are told apart at most, no call is lost, and another job is counted as before
cat >"$SCRATCH/mounts.py" <<'P'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
folder = sys.argv[1].encode()
MS_BIND = 4096
for i in range(10000):
    at = b"%s/m%d" % (folder, i)
    os.mkdir(at)
    if libc.mount(folder, at, None, MS_BIND, None):
        sys.exit(77)
    fd = os.open(at + b"/g", os.O_CREAT | os.O_WRONLY)
    os.write(fd, b"12345")
    os.close(fd)
P
run_in 0 unshare -m python3 -S -B "$SCRATCH/mounts.py" "$tmp"
rc=$?
if [ $rc = 77 ]; then
	skip "10 000 mounts" "this kernel does not allow them (fs.mount-max)"
else
	is "10 000 mounts are written to" $rc 0
	scrape
	# 5 bytes each, and what was before
	sum() { sed -n "s|^ceems_ebpf_$1_total{.*uuid=\"$first_job\",mountpoint=.*} ||p" "$SCRATCH/metrics" | awk '{ n += $1 } END { print n + 0 }'; }
	is "each write is counted" "$(sum write_bytes) $(sum write_requests)" "50200 10100"
	ok "by a bounded number of mounts" test "$(grep -c "^ceems_ebpf_write_bytes_total.*uuid=\"$first_job\"" "$SCRATCH/metrics")" -le 17
fi

# One ceemsd ends: the other goes on
kill "${daemons[0]}"
wait "${daemons[0]}"
is "one ceemsd ends well" $? 0
job=$second_job
echo "for ((i = 0; i < 50; i++)); do echo x >>'$tmp/f'; done" >"$SCRATCH/more.sh"
run_in 0 bash "$SCRATCH/more.sh"
scrape $other
is "the other still counts" "$(writes "$second_job" "$tmp")" "500 250"
sleeper=$second_sleeper stepd=$second_stepd
step_remove 0
job=$first_job sleeper=$first_sleeper stepd=$first_stepd
step_remove 0
kill "${daemons[1]}"
wait "${daemons[1]}"
is "and ends well" $? 0
tap_done
