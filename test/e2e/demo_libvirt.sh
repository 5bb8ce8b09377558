#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# alone: the domains of another libvirtd have the same numbers
# The demo of virtual machines, as make demo-libvirt runs it: domains of a real libvirtd are in a real Prometheus, and each
# owner, whom a replayed Nova names, sees their own with cacct and no other. demo-libvirt-stop ends what was started.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/demo_units.sh"
demo_units_begin libvirt ceems-libvirt
vm() { printf '3f1d2c7a-1111-4000-8000-%012d' "$1"; }
is "Prometheus has both domains, with their CPUs" "$(demo_rows | awk '{ print $1, $2 }')" "$(vm 1) 1
$(vm 2) 2"
is "with CPU time and memory" "$(demo_rows | awk '!($3 > 0 && $4 > 0)')" ""
is "the first owner sees one row, of Nova's words" "$(demo_of daemon --manager=openstack -o VMID,VMName,User,Project,State,CPUs)" "$(vm 1)|vm-of-daemon|daemon|physics|ACTIVE|1"
is "the second sees the other" "$(demo_of games --manager=openstack -o VMID,VMName,User,Project,State,CPUs)" "$(vm 2)|vm-of-games|games|chemistry|ACTIVE|2"
demo_units_end '*/machine/qemu-*ceemsdemo*'
tap_done
