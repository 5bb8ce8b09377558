#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every row of the collectors' table has everything that a collector needs: source, unit test,
# fixture, golden scrape, a row in doc/metrics.md per metric, a flag and its documentation.
. "$(dirname "$0")/../tap.sh"

mapfile -t names < <(sed -n 's/^COLLECTOR(\([a-z0-9_]*\), .*/\1/p' daemon/collectors.h)
ok "the table has rows" test "${#names[@]}" -gt 0
is "the table is sorted" "$(printf '%s\n' "${names[@]}")" "$(printf '%s\n' "${names[@]}" | LC_ALL=C sort -u)"
is "no collector is left out of the table" \
	"$(ls daemon/collector_*.c daemon/*/collector_*.c | sed 's|.*collector_||; s|\.c$||' | LC_ALL=C sort | paste -sd' ')" "${names[*]}"

# missing NAME: what this collector lacks, one per line
missing() {
	local name=$1 tests goldens metric src
	src=$(grep -lE "^(const struct collector collector_$name = \{|PROCFILE_COLLECTOR\($name,)" daemon/collector_"$name".c daemon/*/collector_"$name".c 2>/dev/null)
	[ -n "$src" ] || { echo "daemon/*/collector_$name.c"; return; }
	grep -q "$src" "${src%/*}/module.mk" || echo "its line in ${src%/*}/module.mk"
	tests=$(ls "test/unit/collector_${name}_test.c" "test/unit/${name}_collector_test.c" 2>/dev/null)
	[ -n "$tests" ] || { echo "test/unit/collector_${name}_test.c"; return; }
	grep -qE "^TESTS \+=.*\bcollector_${name}_test\b" test/unit/module.mk || echo "its line in test/unit/module.mk"
	grep -qE 'test/fixture/|units_open\(|ring_(create|open)' $tests $(grep -ohE '"test/unit/[a-z_]+\.h"' $tests | tr -d '"') || echo "a fixture in its test"
	goldens=$(ls "test/golden/collector_$name"*.prom "test/golden/$name"[._-]*prom 2>/dev/null)
	[ -n "$goldens" ] || { echo "test/golden/collector_$name.prom"; return; }
	for metric in $(sed -n 's/^# TYPE \([^ ]*\) .*/\1/p' $goldens | sort -u); do
		case $metric in
		ceems_rapl_*_joules_total) grep -q '^| `ceems_rapl_<zone>_joules_total`' doc/metrics.md && continue ;;
		ceems_rapl_*_power_limit_watts_total) grep -q '^| `ceems_rapl_<zone>_power_limit_watts_total`' doc/metrics.md && continue ;;
		ceems_meminfo_*) grep -q '^| `ceems_meminfo_<Field>' doc/metrics.md && continue ;;
		esac
		grep -q "^| \`$metric\` |" doc/metrics.md || echo "$metric in doc/metrics.md"
	done
	grep -qE "collector\.$name\b" doc/config.md || echo "collector.$name in doc/config.md"
}
for name in "${names[@]}"; do
	is "collector $name is complete" "$(missing "$name")" ""
done
tap_done
