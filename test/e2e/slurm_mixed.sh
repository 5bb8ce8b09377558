#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Controller and nodes of different releases: slurmctld is this machine's, slurmd and slurmstepd are
# 24.11's out of the chroot, so this machine's must be 25.05 to 26.05 (with it in PATH; Debian has no
# such pair). Each loads the plugins linked in its own folder, there is no PluginDir line, and what one
# side removes the other one does not notice.
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
. test/energy_slurm.sh
case $(rig_version) in
25.05 | 25.11 | 26.05) ;;
*) skip_all "Slurm $(rig_version) here and 24.11 in the chroot are no controller and node that Slurm supports" ;;
esac
need_slurm 24.11
here=$(slurmd -V | sed 's/^[^ ]* \([0-9.]*\).*/\1/')
there=$(dpkg-query --admindir="$(test/rig/chroot path)/var/lib/dpkg" -W -f '${Version}' slurmd | sed 's/-.*//')
for r in "$here" "$there"; do
	[ -e "$BUILD/slurm/$r/jobcomp_ceems.so" ] || skip_all "the plugins for Slurm $r were not built here"
done
ctld=$(command -v slurmctld) sinfo=$(command -v sinfo) sbatch=$(command -v sbatch)
own=$(readlink -f "${ctld%/sbin/slurmctld}/lib/slurm")
[ -d "$own" ] || skip_all "where the plugins of $ctld lie is not known"

sed "s|@plugindir@|$SCRATCH/none|" contrib/packaging/bin/ceems-slurm-plugins.in >"$SCRATCH/ceems-slurm-plugins"
chmod 755 "$SCRATCH/ceems-slurm-plugins"
mkdir -p "$SCRATCH/ceems"
for r in "$here" "${here%.*}" "$there" "${there%.*}"; do cp -r "$BUILD/slurm/$r" "$SCRATCH/ceems/slurm-$r"; done
export CEEMS_PLUGINS=$SCRATCH/ceems
export CEEMS_JOBCOMP_CONF=$SCRATCH/jobcomp.yaml CEEMS_ACCT_GATHER_CONF=$SCRATCH/acct_gather_ceems.conf
printf 'spool: %s/spool\n' "$SCRATCH" >"$CEEMS_JOBCOMP_CONF"
rig_start --slurm=24.11 --no-plugin --contain
echo "page = $RUNDIR/energy" >"$CEEMS_ACCT_GATHER_CONF"
gone() { ! kill -0 "$1" 2>/dev/null; }
end_daemon() { # NAME
	local pid
	pid=$(cat "$SLURM/pid/$1")
	kill "$pid"
	wait_for 30 gone "$pid"
}
on_node() { $rig enter "$SLURM" '' env CEEMS_PLUGINS="$CEEMS_PLUGINS" CEEMS_ACCT_GATHER_CONF="$CEEMS_ACCT_GATHER_CONF" SLURM_RIG_DIR="$SLURM" SLURM_CONF="$SLURM_CONF" "$@"; }
# this machine's own folder stays as it is: slurmctld sees an overlay of it
cat >"$SCRATCH/controller" <<'END'
own=$1 mnt=$2 tool=$3 ctld=$4
mount -t tmpfs tmpfs "$mnt" && mkdir "$mnt/up" "$mnt/work" &&
	mount -t overlay overlay -o "lowerdir=$own,upperdir=$mnt/up,workdir=$mnt/work" "$own" &&
	"$tool" link --slurm-dir="$own" && exec "$ctld"
END
start_controller() {
	mkdir -p "$SCRATCH/mnt"
	SLURM_RIG_DIR=$SLURM unshare --mount --propagation private bash "$SCRATCH/controller" "$own" "$SCRATCH/mnt" "$SCRATCH/ceems-slurm-plugins" "$ctld" \
		</dev/null >"$SCRATCH/controller.log" 2>&1
}
start_node() { on_node slurmd -N "$SLURM_RIG_NODES" </dev/null >"$SCRATCH/node.log" 2>&1; }
node_idle() { [ "$(sinfo -h -N -o %T)" = idle ]; }

