#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No public name goes away or changes: options, variables, keys, metrics and their labels, JSON, SQL,
# log fields (test/public_names lists them; test/golden/public_names is what sites were given). A new
# name is noted here and joins the list with
#   test/e2e/public_names.sh UPDATE
# which never takes one out: a name that must go is deleted from the list by hand, and is a line in
# CHANGELOG.md.
. "$(dirname "$0")/../tap.sh"
export LC_ALL=C
golden=test/golden/public_names

test/public_names | sort -u >"$SCRATCH/names"
if [ "${1:-}" = UPDATE ]; then
	sort -u "$golden" "$SCRATCH/names" >"$SCRATCH/both" && cp "$SCRATCH/both" "$golden"
fi
is "no public name is gone (a rename breaks sites)" "$(comm -23 "$golden" "$SCRATCH/names" | head -20)" ""
comm -13 "$golden" "$SCRATCH/names" | sed 's/^/# not in the list yet: /' | head -20
ok "the list is sorted, and long" eval 'sort -uc "$golden" 2>/dev/null && [ "$(wc -l <"$golden")" -gt 1800 ]'
for kind in "option ceemsd" "option ceems-courier" "option ceems_aggregator" "option ceems_lb" "option redfish_proxy" "option cacct" \
	"option ceems_tool" "option srun" "argument spank_ceems" "key lb" "key courier" "key redfish_proxy" "key cli" "key lib" "key jobcomp" \
	"key acct_gather" "metric name" "metric_label ceemsd" "label name" "json name" "path http" "sql table" "sql column" "log field" \
	"variable name" "column cacct"; do
	grep -q "^$kind " "$SCRATCH/names" || empty+="$kind, "
done
is "each kind of name is found" "${empty:-}" ""
tap_done
