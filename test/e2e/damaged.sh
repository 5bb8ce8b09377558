#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Ring and unit table under a running ceemsd: random bytes in them, over and over, while
# records come and scrapes go on; and truncated. Needs no root.
. "$(dirname "$0")/../tap.sh"

mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
url=http://127.0.0.1:$port
run=$SCRATCH/run

start() {
	"$BUILD/ceemsd" --path.rundir="$run" --path.cgroupfs="$SCRATCH/cgroup" --collector.slurm \
		--web.listen-address="127.0.0.1:$port" --no-security.drop-privileges --unit.capacity=16 --ring.slots=64 \
		--reports.spool="$SCRATCH/spool" >>"$SCRATCH/log" 2>&1 </dev/null &
	pid=$!
	started $pid
}
answers() { curl -sf -o "$SCRATCH/body" "$url/metrics"; }
answers_units() { curl -sf -o /dev/null "$url/units"; }
feed() {
	timeout 60 "$BUILD/unit_source" --ring="$run/ring" --count=12 --rate=2000 --producers=2 --steps=3 \
		--lossy=1 >/dev/null 2>&1 || true
}
# damage FILE: sixteen runs of random bytes, half of them in the first pages, and a whole page
damage() {
	local i size at
	size=$(stat -c %s "$1")
	for ((i = 0; i < 16; i++)); do
		at=$(((RANDOM << 15 | RANDOM) % size))
		((i % 2)) || at=$((at % 32768))
		dd if=/dev/urandom of="$1" bs=1 seek=$at count=$((RANDOM % 64 + 1)) conv=notrunc status=none
	done
	dd if=/dev/urandom of="$1" bs=4096 seek=$((RANDOM % (size / 4096))) count=1 conv=notrunc status=none
}
# the process itself, not whether it answers in time
lives() { kill -0 $pid 2>/dev/null; }

start
ok "starts" wait_for 30 answers
for round in 1 2 3 4 5 6; do
	feed
	damage "$run/units"
	feed
	ok "round $round: random bytes in the unit table: it answers" wait_for 30 answers
	ok "round $round: and lists its units" wait_for 30 answers_units
	damage "$run/ring"
	feed
	ok "round $round: random bytes in the ring: it answers" wait_for 30 answers
done
feed
size=$(stat -c %s "$run/units")
dd if=/dev/urandom of="$run/units" bs=4096 seek=1 count=$((size / 4096 - 1)) conv=notrunc status=none
ok "nothing but random bytes behind the table's header: it lists its units" wait_for 30 answers_units
ok "nothing but random bytes behind the table's header: it answers" wait_for 30 answers
ok "it is still the same process" lives
ok "and says that the table was damaged" wait_for 30 grep -q 'run/units: something else has written to it' "$SCRATCH/log"

# ended STATUS: the daemon has ended by itself with this status
ended() {
	local i
	for ((i = 0; i < 600; i++)); do
		lives || break
		answers || true
		sleep 0.1
	done
	{ wait $pid; } 2>/dev/null
	local status=$?
	[ $status -eq "$1" ] || echo "# status $status"
	[ $status -eq "$1" ]
}
for file in units ring; do
	: >"$SCRATCH/log"
	feed
	truncate -s 0 "$run/$file"
	ok "$file truncated: it ends with a status of its own, for systemd to start it again" ended 72
	ok "$file truncated: it says which file" grep -q "run/$file: shorter than it was" "$SCRATCH/log"
	start
	ok "$file truncated: starts again" wait_for 30 answers
	ok "$file truncated: with a new one" grep -q "run/$file: new, with" "$SCRATCH/log"
	feed
	ok "$file truncated: and takes records" wait_for 30 answers_units
done
tap_done
