# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by shell tests: TAP output, a scratch folder, clean-up of what the test started.
#   tap_plan; ok "what" command...; is "what" GOT WANT; like "what" GOT REGEX; skip "what" why
#   skip_all why; have_root || skip_all "needs root"
tap_n=0
tap_failed=0
tap_pids=()
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
umask 022 # what programs refuse must not depend on the caller
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/ceems-test.XXXXXX")
chmod 711 "$SCRATCH" # jobs of ordinary users must find their way in

tap_result() { # ok|not-ok what
	tap_n=$((tap_n + 1))
	if [ "$1" = ok ]; then
		echo "ok $tap_n - $2"
	else
		echo "not ok $tap_n - $2"
		tap_failed=1
	fi
}
ok() { local what=$1; shift; if "$@"; then tap_result ok "$what"; else tap_result not-ok "$what"; echo "# command failed: $*"; fi; }
is() { if [ "$2" = "$3" ]; then tap_result ok "$1"; else tap_result not-ok "$1"; printf '# got:    %s\n# wanted: %s\n' "$2" "$3"; fi; }
like() { if [[ $2 =~ $3 ]]; then tap_result ok "$1"; else tap_result not-ok "$1"; printf '# got:    %s\n# wanted: %s\n' "$2" "$3"; fi; }
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
have_root() { [ "$(id -u)" = 0 ]; }
# started PID: ends it (TERM, then KILL) when the test ends
started() { tap_pids+=("$1"); }
# wait_for SECONDS command...: polls every 50 ms
wait_for() {
	local end=$((SECONDS + $1)); shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -ge $end ] && return 1
		sleep 0.05
	done
}
. "$TOP/test/port.sh"
tap_done() {
	echo "1..$tap_n"
	exit $tap_failed
}
tap_exit() {
	local rc=$? pid
	declare -F test_cleanup >/dev/null && test_cleanup
	declare -F pg_cleanup >/dev/null && pg_cleanup
	for pid in "${tap_pids[@]}"; do kill "$pid" 2>/dev/null; done
	for pid in "${tap_pids[@]}"; do
		for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
		kill -9 "$pid" 2>/dev/null
	done
	[ "${KEEP:-0}" = 1 ] && echo "# kept $SCRATCH" || rm -rf "$SCRATCH"
	exit $rc
}
trap tap_exit EXIT
trap 'exit 129' HUP INT TERM
cd "$TOP" || exit 1
