#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel programs compile for each processor that they know, whichever this is.
. "$(dirname "$0")/../tap.sh"
clang=${CLANG:-clang}
command -v "$clang" >/dev/null || skip_all "clang is not installed"
[ -f /usr/include/bpf/bpf_helpers.h ] || skip_all "libbpf-dev is not installed"
for arch in x86 arm64; do
	for f in bpf/*.bpf.c; do
		ok "$f compiles for $arch" "$clang" -g -O2 -mcpu=v3 -target bpfel -D__TARGET_ARCH_$arch -I. -Wall -Wextra -Wno-unused-parameter -Werror -c "$f" -o "$SCRATCH/o"
	done
done
like "another one is told so" "$("$clang" -O2 -mcpu=v3 -target bpfel -D__TARGET_ARCH_riscv -I. -c bpf/io.bpf.c -o "$SCRATCH/o" 2>&1)" 'no registers of system calls for this processor'
# The lists of what a file was made from hold file names: however the build folder is spelled, they must fit
anew() { env -u MAKEFLAGS -u MAKELEVEL make -n -W bpf/task_slot.h -W lib/err.h BUILD="$1" all | grep -oE '(bpf/io.bpf|obj/lib/err).o ' | sort -u | xargs; }
for b in "${BUILD#"$TOP/"}" "$BUILD" "$TOP/./${BUILD#"$TOP/"}/"; do
	is "a header that changed makes its objects anew, with BUILD=${b/"$TOP"/\$PWD}" "$(anew "$b")" "bpf/io.bpf.o obj/lib/err.o"
done
tap_done
