#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Jobs with a /tmp of their own (job_container/tmpfs) and an extern step, in 22.05 and 24.11,
# there with contain_spank, whose hooks run inside the container: the same exact records.
export TMPDIR=/var/tmp # what the jobs need must not be in /tmp
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
case ${CEEMS_REACHED:-} in
*/ceems-view.*) skip_all "jobs of job_container/tmpfs do not all start in the mount namespace of test/reach: needs a clone that other users can reach" ;;
esac
need_slurm
case $(command -v srun) in /tmp/*) skip_all "this Slurm is in /tmp, and the jobs have a /tmp of their own" ;; esac

alone() { wait_for 20 no_job && timeout 150 "$@" >/dev/null 2>&1; }
# /units alone: a scrape would read the extern step once more than its records do
idle_known() { curl -sf -o "$SCRATCH/units" "$CEEMSD_URL/units" && [ "$(jq '[.units[] | select(.state == "running")] | length' "$SCRATCH/units")" = 1 ]; }

steps() { # "unit step nanoseconds" but of extern steps
	awk "$awk_ns"'
		/^ceems_compute_unit_step_cpu_(user|system)_seconds_total\{/ {
			match($0, /uuid="[^"]*"/); id = substr($0, RSTART + 6, RLENGTH - 7)
			match($0, /step="[^"]*"/); step = substr($0, RSTART + 6, RLENGTH - 7)
			if (step != "extern") sum[id " " step] += ns($NF)
		}
		END { for (k in sum) printf "%s %.0f\n", k, sum[k] }' "$SCRATCH/metrics" | sort
}

one() { # version [slurm.conf line]
	local v=$1 node="cont$$x${1%.*}" id batch want
	rm -f "$SCRATCH/ceemsd.log"
	{
		echo JobContainerType=job_container/tmpfs
		[ -z "${2:-}" ] || echo "$2"
	} >"$SCRATCH/conf"
	printf 'AutoBasePath=true\nBasePath=%s\n' "$SLURM/base" >"$SCRATCH/job_container.conf"
	rig_start --slurm="$v" --nodes="$node" --contain --conf="$SCRATCH/conf" --put="$SCRATCH/job_container.conf"
	ceemsd_start --collector.slurm.steps
	ok "$v: ceemsd starts" wait_for 20 ceemsd_up
	truth_start

	# one after the other: 24.11 fails to mount for one job while it unmounts for another
	if [ -z "$SLURM_RIG_ROOT" ]; then
		touch "/tmp/ceems-container.$$"
		is "$v: a job has a /tmp of its own" \
			"$(timeout 150 srun -J tmp sh -c "[ -e /tmp/ceems-container.$$ ] || echo its own" 2>/dev/null)" "its own"
		rm -f "/tmp/ceems-container.$$"
		batch="srun $JOBS/burn 50; srun $JOBS/burn 30; $JOBS/burn 20" want="0=5 1=1 batch=1 extern=6"
	else
		# who joins a container leaves the chroot: no srun of this version there
		alone srun -J tmp true
		batch="$JOBS/burn 100" want="0=4 batch=1 extern=6"
	fi
	alone srun -J two -O -n2 "$JOBS/burn" 50
	alone as games sbatch -o /dev/null -e /dev/null -J batch --wrap "$batch"
	alone srun -J killed bash -c "$JOBS/burn 50; kill -9 \$\$"
	alone srun -J perf --ceems-perf=cache true
	alone salloc --no-shell -J idle -n1
	wait_for 20 idle_known
	id=$(squeue -h -n idle -o %A)
	is "$v: an allocation without any step of its own is a unit" \
		"$(jq -r ".units[] | select(.id == \"$id\") | [.state, (.steps[].step)] | join(\" \")" "$SCRATCH/units")" "running extern"
	scancel "$id"
	ok "$v: every job ends, and nothing is left running" settled 60

	# an extern step's own process ends where only the kernel may look: what the daemon read
	# of it while it ran may be more than its record has
	is "$v: each step's CPU time is that of its record" "$(steps)" "$(record_steps | awk '$4 != "extern" { print $2, $4, $5 }' | sort)"
	is "$v: the node's counters are the sum of its units" "$(scraped_node_cpu)" "$(scraped_cpu | awk '{ s += $3 } END { printf "%.0f\n", s }')"
	is "$v: each step has one start and one last stop" "$(record_steps | awk '$6 != 1 || $8 != 1 || $7 > 2')" ""
	is "$v: every job has its extern step, and its own two edges" \
		"$(record_steps | grep -c ' extern ') $(jq -s '[.[] | select(.type == "unit_start")] | length' "$SCRATCH/records") $(jq -s '[.[] | select(.type == "unit_stop")] | length' "$SCRATCH/records")" "6 6 6"
	is "$v: the other steps are all there" "$(jq -r '.units[].steps[].step' "$SCRATCH/units" | sort | uniq -c | awk '{ print $2 "=" $1 }' | paste -sd' ')" "$want"
	is "$v: with the control groups that the kernel gave them" \
		"$(jq -rs '[.[] | select(.type == "step_stop" and .step != "extern") | .counters.source] | unique | join(" ")' "$SCRATCH/records")" cgroup_v1
	ok "$v: and their CPU time" test "$(unit two "map($cpu_ms) | add")" -ge 100 -a "$(unit batch ".[0] | $cpu_ms")" -ge 100
	is "$v: but for the extern steps' own what the kernel counted" \
		"$(awk -v ours="$(scraped_node_cpu)" -v kernel="$(kernel_cpu "$node")" -v extern="$(record_steps | grep -c ' extern ')" \
			'BEGIN { d = kernel - ours; if (d < 0 || d > extern * 10000000) print d; else print "close" }')" close
	is "$v: ends are counted at once, by how" "$(ended_states)" "5 1 0 0"
	is "$v: options reach the contained hooks" "$(jq -rs '[.[] | select(.type == "step_start" and .hints.name == "perf")][0].flags | join(" ")' "$SCRATCH/records")" perf_cache
	is "$v: the daemon met nothing that it had to warn of" "$(grep 'level=\(warn\|error\)' "$SCRATCH/ceemsd.log")" ""
	kill "$ceemsd_pid" "$truth_pid"
	wait "$ceemsd_pid" "$truth_pid" 2>/dev/null
	$rig stop "$SLURM"
}

one "$(rig_version)"
# Linux 6.18 numbers mount namespaces by CPU and allows the mount of one only in an older one:
# in the chroot's, which is not the first, that goes well on one and the same CPU
rig="taskset -c 0 $rig"
if why=$($rig possible --slurm=24.11); then
	[ "$(rig_version)" = 24.11 ] || one 24.11 SlurmdParameters=contain_spank
else
	skip "24.11 with contain_spank" "$why"
fi
tap_done
