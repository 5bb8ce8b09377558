# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by shell tests: TAP output, a scratch folder, clean-up of what the test started.
#   tap_plan; ok "what" command...; is "what" GOT WANT; like "what" GOT REGEX; skip "what" why
# ok, is and like are false when they fail: ok ... || cat log. A test goes on behind that; none has set -e.
#   skip_all why; have_root || skip_all "needs root"
tap_n=0
tap_alone=
tap_failed=0
tap_pids=()
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What programs refuse or print must not depend on the caller: awk's numbers have a comma in German
umask 022
export LC_ALL=C
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$TOP/$BUILD ;; esac
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/ceems-test.XXXXXX")
[ -z "${CEEMS_TEST_SCRATCH:-}" ] || echo "$SCRATCH" >>"$CEEMS_TEST_SCRATCH" # test/run removes it when we cannot
chmod 711 "$SCRATCH" # jobs of ordinary users must find their way in

tap_result() { # ok|not-ok what
	tap_name "$2"
	if [ "$1" = ok ]; then
		echo "ok $tap_n - $tap_what"
	else
		echo "not ok $tap_n - $tap_what"
		tap_failed=1
		return 1
	fi
}
tap_say() { printf '# %s\n' "$@"; return 1; } # why the last one failed
# A name that goes on from the one before ("and ...", "which ...", "it ...") is printed with the last that stands
# alone: whoever reads a failed one in a summary has nothing else.
tap_name() { # what: sets tap_what
	tap_n=$((tap_n + 1))
	tap_what=$1
	if [[ $1 =~ ^(and|which|nor|or|but|so|as|also|then|too|it|its|they|their|them|that|those)[\ ,:] ]]; then
		tap_what=${tap_alone:+$tap_alone: }$1
	else
		tap_alone=$1
	fi
}
ok() { local what=$1; shift; if "$@"; then tap_result ok "$what"; else tap_result not-ok "$what"; tap_say "command failed: $*"; fi; }
is() { if [ "$2" = "$3" ]; then tap_result ok "$1"; else tap_result not-ok "$1"; tap_say "got:    $2" "wanted: $3"; fi; }
like() { if [[ $2 =~ $3 ]]; then tap_result ok "$1"; else tap_result not-ok "$1"; tap_say "got:    $2" "wanted: $3"; fi; }
skip() { tap_name "$1"; echo "ok $tap_n - $tap_what # SKIP $2"; }
skip_all() { echo "1..0 # SKIP $1"; exit 0; }
have_root() { [ "$(id -u)" = 0 ]; }
# started PID: ends it (TERM, then KILL) when the test ends. The pid may have been reused by then,
# so the start time must match too.
started() { tap_pids+=("$1:$(tap_begin "$1")"); }
tap_begin() { # PID: when it started, in ticks since boot; nothing when it is gone
	local line
	{ read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
	set -- ${line##*) }
	[ "$1" = Z ] || echo "${20}"
}
# is_gone PID: it has ended, with all its threads: of one that was killed the first may be a zombie while others
# still hold its files and ports
is_gone() { ! kill -0 "$1" 2>/dev/null || { grep -qs '^State:.Z' "/proc/$1/status" && [ "$(ls "/proc/$1/task" 2>/dev/null | wc -l)" -le 1 ]; }; }
# cpu_ticks PID: the CPU time that it has used; 100 ticks are a second
cpu_ticks() {
	local line
	read -r line <"/proc/$1/stat" && set -- ${line##*) } && echo $((${12} + ${13}))
}
# has_run PID TICKS: it has used so much, however busy the machine is
has_run() { [ "$(cpu_ticks "$1")" -ge "$2" ]; }
# kill9 PID: and waits for its end, without a word of the shell's
kill9() { disown "$1" 2>/dev/null; kill -9 "$1" 2>/dev/null; wait_for 60 is_gone "$1"; }
# wait_for SECONDS command...: polls every 50 ms at first, every 200 ms after a while: what is asked often keeps
# processors busy that what is waited for needs. On a busy machine a second means nothing, so it
# waits at least three minutes. within SECONDS: no longer, for when the time itself is promised.
tap_pauses=(0.05 0.05 0.05 0.05 0.05 0.05 0.1 0.1 0.1 0.1 0.2)
wait_for() { within $(($1 > 180 ? $1 : 180)) "${@:2}"; }
within() {
	local tap_until=$((SECONDS + $1)) tap_asked=0; shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -ge $tap_until ] && return 1
		sleep "${tap_pauses[tap_asked < 10 ? tap_asked++ : 10]}"
	done
}
. "$TOP/test/port.sh"
tap_done() {
	echo "1..$tap_n"
	exit $tap_failed
}
tap_exit() {
	local rc=$? pid left=()
	trap : HUP INT TERM # timeout(1) sends it twice
	declare -F test_cleanup >/dev/null && test_cleanup
	declare -F pg_cleanup >/dev/null && pg_cleanup
	for pid in "${tap_pids[@]}"; do
		[ -n "${pid#*:}" ] && [ "$(tap_begin "${pid%:*}")" = "${pid#*:}" ] && kill "${pid%:*}" 2>/dev/null && left+=("$pid")
	done
	for pid in "${left[@]}"; do
		for _ in $(seq 100); do [ "$(tap_begin "${pid%:*}")" = "${pid#*:}" ] || continue 2; sleep 0.05; done
		kill -9 "${pid%:*}" 2>/dev/null
	done
	[ "${KEEP:-0}" = 1 ] && echo "# kept $SCRATCH" || rm -rf "$SCRATCH"
	exit $rc
}
trap tap_exit EXIT
trap 'exit 129' HUP INT TERM
cd "$TOP" || exit 1
