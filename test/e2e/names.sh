#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of functions (doc/style.md): a backtrace, gdb and grep must tell each from every other
# function of its program, and each struct and variable of a file from the others. What lib/ has is
# linked into all programs.
. "$(dirname "$0")/../tap.sh"

ctags --version 2>/dev/null | grep -q 'Universal Ctags' || skip_all "universal-ctags is not installed"

# Slurm looks these two up by name; the others are what their file is named after
bare='^(main|init|fini|finding|selfsigned|crc32c|siphash13)$'
# names of static functions that may stand in two files of one program; none so far
twice='^$'

# KIND: the product's functions (f), structs (s) or variables (v), as program, name, file and whether
# no other file sees it
tags() {
	{ git ls-files -co --exclude-standard -- '*.c' '*.h' 2>/dev/null || find . -path ./build -prune -o -name '*.[ch]' -printf '%P\n'; } |
		grep -v '^test/' | sort -u | while IFS= read -r f; do [ -f "$f" ] && echo "$f"; done |
		ctags -L - --languages=C --langmap=C:.c.h --kinds-C="$1" --fields=f --excmd=number --sort=no -f - 2>/dev/null |
		awk -F '\t' '/^!/ || $1 ~ /^__anon/ { next }
		{ n = split($2, part, "/"); program = part[1]
		  if (program == "cli" && n > 2) program = part[1] "/" part[2]
		  if (program == "contrib" && n > 2) program = part[1] "/" part[2] (n > 3 ? "/" part[3] : "")
		  print program "\t" $1 "\t" $2 "\t" (index($0, "\tfile:") ? 1 : 0) }'
}
tags f >"$SCRATCH/functions"
ok "there are functions to look at" [ "$(wc -l <"$SCRATCH/functions")" -gt 1000 ]

is "no function is one bare word" \
	"$(awk -F '\t' -v bare="$bare" '$2 !~ /_/ && $2 !~ bare { print $3 ": " $2 "()" }' "$SCRATCH/functions" | head -20)" ""

# a static name against all others of its program and of lib/
twice_in() {
	awk -F '\t' -v twice="$twice" '
	{ name[NR] = $2; program[NR] = $1; file[NR] = $3; static[NR] = $4; at[$2] = at[$2] " " NR }
	END { for (n in at) {
		count = split(at[n], row, " ")
		if (n ~ twice) continue
		for (i = 1; i <= count; i++) for (k = i + 1; k <= count; k++) {
			a = row[i]; b = row[k]
			if (file[a] == file[b] || !(static[a] || static[b])) continue
			if (program[a] == program[b] || program[a] == "lib" || program[b] == "lib")
				print n ": " file[a] ", " file[b] }}}' "$1" | sort
}
is "no static function has the name of another function of its program" "$(twice_in "$SCRATCH/functions" | head -20)" ""
tags v >"$SCRATCH/variables"
ok "there are variables to look at" [ "$(grep -c '1$' "$SCRATCH/variables")" -gt 200 ]
is "no static variable has the name of another variable of its program" "$(twice_in "$SCRATCH/variables" | head -20)" ""
# each is of one file as far as others are concerned
tags s | sed 's/0$/1/' | sort -u >"$SCRATCH/structs"
ok "there are structs to look at" [ "$(wc -l <"$SCRATCH/structs")" -gt 300 ]
is "no struct has the tag of another one of its program" "$(twice_in "$SCRATCH/structs" | head -20)" ""

printf '%s\n' $'lb\tput_x\tlb/a.c\t1' $'lb\tput_x\tlb/b.c\t1' $'lib\tput_y\tlib/c.c\t0' $'daemon\tput_y\tdaemon/d.c\t1' \
	$'lb\tput_z\tlb/a.c\t1' $'daemon\tput_z\tdaemon/d.c\t1' >"$SCRATCH/planted"
is "the check finds what is planted" "$(twice_in "$SCRATCH/planted" | cut -d: -f1 | paste -sd' ')" "put_x put_y"
tap_done
