#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# sbatch --requeue=expedite (Slurm 25.11): a job that fails on a node whose Epilog finds something wrong runs again at once. Each run is a unit of its own, by its
# steps and by slurmctld's records. Needs such a Slurm in PATH (Debian has none) and its plugins (make SLURM_SRC=).
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/jobcomp_slurm.sh
version=$(rig_version 2>/dev/null)
case $version in
'') skip_all "no Slurm is installed here" ;;
2[0-4].* | 25.05) skip_all "Slurm $version does not requeue at once: needs 25.11 or later in PATH" ;;
esac
need_jobcomp
printf '#!/bin/sh\n[ -e %s ] || { : >%s; exit 1; }\n' "$SCRATCH/failed" "$SCRATCH/failed" >"$SCRATCH/epilog"
chmod 755 "$SCRATCH/epilog" "$SCRATCH"
printf '%s\n' SlurmctldParameters=enable_expedited_requeue "Epilog=$SCRATCH/epilog" >"$SCRATCH/jobcomp.conf"
jobcomp_rig --nodes=exa$$,exb$$
ceemsd_start --ring.slots=1024
ok "ceemsd starts" wait_for 20 ceemsd_up
cat >"$JOBS/again" <<END
#!/bin/bash
[ "\${SLURM_RESTART_COUNT:-0}" = 0 ] || exec "$JOBS/burn" 300
"$JOBS/burn" 100
exit 7
END
chmod 755 "$JOBS/again"
truth_start
job=$(sbatch --parsable -o /dev/null -e /dev/null --requeue=expedite "$JOBS/again")
ok "a job that fails once has two records" wait_for 100 has_events "$job" "ended ended" || { scontrol -o show job "$job"; records; tail -n 20 "$SLURM/log/slurmctld.log"; } | sed 's/^/# /'
wait_for 60 no_job
is "with a restart count each, and how each ended" "$(record "select(.job_id == $job) | \"\(.restarts) \(.state) \(.exit_code)\"" | paste -sd,)" "0 FAILED 1792,1 COMPLETED 0"
is "each was submitted at another time, and on another node" "$(record "select(.job_id == $job) | \"\(.submit_s)\"" | sort -u | wc -l) $(record "select(.job_id == $job) | .nodes" | sort -u | wc -l)" "2 2"
is "each has an id of Slurm's own" "$(record "select(.job_id == $job) | .sluid" | sort -u | wc -l)" 2
# burn says how much it took; the record has the shell's own time, too
ran() { "$BUILD/ceems-ringdump" "$RING" | jq -rs "map(select(.type == \"step_stop\" and .unit == \"$job\") | {node, ms: ((.counters.cpu_user_ns + .counters.cpu_system_ns) / 1e6 | floor)}) | unique_by(.node) | sort_by(.ms) | map(.ms)"; }
both() { ran | jq -e 'length == 2 and .[0] >= 100 and .[0] < 200 and .[1] >= 300 and .[1] < 400' >/dev/null; }
ok "and its own CPU time, by its step's record" wait_for 30 both || ran | sed 's/^/# /'
tap_done
