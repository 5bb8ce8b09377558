#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The write-only way of profiles to the store: a node sends for its own units alone, and
# nobody else sends anything; whatever the store does. The store is a stand-in, since
# Pyroscope is no package; the aggregator, its Postgres and the courier are real.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/aggregator.sh"
[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built"
fake=$TOP/test/fake
store_port=$(free_port)
echo 200 >control
: >store.log
python3 "$fake/push_host.py" "$store_port" control store.log 2>host.log &
store_pid=$!
started $store_pid
wait_for 30 grep -q ready host.log || skip_all "the stand-in does not start: $(tail -n 1 host.log)"
munge=()
if have_munge "$agg" && munge_start; then munge=(--ingest.munge-socket="$MUNGE_SOCKET"); fi
agg_begin --profiles.url="http://127.0.0.1:$store_port/" "${munge[@]}"
umask 077
printf '%s\n' 'test=* a-token-of-this-test' 'n1 a-token-of-node-n1' 'n2 a-token-of-node-n2' >token
umask 022
kill -HUP $agg_pid
URL=http://127.0.0.1:$agg_port/api/v1/profiles
now=$(date +%s)
wait_for 30 push "start instance=1 unit=101 node=n1 cluster=c1 started=$((now - 600))" || ok "a report of a unit" false
push "start instance=2 unit=202 node=n2 cluster=c1 started=$((now - 600))" \
	"final instance=3 unit=303 node=n1 cluster=c1 started=$((now - 3000)) ended=$((now - 2000))"

# --- a record in a file: the bytes of the one that profile_put has put into a spool
stacks() { printf '_start;main;work 19\n'; }
# record FILE UNIT NODE AGO [NAME=VALUE...], with the profile of profile.gz
record() {
	local at=$(((now - $4) * 1000000000)) file=$1 unit=$2 node=$3
	shift 4
	[ -n "$KEEP" ] || stacks | python3 "$fake/pprof_make.py" $at 15000000000 52631578 $LABEL >profile.gz
	rm -rf one
	echo "$at $((at + 15000000000)) 19 profile.gz service_name=$unit uuid=$unit cluster=c1 hostname=$node manager=slurm $*" | "$BUILD/profile_put" one &&
		python3 - one "$file" <<'E'
import glob, struct, sys
data = open(glob.glob(sys.argv[1] + "/*-interval.seg")[0], "rb").read()
size = struct.unpack_from("<I", data, 32 + 4)[0]
open(sys.argv[2], "wb").write(data[64:64 + size])
E
}
TYPE='Content-Type: application/x-ceems-profile'
post() { curl -s -m 60 -o answer -w '%{http_code}' -H "$TYPE" --data-binary @"$1" "${@:2}" "$URL"; }
as() { post "$2" -H "Authorization: Bearer a-token-of-node-$1" "${@:3}"; }
stored() { jq -c '[.labels.uuid, .labels.hostname]' store.log | xargs; }

record own 101 n1 60 step=0 rank=3 job_name=secret user=alice
is "a node's profile of its own unit is taken" "$(as n1 own)" 200
is "and passed on, under the labels that were checked" "$(jq -c .labels store.log)" \
	'{"__name__":"process_cpu","service_name":"101","uuid":"101","cluster":"c1","hostname":"n1","manager":"slurm","step":"0","rank":"3"}'
is "its stacks are what they were" "$(jq -c .stacks store.log)" '[{"frames":["_start","main","work"],"value":999999982}]'
: >store.log

record full 101 n1.cluster.example 60
is "a host that calls itself by its full name is its node" "$(as n1 full)" 200
record full 101 n2.cluster.example 60
is "of no other node" "$(as n1 full)" 403
: >store.log

# --- who may not
is "nobody" "$(post own)" 401
is "a wrong token" "$(post own -H 'Authorization: Bearer a-token-of-node-n3')" 401
is "two proofs" "$(as n1 own -H 'Authorization: Bearer a-token-of-node-n2')" 401
is "a password" "$(post own -u root:root)" 401
is "another node" "$(as n2 own)" 403
like "is told so" "$(cat answer)" 'may not send for node n1'
if [ ${#munge[@]} -gt 0 ]; then
	credential() { munge_payload POST "$URL" own | setpriv --reuid="$1" --regid="$1" --clear-groups munge --socket="$MUNGE_SOCKET"; }
	is "a user with a shell and a MUNGE credential" "$(post own -H "Authorization: MUNGE $(credential 65534)")" 403
	like "is told so" "$(cat answer)" 'uid 65534 may not send'
	is "root of this host for another host's unit" "$(post own -H "Authorization: MUNGE $(credential 0)")" 403
	push "start instance=4 unit=404 node=$(hostname) cluster=c1 started=$((now - 600))"
	record here 404 "$(hostname)" 60
	cp own spare
	cp here own
	is "and for one of its own" "$(post own -H "Authorization: MUNGE $(credential 0)")" 200
	cp spare own
	is "with a credential that was made for another body" "$(cp here own; c=$(credential 0); cp spare own; post own -H "Authorization: MUNGE $c")" 401
	: >store.log
else
	skip "a user with a shell and a MUNGE credential" "munge does not run here"
fi
is "reading is not there" "$(curl -s -o answer -w '%{http_code}' -H 'Authorization: Bearer a-token-of-node-n1' "$URL")" 405
is "nor is any other call of the store" "$(curl -s -o answer -w '%{http_code}' -H 'Authorization: Bearer a-token-of-node-n1' -X POST "http://127.0.0.1:$agg_port/querier.v1.QuerierService/ProfileTypes" | sed 's/40[1345]/4xx/')" 4xx

# --- what is forged
record other 202 n1 60
is "another node's unit is not known here yet" "$(as n1 other)" 425
record other 202 n1 1200
is "later it is refused" "$(as n1 other)" 400
like "and said why" "$(cat answer)" 'unit 202 did not run on n1 then'
record nobody 999 n1 1200
is "a unit that never was" "$(as n1 nobody)" 400
record node 202 n2 60
is "another node's name" "$(as n1 node)" 403
record early 101 n1 3000
is "a time before its unit began" "$(as n1 early)" 400
record late 303 n1 60
is "a time after its unit ended" "$(as n1 late)" 400
record within 303 n1 2500
is "a unit that ran then and has ended" "$(as n1 within)" 200
python3 - own c2 <<'E'
import sys
open(sys.argv[2], "wb").write(open(sys.argv[1], "rb").read().replace(b"cluster=c1", b"cluster=c2"))
E
is "another cluster's unit of that number" "$(as n1 c2)" 425
python3 - own service <<'E'
import sys
open(sys.argv[2], "wb").write(open(sys.argv[1], "rb").read().replace(b"service_name=101", b"service_name=202"))
E
is "a service that is not the unit" "$(as n1 service)" 400
LABEL=uuid=202 record labels 101 n1 60
is "another unit's id in a label of the samples" "$(as n1 labels)" 400
like "and said why" "$(cat answer)" 'its samples have labels of their own'
stacks | python3 "$fake/pprof_make.py" $(((now - 90000) * 1000000000)) 15000000000 52631578 >profile.gz
KEEP=1 record time 101 n1 60
is "another time in the profile than beside it" "$(as n1 time)" 400
: >store.log

# --- what is no profile
is "no record" "$(printf hello >body; as n1 body)" 400
head -c 100 own >cut
is "a cut one" "$(as n1 cut)" 400
is "another type" "$(curl -s -o answer -w '%{http_code}' -H 'Authorization: Bearer a-token-of-node-n1' -H 'Content-Type: text/plain' --data-binary @own "$URL")" 415
head -c 10485760 /dev/zero >big
is "10 MB" "$(as n1 big)" 413
python3 -c 'import gzip, sys; sys.stdout.buffer.write(gzip.compress(b"\x32\x80\x80\x80\x20" + b"\0" * (64 << 20), mtime=0))' >profile.gz
KEEP=1 record bomb 101 n1 60
is "a body that unpacks to 64 MB" "$(as n1 bomb)" 400
like "is not unpacked" "$(cat answer)" 'unpacks to more than 4194304 bytes'
{ stacks | python3 "$fake/pprof_make.py" $(((now - 60) * 1000000000)) 1 1; stacks | python3 "$fake/pprof_make.py" 1 1 1 uuid=202; } >profile.gz
KEEP=1 record two 101 n1 60
is "a second stream behind the first" "$(as n1 two)" 400
echo hello | gzip >profile.gz
KEEP=1 record text 101 n1 60
is "no pprof" "$(as n1 text)" 400
is "nothing of all that reached the store" "$(stored)" ""

# --- what the store does
fresh() { : >store.log; echo "$1" >control; }
fresh "429 7"
is "a store that is busy" "$(as n1 own)" 429
sleep 2.2
fresh 503
is "one that fails" "$(as n1 own)" 503
is "it is left alone for a moment" "$(fresh 200; as n1 own; stored)" "503"
sleep 2.2
fresh 400
is "one that refuses" "$(as n1 own)" 400
fresh cut
is "one that hangs up" "$(as n1 own)" 503
sleep 2.2
fresh "slow 60"
is "one that is slow" "$(as n1 own)" 503
like "its text does not name the store" "$(grep -c "$store_port" answer)" '^0$'
sleep 2.2
fresh 200
ok "and it goes on" wait_for 20 eval '[ "$(as n1 own)" = 200 ]'
kill $store_pid
wait $store_pid 2>/dev/null
is "one that is away" "$(as n1 own)" 503
like "which is logged with what it means" "$(cat agg.log)" 'profiles: the store takes none: .*they wait on the nodes'

# --- many at a time against a store that is slow: bounded, and the rest is told to wait
fresh "slow 1"
python3 "$fake/push_host.py" "$store_port" control store.log 2>host.log &
store_pid=$!
started $store_pid
wait_for 30 grep -q ready host.log
sleep 2.2
for i in $(seq 150); do as n1 own >"code.$i" & done
wait_for 100 eval '[ "$(cat code.* | wc -c)" -ge 450 ]'
ok "150 at a time: each has an answer ($(cat code.* | fold -w3 | sort | uniq -c | xargs))" test "$(cat code.* | fold -w3 | grep -cE '200|429|503')" = 150
is "those that were taken are in the store" "$(wc -l <store.log)" "$(cat code.* | fold -w3 | grep -c 200)"
# a client that sends one byte a second
fresh 200
python3 - "$agg_port" <<'E' &
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"POST /api/v1/profiles HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a-token-of-node-n2\r\nContent-Type: application/x-ceems-profile\r\nContent-Length: 500000\r\n\r\n")
try:
    for _ in range(60):
        s.sendall(b"x")
        time.sleep(1)
except OSError:
    pass
E
started $!
ok "a client that is slow delays nobody" wait_for 20 eval '[ "$(as n1 own)" = 200 ]'

# --- the courier sends them by this way
at=$(((now - 60) * 1000000000))
stacks | python3 "$fake/pprof_make.py" $at 15000000000 52631578 >profile.gz
for unit in 101 202; do echo "$at $((at + 15000000000)) 19 profile.gz service_name=$unit uuid=$unit cluster=c1 hostname=n1 manager=slurm step=0"; done | "$BUILD/profile_put" spool
(umask 077; echo a-token-of-node-n1 >node.token)
: >store.log
mkdir -m 700 reports
ok "a courier sends its profiles" timeout 60 "$BUILD/ceems-courier" --once --aggregator.url="http://127.0.0.1:$agg_port" --aggregator.token-file="$SCRATCH/node.token" --profiles.spool="$SCRATCH/spool" --ship.spool="$SCRATCH/reports"
is "those of its units arrive" "$(stored)" "[101,n1]"
like "what became of them is counted" "$(curl -s "http://127.0.0.1:$agg_port/metrics")" 'ceems_aggregator_profiles_total\{result="taken"\} [1-9]'
push "final instance=5 unit=101 node=n1 cluster=c1 manager=3 started=$((now - 3000)) ended=$((now - 2000))"
: >store.log
record own 101 n1 60
as n1 own >/dev/null
is "the manager is that of the unit that ran then, not of an earlier one with its id" "$(jq -r .labels.manager store.log)" slurm
is "the aggregator is healthy" "$(curl -s -o answer -w '%{http_code}' "http://127.0.0.1:$agg_port/health")" 200
kill $agg_pid
wait $agg_pid
is "and ends as it should" "$?" 0
"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$agg_port" --ingest.token-file="$SCRATCH/token" --security.drop-privileges=false >agg.log 2>&1 &
agg_pid=$!
started $agg_pid
wait_for 30 agg_up
is "without a store's address none are taken" "$(as n1 own)" 404
like "which is said" "$(cat answer)" 'no profiles are taken here \(--profiles.url\)'
tap_done
