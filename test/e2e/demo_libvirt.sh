#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# alone: the domains of another libvirtd have the same numbers
# The demo of virtual machines, as make demo-libvirt runs it: domains of a real libvirtd are in a real Prometheus, and each
# owner, whom a replayed Nova names, sees their own with cacct and no other. demo-libvirt-stop ends what was started.
. "$(dirname "$0")/../tap.sh"
why=$(test/rig/demo_libvirt possible) || skip_all "$why"
# the demo of its own build folder, so that one which a person has running is left alone
mkdir "$SCRATCH/build"
ln -s "$BUILD"/{ceemsd,ceems-libvirt,ceems-courier,ceems_aggregator,cacct} "$SCRATCH/build/"
export BUILD=$SCRATCH/build
test_cleanup() { test/rig/demo_libvirt stop; }
ok "it starts, and its rows are complete" eval 'test/rig/demo_libvirt start >"$SCRATCH/page" 2>&1'
sed 's/^/# /' "$SCRATCH/page"
vm() { printf '3f1d2c7a-1111-4000-8000-%012d' "$1"; }
prometheus() { sed '/^What/,$d' "$SCRATCH/page" | grep "^$(vm "$1")"; }
of() { sed -n "/^What $1 sees/,/^\$/p" "$SCRATCH/page" | grep '^3f1d'; }
is "Prometheus has both domains, with their CPUs" "$(prometheus 1 | awk '{ print $2 }') $(prometheus 2 | awk '{ print $2 }')" "1 2"
is "with CPU time and memory" "$({ prometheus 1; prometheus 2; } | awk '!($3 > 0 && $4 > 0)')" ""
is "the first owner sees one row, of Nova's words" "$(of daemon)" "$(vm 1)|vm-of-daemon|daemon|physics|ACTIVE|1"
is "the second sees the other" "$(of games)" "$(vm 2)|vm-of-games|games|chemistry|ACTIVE|2"
dir=$(. "$BUILD/demo-libvirt/demo.env" && echo "$CEEMS_DEMO_DIR")
ok "it stops" test/rig/demo_libvirt stop
is "and leaves no process" "$(grep -lsF -f <(echo "${dir:-none}/") /proc/[0-9]*/cmdline | wc -l)" 0
is "no control group" "$(find /sys/fs/cgroup -type d -path '*/machine/qemu-*ceemsdemo*' 2>/dev/null | wc -l)" 0
ok "no file" [ ! -e "$dir" ]
tap_done
