#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 900
# The source archive builds by itself and passes its unit tests.
. "$(dirname "$0")/../tap.sh"
git rev-parse --git-dir >/dev/null 2>&1 || skip_all "not a git checkout"
unset MAKEFLAGS MAKELEVEL
archive=$(make -s dist | tail -1)
ok "make dist writes an archive" [ -s "$archive" ]
tar -xzf "$archive" -C "$SCRATCH"
cd "$SCRATCH"/ceems-slurm-* || exit 1
make -s -j2 WERROR=1 >"$SCRATCH/make.log" 2>&1
is "the archive builds, warnings being errors" $? 0
[ "$tap_failed" = 0 ] || sed 's/^/# /' "$SCRATCH/make.log" | tail -20
make -s check-unit >"$SCRATCH/check.log" 2>&1
like "its unit tests pass" "$(tail -1 "$SCRATCH/check.log")" '^[1-9][0-9]* passed, 0 failed'
like "without cmocka they say what is missing" "$(make -s check-unit HAVE_CMOCKA= 2>&1)" 'cmocka is missing: apt-get install libcmocka-dev'
like "and make help names them" "$(make help)" 'make check-unit .*libcmocka-dev'
mkdir "$SCRATCH/a b" && cp Makefile "$SCRATCH/a b/"
like "a clone whose path make cannot handle is told so" "$(make -C "$SCRATCH/a b" 2>&1)" 'the path of this folder has a space or a colon.* move the clone: .*/a b\.'
make -s install DESTDIR="$SCRATCH/root" PREFIX=/usr >"$SCRATCH/install.log" 2>&1
is "it installs" $? 0
git init -q "$SCRATCH" # nobody's clone is taken for that of the sources
packaging/stage 0.1.0~test "$SCRATCH/tree" build >"$SCRATCH/stage.log" 2>&1
is "packages are made of the same files" "$? $(cd "$SCRATCH/tree" && find . -path ./build -prune -o -path ./debian -prune -o ! -type d -print | sort | diff - <(cd "$OLDPWD" && find . -path ./build -prune -o ! -type d -print | sort))" "0 "
tap_done
