#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every test that doc/promises.md names exists and is run: a renamed or unregistered test
# must not leave a promise behind that nothing shows.
. "$(dirname "$0")/../tap.sh"

promises=${PROMISES:-doc/promises.md}

# "kind name" lines of everything that module.mk files register
make -s --no-print-directory registered >"$SCRATCH/registered" 2>"$SCRATCH/make.err" || {
	cat "$SCRATCH/make.err"
	ok "make registered works" false
	tap_done
}

# a thousand references: what is looked at often is in memory, or each would take several processes
declare -A registered source_of text_of
while read -r kind name src; do
	registered["$kind $name"]=1
	[ "$kind" != test ] || source_of[$name]=$src
done <"$SCRATCH/registered"
while read -r name; do # one that needs a library this machine lacks is still listed in a module.mk
	[ -n "${source_of[$name]:-}" ] || source_of[$name]=test/unit/$name.c
done < <(sed -nE 's/^TESTS \+=//p' test/*/module.mk | grep -oE '[a-z0-9_]+')

# does one reference hold? sets why when it does not; a test of a program is left to names_missing()
check_ref() {
	local ref=$1 prog name src
	why=
	case $ref in
	open) ;;
	"bench "*)
		name=${ref#bench }
		[ -n "${registered[$ref]:-}" ] || why="$ref: not in BENCHES"
		[ -x "test/bench/$name" ] || grep -qE "^BENCH_PROGS \\+=.*\\b$name\\b" test/*/module.mk || why="$ref: no test/bench/$name"
		;;
	"fuzz "*)
		name=${ref#fuzz }
		[ -n "${registered[$ref]:-}" ] || why="$ref: not in FUZZERS"
		[ -f "test/fuzz/${name}_fuzz.c" ] || why="$ref: no test/fuzz/${name}_fuzz.c"
		;;
	"make "*)
		name=${ref#make }
		grep -qE "^([a-z-]+ )*${name}( [a-z-]+)*:" Makefile mk/*.mk || why="$ref: no such target"
		;;
	test/*.sh | test/*.sh:*)
		name=${ref%%:*}
		[ -x "$name" ] || { why="$ref: no such executable file"; return; }
		[ -n "${registered["check $name"]:-}" ] || why="$ref: not in CHECKS, CHECKS_MORE or CHECKS_LONG"
		[ -n "${text_of[$name]:-}" ] || text_of[$name]=$(<"$name")
		[ "$name" = "$ref" ] || [[ ${text_of[$name]} == *"${ref#*:}"* ]] || why="$ref: $name does not say \"${ref#*:}\""
		;;
	*:*)
		prog=${ref%%:*} name=${ref#*:}
		src=${source_of[$prog]:-}
		[ -f "${src%% *}" ] || { why="$ref: $prog is not in TESTS"; return; }
		echo "$line $ref $name $src" >>"$SCRATCH/names"
		;;
	*) [[ $ref =~ ^[a-z0-9_]+$ ]] && [ -n "${registered["test $ref"]:-}" ] || why="$ref: not a reference that can be checked" ;;
	esac
}
# "line ref name sources": a test is defined once and registered once, so its sources mention it twice at least
names_missing() {
	sort -u -k4 -k3,3 "$1" | awk '
		{ for (i = 4; i <= NF; i++) if (!($i in words)) {
			words[$i] = 1
			while ((getline text < $i) > 0) {
				n = split(text, word, /[^A-Za-z0-9_]+/)
				for (k = 1; k <= n; k++) seen[$i, word[k]]++
			}
			close($i)
		} }
		{ all = 0; for (i = 4; i <= NF; i++) all += seen[$i, $3]; if (all < 2) print $1 ": " $2 ": no such test in " $4 }'
}
# "line: why" of each reference that does not hold
complaints() {
	local line ref why
	: >"$SCRATCH/names"
	while read -r line ref; do
		check_ref "$ref"
		[ -z "$why" ] || echo "$line: $why"
	done < <(refs "$1")
	names_missing "$SCRATCH/names"
}

# one line per reference: "<line number> <reference>"; names stand in backticks or bare,
# separated by commas
refs() {
	awk -F'|' '/^\|/ && !/^\|---/ && $2 !~ /^ *promise *$/ {
		if (NF < 5) { print NR " a row of " NF - 2 " cells: write | in a cell as &#124;"; next }
		n = split($3, r, /,/)
		for (i = 1; i <= n; i++) { gsub(/[`*]|^ +| +$/, "", r[i]); if (r[i] != "") print NR " " r[i]; else print NR " empty" }
	}' "$1"
}

is "every test named in promises.md exists and is run" "$(complaints "$promises")" ""

twice=$(awk -F'|' '/^\|/ && !/^\|---/ && $2 !~ /^ *promise *$/ { print $2 }' "$promises" | sort | uniq -d)
is "no promise has two rows" "$twice" ""

# two changes that are merged may leave rows without their table, or a heading among rows
strays() { awk '(/^\|/ && prev !~ /^\|/ && !/^\| promise \| shown by \| latest figure \|$/) || (/^## / && prev != "") { print NR ": " substr($0, 1, 60) } { prev = $0 }' "$1"; }
is "each row stands in a table, each heading between two" "$(strays "$promises")" ""
printf '| promise | shown by | latest figure |\n|---|---|---|\n| a | open | |\n## Next\n| b | open | |\n' >"$SCRATCH/stray.md"
is "and one that does not would be seen" "$(strays "$SCRATCH/stray.md" | cut -d: -f1 | paste -sd' ')" "4 5"

# the checker itself must be able to fail
cat >"$SCRATCH/bad.md" <<'END'
| promise | shown by | latest figure |
|---|---|---|
| a | `buf_test:no_such_test_at_all` | |
| b | `no_such_program:x` | |
| c | `test/e2e/no_such_script.sh` | |
| d | `bench no_such_bench` | |
| e | someone said so | |
END
is "a row with an invented test is refused" "$(complaints "$SCRATCH/bad.md" | wc -l)" 5
open=$(refs "$promises" | grep -c ' open$')
echo "# $open promises are open"
tap_done
