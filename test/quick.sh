# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by test/run: one word for all that a test's result depends on (quick_begin, then quick_state PROGRAM):
# the test itself, fixtures and corpora, the helpers and rigs that it names, and those that these name; the built
# programs that any of them names, the plugins if a rig is among them; and the whole tree if a script names a
# part of it. What is installed on the machine is not included.
quick_tree() { git -C "$here/.." ls-files -co --exclude-standard 2>/dev/null || (cd "$here/.." && find . -path ./build -prune -o -type f -printf '%P\n'); }
quick_sum() { (cd "$here/.." && xargs -r -d '\n' sha1sum 2>/dev/null) | sha1sum; } # of the files in stdin
quick_begin() {
	local f
	declare -gA quick_built=() # name -> its sum
	quick_tree=$(quick_tree | quick_sum)
	quick_fixtures=$(quick_tree | grep -E '^test/(fixture|golden|fuzz/corpus|tap\.sh$|run$|reach$|[a-z_]+\.py$)' | quick_sum)
	quick_plugins=$(find "$(realpath "$BUILD")" -name '*.so' | sort | quick_sum)
	for f in "$BUILD"/*; do [ ! -f "$f" ] || [ ! -x "$f" ] || quick_built[${f##*/}]=$(sha1sum <"$f"); done
}
quick_named() { # file...: the helpers that these name
	grep -haoE '(test/|rig/|\$\(dirname "\$0"\)/)[a-z0-9_./]+' "$@" | sort -u | while read -r n; do
		n=${n/#'$(dirname "$0")'/test/e2e} n=${n/#rig/test/rig}
		[ ! -f "$here/../$n" ] || echo "$here/../$n"
	done
}
quick_state() { # program
	local files=("$1") at n
	local -x LC_ALL=C # many times as fast
	for ((at = 0; at < ${#files[@]}; at++)); do
		for n in $(quick_named "${files[at]}"); do [[ " ${files[*]} " == *" $n "* ]] || files+=("$n"); done
	done
	{
		echo "$quick_fixtures"
		cat "${files[@]}"
		for n in $(printf '%s\n' "${!quick_built[@]}" | grep -haowFf - "${files[@]}" | sort -u); do echo "$n ${quick_built[$n]}"; done
		! grep -qaE 'rig/|plugin' "${files[@]}" || echo "$quick_plugins"
		! is_script "$1" || ! grep -qE '\<(make|git)\>|\<(doc|contrib|mk|lib|daemon|aggregator|lb|cli|courier|spank)/|test/(unit|fuzz|e2e)/' "$1" || echo "$quick_tree"
	} | sha1sum
}
