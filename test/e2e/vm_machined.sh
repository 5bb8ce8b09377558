#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Virtual machines below systemd-machined on cgroup v2: a real libvirtd in a virtual machine (test/vm/machined_guest.sh).
# timeout 1500
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
for p in /lib/systemd/systemd /lib/systemd/systemd-machined /usr/bin/dbus-daemon; do [ -x $p ] || skip_all "$p is not installed"; done
for p in libvirtd virsh; do command -v $p >/dev/null || skip_all "$p is not installed"; done
[ -x "$BUILD/ceems-libvirt" ] || skip_all "ceems-libvirt was not built here (libvirt-dev, libxml2-dev)"
vm_guest machined --host --mem=1536 -- test/vm/machined_guest.sh
tap_done
