#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool check slurm on the configuration of a running Slurm: it reads the same values as
# Slurm does, finds nothing wrong, and a plugin that it calls refused is refused by Slurm
# (check_slurm_rig.sh [VERSION]).
. "$(dirname "$0")/../tap.sh"
rig=test/rig/slurm
slurm=${1:+--slurm=$1}
why=$($rig possible $slurm) || skip_all "$why"
dir=$SCRATCH/slurm
# where that Slurm lives; what the program was linked with here comes along
tool() { $rig enter "$dir" "" env LD_LIBRARY_PATH="$dir/lib" "$BUILD/ceems_tool" check slurm; }
bring_libraries() { # those that the other system lacks
	local root name path
	[ -n "$slurm" ] && root=$(test/rig/chroot path) || return 0
	mkdir -p "$dir/lib"
	ldd "$BUILD/ceems_tool" | sed -n 's/^\s*\(\S*\) => \(\S*\) .*/\1 \2/p' | while read -r name path; do
		[ -e "$root/usr/lib/$(basename "$(dirname "$path")")/$name" ] || cp "$path" "$dir/lib/$name"
	done
}
test_cleanup() { $rig stop "$dir"; }

version=${1:-$(slurmd -V | sed -n 's/^slurm[a-z-]* \([0-9.]*\).*/\1/p')}
IFS=. read -r major minor _ <<<"$version"
# plugin FILE NUMBER: a SPANK plugin that does nothing, of a version
plugin() {
	mkdir -p "$(dirname "$1")"
	printf 'const char plugin_name[]="ceems"; const char plugin_type[]="spank";
const unsigned int plugin_version=%s; const unsigned int spank_plugin_version=1;
int slurm_spank_init(void *s, int n, char **v) { (void)s; (void)n; (void)v; return 0; }\n' "$2" |
		${CC:-gcc} -shared -fPIC -x c -o "$1" -
}
same=$((10#$major << 16 | 10#$minor << 8 | 99)) other=$((10#$major << 16 | (10#$minor + 1) << 8))
plugin "$SCRATCH/spank/spank_ceems.so" $same
plugin "$SCRATCH/other.so" $other # now: the rig's bin/ has an "as" that is no assembler
CEEMS_SPANK_DIR=$SCRATCH/spank $rig start "$dir" $slurm --contain --gpus=1 >"$SCRATCH/start.log" 2>&1 || {
	sed 's/^/# /' "$SCRATCH/start.log"
	ok "the rig starts" false
	tap_done
}
. "$dir/env"
bring_libraries

tool >"$SCRATCH/report" 2>&1
rc=$?
sed 's/^/# /' "$SCRATCH/report"
is "nothing is wrong but the missing ring" "$(grep -c '^fail' "$SCRATCH/report")" 0
like "the ring of the plugin's line is looked for" "$(grep '^warn' "$SCRATCH/report")" "$RING: there is no ring"
is "status 1: something to look at" $rc 1
scontrol show config >"$SCRATCH/scontrol"
for key in ProctrackType TaskPlugin JobAcctGatherType PrologFlags GresTypes; do
	slurm=$(sed -n "s/^$key *= //p" "$SCRATCH/scontrol")
	ours=$(sed -n "s/^ok: .*: $key=//p" "$SCRATCH/report")
	if [ $key = PrologFlags ]; then # Slurm adds what a flag implies
		like "$key is what Slurm says" "$slurm" "$ours"
	else
		is "$key is what Slurm says" "$ours" "$slurm"
	fi
done

so=$(sed -n 's/^ok: \([^ ]*spank_ceems\.so\): built for .*/\1/p' "$SCRATCH/report")
ok "the plugin file is found" test -n "$so"
is "Slurm takes the plugin that is called good" "$(srun true 2>&1)" ""
mv "$SCRATCH/other.so" "$so"
like "another version is called refused" "$(tool)" "fail: $so: built for .*, so Slurm refuses it"
like "and Slurm refuses it" "$(srun true 2>&1)" "[Ii]ncompatible"
tap_done
