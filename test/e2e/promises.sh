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

is_registered() { grep -qxF "$1 $2" "$SCRATCH/registered"; }

# does one reference hold? prints why not
check_ref() {
	local ref=$1 prog name src
	case $ref in
	open) ;;
	"bench "*)
		name=${ref#bench }
		is_registered bench "$name" || echo "$ref: not in BENCHES"
		[ -x "test/bench/$name" ] || grep -qE "^BENCH_PROGS \\+=.*\\b$name\\b" test/*/module.mk || echo "$ref: no test/bench/$name"
		;;
	"fuzz "*)
		name=${ref#fuzz }
		is_registered fuzz "$name" || echo "$ref: not in FUZZERS"
		[ -f "test/fuzz/${name}_fuzz.c" ] || echo "$ref: no test/fuzz/${name}_fuzz.c"
		;;
	"make "*)
		name=${ref#make }
		grep -qE "^([a-z-]+ )*${name}( [a-z-]+)*:" Makefile mk/*.mk || echo "$ref: no such target"
		;;
	test/*.sh | test/*.sh:*)
		name=${ref%%:*}
		[ -x "$name" ] || { echo "$ref: no such executable file"; return; }
		is_registered check "$name" || echo "$ref: not in CHECKS, CHECKS_MORE or CHECKS_LONG"
		[ "$name" = "$ref" ] || grep -qF -- "${ref#*:}" "$name" || echo "$ref: $name does not say \"${ref#*:}\""
		;;
	*:*)
		prog=${ref%%:*} name=${ref#*:}
		src=$(sed -n "s/^test $prog //p" "$SCRATCH/registered")
		# one that needs a library this machine lacks is still listed in a module.mk
		[ -n "$src" ] || ! grep -qE "^TESTS \\+=.*\\b$prog\\b" test/*/module.mk || src=test/unit/$prog.c
		[ -f "${src%% *}" ] || { echo "$ref: $prog is not in TESTS"; return; }
		# defined once, registered once: at least two mentions
		# shellcheck disable=SC2086 -- a list of files
		[ "$(cat $src | grep -owF -- "$name" | wc -l)" -ge 2 ] || echo "$ref: no such test in $src"
		;;
	*) is_test "$ref" || echo "$ref: not a reference that can be checked" ;;
	esac
}
is_test() { [[ $1 =~ ^[a-z0-9_]+$ ]] && grep -q "^test $1 " "$SCRATCH/registered"; }

# one line per reference: "<line number> <reference>"; names stand in backticks or bare,
# separated by commas
refs() {
	awk -F'|' '/^\|/ && !/^\|---/ && $2 !~ /^ *promise *$/ {
		if (NF < 5) { print NR " a row of " NF - 2 " cells: write | in a cell as &#124;"; next }
		n = split($3, r, /,/)
		for (i = 1; i <= n; i++) { gsub(/[`*]|^ +| +$/, "", r[i]); if (r[i] != "") print NR " " r[i]; else print NR " empty" }
	}' "$1"
}

bad=
while read -r line ref; do
	why=$(check_ref "$ref")
	[ -z "$why" ] || bad+="$promises:$line: $why"$'\n'
done < <(refs "$promises")
is "every test named in promises.md exists and is run" "$bad" ""

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
n=0
while read -r _ ref; do
	[ -n "$(check_ref "$ref")" ] && n=$((n + 1))
done < <(refs "$SCRATCH/bad.md")
is "a row with an invented test is refused" "$n" 5
open=$(refs "$promises" | grep -c ' open$')
echo "# $open promises are open"
tap_done
