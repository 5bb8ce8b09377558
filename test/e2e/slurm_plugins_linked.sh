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
tool() { CEEMS_PLUGINS=$SCRATCH/ceems CEEMS_SLURM_DIR=$SCRATCH/slurm-dir "$SCRATCH/ceems-slurm-plugins" "$@" --slurm-dir="$own" 2>&1; }
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
lib=$(command -v slurmd)
lib=${lib%/sbin/slurmd}/lib/slurm # of one below a prefix of its own; else the distribution's
[ -d "$lib" ] || lib=$(dirname "$(ls /usr/lib/*/slurm-wlm/libslurmfull.so)")
cp -rs "$lib" "$own"
echo "PluginDir=$own" >"$SCRATCH/conf"
printf 'spool: %s/spool\n' "$SCRATCH" >"$SCRATCH/jobcomp.yaml"
rig_start --no-plugin --conf="$SCRATCH/conf"

energy=$SCRATCH/ceems/slurm-$release/acct_gather_energy_ceems.so
mv "$energy" "$SCRATCH"
is "before, status tells those that can be linked from one that was not built" "$(tool status | grep -c ': not linked$') $(tool status | grep ': not built')" "4 acct_gather_energy_ceems.so: not built for Slurm $release"
mv "$SCRATCH/acct_gather_energy_ceems.so" "$energy"
like "all plugins are linked" "$(tool link)" "jobcomp_ceems.so: linked"
is "which status says" "$(tool status | grep -c ': linked, ')" 5
is "linking again changes nothing" "$(tool link | grep -c ': linked, ')" 5
echo "JobCompType=jobcomp/ceems" >>"$SLURM/slurm.conf"
echo "optional spank_ceems.so ring=$RING" >"$SLURM/plugstack.conf"
ok "slurmctld starts with the linked plugin" restart
ok "jobs run" clients
ok "and have records" wait_for 30 has_record
is "check slurm finds nothing wrong with the plugins" "$(check | grep '^fail.*_ceems')" ""
like "unlink refuses what slurm.conf loads by name" "$(tool unlink)" "slurm.conf loads jobcomp_ceems.so by name"
ok "and has left it" test -L "$own/jobcomp_ceems.so"

# a host that only runs slurmd, its slurm.conf the controller's as well: as this tool sees it there
on_host() { # NAME SLURMCTLDHOST COMMAND...
	local name=$1
	sed "s/^SlurmctldHost=.*/$2/" "$SLURM/slurm.conf" >"$SCRATCH/shared.conf"
	shift 2
	SLURM_CONF=$SCRATCH/shared.conf CEEMS_PLUGINS=$SCRATCH/ceems CEEMS_SLURM_DIR=$SCRATCH/slurm-dir own=$own unshare --uts --pid --fork --mount-proc \
		bash -c 'hostname "$1" && shift && "$@" --slurm-dir="$own" 2>&1' host "$name" "${also[@]}" "$SCRATCH/ceems-slurm-plugins" "$@"
}
also=()
if unshare --uts --pid --fork --mount-proc true 2>/dev/null; then
	cp -rs "$own" "$SCRATCH/node-wlm"
	rm "$SCRATCH"/node-wlm/*ceems*
	own_here=$own own=$SCRATCH/node-wlm
	refused="shared.conf loads jobcomp_ceems.so by name: slurmctld would not start"
	relink() { on_host node7 'SlurmctldHost=ctl7(192.0.2.7)' link >/dev/null; }
	relink
	for host in SlurmctldHost=node7 'SlurmctldHost=ctl7(192.0.2.7)\nSlurmctldHost=node7.example.org(192.0.2.8)' 'slurmctldhost = ctl7(127.0.0.1)' \
		'' 'SlurmctldHost=ctl..7' 'include other.conf\nSlurmctldHost=ctl7(192.0.2.7)' 'SlurmctldHost=ctl[7-8]'; do
		like "unlink refuses on its host, and where that cannot be told: $host" "$(on_host node7 "$host" unlink)" "$refused"
	done
	cp "$(command -v sleep)" "$SCRATCH/slurmctld"
	also=(bash -c '"$0" 60 & until [ "$(cat /proc/$!/comm)" = slurmctld ]; do sleep 0.02; done; "$@"; kill $!' "$SCRATCH/slurmctld")
	like "and where slurmctld runs whatever slurm.conf says" "$(on_host node7 'SlurmctldHost=ctl7(192.0.2.7)' unlink)" "$refused"
	also=()
	is "on a node unlink asks for nothing" "$(on_host node7 'SlurmctldHost=ctl7(192.0.2.7)' unlink | grep -c unlinked)" 5
	is "where status finds nothing wrong" "$(on_host node7 'SlurmctldHost=ctl7(192.0.2.7)' status | grep jobcomp)" "jobcomp_ceems.so: not linked"
	relink
	like "but on every host for a plugin that slurmd loads" "$(on_host node7 'SlurmctldHost=ctl7(192.0.2.7)\nAcctGatherEnergyType=acct_gather_energy\/ceems' unlink)" \
		"loads acct_gather_energy_ceems.so by name: slurmctld and slurmd would not start"
	own=$own_here
else
	skip "unlink on a node" "no namespace for another host's name"
fi

# a removal that asks nobody: first the files, then the links
rm -r "$SCRATCH/ceems"
ok "clients and jobs of a live Slurm go on without the files" clients
like "check slurm says what a restart would do" "$(check)" "fail: jobcomp_ceems.so: configured, but not found; slurmctld .no other host needs it. does not start"
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
