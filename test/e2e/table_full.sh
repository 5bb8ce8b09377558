#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# No room for a unit: the file system of --path.rundir is full, also when the table is of an earlier
# version that must be extended, or the table itself is. No usage is lost, and the log says what is full. The jobs are simulated (test/fake/unit_source).
. "$(dirname "$0")/../tap.sh"

have_root || skip_all "needs root: mounts a small tmpfs"
run=$SCRATCH/run
mkdir "$SCRATCH/cgroup" "$run" && mount -t tmpfs -o size=2m,mode=750 none "$run" 2>/dev/null || skip_all "cannot mount a tmpfs"
port=$(free_port) || exit 1
url=http://127.0.0.1:$port

start() {
	"$BUILD/ceemsd" --path.rundir="$run" --path.cgroupfs="$SCRATCH/cgroup" --collector.slurm \
		--web.listen-address="127.0.0.1:$port" --ring.slots=64 --unit.capacity="$1" --unit.linger=1h \
		--energy.interval=1s --no-reports.enabled >>"$SCRATCH/log" 2>&1 </dev/null &
	daemon=$!
	started $daemon
}
stop() {
	kill $daemon
	{ wait $daemon; } 2>/dev/null
}
test_cleanup() {
	[ -z "${daemon:-}" ] || stop 2>/dev/null
	umount "$run"
}
answers() { curl -sf -o "$SCRATCH/body" "$url/metrics"; }
# value NAME [LABELS]: of the last scrape
value() { sed -n "s/^$1 //p" "$SCRATCH/body"; }
sum_of() { jq -s "map(.$1) | add" "$SCRATCH"/truth.*; }
scaled() { awk -v v="$1" 'BEGIN { s = sprintf("%d.%09d", v / 1e9, v % 1e9); sub(/\.?0+$/, "", s); print s }'; }
feed() { # FIRST-ID OPTION...
	"$BUILD/unit_source" --ring="$run/ring" --first-id="$1" "${@:2}" >"$SCRATCH/truth.$1" 2>>"$SCRATCH/source.err"
}
drained() { answers && [ "$(sed -n 's/^ceems_ring_pending{.*} //p' "$SCRATCH/body")" = 0 ]; }
counts_all() {
	drained || return 1
	local host
	host=$(sed -n 's/^ceems_compute_units{manager="slurm",hostname="\([^"]*\)"} .*/\1/p' "$SCRATCH/body")
	[ "$(value "ceems_units_cpu_seconds_total{manager=\"slurm\",hostname=\"$host\",mode=\"user\"}")" = "$(scaled "$(sum_of cpu_user_ns)")" ]
}
refused() { drained && [ "$(sed -n 's/^ceems_units_refused_records_total{.*} //p' "$SCRATCH/body")" -gt "$1" ]; }

start 64
ok "starts" wait_for 30 answers
dd if=/dev/zero of="$run/filler" bs=4096 2>/dev/null
feed 100 --count=10 --steps=2
is "the file system is full: the ring takes all records" $? 0
ok "the file system is full: what was used is in the node's counters" wait_for 30 counts_all
ok "the file system is full: what found no room is counted" refused 0
ok "the file system is full: the log says so" grep -q 'no disk space for another slot.*--path.rundir' "$SCRATCH/log"
ok "the file system is full: and blames no option for it" eval '! grep -q unit.capacity "$SCRATCH/log"'
rm "$run/filler"
feed 200 --count=10 --steps=2
ok "there is room again: all is counted" wait_for 30 counts_all
listed() { curl -sf "$url/units" | jq -e '[.units[].id] | index("205")' >/dev/null; }
ok "there is room again: units are seen one by one" wait_for 30 listed

# While no daemon runs the ring collects, and the next one takes all at once: nothing that runs
# can be given up in between.
stop
rm -f "$run"/* "$SCRATCH"/truth.* "$SCRATCH/log"
start 16
ok "a table of 16 units: starts" wait_for 30 answers
stop
feed 300 --count=16 --steps=1 --running=16
feed 400 --count=10 --steps=1
start 16
ok "a full table: what was used is in the node's counters" wait_for 30 counts_all
ok "a full table: what found no room is counted" refused 0
ok "a full table: the log names the option" grep -q 'unit table full (16 of 16 units.*--unit.capacity' "$SCRATCH/log"

# An upgrade on a full file system. Version 9 added 336 bytes a unit at the file's end.
stop
rm -f "$run"/* "$SCRATCH"/truth.* "$SCRATCH/log"
start 64
ok "a table that an upgrade must extend: starts" wait_for 30 answers
feed 500 --count=10 --steps=2
ok "a table that an upgrade must extend: is filled" wait_for 30 counts_all
stop
printf '\010\0\0\0' | dd of="$run/units" bs=1 seek=8 conv=notrunc 2>/dev/null
truncate -s "-$(((64 * 336 + 4095) / 4096 * 4096))" "$run/units"
cp "$run/units" "$SCRATCH/units.8"
dd if=/dev/zero of="$run/filler" bs=4096 2>/dev/null
start 64
ok "a full file system at an upgrade: the daemon starts" wait_for 30 answers
like "a full file system at an upgrade: one line says so, and what to do" "$(grep -c 'level=warn.*units: extend' "$SCRATCH/log") $(grep 'units: extend' "$SCRATCH/log")" \
	'^1 .*No space left on device.*stays as it was.*restart'
ok "a full file system at an upgrade: the older daemon could go on with its table" cmp "$SCRATCH/units.8" "$run/units"
feed 600 --count=10 --steps=2
stop
rm "$run/filler"
start 64
ok "there is room again after an upgrade: all is counted, from the table and the ring" wait_for 30 counts_all
ok "there is room again after an upgrade: it is the old table that went on" grep -q 'resuming with 10 units' "$SCRATCH/log"
tap_done
