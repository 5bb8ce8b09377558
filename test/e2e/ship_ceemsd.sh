#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports of simulated jobs from ring to aggregator, by a real ceemsd and its ceems-courier: they
# arrive, the courier is restarted when it dies or at a reload, and the logs say so.
. "$(dirname "$0")/../tap.sh"

[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built"
[ -x "$BUILD/ingest_host" ] || skip_all "ingest_host is not built: no libmicrohttpd"
command -v curl >/dev/null || skip_all "curl is not installed"
cd "$SCRATCH" || exit 1
chmod 755 .
(umask 077; echo s3cret-token >token)
chmod 640 token
have_root && { chgrp ceems token 2>/dev/null || chgrp "$(id -gn nobody)" token; } # who ceemsd becomes
mkfifo in
"$BUILD/ingest_host" --token s3cret-token --control "$SCRATCH/control" --log "$SCRATCH/log" <in >out 2>&1 &
started $!
exec {IN}>in
wait_for 10 grep -q ^ready out || exit 1
host=http://127.0.0.1:$(sed -n 's/^ready //p' out)

run() {
	local i
	for i in 1 2 3; do
		port=$(free_port) || exit 1
		"${WITH[@]}" "$BUILD/ceemsd" --collector.disable-defaults --collector.courier --collector.ring --path.rundir="$SCRATCH/run" \
			--collector.slurm.nodes=none-here --web.listen-address="127.0.0.1:$port" --reports.spool="$SCRATCH/spool" --reports.interval=1h \
			--aggregator.url="$host" --aggregator.token-file="$SCRATCH/token" >>ceemsd.log 2>&1 </dev/null &
		pid=$!
		started $pid
		wait_for 20 eval 'scrape || ! kill -0 $pid'
		scrape && return
		grep -q 'in use' ceemsd.log || break
	done
	sed 's/^/# /' ceemsd.log
	return 1
}
scrape() { curl -sf -m 20 -o body "http://127.0.0.1:$port/metrics"; }
value() { scrape; sed -n "s/^$1{.*} //p" body; }
accepted() { scrape; sed -n 's/^ceems_courier_records_total{.*result="accepted"} //p' body; }
arrived() { sed -n 's/^# records=\([0-9]*\) .*/\1/p' log 2>/dev/null | awk '{ n += $1 } END { print n + 0 }'; }
courier() { pgrep -P "$pid" -f ceems-courier; }
jobs_run() { "$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count="$1" --first-id="$2" >/dev/null; }

WITH=()
choom -n -500 true 2>/dev/null && WITH=(choom -n -500 --)
ok "ceemsd starts" run
scrape || tap_done
ok "its courier runs" wait_for 10 courier
if [ ${#WITH[@]} -gt 0 ]; then
	is "ceemsd is spared when memory runs out" "$(cat "/proc/$pid/oom_score_adj")" -500
	ok "its courier is not" wait_for 5 eval '[ "$(cat "/proc/$(courier)/oom_score_adj")" = 0 ]'
else
	skip "ceemsd is spared when memory runs out" "no right to lower it, or no choom"
	skip "its courier is not" "no right to lower it, or no choom"
fi
jobs_run 20 1000
ok "the window and the final report of each job arrive" wait_for 20 eval '[ "$(arrived)" -ge 40 ]'
ok "the scrape says so" wait_for 10 eval '[ "$(accepted)" = "$(arrived)" ]'
is "no restart yet" "$(value ceems_courier_restarts_total)" 0
like "when was the last" "$(value ceems_courier_last_accepted_timestamp_seconds)" '^[0-9]{10}$'
was=$(courier)
n=$(arrived)
kill -9 "$was"
jobs_run 10 2000
ok "a courier that is killed is started again, which is counted" wait_for 20 eval '[ "$(value ceems_courier_restarts_total)" = 1 ]'
ok "it sends what came meanwhile" wait_for 20 eval '[ "$(arrived)" -ge $((n + 20)) ]'
was=$(courier)
kill -HUP "$pid"
ok "a reload starts it anew" wait_for 10 eval 'now=$(courier) && [ -n "$now" ] && [ "$now" != "$was" ]'
ok "which is counted too" wait_for 5 eval '[ "$(value ceems_courier_restarts_total)" = 2 ]'
echo "status 503" >control
jobs_run 5 3000
ok "what waits is seen" wait_for 15 eval '[ "$(value ceems_courier_waiting_records)" -ge 1 ]'
ok "and that it fails" wait_for 10 eval '[ "$(value ceems_courier_post_failures_total)" -ge 1 ]'
ok "ceemsd's log says why" wait_for 10 grep -q 'ship: .*HTTP status 503' ceemsd.log
echo ok >control
n=$(arrived)
ok "it goes when the aggregator is back" wait_for 70 eval '[ "$(arrived)" -ge $((n + 10)) ]'
ok "nothing waits" wait_for 10 eval '[ "$(value ceems_courier_waiting_records)" = 0 ]'
kill "$pid"; wait "$pid" 2>/dev/null
ok "the courier ends with it" wait_for 10 eval '! pgrep -f "ceems-courier.*$SCRATCH"'
is "no token in a log or on a command line" "$(grep -c s3cret ceemsd.log)" 0

# --- what --check-config says
check() { "$BUILD/ceemsd" --check-config "$@" 2>&1; }
like "a good configuration" "$(check --reports.enabled --aggregator.url="$host" --aggregator.token-file="$SCRATCH/token")" 'the configuration is valid'
like "a token file that is not there" "$(check --reports.enabled --aggregator.url="$host" --aggregator.token-file=/nonexistent)" 'ship: .*/nonexistent: No such file'
like "an address that is none" "$(check --reports.enabled --aggregator.url=aggregator:9020 --aggregator.token-file="$SCRATCH/token")" '"aggregator:9020" must begin with http:// or https://'
printf 'redfish_collector:\n  hostname: x\n  pasword: y\n' >rf.yaml
chmod 600 rf.yaml
like "a mistake in the file for Redfish, by line" "$(check --collector.redfish --collector.redfish.config.file="$SCRATCH/rf.yaml")" 'rf.yaml:3: unknown key'
check --collector.redfish --collector.redfish.config.file="$SCRATCH/rf.yaml" >/dev/null
is "with status 2" "$?" 2
tap_done
