#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `promtool check metrics` on every golden scrape: it may complain only about the kept names
# of test/golden/promtool-allow, and each of those must still be complained about.
. "$(dirname "$0")/../tap.sh"
cd "$TOP" || exit 1

command -v promtool >/dev/null || skip_all "promtool is not installed (package prometheus)"
shopt -s nullglob
files=(test/golden/*.prom)
ok "there are golden scrapes" [ "${#files[@]}" -gt 0 ]

allowed() { grep -v '^#' test/golden/promtool-allow | awk 'NF { print $1 }'; }
complaints() { promtool check metrics <"$1" 2>&1; }

: >"$SCRATCH/seen"
for f in "${files[@]}"; do
	complaints "$f" >"$SCRATCH/out"
	rc=$?
	# 3: it has something to say; 1 and 2: it could not read the file
	ok "promtool reads ${f##*/}" [ $rc = 0 -o $rc = 3 ]
	awk 'NF { print $1 }' "$SCRATCH/out" | sort -u >"$SCRATCH/names"
	cat "$SCRATCH/names" >>"$SCRATCH/seen"
	is "${f##*/}: only kept names displease promtool" \
		"$(grep -vxFf <(allowed) "$SCRATCH/names")" ""
done
is "no name is allowed that nobody complains of" \
	"$(allowed | sort -u | grep -vxFf <(sort -u "$SCRATCH/seen"))" ""
bad=
for m in $(allowed); do
	case $m in ceems_meminfo_*) grep -q '^| `ceems_meminfo_<Field>' doc/compat.md && continue ;; esac
	grep -q "^| \`$m\`" doc/compat.md || grep -q "^| \`${m%_*}_" doc/compat.md || bad+="$m "
done
is "each allowed name is explained in compat.md" "$bad" ""

# OpenMetrics names a counter's family without _total: no other family may have that name
clash() { awk '$1 == "#" && $2 == "TYPE" { type[$3] = $4 } END { for (m in type) { n = m; if (type[m] == "counter" && sub(/_total$/, "", n) && n in type) print n } }' "$@"; }
is "no family has the OpenMetrics name of another" "$(clash "${files[@]}")" ""

# can this test fail?
printf '# TYPE y_total counter\n# TYPE y gauge\n' >"$SCRATCH/clash.prom"
is "a clash of names is seen" "$(clash "$SCRATCH/clash.prom")" y
printf '# HELP x_count x\n# TYPE x_count gauge\nx_count 1\n' >"$SCRATCH/bad.prom"
like "promtool complains of what is wrong" "$(complaints "$SCRATCH/bad.prom")" '^x_count'
tap_done
