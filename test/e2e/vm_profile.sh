#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles on arm64: an emulated processor that signs return addresses (pointer authentication), and programs without frame
# pointers, some of which have it do so, and Python. What is here builds them.
# timeout 1500
# alone
. "$(dirname "$0")/../tap.sh"
. test/vm/lines.sh
[ -x "$BUILD/ceems-profiler" ] || skip_all "the profiler was not built here (libdw-dev, libprotobuf-c-dev)"
why=$(test/vm/run possible --arm64) || skip_all "$why"
export BUILD=$BUILD/arm64
test/vm/sysroot build arm64 "$BUILD" ceems-profiler ceems-opener >"$SCRATCH/build" 2>&1
is "the profiler can be built for arm64" "$? $(grep -c error "$SCRATCH/build")" "0 0"
sed 's/^/# /' "$SCRATCH/build" | grep -i 'error\|warning' | head -20
rm -rf "$BUILD/stacks"
mkdir "$BUILD/stacks"
built() { # name compiler...
	"${@:2}" -O3 -fno-inline -o "$BUILD/stacks/$1" test/stacks.c -lm
}
gcc="aarch64-linux-gnu-gcc -fno-ipa-cp -fno-ipa-sra" # one function, one name
signed="-fomit-frame-pointer -mbranch-protection=standard"
ok "so can programs" built pointers $gcc -fno-omit-frame-pointer && ok "without frame pointers" built no_pointers $gcc -fomit-frame-pointer &&
	ok "with signed return addresses" built signed $gcc $signed && ok "all of it in one file" built static $gcc $signed -static
built clang clang --target=aarch64-linux-gnu $signed 2>"$SCRATCH/cc" || skip "programs of clang" "$(head -n 1 "$SCRATCH/cc")"
vm_program=ceems-profiler
vm_guest "arm64" --arm64 --qemu=-cpu --qemu=max,pauth-impdef=on -- test/vm/profile_guest.sh
tap_done