end_daemon "slurmd-$SLURM_RIG_NODES"
end_daemon slurmctld
cat >>"$SLURM/slurm.conf" <<-END
	JobCompType=jobcomp/ceems
	AcctGatherEnergyType=acct_gather_energy/ceems
	AcctGatherNodeFreq=1
END
echo "optional spank_ceems.so ring=$RING" >"$SLURM/plugstack.conf"
like "the node links those of $there" "$(on_node "$SCRATCH/ceems-slurm-plugins" link 2>&1)" "acct_gather_energy_ceems.so: linked, [^ ]*/slurm-$there/"
ok "slurmctld $here starts with its own" start_controller
fake_start --idle-mw=6000 --dynamic-mw=0 --interval-ms=200
ok "slurmd $there with its own" start_node
ok "and comes" wait_for 60 node_idle
is "slurmctld is $here" "$(scontrol show config | sed -n 's/^SLURM_VERSION *= *\([0-9.]*\).*/\1/p')" "$here"
is "the node is $there" "$(scontrol -o show node | sed -n 's/.* Version=\([0-9.]*\).*/\1/p')" "$there"
is "nobody has a PluginDir line" "$(grep -c '^PluginDir' "$SLURM/slurm.conf")" 0
maps() { sed -n 's|.*/\(slurm-[0-9.]*/[a-z_]*_ceems.so\)$|\1|p' "/proc/$(cat "$SLURM/pid/$1")/maps" | sort -u | paste -sd' '; }
is "slurmctld has loaded its own" "$(maps slurmctld)" "slurm-$here/acct_gather_energy_ceems.so slurm-$here/jobcomp_ceems.so"
is "slurmd has loaded its own" "$(maps "slurmd-$SLURM_RIG_NODES")" "slurm-$there/acct_gather_energy_ceems.so slurm-${there%.*}/spank_ceems.so"

truth_start
ok "jobs of clients of $there run" srun --mem=20 -J mixed true
# its srun would ask slurmd itself, which knows no newer one
newer_batch() { "$sbatch" --wait --mem=20 -J mixed -o /dev/null -e /dev/null --wrap 'srun true' >/dev/null; }
ok "and of $here" newer_batch
records() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" 2>/dev/null | jq -r '"\(.job_id) \(.event) \(.name)"' | sort | paste -sd,; }
all_four() { [ "$(records)" = "1 ended mixed,1 started mixed,2 ended mixed,2 started mixed" ]; }
ok "each has a record of its start and one of its end" wait_for 30 all_four
steps() { jq -r 'select(.type == "step_stop" and (.step | tostring) == "0") | .unit' "$SCRATCH/records" | sort -u | paste -sd' '; }
both() { [ "$(steps)" = "1 2" ]; }
ok "and its step's counters from the node" wait_for 30 both
watts() { scontrol -o show node | grep -q 'CurrentWatts=6 '; }
ok "slurmctld hears the node's watts" wait_for 30 watts

# what daemons and clients have loaded, or may lack, can go
on_node bash -c 'rm /usr/lib/*/slurm-wlm/spank_ceems*.so'
nsenter --target "$(cat "$SLURM/pid/slurmctld")" --mount rm "$own/jobcomp_ceems.so"
ok "jobs go on without the link of a node's SPANK plugin and the controller's jobcomp plugin" srun --mem=20 -J bare true
third() { [[ $(records) == *"3 ended bare"* ]]; }
ok "which have their records" wait_for 30 third
ok "sinfo of $there answers" test -n "$(sinfo -h)"
ok "and that of $here, which has no link at all" test -n "$("$sinfo" -h)"

# what slurmstepd loads by name, for each step anew: the line first, then the daemons, then the link
sed -i '/^AcctGatherEnergyType/d' "$SLURM/slurm.conf"
end_daemon "slurmd-$SLURM_RIG_NODES"
end_daemon slurmctld
ok "without the line of the energy plugin slurmctld starts" start_controller
ok "and slurmd" start_node
ok "which comes" wait_for 60 node_idle
like "the node's links are taken away" "$(on_node "$SCRATCH/ceems-slurm-plugins" unlink --force 2>&1)" "acct_gather_energy_ceems.so: unlinked"
ok "and jobs run" srun --mem=20 true
tap_done
