#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 1800
# alone
# The packages' own tests (debian/tests), run by Debian's autopkgtest in a copy of this system: what is packaged is
# installed there, and nothing else of ours.
. "$(dirname "$0")/../tap.sh"
have_root || skip_all "needs root"
for p in autopkgtest dh apt-get unshare; do command -v $p >/dev/null || skip_all "$p is not installed"; done
! ss -Hltn | grep -qE ':(6817|6818|9010|9020) ' || skip_all "something listens on ports of Slurm or of ours"
. test/overlay.sh
test_cleanup() { find /sys/fs/cgroup/*/slurm_ceems-box /sys/fs/cgroup/system.slice/ceems-box_slurmstepd.scope -depth -type d -exec rmdir {} + 2>/dev/null; }
overlay_possible || skip_all "the kernel mounts no overlay here"
build=$(cd "$BUILD" && pwd)
packaging/deb/build 0.1.0~test "$SCRATCH/debs" "$build" >"$SCRATCH/made" 2>&1
is "the packages are built" "$?" 0 || { tail "$SCRATCH/made" | sed 's/^/# /'; tap_done; }
mkdir -p "$SCRATCH/tree" && packaging/stage 0.1.0~test "$SCRATCH/tree/ceems" "$build" >"$SCRATCH/staged" 2>&1
is "their tree has what was made, and nothing that tests write meanwhile" "$? $(cd "$SCRATCH/tree/ceems/build" && find ceemsd obj/replay test log fuzz bench deb -maxdepth 0 2>/dev/null)" "0 ceemsd"
rm -rf "$SCRATCH/tree/ceems/build"
cat >"$SCRATCH/inside" <<'END'
cd "$1" || exit 1
export LC_ALL=C HOME=/root TMPDIR=$1
unset SLURM_CONF BUILD
hostname ceems-box
rm -f /etc/slurm/*.conf; rm -rf /var/lib/slurm/*/*
autopkgtest -o "$1/out" --no-built-binaries debs/*.deb tree/ceems -- null
END
overlay_run "$SCRATCH/inside" "$SCRATCH" >"$SCRATCH/log" 2>&1
is "autopkgtest ends well" "$?" 0 || tail -n 60 "$SCRATCH/log" | sed 's/^/# /'
tests=$(sed -n 's/^Tests: //p' packaging/deb/debian/tests/control)
is "each of its tests was run" "$(sed -n 's/^\([a-z]*\) *PASS$/\1/p' "$SCRATCH/out/summary" | xargs)" "$(xargs <<<"$tests")"
tap_done
