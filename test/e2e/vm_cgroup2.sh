#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm 24.11 on cgroup v2 with every controller, in a virtual machine: jobs, their records
# and their metrics (test/vm/cgroup2_guest.sh). Debian's own Slurm on cgroup v2, too.
# timeout 1300
# alone
. "$(dirname "$0")/../tap.sh"

vm() { # name arguments of test/vm/run... version: runs the guest and numbers its results on
	local name=$1 why line rc
	shift
	why=$(test/vm/run possible "${@:1:$#-1}") || { skip "$name" "$why"; return; }
	[ -e "$BUILD/slurm/${!#}/spank_ceems.so" ] || { skip "$name" "no plugin for Slurm ${!#} was built here"; return; }
	[ -x "$BUILD/ceemsd" ] || { skip "$name" "ceemsd was not built here"; return; }
	test/vm/run "${@:1:$#-1}" --timeout=560 test/vm/cgroup2_guest.sh "${!#}" >"$SCRATCH/out"
	rc=$?
	while IFS= read -r line; do
		case $line in
		"ok "*) tap_result ok "$name: ${line#ok * - }" ;;
		"not ok "*) tap_result not-ok "$name: ${line#not ok * - }" ;;
		1..*) ;;
		*) echo "$line" ;;
		esac
	done <"$SCRATCH/out"
	is "$name: the guest ends well" "$rc $(grep -c '^1\.\.' "$SCRATCH/out")" "0 1"
}

vm "24.11" 24.11
if [ "${CHECK_LONG:-0}" = 1 ]; then
	vm "this machine's" --host "$(slurmd -V 2>/dev/null | sed 's/.* \([0-9]*\.[0-9]*\)\..*/\1/')"
fi
tap_done
