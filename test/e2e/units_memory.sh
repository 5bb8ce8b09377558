#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd without memory: the list of units is answered or refused, never cut, and comes back.
. "$(dirname "$0")/../tap.sh"
for p in ceemsd unit_source; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
for c in curl prlimit; do command -v $c >/dev/null || skip_all "$c is not installed"; done
case $BUILD in */san-*) skip_all "a sanitizer's address space is not its own" ;; esac

run=$SCRATCH/run
mkdir "$SCRATCH/cgroup"
port=$(free_port) url=http://127.0.0.1:$port
"$BUILD/ceemsd" --path.rundir="$run" --path.cgroupfs="$SCRATCH/cgroup" --collector.slurm --web.listen-address="127.0.0.1:$port" \
	--unit.capacity=4096 --security.drop-privileges=false --reports.spool="$SCRATCH/spool" >"$SCRATCH/log" 2>&1 </dev/null &
pid=$!
started $pid
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "$url/health"
"$BUILD/unit_source" --ring="$run/ring" --count=3000 --rate=2000 --running=3000 >"$SCRATCH/source" 2>&1
units() { curl -s -m 100 -o "$SCRATCH/units" -w '%{http_code}' "$url/units"; }
vm() { awk '/^VmSize/ { print $2 * 1024 }' "/proc/$pid/status"; }
# no page more than it has: what is large finds no room, from the first time on
prlimit --pid $pid --as="$(vm):"
ok "without memory each request has an answer ($(for _ in 1 2 3 4 5 6 7 8; do units; echo -n ' '; done | tee "$SCRATCH/codes"))" \
	grep -qxE '((200|503) ){8}' "$SCRATCH/codes"
is "health needs none" "$(curl -s -m 100 -o /dev/null -w '%{http_code}' "$url/health")" 200
prlimit --pid $pid --as=unlimited:
is "with memory there is the list" "$(units)" 200
ok "of all units" test "$(grep -o '"manager"' "$SCRATCH/units" | wc -l)" -ge 3000
ok "it is still the same process" kill -0 $pid
tap_done
