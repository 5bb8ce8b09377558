#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What ceemsd tells systemd: the packaged unit is Type=notify, so without READY=1 slurmd,
# which is ordered after it, would wait for the start's time-out.
. "$(dirname "$0")/../tap.sh"
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
perl -MSocket -e1 2>/dev/null || skip_all "perl is not installed"

# prints each datagram that arrives at the socket
perl -MSocket -e '$| = 1; socket(S, AF_UNIX, SOCK_DGRAM, 0); bind(S, pack_sockaddr_un($ARGV[0])) or die;
	while (defined recv(S, $m, 4096, 0)) { $m =~ tr/\n/ /; print "$m\n" }' "$SCRATCH/notify" >"$SCRATCH/told" &
started $!
wait_for 10 [ -S "$SCRATCH/notify" ]
port=$(free_port)
mkdir "$SCRATCH/run"
chmod 711 "$SCRATCH" && chmod 666 "$SCRATCH/notify"
NOTIFY_SOCKET=$SCRATCH/notify "$BUILD/ceemsd" --web.listen-address=127.0.0.1:"$port" --path.rundir="$SCRATCH/run" \
	>"$SCRATCH/log" 2>&1 &
pid=$!
started $pid
ok "says READY=1" wait_for 20 grep -q 'READY=1' "$SCRATCH/told"
ok "and does answer then" curl -sf -o "$SCRATCH/body" "http://127.0.0.1:$port/health"
kill -TERM $pid
ok "says STOPPING=1 at its end" wait_for 20 grep -q 'STOPPING=1' "$SCRATCH/told"
wait $pid
is "ends with status 0" $? 0
NOTIFY_SOCKET=$SCRATCH/nobody-listens "$BUILD/ceemsd" --web.listen-address=127.0.0.1:"$port" --path.rundir="$SCRATCH/run" \
	>"$SCRATCH/log2" 2>&1 &
pid=$!
started $pid
ok "a notify socket that is not there does not end it" wait_for 20 curl -sf -o "$SCRATCH/body" "http://127.0.0.1:$port/health"
if [ -x "$BUILD/redfish_proxy" ]; then
	: >"$SCRATCH/told"
	NOTIFY_SOCKET=$SCRATCH/notify "$BUILD/redfish_proxy" --web.listen-address=127.0.0.1:0 >"$SCRATCH/log3" 2>&1 &
	pid=$!
	started $pid
	ok "redfish_proxy says READY=1" wait_for 20 grep -q 'READY=1' "$SCRATCH/told"
	kill -HUP $pid
	ok "redfish_proxy says RELOADING=1" wait_for 20 grep -q 'RELOADING=1' "$SCRATCH/told"
	kill -TERM $pid
	ok "redfish_proxy says STOPPING=1 at its end" wait_for 20 grep -q 'STOPPING=1' "$SCRATCH/told"
	wait $pid
	is "redfish_proxy ends with status 0" $? 0
else
	skip "what redfish_proxy tells systemd" "not built here"
fi
tap_done
