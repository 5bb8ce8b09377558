#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in a guest whose clock is its instructions (test/vm/run --counted), for test/bench/peer_io: what a read and a write
# of 512 bytes by dd take in a step, alone, beside ceemsd, and beside the exporter of CEEMS, each alone on the machine.
# Prints for each round: COST, whom it ran beside, instructions of a pair.
#   peer_cost_guest.sh PEER PAIRS ROUNDS
peer=$1 pairs=$2 rounds=$3
work=/tmp/peer
mkdir -p $work/mnt && mount -t tmpfs none $work/mnt || exit 1
scope=/sys/fs/cgroup/system.slice/slurmstepd.scope
tasks=$scope/job_1/step_0/user/task_0
mkdir -p $tasks
for d in /sys/fs/cgroup /sys/fs/cgroup/system.slice $scope $scope/job_1 $scope/job_1/step_0 $scope/job_1/step_0/user; do
	echo "+cpu +memory" >$d/cgroup.subtree_control
done
cp /bin/bash $work/slurmstepd
$work/slurmstepd -c 'sleep 10000 & echo $! >"$0/cgroup.procs"; wait' $tasks &
usage() { sed -n 's/^usage_usec //p' $tasks/cpu.stat; }
# the CPU time of so many pairs, dd's own beginning included
time_of() {
	local before
	before=$(usage)
	bash -c 'echo $$ >"$0/cgroup.procs" && exec dd if=/dev/zero of="$1/file" bs=512 count="$2" conv=notrunc status=none' $tasks $work/mnt "$1"
	sleep 1 # what has ended is accounted a moment later
	echo $(($(usage) - before))
}
measure() { # kind
	local r
	time_of 100 >/dev/null
	for ((r = 0; r < rounds; r++)); do
		echo "COST $1 $((($(time_of "$pairs") - $(time_of 1)) * 1000 / (pairs - 1)))"
	done
}
get() { # port
	exec 5<>"/dev/tcp/127.0.0.1/$1" || return 1
	printf 'GET /metrics HTTP/1.0\r\nHost: guest\r\n\r\n' >&5
	timeout 60 cat <&5
	exec 5>&-
}
beside() { # kind port command...
	local kind=$1 port=$2 pid
	shift 2
	"$@" >$work/log.$kind 2>&1 &
	pid=$!
	for _ in $(seq 300); do
		get "$port" 2>/dev/null | grep -q '^ceems_ebpf_write_bytes\|^ceems_io_cells' && break
		kill -0 $pid 2>/dev/null || { tail -1 $work/log.$kind; return 1; }
		time_of 10 >/dev/null
	done
	sleep 5
	measure "$kind"
	kill $pid
	wait $pid 2>/dev/null
	sleep 2
}
measure none
beside ceemsd 9110 "$BUILD/ceemsd" --path.rundir=$work/run --web.listen-address=127.0.0.1:9110 --collector.slurm --collector.ebpf.io-metrics \
	--unit.linger=10m --unit.min-export=0
beside peer 9111 "$peer" --web.listen-address=127.0.0.1:9111 --collector.slurm --collector.ebpf.io-metrics --security.run-as-user=root \
	--no-security.drop-privileges
measure none
