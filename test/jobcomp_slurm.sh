# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/slurm.sh, by tests of a real slurmctld's completion records.

need_jobcomp() { # [version]
	local release
	jobcomp_version=${1:-}
	need_slurm "$@"
	if [ -n "$jobcomp_version" ] && [ "$jobcomp_version" != "$(rig_version)" ]; then
		release=$(dpkg-query --admindir="$(test/rig/chroot path)/var/lib/dpkg" -W -f '${Version}' slurmctld 2>/dev/null | sed 's/-.*//')
	else
		release=$(slurmd -V | sed 's/^[^ ]* \([0-9.]*\).*/\1/') # 26.05.0-0pre1 is 26.05.0
	fi
	[ -e "$BUILD/slurm/$release/jobcomp_ceems.so" ] || skip_all "the jobcomp plugin for Slurm $release was not built here"
}
# jobcomp_rig [options of the rig]: jobcomp/filetxt is chained, and writes into $TXT
jobcomp_rig() {
	TXT=$SCRATCH/jobcomp.txt
	SPOOL=$SLURM/jobcomp
	echo "chain: jobcomp/filetxt" >"$SCRATCH/jobcomp.yaml"
	echo "JobCompLoc=$TXT" >>"$SCRATCH/jobcomp.conf"
	rig_start ${jobcomp_version:+--slurm=$jobcomp_version} --jobcomp="$SCRATCH/jobcomp.yaml" --conf="$SCRATCH/jobcomp.conf" "$@"
}
# of ends: starts, which Slurm tells since 25.05, are apart
records() { "$BUILD/ceems_tool" spool "$SPOOL" 2>/dev/null | grep -v '"event":"started"'; }
# record FILTER: of the records, as jq -r
record() { records | jq -r "$1"; }
count_records() { [ "$(records | wc -l)" -ge "$1" ]; }
# events of a job in order: "requeued ended"
events() { record "select(.job_id == $1).event" | paste -sd' '; }
has_events() { [ "$(events "$1")" = "$2" ]; }
# the first line: on reconfigure Slurm 24.11 writes over the file without shortening it, and after a
# number of five digits one of three leaves the rest of the old one in a second line
ctld_pid() { head -n 1 "$SLURM/pid/slurmctld"; }
complaints() { grep -c "ceems: .*$1" "$SLURM/log/slurmctld.log"; }
