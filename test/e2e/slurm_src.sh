#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SLURM_SRC=: the plugins build against another Slurm tree, laid out as a source tree or as
# an installation, and carry its version, which Slurm's loader compares. The tree is this
# machine's headers under another version number.
. "$(dirname "$0")/../tap.sh"
[ -e /usr/include/slurm/slurm_version.h ] || skip_all "no Slurm headers here (libslurm-dev)"
command -v objdump >/dev/null || skip_all "objdump is not installed"

tree() { # folder number
	mkdir -p "$1"
	cp -r /usr/include/slurm "$1/"
	sed -i "s/^#define SLURM_VERSION_NUMBER .*/#define SLURM_VERSION_NUMBER $2/" "$1/slurm/slurm_version.h"
}
tree "$SCRATCH/source" 0x170b05
tree "$SCRATCH/prefix/include" 0x180b05
# version FILE: what its plugin_version says, as the loader reads it
version() {
	local at
	at=$(objdump -T "$1" | awk '$NF == "plugin_version" { print $1 }')
	objdump -s -j .rodata --start-address="0x$at" --stop-address=$((0x$at + 4)) "$1" |
		awk 'END { print substr($2, 7, 2) substr($2, 5, 2) substr($2, 3, 2) substr($2, 1, 2) }'
}
# one folder for all, emptied of plugins before each: what belongs to no Slurm is compiled once
built=$SCRATCH/build
build() { rm -rf "$built/slurm"; make -s BUILD="$built" "$@" plugins >"$SCRATCH/out" 2>&1; }
for layout in source:23.11:00170b05 prefix:24.11:00180b05; do
	IFS=: read -r dir version number <<<"$layout"
	ok "$dir tree of $version: builds" build SLURM_TREES="$SCRATCH/$dir" SLURM_SRC=
	for p in spank_ceems spank_ceems_job; do
		is "$dir tree: $p carries its version" "$(version "$built/slurm/$version/$p.so")" "$number"
	done
done
ok "SLURM_SRC= alone adds a tree" build SLURM_SRC="$SCRATCH/source"
ok "beside this machine's" test -e "$built/slurm/23.11/spank_ceems.so"
is "a folder without headers is no tree" \
	"$(make -s BUILD="$built" SLURM_TREES="$SCRATCH" plugins 2>&1 | grep -o 'SPANK plugins left out')" \
	"SPANK plugins left out"
tap_done
