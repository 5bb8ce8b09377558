# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by what runs test/vm/cgroup2_guest.sh in a virtual machine.
vm() { # NAME [options of test/vm/run] VERSION: runs the guest, $slice its slice, and numbers its results on
	local name=$1 why line rc
	shift
	why=$(test/vm/run possible "${@:1:$#-1}") || { skip "$name" "$why"; return; }
	[ -e "$BUILD/slurm/${!#}/spank_ceems.so" ] || { skip "$name" "no plugin for Slurm ${!#} was built here"; return; }
	[ -x "$BUILD/ceemsd" ] || { skip "$name" "ceemsd was not built here"; return; }
	test/vm/run "${@:1:$#-1}" --timeout=560 test/vm/cgroup2_guest.sh "${!#}" "${slice:-}" >"$SCRATCH/out"
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
