#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pods of a real kubelet with its systemd driver on cgroup v2, as most clusters have them, in a virtual machine whose
# first process is systemd (test/vm/kubelet_guest.sh).
# timeout 2700
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
for p in /lib/systemd/systemd /usr/bin/dbus-daemon; do [ -x $p ] || skip_all "$p is not installed"; done
for p in containerd ctr runc python3; do command -v $p >/dev/null || skip_all "$p is not installed"; done
[ -x "$BUILD/ceems-k8s" ] || skip_all "ceems-k8s was not built here"
export CEEMS_RIG_KUBELET=v1.37.2
why=$(test/rig/k8s make) || skip_all "$why"
# the guest sees this folder
cache=$BUILD/vm-kubelet.$$ from=${CEEMS_RIG_CACHE:-/var/cache/ceems-rig}/k8s-${CEEMS_RIG_KUBELET#v}
test_cleanup() { rm -rf "$cache"; }
mkdir -p "$cache" && cp -r "$from" "$cache/" || exit 1
vm_program=ceems-k8s
# with one processor: its kernel patches itself when controllers are switched on, see test/vm/run
vm_guest "systemd driver" --host --mem=2560 --qemu=-smp --qemu=1 -- test/vm/kubelet_guest.sh "$cache" $CEEMS_RIG_KUBELET
tap_done
