#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real hwmon power meter: the kernel's acpi_power_meter on an ACPI table of ours, in a
# virtual machine (test/vm/hwmon_guest.sh).
# busy
. "$(dirname "$0")/../tap.sh"

command -v iasl >/dev/null || skip_all "iasl (acpica-tools) is not installed"
why=$(test/vm/run possible --host) || skip_all "$why"
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
ok "the table compiles" eval 'iasl -p "$SCRATCH/meter" test/vm/power_meter.asl >"$SCRATCH/iasl"'
test/vm/run --host --timeout=570 --module=acpi_power_meter --qemu=-acpitable --qemu="file=$SCRATCH/meter.aml" \
	test/vm/hwmon_guest.sh >"$SCRATCH/out"
rc=$?
while IFS= read -r line; do
	case $line in
	"ok "*) tap_result ok "${line#ok * - }" ;;
	"not ok "*) tap_result not-ok "${line#not ok * - }" ;;
	1..*) ;;
	*) echo "$line" ;;
	esac
done <"$SCRATCH/out"
is "the guest ends well" "$rc $(grep -c '^1\.\.' "$SCRATCH/out")" "0 1"
tap_done
