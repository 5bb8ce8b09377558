#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hardware events of virtual machines on a processor that has them: libvirtd and QEMU in an emulated arm64 machine.
# timeout 1500
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
[ -x "$BUILD/ceems-libvirt" ] || skip_all "ceems-libvirt was not built here (libvirt-dev, libxml2-dev)"
why=$(test/vm/run possible --arm64) && why=$(test/vm/run possible --arm64-libvirt) || skip_all "$why"
test/vm/sysroot build arm64 "$BUILD/arm64" ceemsd ceems-opener ceems-libvirt ceems_tool >"$SCRATCH/build" 2>&1
is "all of it can be built for arm64" "$? $(grep -c error "$SCRATCH/build")" "0 0" || { tail -n 20 "$SCRATCH/build" | sed 's/^/# /'; tap_done; }
BUILD=$BUILD/arm64 vm_guest "machines" --arm64-libvirt -- test/vm/machine_events_guest.sh
tap_done
