#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A node whose clock jumps while many short units begin and end, by 5 s to 30 days, either way, and
# back: from ring to database with real parts. None is lost, none is there twice, and the bill is
# the actual usage.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/clock_off.sh"
for p in ceemsd ceems-courier ceems_aggregator unit_source; do [ -x "$BUILD/$p" ] || skip_all "$p is not built here"; done
for p in curl jq python3; do command -v $p >/dev/null || skip_all "$p is not installed"; done
need_pg
need_clock_off
cd "$SCRATCH" || exit 1
chmod 755 .
clock_file off 0
chmod 644 off
pg_start || { ok "Postgres starts" false; tap_done; }
(umask 077; echo a-token-of-some-length >token)
chmod 640 token
have_root && { chgrp ceems token 2>/dev/null || chgrp "$(id -gn nobody)" token; } # who ceemsd becomes
cp token agg-token; chmod 600 agg-token
agg_port=$(free_port) port=$(free_port)
U=http://127.0.0.1:$agg_port
leaping=(env "${clock_off[@]}" CLOCK_OFF_FILE="$SCRATCH/off")
sql() { psql_do -c "$1"; }
"$BUILD/ceems_aggregator" --web.listen-address="127.0.0.1:$agg_port" --db.url="$PGURL" --security.drop-privileges=false \
	--ingest.token-file="$SCRATCH/agg-token" --rollup.delay=500ms --linker.grace=2s >>agg.log 2>&1 </dev/null &
agg_pid=$!
started $agg_pid
"${leaping[@]}" "$BUILD/ceemsd" --collector.disable-defaults --collector.courier --collector.ring --path.rundir="$SCRATCH/run" \
	--collector.slurm.nodes=none-here --web.listen-address="127.0.0.1:$port" --reports.enabled --reports.spool="$SCRATCH/spool" --reports.interval=2s --cluster=test \
	--aggregator.url="$U" --aggregator.token-file="$SCRATCH/token" >>node.log 2>&1 </dev/null &
pid=$!
started $pid
up() { curl -sf -m 20 -o /dev/null "$U/health" && curl -sf -m 20 -o body "http://127.0.0.1:$port/metrics"; }
wait_for 60 up || { ok "aggregator and ceemsd start" false; tail -3 agg.log node.log; tap_done; }

make_units() { # flags
	"${leaping[@]}" "$BUILD/unit_source" --ring="$SCRATCH/run/ring" --first-id=$first --steps=2 "$@" >>used
}
first=1000 units=0 began=$(date +%s)
for leap in ${LEAPS:-5 -5 3600 -3600 10800 -10800 86400 -86400 2592000 -2592000}; do
	clock_file off "$leap"
	make_units --count=5 || ok "units of a leap of $leap s are written" false
	first=$((first + 5))
	make_units --count=15 --rate=40 &
	source=$!
	sleep 0.2
	clock_file off 0
	wait $source || ok "units of a leap of $leap s are written" false
	first=$((first + 15)) units=$((units + 20))
done
used=$(jq -s 'map(.cpu_user_ns + .cpu_system_ns) | add' used)
all_there() { [ "$(sql 'SELECT count(*) FROM unit_node WHERE final')" = $units ]; }
ok "each of $units units arrives with its end" wait_for 120 all_there
is "each once" "$(sql 'SELECT count(*), count(DISTINCT uuid) FROM unit_node')" "$units|$units"
is "with all that was used" "$(sql 'SELECT sum(cpu_user_ns + cpu_system_ns) FROM unit_node')" "$used"
is "which is the sum of its intervals" "$(sql 'SELECT sum(cpu_user_ns + cpu_system_ns) FROM unit_interval')" "$used"
billed() { [ "$(sql 'SELECT sum(cpu_user_ns + cpu_system_ns) FROM unit')" = "$used" ]; }
ok "and is on the bill" wait_for 60 billed
is "each is when it was" "$(sql "SELECT uuid, started, ended FROM unit_node WHERE started < to_timestamp($began - 8) OR ended > now() + interval '8 s' OR ended < started OR ended > started + interval '60 s'")" ""
is "and some were moved there" "$(sql 'SELECT count(*) > 0 FROM unit_node WHERE abs(shift_ms) > 80000000')" t
is "nothing was refused" "$(curl -s "$U/metrics" | sed -n 's/^ceems_aggregator_ingest_refused_records_total //p') $(curl -s "http://127.0.0.1:$port/metrics" | sed -n 's/^ceems_courier_records_total{.*result="\(refused\|set_aside\)"} //p' | paste -sd' ')" "0 0 0"
kill "$pid" "$agg_pid"
wait "$pid" "$agg_pid" 2>/dev/null
tap_done
