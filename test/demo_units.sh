# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by the tests of test/rig/demo_*: starts a demo in a build folder of its own, so that one
# which a person has running is left alone, and reads its page.
demo_units_begin() { # KIND PROGRAM-OF-ITS-OWN...
	local why
	demo=$TOP/test/rig/demo_$1
	why=$("$demo" possible) || skip_all "$why"
	mkdir "$SCRATCH/build"
	for p in ceemsd ceems-courier ceems_aggregator cacct "${@:2}"; do ln -s "$BUILD/$p" "$SCRATCH/build/"; done
	export BUILD=$SCRATCH/build
	test_cleanup() { "$demo" stop; }
	ok "it starts, and its rows are complete" eval '"$demo" start >"$SCRATCH/page" 2>&1'
	sed 's/^/# /' "$SCRATCH/page"
	demo_env=$BUILD/demo-$1/demo.env
	demo_dir=$(. "$demo_env" && echo "$CEEMS_DEMO_DIR")
	like "its page has what an owner sees, by cacct" "$(sed -n '/^What daemon sees/,/^$/p' "$SCRATCH/page")" '(VM|Pod)Name.*EnergyWh.*daemon.*1 (VM|pod) '
}
demo_rows() { sed -n '3,/^$/p' "$SCRATCH/page" | grep .; }                            # of Prometheus
demo_of() { (. "$demo_env" && as "$1" cacct -n -P "${@:2}"); }                        # USER OPTION...: rows of cacct
demo_units_end() { # PATH: what find says of control groups of its units
	ok "it stops" "$demo" stop
	is "and leaves no process" "$(grep -lsF -f <(echo "${demo_dir:-none}/") /proc/[0-9]*/cmdline | wc -l)" 0
	is "no control group" "$(find /sys/fs/cgroup -type d -path "$1" 2>/dev/null | wc -l)" 0
	ok "no file" [ ! -e "$demo_dir" ]
}
