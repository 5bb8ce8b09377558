# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests of which a part runs in a virtual machine.
vm_guest() { # NAME [options of test/vm/run] -- COMMAND...: runs it there and numbers its results on (it needs $vm_program)
	local name=$1 why line rc options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	why=$(test/vm/run possible "${options[@]}") || { skip "$name" "$why"; return; }
	[ -x "$BUILD/${vm_program:-ceemsd}" ] || { skip "$name" "${vm_program:-ceemsd} was not built here"; return; }
	# kernel programs are attached by patching instructions, too: see test/vm/run
	for _ in 1 2 3; do
		test/vm/run "${options[@]}" --timeout=900 "$@" >"$SCRATCH/out"
		rc=$?
		[ $rc = 123 ] || break
		echo "# the emulator killed the guest's kernel: once more"
	done
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
vm() { # NAME [options of test/vm/run] VERSION: Slurm there (test/vm/cgroup2_guest.sh); $slice: its slice
	[ -e "$BUILD/slurm/${!#}/spank_ceems.so" ] || { skip "$1" "no plugin for Slurm ${!#} was built here"; return; }
	vm_guest "${@:1:$#-1}" -- test/vm/cgroup2_guest.sh "${!#}" "${slice:-}"
}
arm64_release() { # of Slurm in the virtual machine of that processor: 22.05.8
	local n
	n=$(sed -n 's/^#define SLURM_VERSION_NUMBER //p' "$(test/vm/sysroot path arm64)/usr/include/slurm/slurm_version.h")
	printf '%d.%02d.%d\n' $((n >> 16)) $((n >> 8 & 255)) $((n & 255))
}
