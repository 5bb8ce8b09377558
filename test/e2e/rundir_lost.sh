#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ring, then the whole run directory, then the spool, removed under a running ceemsd: this is noticed, logged and
# repaired, and neither a counter nor a report is lost. The jobs are simulated (test/fake/unit_source).
. "$(dirname "$0")/../tap.sh"

mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
url=http://127.0.0.1:$port
run=$SCRATCH/run

start() { # OPTION...
	"$BUILD/ceemsd" --path.rundir="$run" --path.cgroupfs="$SCRATCH/cgroup" --collector.slurm \
		--web.listen-address="127.0.0.1:$port" --ring.slots=64 --unit.linger=1h --no-reports.enabled \
		"$@" >>"$SCRATCH/log" 2>&1 </dev/null &
	pid=$!
	started $pid
}
answers() { curl -sf -o "$SCRATCH/body" "$url/metrics"; }
value() { sed -n "s/^$1 //p" "$SCRATCH/body"; }
sum_of() { jq -s "map(.$1) | add" "$SCRATCH"/truth.*; }
scaled() { awk -v v="$1" 'BEGIN { s = sprintf("%d.%09d", v / 1e9, v % 1e9); sub(/\.?0+$/, "", s); print s }'; }
feed() { # FIRST-ID
	"$BUILD/unit_source" --ring="$run/ring" --first-id="$1" --count=10 --steps=2 >"$SCRATCH/truth.$1" 2>>"$SCRATCH/source.err"
}
counts_all() {
	answers || return 1
	local host
	host=$(sed -n 's/^ceems_compute_units{manager="slurm",hostname="\([^"]*\)"} .*/\1/p' "$SCRATCH/body")
	[ "$(value "ceems_units_cpu_seconds_total{manager=\"slurm\",hostname=\"$host\",mode=\"user\"}")" = "$(scaled "$(sum_of cpu_user_ns)")" ]
}
is_back() { [ "$(stat -c %i "$run/ring" 2>/dev/null)" = "$1" ]; }
is_new() { [ -f "$run/ring" ] && [ "$(stat -c %i "$run/ring")" != "$1" ]; }
gone() { ! kill -0 $pid 2>/dev/null; }
end_status() { # sets status: of the process, once it has ended
	wait_for 60 gone
	wait $pid
	status=$?
}

# who may make a ring makes it: an ordinary user's own, or root's that was not given up
start --no-security.drop-privileges
ok "starts" wait_for 30 answers
feed 100
ok "counts" wait_for 30 counts_all
old=$(stat -c %i "$run/ring")
kill -STOP $pid
rm "$run/ring"
feed 150
is "ring removed: who finds none has another way" $? 0
kill -CONT $pid
ok "ring removed: it is put back" wait_for 30 is_back "$old"
ok "ring removed: it is said" grep -q 'run/ring: removed or replaced while in use' "$SCRATCH/log"
feed 200
ok "ring removed: and nothing is lost" wait_for 30 counts_all
exec 5<"$run/ring" # so that its inode's number does not come back
rm "$run/ring" "$run/ring.spare"
ok "ring removed by both its names: there is a new one" wait_for 30 is_new "$old"
feed 250
is "ring removed by both its names: the new one takes records" $? 0
ok "ring removed by both its names: and nothing is lost" wait_for 30 counts_all
old=$(stat -c %i "$run/ring")
mv "$run/ring" "$run/moved"
ok "ring moved away: there is a new one" wait_for 30 is_new "$old"
feed 300
ok "ring moved away: and nothing is lost" wait_for 30 counts_all
# a head from which no record would come any more: at 128 (lib/records/ring.h)
old=$(stat -c %i "$run/ring")
printf wwwwwwww | dd of="$run/ring" bs=1 seek=128 conv=notrunc status=none
ok "head overwritten: there is a new ring" wait_for 30 is_new "$old"
ok "head overwritten: it is said" grep -q 'run/ring: something else has written to its head or tail' "$SCRATCH/log"
feed 350
ok "head overwritten: and nothing is lost" wait_for 30 counts_all
ok "it is still the same process" kill -0 $pid
kill $pid
end_status
is "and ends well" $status 0

has_reports() { # FOLDER FIRST-ID: the final reports of the ten jobs
	[ "$("$BUILD/ceems_tool" spool "$1" 2>/dev/null | jq -r 'select(.kind == "final") | .unit' | awk -v f="$2" '$1 >= f && $1 < f + 10' | sort -u | wc -l)" = 10 ]
}
start --no-security.drop-privileges --reports.enabled --reports.spool="$SCRATCH/spool"
ok "starts with a spool" wait_for 30 answers
feed 420
ok "writes reports there" wait_for 30 has_reports "$SCRATCH/spool" 420
mv "$SCRATCH/spool" "$SCRATCH/spool.moved"
feed 430
ok "spool moved away: reports are in a new one" wait_for 30 has_reports "$SCRATCH/spool" 430
ok "spool moved away: it is said" grep -q 'spool: removed or replaced while in use' "$SCRATCH/log"
kill $pid
end_status

if have_root; then
	: >"$SCRATCH/log"
	start
	ok "without root: starts" wait_for 30 answers
	ok "without root: goes on with the table" wait_for 30 counts_all
	rm "$run/ring"
	end_status
	is "without root, ring removed: ends with a status for systemd" $status 72
	ok "without root, ring removed: says why" grep -q 'only root can put it back' "$SCRATCH/log"
	feed 380
	is "without root, ring removed: what is sent meanwhile waits" $? 0
	start
	ok "without root, ring removed: started again, it answers" wait_for 30 answers
	feed 400
	ok "without root, ring removed: and nothing is lost" wait_for 30 counts_all
	rm -f "$run/units" # first, or ceemsd may end at the loss of the ring before it has looked at the table
	rm -r "$run"
	end_status
	is "without root, run directory removed: ends with a status for systemd" $status 72
	ok "without root, run directory removed: says that the table is lost" grep -q 'run/units: removed while in use' "$SCRATCH/log"
	rm -f "$SCRATCH"/truth.*
	start
	ok "without root, run directory removed: started again, it answers" wait_for 30 answers
	feed 500
	ok "without root, run directory removed: and counts" wait_for 30 counts_all
	kill $pid
	end_status
	: >"$SCRATCH/log"
	mkdir "$SCRATCH/root"
	start --reports.enabled --reports.spool="$SCRATCH/root/spool"
	ok "without root: starts with a spool" wait_for 30 answers
	feed 600
	ok "without root: and writes to it" wait_for 30 has_reports "$SCRATCH/root/spool" 600
	rm -r "$SCRATCH/root/spool"
	feed 610
	end_status
	is "without root, spool removed: ends with a status for systemd" $status 72
	ok "without root, spool removed: says why" grep -q "root/spool: removed while in use, and only root can put it back" "$SCRATCH/log"
	start --reports.enabled --reports.spool="$SCRATCH/root/spool"
	ok "without root, spool removed: started again, it writes what it could not" wait_for 30 has_reports "$SCRATCH/root/spool" 610
	kill $pid
	end_status
else
	skip "a daemon that has given up root" "needs root"
fi
tap_done
