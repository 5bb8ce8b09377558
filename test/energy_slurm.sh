# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/slurm.sh, by tests of the energy in a real Slurm's sacct.

need_energy() { # [version]
	local release c
	energy_version=${1:-}
	need_slurm "$@"
	for c in mariadbd mariadb-install-db; do command -v $c >/dev/null || skip_all "$c is not installed"; done
	if [ -n "$energy_version" ] && [ "$energy_version" != "$(rig_version)" ]; then
		release=$(dpkg-query --admindir="$(test/rig/chroot path)/var/lib/dpkg" -W -f '${Version}' slurmdbd 2>/dev/null | sed 's/-.*//')
		[ -n "$release" ] || skip_all "no slurmdbd in the chroot"
	else
		command -v slurmdbd >/dev/null || skip_all "slurmdbd is not installed"
		release=$(slurmd -V | sed 's/^[^ ]* \([0-9.]*\).*/\1/')
	fi
	[ -e "$BUILD/slurm/$release/acct_gather_energy_ceems.so" ] || skip_all "the energy plugin for Slurm $release was not built here"
}
energy_rig() { rig_start ${energy_version:+--slurm=$energy_version} --dbd --energy "$@"; }
# the first other energy plugin that comes with this Slurm: where it has no "none", that word in
# AcctGatherEnergyType takes out the others, too
other_plugin() {
	local f
	for f in "$SLURM_RIG_PLUGINS"/acct_gather_energy_{none,gpu,pm_counters}.so; do
		[ -e "$f" ] || continue
		f=${f##*_energy_}
		echo "${f%.so}"
		return
	done
}

fake_start() { # options of energy_daemon
	"$BUILD/energy_daemon" --ring="$RING" --page="$RUNDIR/energy" --truth="$SCRATCH/truth" --cpus="$(nproc)" "$@" \
		>>"$SCRATCH/energy_daemon.log" 2>&1 &
	fake_pid=$!
	started $fake_pid
	rm -f "$SCRATCH/truth"
	wait_for 10 test -s "$SCRATCH/truth"
}
fake_stop() { kill -9 "$fake_pid" 2>/dev/null; wait "$fake_pid" 2>/dev/null; }
truth() { jq "$1" "$SCRATCH/truth"; }

# joules ID: ConsumedEnergyRaw of a job or a step; empty where it is not known
joules() { sacct -n -P -o JobID,ConsumedEnergyRaw | sed -n "s/^$1|//p"; }
# every row of the job (and more jobs, COUNT rows from job ID on) has ended
rows() { # first-id count
	local have
	have=$(sacct -n -P -o JobIDRaw,State,End | awk -F'[.|]' -v id="$1" '$1 >= id' | grep -vc 'RUNNING\|PENDING\|Unknown')
	[ "$have" -ge "$2" ]
}
between() { [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; }
# near J UJ TOLERANCE-J [UNIT]: J in joules, or in microjoules with UNIT 1000000
near() {
	local uj=$(($1 * (${4:-0} ? 1 : 1000000)))
	between $(($2 - ($3 * 1000000 + 500000))) "$uj" $(($2 + ($3 * 1000000 + 500000)))
}
