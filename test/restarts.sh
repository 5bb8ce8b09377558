# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/clock_off.sh, by tests of units that run while programs are killed and the clock leaps. Of them it needs
# $manager, $units and cpu_us UNIT (by the scrape in body), group_us UNIT (what its control group has now, and those before it),
# kill_program and start_program PROGRAM, and say_why.
need_clock_off
clock_file off 0
leaping=(env "${clock_off[@]}" CLOCK_OFF_FILE="$SCRATCH/off")
# how many run, and how many steps have started and ended
counts() { echo "$(value ceems_compute_units "manager=\"$manager\"") $(value ceems_steps_started_total "$manager") $(value ceems_steps_ended_total "$manager")"; }
has() { scrape && [ "$(counts)" = "$1" ]; }
has_units() { ok "$1" wait_for 90 has "$2" || { scrape; counts; say_why; } | cut -c1-300 | sed 's/^/# /'; } # WHAT COUNTS
uuids() { sed -n "s/^ceems_compute_unit_cpu_user_seconds_total{manager=\"$manager\".*uuid=\"\([^\"]*\)\".*/\1/p" body | sort | xargs; }
# each has what its group counted: no less than it had a moment ago, no more than it has now
has_its_groups() {
	local u us
	declare -A least
	for u in $units; do least[$u]=$(group_us "$u"); done
	scrape
	for u in $units; do
		us=$(cpu_us "$u")
		[ "$us" -ge "${least[$u]}" ] && [ "$us" -le "$(($(group_us "$u") + 2))" ] || { echo "# $u: $us of ${least[$u]}"; return 1; }
	done
}
# PROGRAM...: they are killed and started in this order
kill_and_start() {
	local p
	for p in "$@"; do kill_program "$p"; done
	sleep 0.5
	for p in "$@"; do start_program "$p"; sleep 0.5; done
}
goes_on() { # WHAT COUNTS
	local before=${same:=$(scrape; uuids)}
	has_units "$1: no unit ends, none starts twice" "$2"
	ok "$1: each has what its control group counted" wait_for 60 has_its_groups || has_its_groups
	is "$1: they are the same units" "$(uuids)" "$before"
}
# UUID: what is in the records of all that it lived
in_records() { sql "SELECT floor(sum(cpu_user_ns + cpu_system_ns + coalesce(before_cpu_user_ns + before_cpu_system_ns, 0)) / 1000) FROM unit_node WHERE uuid = '$1'"; }
