#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Thousands of short jobs on a node without our plugin, 500 a second if this machine can: none is
# lost, and their sum is the kernel's.
# alone
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
have_root || skip_all "takes root"
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"

node=rate$$ jobs=3000 rate=500
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
	tops=("/sys/fs/cgroup/system.slice/${node}_slurmstepd.scope")
	folders=("${tops[@]}")
else
	tops=(/sys/fs/cgroup/cpuacct/slurm_$node /sys/fs/cgroup/memory/slurm_$node)
	folders=("${tops[@]/%//uid_0}")
fi
mkdir -p "${folders[@]}" || skip_all "no control groups can be made here"
test_cleanup() { find "${tops[@]}" -depth -type d -exec rmdir {} + 2>/dev/null; }
kernel_ns() { # in all jobs there were
	if [ -e "${tops[0]}/cpuacct.usage" ]; then cat "${tops[0]}/cpuacct.usage"; else sed -n 's/^usage_usec \(.*\)/\1000/p' "${tops[0]}/cpu.stat"; fi
}

port=$(free_port) || exit 1
"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm --collector.slurm.nodes=$node \
	--collector.ebpf --unit.linger=1h </dev/null >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { sed -n "s/^$1{[^}]*} //p" "$SCRATCH/metrics"; }

read -r made ms least < <("$BUILD/step_maker" $jobs $rate "${folders[@]}")
is "all jobs have run" "$made" $jobs
[ -n "$made" ] || { tap_done; exit; }
echo "# $((made * 1000 / ms)) jobs/s"
counted() { scrape && [ "$(value ceems_steps_unrecorded_total)" = $jobs ]; }
ok "each is counted, though no record told of it" wait_for 60 counted || grep -h 'groups\|steps_' "$SCRATCH/metrics" | sed 's/^/# /'
is "none found all slots taken" "$(value ceems_groups_not_followed_total)" 0
is "none is in two" "$(value ceems_steps_lost_stops_total)" $jobs
is "each is a unit" "$(value ceems_units_started_total)" $jobs
used=$(value ceems_units_cpu_seconds_total | awk '{ s += $1 } END { printf "%.0f\n", s * 1e9 }')
most=$(kernel_ns)
# the last of a task is charged after its end, at times after that of its group
echo "# $used ns, the kernel has $least to $most"
ok "their CPU time is what the kernel counted" test "$least" -le "$used" -a "$used" -le "$((most + 1000))"
kill $daemon
wait $daemon
is "ceemsd ends well" $? 0
tap_done
