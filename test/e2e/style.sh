#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Rules of the tree that a compiler does not check (doc/style.md says why).
. "$(dirname "$0")/../tap.sh"

# the files of the tree: git's list where there is a repository, else all but build/
tree() {
	if [ -e .git ] && git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -co --exclude-standard -- "$@"
	else
		local p args=()
		for p in "$@"; do args+=(-o -name "${p##*/}"); done
		find . -path ./build -prune -o -type f \( "${args[@]:1}" \) -printf '%P\n'
	fi | sort -u | while IFS= read -r f; do [ -f "$f" ] && echo "$f"; done
}
mapfile -t sources < <(tree '*.c' '*.h')
mapfile -t product < <(printf '%s\n' "${sources[@]}" | grep -v '^test/')
mapfile -t scripts < <({ tree '*.sh' '*.mk' Makefile; grep -lIm1 "^#!/bin/bash" mk/* test/*/* .ci/* contrib/packaging/*/* 2>/dev/null; } | sort -u)
ok "there are sources to look at" [ "${#product[@]}" -gt 10 ]

# Lines of product code without comments and string contents, as file:line:text
code() {
	awk 'FNR == 1 { in_c = 0 }
	{ s = $0
	  gsub(/"([^"\\]|\\.)*"/, "\"\"", s)
	  if (in_c) { if (match(s, /\*\//)) { s = substr(s, RSTART + 2); in_c = 0 } else next }
	  while (match(s, /\/\*/)) { a = substr(s, 1, RSTART - 1); r = substr(s, RSTART + 2)
		if (match(r, /\*\//)) s = a substr(r, RSTART + 2); else { s = a; in_c = 1; break } }
	  sub(/\/\/.*/, "", s)
	  if (s ~ /[^ \t]/) print FILENAME ":" FNR ":" s }' "$@"
}

is "each source begins with its licence" "$(awk '
	FNR <= 2 && /SPDX-License-Identifier: GPL-2.0-or-later/ { has[FILENAME]; nextfile }
	FNR > 2 { nextfile }
	END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in has)) printf "%s ", ARGV[i] }' "${sources[@]}" "${scripts[@]}")" ""

is "product code uses no unsafe string function" \
	"$(code "${product[@]}" | grep -E '\b(strcpy|strcat|sprintf|vsprintf|stpcpy|atoi|atol|atoll|atof|sscanf|gets|strtok|alloca)\(' | head -20)" ""

# statements rather than lines: an open() may take two. Not lib/exec.c: what it opens between
# fork and exec is what the child is to inherit.
is "every open in product code is close-on-exec" \
	"$(code "${product[@]}" | awk '{ match($0, /^[^:]*:[0-9]*:/); at = substr($0, 1, RLENGTH)
		st = st substr($0, RLENGTH + 1); if (st !~ /[;{}]/) next
		if (st ~ /[^a-z_](open|openat)\(/ && st ~ /O_(RDONLY|WRONLY|RDWR|PATH|CREAT)/ && st !~ /O_CLOEXEC/) print at st
		st = "" }' | grep -v '^lib/exec.c:' | head -20)" ""

# unit tests that run or open something else of the build, themselves or by a header
mapfile -t runners < <(grep -lF 'getenv("BUILD")' test/unit/*.c
	grep -lF 'getenv("BUILD")' test/unit/*.h | xargs -rI{} grep -lF '#include "{}"' -r test/unit)
is "a test that runs a program has it built (_RUNS)" \
	"$(for f in "${runners[@]##*/}"; do grep -q "^${f%.c}_RUNS := " test/unit/module.mk || echo "$f"; done)" ""
ok "there are such tests" [ "${#runners[@]}" -gt 3 ]

is "condition variables get their clock in one place" \
	"$(code "${product[@]}" | grep -E 'pthread_condattr_setclock\(' | cut -d: -f1 | sort -u)" lib/wait.h

edited() { grep -v '^#' "$1" | sha256sum --check --quiet 2>&1 | grep -v '^sha256sum: WARNING'; }
is "migrations of a release are as they were released" "$(edited test/golden/migrations)" ""
sed '2s/^......../00000000/' test/golden/migrations >"$SCRATCH/edited"
is "one that was edited is seen" "$(edited "$SCRATCH/edited" | grep -c 'FAILED')" 1

mapfile -t collectors_c < <(printf '%s\n' "${product[@]}" | grep -E '^daemon/([a-z]+/)?collector_')
if [ "${#collectors_c[@]}" -gt 0 ]; then
	is "collectors open nothing by a literal /proc or /sys path" \
		"$(grep -nE '(open|fs_[a-z0-9_]+|fopen|stat|access)\([^;]*"/(proc|sys)' "${collectors_c[@]}" | head -20)" ""
else
	skip "collectors open nothing by a literal /proc or /sys path" "no collectors yet"
fi

bad=
while IFS=: read -r f line text; do
	inc=${text#*\"} inc=${inc%%\"*}
	case $inc in
	bpf/*.skel.h) [ -f "${inc%.skel.h}.bpf.c" ] || bad+="$f:$line: $inc is made of no program"$'\n' ;;
	*.pb-c.h) [ -f "${inc%.pb-c.h}.proto" ] || bad+="$f:$line: $inc is made of no messages"$'\n' ;;
	*/*) [ -f "$inc" ] || [ -f "bpf/${inc##*/}" ] || bad+="$f:$line: $inc is not a path from the root"$'\n' ;;
	*) bad+="$f:$line: include $inc by its path from the root"$'\n' ;;
	esac
done < <(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' "${sources[@]}")
is "includes are paths from the root" "$bad" ""

is "no trailing blanks in sources and scripts" \
	"$(grep -nE '[ 	]+$' "${sources[@]}" "${scripts[@]}" | head -10)" ""

if make -s -j"$(nproc)" headers-check >"$SCRATCH/headers.log" 2>&1; then
	tap_result ok "headers compile alone"
else
	tap_result not-ok "headers compile alone"
	sed 's/^/# /' "$SCRATCH/headers.log" | head -20
fi

if command -v clang-format >/dev/null; then
	bad=$(printf '%s\0' "${sources[@]}" | xargs -0 -n 100 -P "$(nproc)" clang-format --dry-run -Werror 2>&1 | grep -oE '^[^ :]+:[0-9]+' | sort -u | head -10)
	is "sources are formatted (clang-format -i)" "$bad" ""
else
	skip "sources are formatted" "clang-format is not installed"
fi

# phrases that were mended once: they read like a translation and say less than plain English
mended=('configuration is good' 'goes on with %' 'does not know us' '(is|are) there twice' 'removed under us' 'says who asks'
	'Say it by' 'it is not proved who' 'is no absolute path' 'sends no (reports|records)' 'does not speak for' 'answers whoever asks'
	'of a release before' 'what was stays in force' 'as much to do as they may' 'an id that is there' 'has it \(process' 'started us keeps'
	'is not one that may' 'Whoever asks' 'that one may see' 'too long a (path|command|question)' 'is spoken' 'was not found out'
	'(object|string|number|list|colon) belongs here' 'is what is known' 'is to (be|begin) ' 'not asked again for' 'by the word of'
	'bound to no host' 'not remembered is refused' 'nobody is served' 'does not let us' 'Name it by' 'written all the same')
is "no mended phrase is back in a message" \
	"$(grep -nE "\"[^\"]*($(IFS='|'; echo "${mended[*]}"))" "${product[@]}" | head -10)" ""

wc -l "${sources[@]}" | awk '$1 > 1000 && $2 != "total" { print "# " $2 " has " $1 " lines: look for the second idea" }'
tap_done
