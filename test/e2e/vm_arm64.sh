#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian's Slurm for arm64 on cgroup v2, in a virtual machine of that processor (emulated): its jobs, our plugins,
# ceemsd and its kernel programs, all of which are built for it here.
# timeout 1800
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
why=$(test/vm/run possible --arm64) || skip_all "$why"
release=$(arm64_release)
slurm=${release%.*}
[ -e "$BUILD/slurm/$slurm/spank_ceems.so" ] || skip_all "no plugin for Slurm $slurm was built here"
targets=("slurm/$slurm/spank_ceems.so" ceemsd ceems_tool ceems-ringdump courier_rude)
[ ! -e "$BUILD/slurm/$release/acct_gather_energy_ceems.so" ] || targets+=("slurm/$release/acct_gather_energy_ceems.so")
unit=(ring_attach_test spank_test reader_test signals_test ringdump_test child_link_test) # which cross.sh cannot run
[ ! -x "$BUILD/ceems-opener" ] || { unit+=(profile_worker_test); targets+=(ceems-opener perf_around io_ring net_calls hung_fuse test/group_programs_test); }
export BUILD=$BUILD/arm64
test/vm/sysroot build arm64 "$BUILD" "${targets[@]}" "${unit[@]/#/test/}" >"$SCRATCH/build" 2>&1
is "all of it can be built for arm64" "$? $(grep -c error "$SCRATCH/build")" "0 0" || { tail -n 20 "$SCRATCH/build" | sed 's/^/# /'; tap_done; }
vm "arm64" --arm64 "$slurm"
vm_guest "arm64, unit tests" --arm64 -- test/vm/emulated_guest.sh "${unit[@]}"
if [ -x "$BUILD/ceems-opener" ]; then
	modules=(--module=gcm --module=ctr --module=ghash_generic --module=tls) # for TLS of the kernel
	vm_guest "arm64, kernel programs" --arm64 "${modules[@]}" -- test/vm/groups_guest.sh
else
	skip "kernel programs" "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
fi
tap_done
