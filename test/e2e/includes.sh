#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who includes whom (doc/architecture.md): lib/ nobody outside lib/; plugins the folders of
# lib/ that they link; the rest its own folder, lib/ and what the _LIBS of its module.mk name.
. "$(dirname "$0")/../tap.sh"

plugins='spank jobcomp acct_gather'
plugins_link='lib lib/records lib/plugin' # libbase_pic.a is made of these
most=40                                   # .c files in one folder

make -s --no-print-directory registered >"$SCRATCH/registered" || { ok "make registered works" false; tap_done; }
mapfile -t files < <(find lib acct_gather jobcomp daemon courier spank lb cli aggregator opener profiler gpu redfish_proxy -name '*.[ch]' | sort)
ok "there are files to look at" [ "${#files[@]}" -gt 100 ]

# wrong FILE...: "file includes header: why" of each include that is not allowed
wrong() {
	awk -v plugins="$plugins" -v plugins_link="$plugins_link" '
	function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
	function stem(path) { sub(/\.[ch]$/, "", path); return path }
	# may UNIT include from DIR?
	function allowed(unit, dir,   n, i, lib) {
		if (has[unit, dir]) return 1
		n = split(libs[unit], lib, " ")
		for (i = 1; i <= n; i++) if (has[lib[i], dir]) return 1
		return 0
	}
	FILENAME ~ /registered$/ {
		if ($1 != "unit") next
		sources = 0
		for (i = 3; i <= NF; i++) {
			if ($i == "-") { sources = 1; continue }
			if (!sources) { libs[$2] = libs[$2] " " $i; continue }
			has[$2, folder($i)] = 1; of[stem($i)] = of[stem($i)] " " $2
			in_folder[folder($i)] = in_folder[folder($i)] " " $2
		}
		next
	}
	/^[[:space:]]*#[[:space:]]*include[[:space:]]+"/ {
		split($0, part, "\""); dir = folder(part[2]); own = folder(FILENAME)
		if (dir == own || dir == "bpf") next
		top = own; sub(/\/.*/, "", top)
		if (top == "lib") { if (dir !~ /^lib(\/|$)/) print FILENAME " includes " part[2] ": lib/ uses nobody"; next }
		if (index(" " plugins " ", " " top " ")) {
			if (!index(" " plugins_link " ", " " dir " ")) print FILENAME " includes " part[2] ": a plugin links only libbase"
			next
		}
		if (dir ~ /^lib(\/|$)/) next
		n = split(of[stem(FILENAME)] ? of[stem(FILENAME)] : in_folder[own], unit, " ")
		for (i = good = 0; i++ < n;) if (allowed(unit[i], dir)) good = 1
		if (!good) print FILENAME " includes " part[2] ": not in the _LIBS of" (n ? " " unit[1] : " any archive")
	}' "$SCRATCH/registered" "$@"
}
is "a file includes its own folder, lib/ and what its _LIBS name" "$(wrong "${files[@]}")" ""

# the check can fail: a file of one program that includes another's header
mkdir -p "$SCRATCH/tree/lb/gate" "$SCRATCH/tree/lib" "$SCRATCH/tree/spank"
echo '#include "daemon/units.h"' >"$SCRATCH/tree/lb/gate/gate.c"
echo '#include "lb/gate/gate.h"' >"$SCRATCH/tree/lib/fs.c"
echo '#include "lib/http/client.h"' >"$SCRATCH/tree/spank/step.c"
is "includes of another program, by lib/ and by a plugin are seen" \
	"$(cd "$SCRATCH/tree" && wrong lb/gate/gate.c lib/fs.c spank/step.c | sed 's/ includes.*//' | paste -sd' ')" \
	"lb/gate/gate.c lib/fs.c spank/step.c"

is "no folder has more than $most sources" "$(printf '%s\n' "${files[@]}" | grep '\.c$' | sed 's|/[^/]*$||' | sort | uniq -c | awk -v most=$most '$1 > most')" ""

is "a folder of more than five files has a README.md" \
	"$(printf '%s\n' "${files[@]}" | sed 's|/[^/]*$||' | sort | uniq -c | while read -r n d; do [ "$n" -le 5 ] || [ -e "$d/README.md" ] || echo "$d"; done)" ""
tap_done
