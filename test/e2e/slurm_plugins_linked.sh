#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The plugins as links in Slurm's own plugin folder, without a folder of ours in PluginDir: linked,
# loaded, removed from a live Slurm. Its clients never notice; check slurm says what a restart would
# do; the right order ends with a Slurm that starts. Slurm's own folder is a private copy of it here.
. "$(dirname "$0")/../tap.sh"
. test/slurm.sh
need_slurm
release=$(slurmd -V | sed -n 's/^slurm[a-z-]* \([0-9.]*\).*/\1/p')
[ -e "$BUILD/slurm/$release/jobcomp_ceems.so" ] || skip_all "the jobcomp plugin for Slurm $release was not built here"
tool() { CEEMS_PLUGINS=$SCRATCH/ceems "$SCRATCH/ceems-slurm-plugins" "$@" --slurm-dir="$own" 2>&1; }
check() { "$BUILD/ceems_tool" check slurm --slurm-conf "$SLURM/slurm.conf" --slurm-version "$release" --ring "$RING" 2>&1; }
up() { scontrol ping 2>/dev/null | grep -q 'is UP'; }
gone() { ! kill -0 "$1" 2>/dev/null; }
restart() { # slurmctld
	local old
	old=$(cat "$SLURM/pid/slurmctld")
	kill "$old"
	wait_for 30 gone "$old"
	SLURM_RIG_DIR=$SLURM CEEMS_JOBCOMP_CONF=$SCRATCH/jobcomp.yaml slurmctld </dev/null >"$SCRATCH/ctld.out" 2>&1
	wait_for 60 up
}
clients() { { sinfo -h && squeue -h && srun --mem=20 true && sbatch -o /dev/null --mem=20 --wrap true; } >>"$SCRATCH/clients.log" 2>&1; }
has_record() { "$BUILD/ceems_tool" spool "$SCRATCH/spool" 2>/dev/null | grep -q '"event":"ended"'; }

sed "s|@plugindir@|$SCRATCH/none|" contrib/packaging/bin/ceems-slurm-plugins.in >"$SCRATCH/ceems-slurm-plugins"
chmod 755 "$SCRATCH/ceems-slurm-plugins"
mkdir -p "$SCRATCH/ceems"
for d in "$release" "${release%.*}"; do cp -r "$BUILD/slurm/$d" "$SCRATCH/ceems/slurm-$d"; done
own=$SCRATCH/slurm-wlm
cp -rs "$(dirname "$(ls /usr/lib/*/slurm-wlm/libslurmfull.so)")" "$own"
echo "PluginDir=$own" >"$SCRATCH/conf"
printf 'spool: %s/spool\n' "$SCRATCH" >"$SCRATCH/jobcomp.yaml"
rig_start --no-plugin --conf="$SCRATCH/conf"

like "all plugins are linked" "$(tool link)" "jobcomp_ceems.so: linked"
is "which status says" "$(tool status | grep -c ': linked, ')" 4
is "linking again changes nothing" "$(tool link | grep -c ': linked, ')" 4
echo "JobCompType=jobcomp/ceems" >>"$SLURM/slurm.conf"
echo "optional spank_ceems.so ring=$RING" >"$SLURM/plugstack.conf"
ok "slurmctld starts with the linked plugin" restart
ok "jobs run" clients
ok "and have records" wait_for 30 has_record
is "check slurm finds nothing wrong with the plugins" "$(check | grep '^fail.*_ceems')" ""
like "unlink refuses what slurm.conf loads by name" "$(tool unlink)" "slurm.conf loads jobcomp_ceems.so by name"
ok "and has left it" test -L "$own/jobcomp_ceems.so"

# a removal that asks nobody: first the files, then the links
rm -r "$SCRATCH/ceems"
ok "clients and jobs of a live Slurm go on without the files" clients
like "check slurm says what a restart would do" "$(check)" "fail: jobcomp_ceems.so: configured, but not found; slurmctld and slurmd do not start"
tool unlink --force >/dev/null
ok "and without the links" clients
is "none is left" "$(find "$own" -name '*ceems*')" ""
like "check slurm says the same" "$(check)" "fail: jobcomp_ceems.so: configured, but not found"

sed -i '/^JobCompType/d' "$SLURM/slurm.conf"
: >"$SLURM/plugstack.conf"
ok "without its line slurmctld starts again" restart
ok "and jobs run" clients

# what is spared: a folder of PluginDir that is gone
mkdir "$SCRATCH/folder"
sed -i "s|^PluginDir=.*|&:$SCRATCH/folder|" "$SLURM/slurm.conf"
ok "with another folder in PluginDir all is well" test -n "$(sinfo -h)"
rmdir "$SCRATCH/folder"
like "when that is gone every client ends" "$(sinfo -h 2>&1)" "configuration|PluginDir|Invalid"
like "which check slurm says" "$(check)" "fail: .*PluginDir.*$SCRATCH/folder"
sed -i "s|:$SCRATCH/folder||" "$SLURM/slurm.conf"
tap_done
