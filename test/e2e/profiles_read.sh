#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A profile's whole way: from a node's spool through courier and aggregator to the store, and
# back through the load balancer to its owner, by MUNGE, and to nobody else. The store is the
# Pyroscope that CEEMS_PYROSCOPE names, else a stand-in (Debian has no package).
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/profile_store.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/aggregator.sh"
for p in ceems-courier ceems_lb cacct; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
have_munge "$agg" && have_munge "$BUILD/cacct" || skip_all "needs root, munged and libmunge"
munge_start || skip_all "munged does not start"
profile_store || { ok "a store of profiles starts" false; tap_done; }
# the unit of daemon (1), and one of bin (2)
mine=$((RANDOM * 32768 + RANDOM + 100000)) other=$((RANDOM * 32768 + RANDOM + 1100000000))
agg_begin --profiles.url="$STORE_URL" --ingest.munge-socket="$MUNGE_SOCKET" --identity.munge-socket="$MUNGE_SOCKET" --identity.front-end=munge:root
now=$(date +%s)
push "start instance=1 unit=$mine node=n1 cluster=alpha uid=1 started=$((now - 300))" \
	"start instance=2 unit=$other node=n1 cluster=alpha uid=2 started=$((now - 300))"
cat >lb.yaml <<-END
	ceems_lb:
	  identity: {munge_socket: $MUNGE_SOCKET}
	  backends:
	    - id: alpha
	      pyroscope: [{web: {url: "$STORE_URL"}}]
	ceems_api_server:
	  web: {url: "http://127.0.0.1:$agg_port", munge: true}
END
"$BUILD/ceems_lb" --config.file=lb.yaml --web.listen-address=127.0.0.1:0 --web.listen-address=127.0.0.1:0 --security.drop-privileges=false 2>lb.log &
started $!
wait_for 20 grep -q 'msg="*ready' lb.log || { ok "the load balancer starts" false; sed 's/^/# /' lb.log; tap_done; }
lb=$(sed -n "s/.*serves Pyroscope.* API on port \([0-9]*\).*/\1/p" lb.log)

# --- a node sends
at=$(((now - 60) * 1000000000))
printf '%s\n' '_start;main;heat::advance;heat::relax 300' '_start;main;heat::advance;MPI_Waitall 100' '_start;main;write_output 100' |
	python3 "$TOP/test/fake/pprof_make.py" $at 15000000000 10000000 >profile.gz
for unit in $mine $other; do
	echo "$at $((at + 15000000000)) 500 profile.gz service_name=$unit uuid=$unit cluster=alpha hostname=n1 manager=slurm step=0 rank=0"
done | "$BUILD/profile_put" spool
printf '%s\n' '_start;main;heat::advance;MPI_Waitall 1500000000' '_start;main;write_output;write 500000000' |
	python3 "$TOP/test/fake/pprof_make.py" $at 15000000000 0 >blocked.gz
echo "$at $((at + 15000000000)) 2 blocked.gz service_name=$mine uuid=$mine cluster=alpha hostname=n1 manager=slurm step=0 rank=0" |
	"$BUILD/profile_put" spool 0 off_cpu
mkdir -m 700 reports
(umask 077; echo a-token-of-this-test >node.token)
ok "a courier sends three profiles" timeout 60 "$BUILD/ceems-courier" --once --aggregator.url="http://127.0.0.1:$agg_port" \
	--aggregator.token-file="$SCRATCH/node.token" --profiles.spool="$SCRATCH/spool" --ship.spool="$SCRATCH/reports"
is "none is left" "$("$BUILD/ceems_tool" spool --stats spool | jq .acked)" 3

# --- users read
export CEEMS_API_URL=http://127.0.0.1:$agg_port CEEMS_PROFILES_URL=http://127.0.0.1:$lb CEEMS_MUNGE_SOCKET=$MUNGE_SOCKET TZ=UTC LC_ALL=C HOME=$SCRATCH
unset CEEMS_TOKEN_FILE CEEMS_CLUSTER XDG_CONFIG_HOME
chmod 711 "$SCRATCH"
install -m 755 "$BUILD/cacct" cacct
as() { setpriv --reuid="$1" --regid="$1" --clear-groups "${@:2}"; }
flame() { as "$1" "$SCRATCH/cacct" report "$2" "--flame${3:-}" -S now-1hour 2>&1; }
ok "its owner sees it" wait_for 60 eval 'flame 1 $mine | grep -q heat::relax'
like "where the time went" "$(flame 1 $mine | paste -sd' ')" 'sampled: 5.00 s .* 60.0 % +60.0 %  heat::relax .* 20.0 % +20.0 %  MPI_Waitall .* 0.0 % +80.0 %  heat::advance'
ok "and where it was blocked" wait_for 60 eval 'flame 1 $mine =off-cpu | grep -q MPI_Waitall'
like "for how long" "$(flame 1 $mine =off-cpu | paste -sd' ')" 'blocked: 2.00 s .* 75.0 % +75.0 %  MPI_Waitall .* 25.0 % +25.0 %  write'
like "another user has no such job" "$(flame 2 $mine)" "no job $mine that you may see"
ok "but a profile of their own" wait_for 60 eval 'flame 2 $other | grep -q heat::relax'
query="process_cpu%3Acpu%3Ananoseconds%3Acpu%3Ananoseconds%7Bservice_name%3D%22$mine%22%7D&from=$((now - 120))&until=$now"
ask() { # UID TARGET: the status, as a user with curl and a MUNGE credential
	local c
	c=$(munge_payload GET "http://127.0.0.1:$lb$2" | as "$1" munge --socket="$MUNGE_SOCKET")
	curl -s -m 60 -o answer -w '%{http_code}' -H "Authorization: MUNGE $c" "http://127.0.0.1:$lb$2"
}
is "its owner by curl" "$(ask 1 "/pyroscope/render?query=$query")" 200
is "where it was blocked is for no other user" "$(ask 2 "/pyroscope/render?query=${query/#process_cpu%3Acpu%3Ananoseconds%3Acpu%3Ananoseconds/off_cpu%3Aoff_cpu%3Ananoseconds%3A%3A}")" 403
is "another user by curl" "$(ask 2 "/pyroscope/render?query=$query")" 403
like "is told why" "$(cat answer)" "unit $mine is not yours"
is "nobody writes by this way" "$(curl -s -m 60 -o answer -w '%{http_code}' --data-binary x "http://127.0.0.1:$lb/push.v1.PusherService/Push" | sed 's/40[1345]/4xx/')" 4xx
as 1 "$SCRATCH/cacct" report $mine --html - -S now-1hour >page.html 2>err
is "the report's page has the flame graph" "$(cat err) $(grep -c 'class="flame"' page.html) $(grep -c 'heat::relax</text>' page.html)" " 1 1"
tap_done
