#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_ebpf.sh, vm_older.sh and vm_arm64.sh: control groups as slurmstepd makes them on cgroup v2, made and
# removed here, and what ceemsd says of them by the kernel's word alone.
. "$(dirname "$0")/../tap.sh"
for c in curl jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
port=9010
scope=/sys/fs/cgroup/system.slice/vm_slurmstepd.scope
down() { # folder: enables the controllers for what is below it
	echo "+cpu +memory +pids" >"$1/cgroup.subtree_control"
}
down /sys/fs/cgroup
mkdir -p "$scope" && down /sys/fs/cgroup/system.slice && down "$scope"

# --- as on kernels before 5.19, whose programs find a CPU's counters by a symbol of the kernel (this machine's has none)
if [ -x "$BUILD/test/group_programs_test" ]; then
	GROUPS_BY_SYMBOL=1 "$BUILD/test/group_programs_test" >"$SCRATCH/by_symbol" 2>&1
	is "CPU time is found by a symbol of the kernel, too" "$? $(grep -c ' OK .*what_a_users_own_group_below' "$SCRATCH/by_symbol")" "0 1" || sed 's/^/# /' "$SCRATCH/by_symbol"
else
	skip "CPU time is found by a symbol of the kernel, too" "build/test/group_programs_test was not built"
fi

step_make() { # job: its step 0 with a task
	mkdir "$scope/job_$1" && down "$scope/job_$1" && mkdir "$scope/job_$1/step_0" && down "$scope/job_$1/step_0" &&
		mkdir "$scope/job_$1/step_0/slurm" "$scope/job_$1/step_0/user" && down "$scope/job_$1/step_0/user" &&
		mkdir "$scope/job_$1/step_0/user/task_0"
}
inside() { # folder command...
	local group=$1
	shift
	(echo "$BASHPID" >"$group/cgroup.procs" && exec "$@")
}
usage() { sed -n 's/^usage_usec //p' "$1/cpu.stat"; }
step_remove() { # job; leaves the kernel's last words in cpu_least, cpu_most, peak
	local g=$scope/job_$1/step_0
	# the last of a task is accounted a moment after it has left; where that takes longer yet, it
	# comes after the end of task_0, which is the program's too
	until [ "$(usage "$g/user")" = "${cpu_least:-}" ]; do cpu_least=$(usage "$g/user"); sleep 0.5; done
	rmdir "$g/user/task_0"
	until [ "$(usage "$g/user")" = "${cpu_most:-}" ]; do cpu_most=$(usage "$g/user"); sleep 0.5; done
	peak=$(cat "$g/memory.peak")
	rmdir "$g/user" "$g/slurm" "$g" "${g%/*}"
}
units() { curl -sf "http://127.0.0.1:$port/units" >"$SCRATCH/units"; }
ended() { units && [ "$(jq '[.units[] | select(.state == "ended")] | length' "$SCRATCH/units")" = "$1" ]; }
of() { jq -r --arg u "$1" ".units[] | select(.id == \$u) | $2" "$SCRATCH/units"; }
counted() { # job: between what the kernel had before the end of its task_0 and after it, mostly the same
	local used
	used=$(of "$1" "$used_us")
	echo "# job $1: $used us, the kernel has $cpu_least to $cpu_most"
	[ "$cpu_least" -le "$used" ] && [ "$used" -le "$cpu_most" ]
}
used_us='.cpu_user_seconds + .cpu_system_seconds | . * 1000000 + 0.0001 | floor'

step_make 1 # before ceemsd
cp /bin/bash "$SCRATCH/slurmstepd"
inside "$scope/job_1/step_0/slurm" "$SCRATCH/slurmstepd" -c "sleep 1000 & echo \$! >$scope/job_1/step_0/user/task_0/cgroup.procs; wait" &
wait_for 20 grep -q . "$scope/job_1/step_0/user/task_0/cgroup.procs"
"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm --collector.ebpf.io-latency --collector.ebpf.network-metrics --collector.perf.software-events --reports.enabled --reports.spool="$SCRATCH/spool" --cluster=vm \
	--unit.linger=10m --unit.min-export=0 >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 60 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
like "the kernel follows the steps" "$(cat "$SCRATCH/ceemsd.log")" "follows the control groups of steps, 1 of them were there before"
grep ebpf "$SCRATCH/ceemsd.log" | sed 's/^/# /'

