#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest, for test/bench/peer_io: ceemsd and the exporter of CEEMS count the same writes, of a job that lives
# and of short ones, on cgroup v2. Prints per exporter: its name, and the part of the bytes of each that it ever showed.
#   peer_guest.sh PEER JOBS CALLS
peer=$1 jobs=$2 calls=$3
work=/tmp/peer
mkdir -p $work/mnt && mount -t tmpfs none $work/mnt || exit 1
scope=/sys/fs/cgroup/system.slice/slurmstepd.scope
mkdir -p $scope
for d in /sys/fs/cgroup /sys/fs/cgroup/system.slice $scope; do echo "+cpu +memory" >$d/cgroup.subtree_control; done
task_of() { echo "$scope/job_$1/step_0/user/task_0"; }
job_make() {
	mkdir -p "$scope/job_$1/step_0/user"
	for d in "$scope/job_$1" "$scope/job_$1/step_0" "$scope/job_$1/step_0/user"; do echo "+cpu +memory" >"$d/cgroup.subtree_control"; done
	mkdir "$(task_of "$1")"
}
job_remove() { rmdir "$(task_of "$1")" "$scope/job_$1/step_0/user" "$scope/job_$1/step_0" "$scope/job_$1"; }
load() { # job
	bash -c 'echo $$ >"$0/cgroup.procs" && exec dd if=/dev/zero of="$1/file" bs=512 count="$2" conv=notrunc status=none' "$(task_of "$1")" $work/mnt "$calls"
}
get() { # port
	exec 5<>"/dev/tcp/127.0.0.1/$1" || return 1
	printf 'GET /metrics HTTP/1.0\r\nHost: guest\r\n\r\n' >&5
	timeout 20 cat <&5
	exec 5>&-
}
job_make 1
cp /bin/bash $work/slurmstepd
$work/slurmstepd -c 'sleep 1000 & echo $! >"$0/cgroup.procs"; wait' "$(task_of 1)" &
"$BUILD/ceemsd" --path.rundir=$work/run --web.listen-address=127.0.0.1:9110 --collector.slurm --collector.ebpf.io-metrics \
	--unit.linger=10m --unit.min-export=0 >$work/log.9110 2>&1 &
"$peer" --web.listen-address=127.0.0.1:9111 --collector.slurm --collector.ebpf.io-metrics --security.run-as-user=root \
	--no-security.drop-privileges >$work/log.9111 2>&1 &
for port in 9110 9111; do
	for _ in $(seq 100); do get $port 2>/dev/null | grep -q '^ceems_' && continue 2; sleep 0.2; done
	tail -1 $work/log.$port
	exit 1
done
sleep 2
look() {
	for port in 9110 9111; do
		get $port | sed -n 's/^ceems_ebpf_write_bytes_total{.*uuid="\([0-9]*\)".*} /\1 /p' >>$work/seen.$port
	done
}
load 1
look
for ((j = 1; j <= jobs; j++)); do
	job_make 9$j
	load 9$j
	job_remove 9$j
	((j % 10)) || look
done
sleep 3
look
for port in 9110 9111; do
	awk -v all=$((calls * 512)) -v jobs="$jobs" -v port=$port '{ v = sprintf("%.0f", $2) + 0; if (v > most[$1]) most[$1] = v }
		END {
			for (j in most) if (j ~ /^9/) sum += most[j]
			print "SEEN", port == 9110 ? "ceemsd" : "peer", most[1] / all, sum / (jobs * all)
		}' $work/seen.$port
done
