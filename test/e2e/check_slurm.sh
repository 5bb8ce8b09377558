#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool check: fixture configurations against whole golden reports, plugin files of
# every wrong kind, and, where Slurm can be run here, a configuration that Slurm accepts.
. "$(dirname "$0")/../tap.sh"
tool=$BUILD/ceems_tool
fix=test/fixture/slurm-conf
unset SLURM_CONF
[ -x "$tool" ] || skip_all "ceems_tool was not built"

# plugin FILE NUMBER: a shared object that says what Slurm's loader asks for
plugin() {
	printf 'const char plugin_name[]="x"; const char plugin_type[]="spank";
const unsigned int plugin_version=%s; const unsigned int spank_plugin_version=1;\n' "$2" |
		${CC:-gcc} -shared -fPIC -x c -o "$1" - && chmod 755 "$1"
}
plugins=$SCRATCH/plugins
mkdir -p "$plugins" "$SCRATCH/other" "$SCRATCH/writable" "$SCRATCH/text" "$SCRATCH/none"
plugin "$plugins/spank_ceems.so" 0x160503
plugin "$plugins/jobcomp_ceems.so" 0x160503
plugin "$plugins/acct_gather_energy_ceems.so" 0x160508
plugin "$SCRATCH/other/spank_ceems.so" 0x180b05
plugin "$SCRATCH/writable/spank_ceems.so" 0x160508
chmod 777 "$SCRATCH/writable/spank_ceems.so"
echo 'not a plugin' >"$SCRATCH/text/spank_ceems.so"
chmod 755 "$SCRATCH/text/spank_ceems.so"
echo 'int x;' | ${CC:-gcc} -shared -fPIC -x c -o "$SCRATCH/none/spank_ceems.so" - && chmod 755 "$SCRATCH/none/spank_ceems.so"

# the energy plugin's options, in place of this machine's
export CEEMS_ACCT_GATHER_CONF=$SCRATCH/acct_gather.conf
echo 'page = /run/ceems-no-such-folder/energy' >"$CEEMS_ACCT_GATHER_CONF"
chmod 644 "$CEEMS_ACCT_GATHER_CONF"
# and the jobcomp plugin's
export CEEMS_JOBCOMP_CONF=$SCRATCH/jobcomp.yaml
printf 'spool: %s/no-such-spool\nchain: jobcomp/kafka\nspol: /x\n' "$SCRATCH" >"$CEEMS_JOBCOMP_CONF"
chmod 644 "$CEEMS_JOBCOMP_CONF"
# golden NAME STATUS arguments...: the whole report and the exit status
golden() {
	local name=$1 status=$2 rc=0; shift 2
	"$tool" "$@" >"$SCRATCH/out" 2>&1 || rc=$?
	sed "s#$SCRATCH#SCRATCH#g" "$SCRATCH/out" >"$SCRATCH/got"
	[ "${UPDATE_GOLDEN:-0}" = 1 ] && cp "$SCRATCH/got" "test/golden/check_$name.txt"
	is "$name: exit status" $rc "$status"
	if diff -u "test/golden/check_$name.txt" "$SCRATCH/got" >"$SCRATCH/diff"; then
		ok "$name: report" true
	else
		ok "$name: report" false
		sed 's/^/# /' "$SCRATCH/diff"
	fi
}
# slurm NAME STATUS arguments...: without what depends on the machine
ring=/run/ceems-no-such-folder/ring
slurm() {
	local name=$1 status=$2; shift 2
	golden "$name" "$status" check slurm --slurm-version 22.05.8 --ring $ring "$@"
}

slurm good 1 --slurm-conf $fix/good/slurm.conf --plugin-dir "$plugins"
# whose options file another user's is not believed
if have_root; then
	slurm poor 2 --slurm-conf $fix/poor/slurm.conf --plugin-dir "$plugins"
else
	skip "poor: report" "the file with the energy plugin's options must be root's"
