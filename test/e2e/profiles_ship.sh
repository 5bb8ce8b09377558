#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From the spool of profiles to the store with the real ceems-courier: what each answer
# leads to, that the newest go first after an outage, that none is lost or sent twice. The
# store is a stand-in, since Pyroscope is no package.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"

[ -x "$BUILD/ceems-courier" ] || skip_all "ceems-courier is not built"
cd "$SCRATCH" || exit 1
port=$(free_port)
echo 200 >control
: >store.log
python3 "$TOP/test/fake/push_host.py" "$port" control store.log 2>host.log &
started $!
wait_for 30 grep -q ready host.log || skip_all "the stand-in does not start: $(tail -n 1 host.log)"
URL=http://127.0.0.1:$port
printf '_start;main;work 19\n' | python3 "$TOP/test/fake/pprof_make.py" 1 15000000000 52631578 >profile.gz

ago() { echo $(($(date +%s%N) - $1 * 1000000000)); }
# line SECONDS_AGO UNIT SEQUENCE: one for profile_put
line() { local at; at=$(ago "$1"); echo "$at $((at + 15000000000)) 19 profile.gz service_name=$2 uuid=$2 cluster=c1 hostname=n1 manager=slurm step=$3"; }
put() { "$BUILD/profile_put" "$1" $MAX_BYTES; }
courier() { timeout 100 "$BUILD/ceems-courier" --profiles.url="$URL" "$@"; }
once() { courier --once --profiles.spool="$SCRATCH/$1" "${@:2}" >>once.log 2>&1; }
run() { # SPOOL: in the background, PID
	"$BUILD/ceems-courier" --profiles.url="$URL" --profiles.spool="$SCRATCH/$1" >courier.log 2>&1 &
	PID=$!
	started $PID
}
units() { jq -r '.labels | .uuid + "/" + .step' store.log | xargs; }
fresh() { : >store.log; : >once.log; echo "${1:-200}" >control; }

line 60 a 0 | put s1
ok "a profile is sent" once s1
is "as push.v1 wants it, with its labels" "$(jq -c '[.path, .type, .labels]' store.log)" \
	'["/push.v1.PusherService/Push","application/proto",{"__name__":"process_cpu","service_name":"a","uuid":"a","cluster":"c1","hostname":"n1","manager":"slurm","step":"0"}]'
is "its bytes arrive as they were" "$(jq -c '.stacks' store.log)" '[{"frames":["_start","main","work"],"value":999999982}]'
ok "again there is nothing to send" once s1
is "it is not sent twice" "$(units)" a/0

fresh
line 60 b 1 | put s1
ok "by the older API" once s1 --profiles.api=ingest --profiles.tenant=site
is "with the same labels, and the tenant" "$(jq -c '[(.path | split("&")[0]), .labels.service_name, .labels.step, .tenant]' store.log)" '["/ingest?format=pprof","b","1","site"]'

fresh
{ line 4000 old 1; line 3500 young 2; line -500 soon 3; line -700 ahead 4; } | put s1
ok "what is too old or of the future is no failure" once s1
is "it is not sent" "$(units)" "soon/3 young/2"
like "which is said, with what is lost" "$(cat once.log)" "a profile of ahead is dropped: it is of the future.*: 19 samples are lost"

fresh 400
{ line 60 bad 1; line 60 bad 2; } | put s1
ok "400 is no failure" once s1
fresh
ok "and final" once s1
is "such profiles are not sent again" "$(units)" ""
fresh 503
line 60 later 1 | put s1
for status in 503 500 502 "429 1" 401 403 404 cut; do
	fresh "$status"
	once s1 && echo "# $status: status 0"
	grep -q 'tried again in' once.log || echo "# $status: $(cat once.log)"
done >badness
is "any other answer is about the store: the profile is kept" "$(cat badness)" ""
like "one without such a path is said" "$(fresh 404; once s1; cat once.log)" "HTTP status 404, takes no profiles"
fresh 425
ok "425 is about one profile" once s1
fresh
ok "it is sent when the store takes it" once s1
is "once" "$(units)" later/1

# an outage of 10 minutes, as the spool has it afterwards: 5 units with a profile each 15 s
fresh 503
for at in $(seq 600 -15 15); do for unit in u1 u2 u3 u4 u5; do line "$at" "$unit" "$at"; done; done | put out
run out
wait_for 60 grep -q 'profiles: .*tried again' courier.log
is "during an outage nothing is lost from the spool" "$(units)" ""
fresh
wait_for 60 eval '[ "$(wc -l <store.log)" -ge 20 ]'
kill -9 $PID
wait $PID 2>/dev/null
before=$(wc -l <store.log)
run out
wait_for 90 eval '[ "$(jq -r "[.labels.uuid, .labels.step] | join(\"/\")" store.log | sort -u | wc -l)" -ge 200 ]'
kill $PID
wait $PID 2>/dev/null
is "after it all 200 profiles arrive, a courier that was killed included" "$(jq -r '[.labels.uuid, .labels.step] | join("/")' store.log | sort -u | wc -l)" 200
is "with every sample" "$(jq -s 'unique_by([.labels.uuid, .labels.step]) | [.[].stacks[].value] | add' store.log)" $((200 * 999999982))
# at most the one that was on its way
ok "none is sent twice by it ($(wc -l <store.log) sent, $before before)" test "$(wc -l <store.log)" -le 201
is "the newest go first" "$(jq -r .labels.step store.log | head -n 5 | xargs)" "15 15 15 15 15"
is "and the oldest last" "$(jq -r .labels.step store.log | tail -n 5 | xargs)" "600 600 600 600 600"

# a store that hangs
fresh "slow 100"
line 60 hang 1 | put s1
run s1
sleep 2
kill $PID
ok "a store that hangs does not keep the courier from ending" wait_for 20 eval '! kill -0 $PID 2>/dev/null'
wait $PID 2>/dev/null

# the spool is bounded
fresh 503
head -c 900000 /dev/urandom | gzip -1 >noise.gz
for i in $(seq 12); do at=$(ago 60); echo "$at $at 19 noise.gz service_name=n uuid=n step=$i"; done | MAX_BYTES=5000000 put full
ok "a spool has at most the bytes that it may" test "$(du -sb full | cut -f1)" -le 5100000
fresh
once full
is "what is left are the newest" "$(jq -r .labels.step store.log | xargs | cut -d' ' -f1-3)" "12 11 10"
like "the rest is counted" "$("$BUILD/ceems_tool" spool --stats full)" '"lost_interval":[1-9]'
tap_done
