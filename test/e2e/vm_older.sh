#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel programs on Debian 12's kernel (6.1), which has no tracepoints of sockets, in a virtual machine.
# timeout 1500
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
modules=(--module=gcm --module=ctr --module=ghash_generic --module=tls) # for TLS of the kernel
vm_guest "Linux 6.1" --host --older "${modules[@]}" -- test/vm/groups_guest.sh
tap_done