fi
slurm nothing 2 --slurm-conf "$SCRATCH/nowhere/slurm.conf"
slurm loop 2 --slurm-conf $fix/odd/slurm.conf --plugstack $fix/good/plugstack.conf --plugin-dir "$plugins"
slurm missing_include 2 --slurm-conf $fix/odd/missing-include.conf --plugstack $fix/good/plugstack.conf --plugin-dir "$plugins"
slurm escape 2 --slurm-conf $fix/good/slurm.conf --plugstack $fix/odd/escape.conf --plugin-dir "$plugins"

# one verdict a line
echo "optional $plugins/spank_ceems.so colour=blue" >"$SCRATCH/stack.conf"
is "a line with an argument that is refused is not called good before" \
	"$("$tool" check slurm --slurm-version 22.05.8 --slurm-conf $fix/good/slurm.conf --plugstack "$SCRATCH/stack.conf" --ring $ring | sed -n "s#: $SCRATCH/stack.conf:1: .*##p")" warn

# slice NAME: what is said of a cgroup.conf with that CgroupSlice
slice() {
	{ cat $fix/good/cgroup.conf && printf '\nCgroupSlice=%s\n' "$1"; } >"$SCRATCH/cgroup.conf"
	"$tool" check slurm --slurm-conf $fix/good/slurm.conf --cgroup-conf "$SCRATCH/cgroup.conf" --slurm-version 26.05.4 --ring $ring | grep CgroupSlice
}
like "a slice for Slurm" "$(slice hpc.slice)" '^ok: [^ ]*cgroup.conf:[0-9]+: CgroupSlice=hpc.slice$'
like "a slice in which nobody looks for Slurm" "$(slice user.slice)" '^warn: [^ ]*cgroup.conf:[0-9]+: CgroupSlice=user.slice: ceemsd does not search it, .*; give Slurm a slice of its own$'

# which Slurm this host has: that of PATH goes before the usual places
printf '#!/bin/sh\necho slurm 25.11.3\n' >"$SCRATCH/other/slurmd"
chmod 755 "$SCRATCH/other/slurmd"
like "the Slurm of PATH is asked for its version" "$(PATH=$SCRATCH/other:$PATH "$tool" check slurm --slurm-conf $fix/good/slurm.conf --ring $ring | head -n 1)" '^ok: Slurm 25.11.3$'

# energy LINES...: what is said of a slurm.conf with these lines beside good ones
energy() {
	rm -rf "$SCRATCH/good" && cp -r $fix/good "$SCRATCH/good"
	printf '\n%s\n' "$@" >>"$SCRATCH/good/slurm.conf"
	"$tool" check slurm --slurm-conf "$SCRATCH/good/slurm.conf" --slurm-version 22.05.8 \
		--plugin-dir "$plugins" --ring $ring | grep -iE 'energy|AcctGather|page|Contain'
}
if have_root; then
	like "energy: the lines that are right" "$(energy AcctGatherEnergyType=acct_gather_energy/ceems AcctGatherNodeFreq=30)" \
		$'ok: [^\n]*AcctGatherEnergyType=acct_gather_energy/ceems\nok: [^\n]*acct_gather_energy_ceems.so: built for Slurm 22.05.8, this is 22.05.8\nwarn: open /run/ceems-no-such-folder/energy'
else
	skip "energy: the lines that are right" "the file with the energy plugin's options must be root's"
fi
like "energy: without Contain a job's is wrong" "$(energy AcctGatherEnergyType=ceems PrologFlags=Alloc)" "fail: .*without PrologFlags=Contain a job's energy"
like "energy: nobody asks for it" "$(energy AcctGatherEnergyType=ceems JobAcctGatherType=jobacct_gather/none)" 'fail: .*so Slurm never asks'
like "energy: the node's watts stand still" "$(energy AcctGatherEnergyType=ceems)" 'warn: .*AcctGatherNodeFreq is 0'
like "energy: not alone" "$(energy AcctGatherEnergyType=ceems,rapl)" 'fail: .*ours gives nothing; set'
plugin "$plugins/acct_gather_energy_ceems.so" 0x160507
like "energy: another micro release is refused" "$(energy AcctGatherEnergyType=ceems)" 'fail: .*built for Slurm 22.05.7, this is 22.05.8'
plugin "$plugins/acct_gather_energy_ceems.so" 0x160508
if have_root; then
	echo 'pagee = /x' >"$CEEMS_ACCT_GATHER_CONF"
	like "energy: a mistake in its options" "$(energy AcctGatherEnergyType=ceems)" "warn: $CEEMS_ACCT_GATHER_CONF: line 1: unknown name"
	echo 'page = /run/ceems-no-such-folder/energy' >"$CEEMS_ACCT_GATHER_CONF"
