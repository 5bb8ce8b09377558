#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest, for test/bench/profiler_peer: the same jobs, of the programs in $BUILD/peer_stacks, profiled by
# ceemsd and by the exporter of CEEMS in turn, each by the same file of options, each with a store to itself.
# Prints lines "WHOM METRIC VALUE".
#   profiler_peer_guest.sh PEER|- INTERVAL_S INTERVALS HZ
peer=$1 interval=$2 intervals=$3 hz=$4
work=/tmp/peer
scope=/sys/fs/cgroup/system.slice/slurmstepd.scope
mkdir -p $work $scope
for d in /sys/fs/cgroup /sys/fs/cgroup/system.slice $scope; do echo "+cpu +memory" >$d/cgroup.subtree_control; done
echo 1 >/proc/sys/kernel/bpf_stats_enabled
echo 2 >/proc/sys/kernel/perf_event_paranoid # above 2, Debian's, the exporter refuses to start
cp /bin/bash $work/slurmstepd
# job 1, 2, ...: one of these programs each, for ever
declare -A name
job=0
for p in "$BUILD"/peer_stacks/*; do
	job=$((job + 1)) name[$job]=${p##*/}
	group=$scope/job_$job/step_0/user
	mkdir -p "$group"
	for d in "$scope/job_$job" "$scope/job_$job/step_0" "$group"; do echo "+cpu +memory" >"$d/cgroup.subtree_control"; done
	mkdir "$group/task_0"
	$work/slurmstepd -c 'echo $$ >"$0/cgroup.procs"; "$1" & wait' "$group/task_0" "$p" >/dev/null 2>&1 &
done
cat >$work/config.yml <<END
ceems_profiler:
  ebpf: {collect_interval: ${interval}s, discover_interval: ${interval}s, sample_rate: $hz}
  pyroscope: {url: "http://127.0.0.1:4040"}
END
us_of() { sed -n 's/^usage_usec //p' "$1/cpu.stat"; }
programs_ns() { bpftool -j prog show | jq '[.[].run_time_ns // 0] | add // 0'; }
map_bytes() { bpftool -j map show | jq '[.[].bytes_memlock // 0] | add // 0'; }
pss_kib() { for p in $(cat "$own/cgroup.procs"); do sed -n 's/^Pss: *\([0-9]*\).*/\1/p' "/proc/$p/smaps_rollup"; done 2>/dev/null | awk '{ s += $1 } END { print s + 0 }'; }
# CPU time of those of its processes that have to do with samples
sampling_ns() {
	for p in $(cat "$own/cgroup.procs"); do ! grep -qxE "$process|ceems-opener" "/proc/$p/comm" || cat /proc/$p/task/*/schedstat; done 2>/dev/null |
		awk '{ s += $1 } END { printf "%.0f\n", s }'
}
rss_kib() { sed -n 's/^VmRSS:\s*\([0-9]*\).*/\1/p' "/proc/$(pgrep -o -x "$1")/status"; }
pushed() { grep -c '"service_name": "1"' "$work/log.$kind"; }
await() { # pushes of job 1
	local end=$((SECONDS + interval * (intervals + 5) + 30))
	while [ $SECONDS -lt $end ] && kill -0 $it 2>/dev/null; do
		[ "$(pushed)" -lt "$1" ] || return 0
		sleep 0.1
	done
	return 1
}
put() { echo "$kind $1 $2"; }
profile() { # kind process command...
	local process=$2 host maps j from_line to_line
	kind=$1
	shift 2
	own=/sys/fs/cgroup/$kind
	mkdir "$own"
	echo 200 >$work/control
	: >$work/log.$kind
	python3 test/fake/push_host.py 4040 $work/control $work/log.$kind 2>$work/host.$kind &
	host=$!
	for ((i = 0; i < 600; i++)); do grep -q ready $work/host.$kind && break; sleep 0.1; done
	maps=$(map_bytes)
	bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$own" "$@" >$work/out.$kind 2>&1 &
	it=$!
	if ! await 1; then
		tail -5 $work/out.$kind | sed "s/^/$kind failed /"
		return 1
	fi
	put start_cpu_ms $(($(us_of "$own") / 1000))
	local cpu ns time sampling
	from_line=$(wc -l <$work/log.$kind)
	cpu=$(us_of "$own") time=${EPOCHREALTIME/./}
	ns=$(programs_ns) sampling=$(sampling_ns)
	await $((1 + intervals)) || put failed "profiles do not go on"
	put seconds_us $((${EPOCHREALTIME/./} - time))
	put cpu_us $(($(us_of "$own") - cpu))
	put sampling_ns $(($(sampling_ns) - sampling))
	put program_ns $(($(programs_ns) - ns))
	to_line=$(wc -l <$work/log.$kind)
	put maps_bytes $(($(map_bytes) - maps))
	put pss_kib "$(pss_kib)"
	put rss_kib "$(rss_kib "$process")"
	for j in "${!name[@]}"; do
		sed -n "$((from_line + 1)),${to_line}p" $work/log.$kind | jq -c --arg j "$j" 'select(.labels.service_name == $j)' >$work/profiles
		# the exporter's first frame is the process's name; it was not asked for the kernel's
		jq -r --argjson comm "$([ "$kind" = peer ] && echo 1 || echo 0)" '.period as $p | .stacks[] |
			"\(.value / $p) \(.frames[$comm:] | map(select(endswith(" [kernel]") | not)) | join(";"))"' $work/profiles >$work/stacks
		awk '{
			all += $1; frames += $1 * split($2, f, ";")
			if ($2 ~ /(^|;)(main|_start)(;|$)/) whole += $1
		} END { printf "%d %d %d\n", all, whole, frames }' $work/stacks >$work/sums
		read -r all whole frames <$work/sums
		put "samples_${name[$j]}" "$all"
		put "whole_${name[$j]}" "$whole"
		put "frames_${name[$j]}" "$frames"
		awk '$2 !~ /(^|;)(main|_start)(;|$)/ { n[$2] += $1 } END { for (s in n) print n[s], s }' $work/stacks | sort -k1,1rn | head -3 |
			sed "s/^/# $kind, ${name[$j]}, cut: /"
	done
	kill $it
	wait $it 2>/dev/null
	kill $host
	wait $host 2>/dev/null
	for ((i = 0; i < 100; i++)); do rmdir "$own" 2>/dev/null && break; sleep 0.1; done
}
[ "$peer" = - ] || profile peer "$(basename "$peer" | cut -c1-15)" "$peer" --web.listen-address=127.0.0.1:9111 --collector.slurm \
	--profiling.ebpf --profiling.ebpf.config.file=$work/config.yml --security.run-as-user=root --no-security.drop-privileges
profile ceemsd ceems-profiler "$BUILD/ceemsd" --path.rundir=$work/run --web.listen-address=127.0.0.1:9110 --collector.slurm \
	--profiling.ebpf --profiling.ebpf.config.file=$work/config.yml --profiles.spool=$work/spool
