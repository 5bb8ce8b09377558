# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after tap.sh, by tests of the kernel programs: makes control groups of a step as slurmstepd does on
# cgroup v1, and processes in them. Defines test_cleanup.
#   step_make STEP, run_in STEP COMMAND..., step_remove STEP; unit_ended: its unit has ended
node=ebpf$$ job=$$
controllers="cpuacct memory freezer"
[ -d /sys/fs/cgroup/cpuacct ] || skip_all "no cgroup v1 here (vm_ebpf.sh has v2)"
step_folder() { echo "/sys/fs/cgroup/$1/slurm_$node/uid_0/job_$job/step_$2"; }
cp /bin/bash "$SCRATCH/slurmstepd"
step_make() { # step, with a first process below a slurmstepd
	local c
	for c in $controllers; do mkdir -p "$(step_folder $c "$1")/task_0"; done
	rm -f "$SCRATCH/sleeper"
	"$SCRATCH/slurmstepd" -c "sleep 1000 & echo \$! >$SCRATCH/sleeper; wait" </dev/null >/dev/null 2>&1 &
	stepd=$!
	started $stepd
	wait_for 20 test -s "$SCRATCH/sleeper"
	sleeper=$(cat "$SCRATCH/sleeper")
	started "$sleeper"
	for c in $controllers; do echo "$sleeper" >"$(step_folder $c "$1")/task_0/cgroup.procs"; done
}
step_remove() {
	local c
	kill "$sleeper"
	wait "$stepd"
	for c in $controllers; do wait_for 20 rmdir "$(step_folder $c "$1")/task_0"; rmdir "$(step_folder $c "$1")"; done
}
mounts=
test_cleanup() {
	local c
	kill "$sleeper" 2>/dev/null
	for c in $controllers; do wait_for 20 eval "find /sys/fs/cgroup/$c/slurm_$node -depth -type d -exec rmdir {} + 2>/dev/null; [ ! -d /sys/fs/cgroup/$c/slurm_$node ]"; done
	[ -z "$mounts" ] || umount $mounts
}
# A process that is put into the step from outside, so that it writes nothing for it, and then is COMMAND
run_in() { # step command...
	local step=$1 pid
	shift
	rm -f "$SCRATCH/go" && mkfifo "$SCRATCH/go"
	(read -r _ <"$SCRATCH/go"; exec "$@") &
	pid=$!
	for c in $controllers; do echo $pid >"$(step_folder $c "$step")/task_0/cgroup.procs"; done
	echo >"$SCRATCH/go"
	wait $pid
}
unit_ended() { curl -sf "http://127.0.0.1:$port/units" | grep -q "\"id\":\"$job\".*\"state\":\"ended\""; }