fi
is "without the plugin nothing is said of energy" "$(energy AcctGatherEnergyType=rapl | grep -ic energy)" 0

# jobcomp [LINES of slurmctld's hosts]: what is said of the plugin, and of the spool at that place
jobcomp() {
	rm -rf "$SCRATCH/good" && cp -r $fix/good "$SCRATCH/good"
	sed -i 's/ SlurmctldHost=[^ ]*//' "$SCRATCH/good/slurm.conf"
	printf '\nJobCompType=jobcomp/ceems\nSlurmUser=%s\nPluginDir=%s\n' "$(id -un)" "$plugins" >>"$SCRATCH/good/slurm.conf"
	printf '%b\n' "${1:-SlurmctldHost=$(uname -n)}" >>"$SCRATCH/good/slurm.conf"
	"$tool" check slurm --slurm-conf "$SCRATCH/good/slurm.conf" --slurm-version 22.05.8 --ring $ring | grep -E 'jobcomp|spool|[Pp]r[Ee]p'
}
printf 'spool: %s/jobspool\n' "$SCRATCH" >"$CEEMS_JOBCOMP_CONF"
plugin "$plugins/jobcomp_ceems.so" 0x160508
mkdir -m 750 "$SCRATCH/jobspool"
like "jobcomp: a spool of the wrong mode" "$(jobcomp)" "fail: $SCRATCH/jobspool: mode 0750"
chmod 700 "$SCRATCH/jobspool"
like "jobcomp: all is right" "$(jobcomp)" $'ok: [^\n]*JobCompType=jobcomp/ceems\nok: [^\n]*jobcomp_ceems.so: built for Slurm 22.05.8[^\n]*\nok: [^\n]*/jobspool: for completion records'

prep() { jobcomp "SlurmctldHost=$(uname -n)\n$1" | grep -i prep; }
like "prep: its file is needed" "$(prep PrEpPlugins=prep/script,prep/ceems)" 'fail: prep_ceems.so: configured, but not found; slurmctld and slurmd do not start'
plugin "$plugins/prep_ceems.so" 0x160508
like "prep: all is right" "$(prep PrEpPlugins=prep/script,prep/ceems)" $'ok: [^\n]*PrEpPlugins=prep/script,prep/ceems\nok: [^\n]*prep_ceems.so: built for Slurm 22.05.8'
like "prep: alone it would stop the site's scripts" "$(prep PrEpPlugins=ceems)" 'warn: .*without prep/script no Prolog and no Epilog'
like "prep: without our jobcomp plugin it records nothing" "$(prep 'PrEpPlugins=script,ceems\nJobCompType=jobcomp/filetxt')" 'warn: .*no start of a job without our jobcomp plugin'
rm "$plugins/jobcomp_ceems.so"
rmdir "$SCRATCH/jobspool"
elsewhere='SlurmctldHost=ctl7(192.0.2.7)'
is "jobcomp: a host without slurmctld needs neither plugin nor spool" "$(jobcomp "$elsewhere\nSlurmctldHost=192.0.2.8" | sed 's/^ok: [^ ]*: J/ok: J/')" \
	$'ok: JobCompType=jobcomp/ceems\nok: jobcomp_ceems.so: not looked for on this host: slurmctld loads it, on ctl7(192.0.2.7), and here only sacct -c'
for host in "SlurmctldHost=$(uname -n)(192.0.2.7)" 'slurmctldhost = ctl7(127.0.0.1)' "$elsewhere\nBackupController=$(uname -n)" '# none' \
	'SlurmctldHost=ctl..7' "$elsewhere\nSlurmctldHost=ctl[7-8]"; do
	like "jobcomp: one of slurmctld's needs it, or what may be one: $host" "$(jobcomp "$host")" 'fail: jobcomp_ceems.so: configured, but not found; slurmctld '
