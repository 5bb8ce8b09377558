#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# type_page PAGE: runs each command of a page ("    $ cacct ...") with the functions and commands of its
# caller's shell (source it), and prints the page with their output instead of what it shows. A command
# that fails or writes to stderr is a line in $TYPED_BAD.
type_page() {
	local line cmd out held='' skip=''
	while IFS= read -r line; do
		if [[ $line == '    $ '* ]]; then
			cmd=${line#'    $ '}
			printf '%s%s\n' "$held" "$line"
			held='' skip=1
			out=$(eval "$cmd" 2>"$TYPED_BAD.err") && [ ! -s "$TYPED_BAD.err" ] ||
				echo "$cmd: $(head -n 1 "$TYPED_BAD.err")" >>"$TYPED_BAD"
			[ -z "$out" ] || tr -d '\r' <<<"$out" | sed 's/ *$//; s/^./    &/'
		elif [ -n "$skip" ] && [ -z "$line" ]; then
			held+=$'\n'
		elif [ -n "$skip" ] && [[ $line == '    '* ]]; then
			held=''
		else
			printf '%s%s\n' "$held" "$line"
			held='' skip=''
		fi
	done <"$1"
	printf '%s' "$held"
}
