#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles where the kernel program cannot be had: one line says why, and ceemsd works as without them.
. "$(dirname "$0")/../tap.sh"
[ -x "$BUILD/ceems-profiler" ] || skip_all "the profiler was not built here (libdw-dev)"
have_root || skip_all "not root"
command -v curl >/dev/null || skip_all "curl is not installed"
. "$(dirname "$0")/../port.sh"

refused() { # NAME WHY command...: the rest of the command line is ceemsd
	local name=$1 why=$2 port pid
	shift 2
	port=$(free_port) || exit 1
	"$@" "$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address="127.0.0.1:$port" --profiling.policy=allow \
		--profiling.off-cpu=allow --profiles.spool="$SCRATCH/spool" </dev/null >"$SCRATCH/log" 2>&1 &
	pid=$!
	started $pid
	ok "$name: ceemsd serves" wait_for 30 curl -sf -o "$SCRATCH/health" "http://127.0.0.1:$port/health"
	is_told() { grep -q 'no profiles of units' "$SCRATCH/log"; }
	ok "$name: that there are no profiles is said" wait_for 30 is_told
	like "$name: with the reason" "$(grep 'no profiles of units' "$SCRATCH/log")" "level=warn program=ceems-profiler msg=\"$why"
	is_alive() { [ "$(curl -sf "http://127.0.0.1:$port/metrics" | grep -cE '^ceems_profiler_(rate_hertz|restarts_total)\{[^}]*\} 0$')" = 2 ]; }
	ok "$name: its profiler lives, and looks at no CPU" wait_for 30 is_alive
	kill $pid
	wait $pid
	is "$name: ceemsd ends well" $? 0
	is "$name: it was said once" "$(grep -c 'no profiles of units' "$SCRATCH/log")" 1
}
if "$BUILD/older_kernel" lockdown true 2>/dev/null; then
	refused "a kernel that is locked down" "load the program for profiles: Operation not permitted .it takes CAP_BPF and CAP_PERFMON, and a kernel that is not locked down" \
		"$BUILD/older_kernel" lockdown
	refused "a kernel that takes no program" "load the program for profiles: Invalid argument" "$BUILD/older_kernel" verifier
else
	skip "a kernel that is locked down" "no filter of system calls can be set here"
fi
if unshare -m mount -t tmpfs none /sys/kernel/btf 2>/dev/null; then
	refused "a kernel that does not describe itself" "/sys/kernel/btf/vmlinux: .*: this kernel does not describe itself .CONFIG_DEBUG_INFO_BTF." \
		unshare -m sh -c 'mount -t tmpfs none /sys/kernel/btf && exec "$@"' -
else
	skip "a kernel that does not describe itself" "nothing may be mounted here"
fi
tap_done