# software events
perf_values() { # job
	curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"
	for v in page_faults context_switches; do sed -n "s|^ceems_perf_${v}_total{.*uuid=\"$1\"} ||p" "$SCRATCH/metrics"; done | xargs
}
perf_known() { [ -n "$(perf_values 1)" ]; }
ok "software events are shown" wait_for 120 perf_known
perf_before=$(perf_values 1)
perf_counted=$("$BUILD/perf_around" "$scope/job_1/step_0/user/task_0" -- env -i bash -c 'for ((i = 0; i < 100; i++)); do /bin/true; done' | cut -d' ' -f1,2)
perf_after=$(perf_values 1)
echo "# before: $perf_before, after: $perf_after, perf: $perf_counted"
is "and are perf's around the command, within two for each process" \
	"$(echo "$perf_before $perf_after $perf_counted" | awk '{ f = $3 - $1 - $5; s = $4 - $2 - $6; if (NF != 6 || f * f > 200 * 200 || s * s > 200 * 200) print "not" }')" ""

# short processes, and slurmstepd's own time
step_make 2
for ((i = 0; i < 30; i++)); do inside "$scope/job_2/step_0/user/task_0" /bin/true; done
inside "$scope/job_2/step_0/slurm" head -c 3000000 /dev/zero >/dev/null

# what it writes to a file, and sends
file=$SCRATCH/written
ring=$(inside "$scope/job_2/step_0/user/task_0" "$BUILD/io_ring" "$SCRATCH/ring_file")
is "io_uring works here" $? 0
request=$'GET /health HTTP/1.0\r\n\r\n'
inside "$scope/job_2/step_0/user/task_0" dd if=/dev/zero of="$file" bs=4096 count=100 status=none
inside "$scope/job_2/step_0/user/task_0" bash -c 'exec 3<>/dev/tcp/127.0.0.1/$0 && printf %s "$1" >&3 && cat <&3 >/dev/null' "$port" "$request"
sent=$(inside "$scope/job_2/step_0/user/task_0" "$BUILD/net_calls" Makefile | cut -d' ' -f1)
step_remove 2
ok "a step that was never told of has ended" wait_for 60 ended 1
ok "with what the kernel counted for its tasks" counted 2
is "and its memory peak" "$(of 2 '.steps[0].memory_peak_bytes // .memory_peak_bytes')" "$peak"

series() { curl -sf "http://127.0.0.1:$port/metrics" | sed -n "s|^ceems_ebpf_$1_total{[^}]*uuid=\"${3:-2}\",$2} ||p"; }
most() { series "$1" 'mountpoint="[^"]*"' | sort -n | tail -1; } # this shell is in a chroot: the namespace has another path for it
is "what it wrote to the file's mount, also by io_uring" "$(most write_bytes) $(most write_requests)" \
	"$(awk '{ print $1 + 409600, $2 + 100 }' <<<"$ring")"
written=$(most write_bytes)
ok "and how long its calls took is in the histogram" test "$(curl -sf "http://127.0.0.1:$port/metrics" |
	sed -n 's|^ceems_ebpf_io_latency_seconds_count{[^}]*uuid="2",.*direction="write"} ||p' | sort -n | tail -1)" -ge 100
sent=$((sent + ${#request}))
is "what it sent, by each system call and io_uring" "$(series egress_bytes 'proto="tcp",family="ipv4"')" $sent

# one that was there before, its processes killed
echo 1 >"$scope/job_1/cgroup.kill"
wait_for 20 grep -q 'populated 0' "$scope/job_1/cgroup.events"
step_remove 1
ok "one from before ceemsd has ended" wait_for 60 ended 2
ok "with the kernel's count" counted 1

# what the kernel encrypts and decrypts (the modules are loaded by vm_ebpf.sh and vm_older.sh)
if why=$("$BUILD/net_calls" Makefile tls 2>&1 >"$SCRATCH/unused"); then
	step_make 3
	tls=$(inside "$scope/job_3/step_0/user/task_0" "$BUILD/net_calls" Makefile tls | cut -d' ' -f1,2)
	step_remove 3
	ok "a step that used TLS of the kernel has ended" wait_for 60 ended 3
	echo "# sent and received by TLS of the kernel: $tls"
	is "TLS of the kernel: what the calls moved, not the records that carried it" \
		"$(series egress_bytes 'proto="tcp",family="ipv4"' 3) $(series ingress_bytes 'proto="tcp",family="ipv4"' 3)" "$tls"
else
	skip "TLS of the kernel" "$why"
fi

told() { # job jq: of its final report
	"$BUILD/ceems_tool" spool "$SCRATCH/spool" | jq -sr --arg u "$1" "[.[] | select(.kind == \"final\" and .unit == \$u)] | last | $2"
}
all_told() { [ -n "$(told 1 '.unit // empty')" ] && [ -n "$(told 2 '.unit // empty')" ]; }
ok "final reports are written" wait_for 60 all_told
is "with what was counted from a step's begin to its end" "$(told 2 '"\([.mounts[].write_bytes] | max) \(.counts.tcp_ipv4_tx_bytes) \(.counts.minor_faults > 1000)"')" "$written $sent true"
is "and nothing of one that was there before" "$(told 1 .counts)" null
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0
tap_done
