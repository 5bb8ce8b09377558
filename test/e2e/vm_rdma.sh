#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What units hold of RDMA devices, on soft RoCE with traffic, in a virtual machine.
# timeout 1500
# busy
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
for c in rdma ibv_rc_pingpong; do command -v $c >/dev/null || skip_all "$c is not installed (iproute2, ibverbs-utils)"; done
vm_guest "soft RoCE" --host --module=dummy --module=crc32_generic --module=rdma_rxe -- test/vm/rdma_guest.sh
tap_done
