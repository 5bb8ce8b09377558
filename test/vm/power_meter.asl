/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A power meter as firmware describes it (ACPI 6.5, 10.4): the kernel's acpi_power_meter
 * makes a hwmon sensor of it. It says 187 W, then 1 W more at each third measurement. */
DefinitionBlock ("", "SSDT", 2, "CEEMS", "PWRMETER", 1)
{
	Scope (\_SB)
	{
		Device (PMTR)
		{
			Name (_HID, "ACPI000D")
			Name (_UID, 0)
			Method (_STA) { Return (0x0F) }
			/* measures only; watts in milliwatts, of input power; no accuracy,
			 * sampling 250 ms, averaging 250 to 1000 ms, no trip points */
			Method (_PMC)
			{
				Return (Package () {1, 0, 0, 100000, 250, 250, 1000, 1000, 0,
						    0, 0, "meter", "0", "node"})
			}
			Name (ASKD, 0)
			Method (_PMM, 0, Serialized)
			{
				Increment (ASKD)
				Return (187000 + (ASKD / 3) * 1000)
			}
			Method (_PAI, 1) { Return (0) }
			Method (_GAI) { Return (250) }
			Method (_PMD) { Return (Package () {\_SB}) }
		}
	}
}
