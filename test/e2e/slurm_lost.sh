#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The slurmstepd of a running step is killed in a real Slurm: the usage of its orphaned
# task still counts for the job; when the task has ended too, the step ends as lost, with the
# kernel's own count, although nobody removes its control groups.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../slurm.sh"
need_slurm
node=lost$$
rig_start --nodes=$node
ceemsd_start
ok "ceemsd starts" wait_for 20 ceemsd_up

printf '#!/bin/sh\necho $$ >%s/task\nwhile [ ! -e %s/enough ]; do :; done\n' "$JOBS" "$JOBS" >"$JOBS/spin"
chmod 755 "$JOBS/spin"
srun -J lost "$JOBS/spin" >/dev/null 2>&1 &
ok "a job runs" wait_for 20 test -s "$JOBS/task"
of() { scrape && jq -r ".units[0] | $1" "$SCRATCH/units"; }
cpu() { of '.steps[] | select(.step == "0") | .cpu_user_seconds + .cpu_system_seconds'; }
has_used() { awk -v a="$(cpu)" -v b="$1" 'BEGIN { exit !(a > b) }'; }
is_state() { [ "$(of .state)" = "$1" ]; }
ok "it is seen" wait_for 10 is_state running
stepd=$(of '.steps[] | select(.step == "0") | .slurmstepd_pid')
like "its slurmstepd is known" "$(cat "/proc/$stepd/comm")" slurmstepd
kill -9 "$stepd"
wait_for 10 eval "! kill -0 $stepd 2>/dev/null"
before=$(cpu)
ok "its task runs on, and still counts" wait_for 10 has_used "$(awk -v a="$before" 'BEGIN { print a + 0.2 }')"
is "for a running unit" "$(of .state)" running
scancel -n lost
touch "$JOBS/enough"
ok "when the task has gone the unit has ended" wait_for 40 is_state ended
is "as lost" "$(of .end)" lost
group=$(of '.steps[] | select(.step == "0") | .cgroup')
is "with the kernel's own count" \
	"$(scraped_cpu | cut -d' ' -f3)" "$(cat "/sys/fs/cgroup/cpuacct$group/cpuacct.usage")"
tap_done