done

line() { "$tool" check slurm --slurm-conf $fix/good/slurm.conf --slurm-version "$1" --plugin-dir "$SCRATCH/$2" | grep -- "$2/"; }
like "a micro version more or less is the same for SPANK" "$(line 22.05.99 plugins)" '^ok: .*built for Slurm 22.05.3, this is 22.05.99'
like "another major.minor is refused" "$(line 22.05.8 other)" '^fail: .*built for Slurm 24.11.5, this is 22.05.8, so Slurm refuses it; install'
like "a release candidate is a version" "$(line 24.11.0-0rc1 other)" '^ok: .*this is 24.11.0'
like "a plugin that others can write is refused" "$(line 22.05.8 writable)" '^fail: .*mode 0777, others can write'
like "a text file is no plugin" "$(line 22.05.8 text)" '^fail: .*not a shared object, so Slurm refuses it'
like "a library without the symbols is no plugin" "$(line 22.05.8 none)" '^fail: .*no symbol plugin_version'
like "Slurm before 22.05 is named" "$("$tool" check slurm --slurm-version 21.08.8)" 'fail: Slurm 21.08.8 is older than 22.05'

for so in "$BUILD"/slurm/*/spank_ceems.so; do
	[ -f "$so" ] || continue
	v=$(basename "$(dirname "$so")")
	out=$("$tool" check slurm --slurm-conf $fix/good/slurm.conf --slurm-version "$v.1" --plugin-dir "$(dirname "$so")")
	like "our plugin for $v is one" "$out" "ok: [^ ]*$v/spank_ceems.so: built for Slurm $v"
done

# rings
head -c 8192 /dev/zero >"$SCRATCH/zeros"; chmod 600 "$SCRATCH/zeros"
ln -s zeros "$SCRATCH/link"
golden ring_missing 2 check ring --ring "$SCRATCH/no-ring"
if have_root; then
	golden ring_zeros 2 check ring --ring "$SCRATCH/zeros"
	golden ring_link 2 check ring --ring "$SCRATCH/link"
else
	skip "a garbage ring" "needs root"
	skip "a symbolic link as ring" "needs root"
fi

# the command line
is "no command: usage, 3" "$("$tool" 2>&1 >/dev/null | head -1; "$tool" >/dev/null 2>&1; echo $?)" "Usage: ceems_tool COMMAND [OPTION ...]
3"
like "an unknown command is named" "$("$tool" czech 2>&1)" 'unknown command: czech'
like "half a command is told what there is" "$("$tool" check 2>&1)" 'unknown command: check; there are:.*check slurm .*check lb '
like "also with another half" "$("$tool" prometheus slurm 2>&1)" 'unknown command: prometheus slurm; there are:.*prometheus rules '
is "these are asked for by --help, too" "$("$tool" config --help)" "$("$tool" --help | grep '^  config ')"
is "--help of a command is of that one" "$("$tool" check ring --help | grep -c -e '--ring' -e '--url')" 1
like "an unknown option is named" "$("$tool" check slurm --blue 2>&1)" 'unknown option: --blue'
like "an option without its value is named" "$("$tool" check ring --ring 2>&1)" 'needs a value: --ring'
like "an unexpected word is named" "$("$tool" check slurm now 2>&1)" 'unexpected argument: now'
like "a version that is none is named" "$("$tool" check slurm --slurm-version new 2>&1)" 'must look like 22.05.8: new'
is "a wrong command line is 3" "$("$tool" check slurm --blue >/dev/null 2>&1; echo $?)" 3
ok "--help of a command" sh -c "'$tool' check slurm --help | grep -q plugin-dir"
like "--version" "$("$tool" --version)" '^ceems_tool, version [0-9]'
if command -v mandoc >/dev/null; then
	is "man page is clean" "$(mandoc -Tlint -W warning doc/man/ceems_tool.1 2>&1 | grep -v 'date in the future')" "" # of a clock that is behind
else
	skip "man page" "no mandoc"
fi
tap_done
