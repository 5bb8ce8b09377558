#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports to two aggregators with one real Postgres: twice, late, in any order, without their job
# record, malformed, hostile, many at once, while aggregators and Postgres are killed. At the end
# each record is there once, linked to the right unit, and the sums agree.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/aggregator.sh"
umask 077; printf '%s\n' 'test=* a-token-of-this-test' 'n1 a-token-of-node-n1' a-token-of-any-node >token; umask 022
PORTS=("$(free_port)" "$(free_port)") PIDS=()

agg_start() { # which, flags
	local i=$1; shift
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:${PORTS[i]}" --ingest.token-file="$SCRATCH/token" --ingest.jobs-from=token:test \
		--security.drop-privileges=false --rollup.delay=500ms --linker.grace=2s --linker.lost-after=10m "$@" >>"$SCRATCH/agg$i.log" 2>&1 &
	PIDS[i]=$!
	started "${PIDS[i]}"
	wait_for 15 curl -sf -o /dev/null "http://127.0.0.1:${PORTS[i]}/health"
}
CURL=(curl -s -m 100 -H 'Content-Type: application/x-ceems-batch')
TOKEN=(-H 'Authorization: Bearer a-token-of-this-test')
url() { echo "http://127.0.0.1:${PORTS[${1:-0}]}/api/v1/ingest"; }
push() { "${CURL[@]}" "${TOKEN[@]}" --data-binary @- "$@" "$(url 0)"; }  # body on stdin
code() { "${CURL[@]}" -o answer -w '%{http_code}' --data-binary @- "$@" "$(url 0)"; }
lines() { printf '%s\n' "$@" | "$make"; }
sql() { psql_do -c "$1"; }
metric() { curl -s "http://127.0.0.1:${PORTS[0]}/metrics" | awk -v m="$1" 'index($0, m " ") == 1 { print $2 }'; }
is_sql() { [ "$(sql "$1")" = "$2" ]; }
settled() { is_sql "SELECT (SELECT count(*) FROM dirty WHERE due < now() + interval '1 h') + (SELECT count(*) FROM unit_node WHERE unit IS NULL) + (SELECT count(*) FROM job_record WHERE unit IS NULL)" 0; }
settle() { sleep 0.6; ok "$1: linker and roll-up come to rest" wait_for 30 settled; }

pg_start --durable || { ok "Postgres starts" false; tap_done; }
echo "2024-01-01T00:00:00Z,FR,360" >factors.csv
ok "two aggregators start on one database" agg_start 0 --emissions.file="$SCRATCH/factors.csv" --emissions.zone=c1/file=FR
agg_start 1 || ok "the second" false
T=$(($(date +%s) / 3600 * 3600 - 7200))

# ---- who may send
lines "start instance=1 unit=1 started=$T" >body
is "nobody's reports are refused" "$(code <body)" 401
is "a wrong token too" "$(code -H 'Authorization: Bearer b-token-of-this-test' <body)" 401
is "a part of the token too" "$(code -H 'Authorization: Bearer a-token-of-this-' <body)" 401
is "an empty one" "$(code -H 'Authorization: Bearer ' <body)" 401
is "two proofs are none" "$(code "${TOKEN[@]}" -H 'Authorization: Bearer x' <body)" 401
is "another scheme" "$(code -u root:root <body)" 401
is "MUNGE that is no credential" "$(code -H 'Authorization: MUNGE MUNGE:abc:' <body | sed 's/503/401/')" 401
is "nothing of that was written" "$(sql 'SELECT count(*) FROM unit_node')" 0
is "the token's are taken" "$(code "${TOKEN[@]}" <body)" 200
is "a token that has a node's name is of that node" "$(code -H 'Authorization: Bearer a-token-of-node-n1' <body)" 200
lines "start instance=2 unit=1 node=n2 started=$T" "job id=9 submit=$T start=$T end=$((T + 1))" >other
is "and of no other; it is no Slurm either: all of it is kept" "$(code -H 'Authorization: Bearer a-token-of-node-n1' <other)" 403
like "and it is said why" "$(cat answer)" 'token:n1 may not send for node n2'
lines "start instance=1 unit=1 started=$T" "job id=9 submit=$T start=$T end=$((T + 1))" >other
is "a completion record of whom Slurm is not" "$(code -H 'Authorization: Bearer a-token-of-any-node' <other)" 200
like "is refused by itself" "$(cat answer)" '"accepted":1,"refused":\[\{"index":1,"reason":"a token without a name may not send completion records'
is "and written nowhere" "$(sql 'SELECT count(*) FROM job_record')" 0

# ---- what is no batch
is "bytes that are no batch" "$(printf 'hello' | code "${TOKEN[@]}")" 400
like "say so" "$(cat answer)" '"status":"error"'
is "a cut batch" "$(head -c 20 body | code "${TOKEN[@]}")" 400
is "packed that is not" "$(code "${TOKEN[@]}" -H 'Content-Encoding: deflate' <body)" 400
is "an encoding that is not known" "$(code "${TOKEN[@]}" -H 'Content-Encoding: gzip' <body)" 400
is "another type" "$(curl -s -o answer -w '%{http_code}' "${TOKEN[@]}" -H 'Content-Type: text/plain' --data-binary @body "$(url)")" 415
is "GET" "$(curl -s -o answer -w '%{http_code}' "${TOKEN[@]}" "$(url)")" 405
head -c 104857600 /dev/zero >big
is "100 MB" "$(code "${TOKEN[@]}" <big)" 413
python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(b"CEB1" + b"\0" * (64 << 20)))' >bomb
is "a small body that unpacks to 64 MB" "$(code "${TOKEN[@]}" -H 'Content-Encoding: deflate' <bomb)" 413
rm big bomb

# ---- a job with reports and record, everything twice and in the wrong order
cat >job2 <<-E
	final instance=20 unit=2 started=$T ended=$((T + 700)) user=1100 system=30 mean=100 peak=300 package=1000 host=2000 other=1000 step=0 cpus=2
	interval instance=20 unit=2 started=$T t0=$((T + 600)) t1=$((T + 700)) user=100 system=10 mean=100 peak=300 package=400 host=800 other=400 cpus=2
	job id=2 submit=$((T - 60)) start=$T end=$((T + 700)) nodes=n1 name=x'); DROP TABLE unit;--
	interval instance=20 unit=2 started=$T t0=$T t1=$((T + 300)) user=500 system=10 mean=100 peak=200 package=300 host=600 other=300 cpus=2
	start instance=20 unit=2 started=$T cpus=2 name=\xff\xfe"quote'
	interval instance=20 unit=2 started=$T t0=$((T + 300)) t1=$((T + 600)) user=500 system=10 mean=100 peak=200 package=300 host=600 other=300 cpus=2
	E
"$make" <job2 >body
like "a job's records in the wrong order" "$(push <body)" '"accepted":6,"refused":\[\]'
like "all of them again, packed" "$("$make" --packed <job2 | push -H 'Content-Encoding: deflate')" '"accepted":6,"refused":\[\]'
is "and to the other aggregator" "$("${CURL[@]}" "${TOKEN[@]}" -o answer -w '%{http_code}' --data-binary @body "$(url 1)")" 200
settle "one job"
is "it is one unit, with its record's words" "$(sql "SELECT known_by, state, name, cpu_user_ns, cpu_system_ns, package_uj, memory_peak_bytes, observed_ms, node_ms, cpu_alloc_ms FROM unit WHERE uuid = '2'")" \
	"jobcomp|COMPLETED|x');|1100|30|1000|300|700000|700000|1400000"
is "each interval is there once" "$(sql 'SELECT count(*), sum(cpu_user_ns) FROM unit_interval WHERE instance = 20')" "3|1100"
is "its day is its person's" "$(sql "SELECT p.name, j.name, u.units, u.units_started, u.cpu_ns, u.package_uj FROM usage_day u JOIN person p ON p.id = person JOIN project j ON j.id = project")" "ann|physics|1|1|1130|1000"
is "bytes that are no text are none in the hints" "$(sql "SELECT hints->>'name' FROM unit_node WHERE instance = 20")" "??\"quote'"
is "repeated intervals were counted" "$(metric 'ceems_aggregator_ingest_repeated_total{kind="interval"}')" 3
lines "interval instance=20 unit=2 started=$T t0=$T t1=$((T + 300)) user=9999" | push >/dev/null
is "with other numbers the first word counts" "$(sql "SELECT cpu_user_ns FROM unit_interval WHERE instance = 20 ORDER BY t0 LIMIT 1") $(metric ceems_aggregator_ingest_differing_total)" "500 1"

# ---- what is refused, one by one
NOW=$(date +%s)
lines "clock boottime=100000 realtime=$NOW" "start instance=30 unit=3 started=$NOW" "raw 63" "raw 1200" \
	"start instance=30 unit=3 started=6000000000" \
	"interval instance=30 unit=3 started=1000000000 t0=$((NOW - 86400 * 40)) t1=$((NOW - 86400 * 40 + 300)) user=1" \
	"interval instance=30 unit=3 started=$T t0=$T t1=$((T + 300)) package=900000000000000000" \
	"job id=3 submit=$((NOW + 90000)) start=$((NOW + 90000)) end=$((NOW + 90001))" >body
out=$(push <body)
like "the good ones of seven are taken" "$out" '"accepted":2,.*"refused_count":5'
for why in 'type of record: 99' 'manager|too short|field' 'an impossible time' 'older than what is kept' 'package: .* is impossible'; do
	like "a reason: $why" "$out" "$why"
done
like "a record with a field of a later version is taken" "$(lines "start instance=31 unit=31 started=$T" | python3 -c '
import struct, sys
b = sys.stdin.buffer.read(); n, = struct.unpack_from("<I", b, 4); r = b[8:8 + n] + struct.pack("<HH", 60000, 3) + b"new"
sys.stdout.buffer.write(b[:4] + struct.pack("<I", len(r)) + r)' | push)" '"accepted":1'

# ---- linking
J=86400
lines "start instance=40 unit=40 node=n1 started=$T" "start instance=41 unit=40 node=n2 started=$((T + 3000))" \
	"start instance=42 unit=40 cluster=c2 started=$T" "start instance=43 unit=43 started=$((T - 400 * J))" "final instance=43 unit=43 started=$((T - 400 * J)) ended=$((T - 400 * J + 60))" \
	"start instance=44 unit=43 started=$T" "start instance=45 unit=45 started=$T" "final instance=45 unit=45 started=$T ended=$((T + 60)) end=3" \
	"start instance=46 unit=46 started=$T" "start instance=47 unit=46 restarts=1 started=$((T + 100))" "start instance=48 unit=48 started=$((T - 3 * J)) uid=1234" | push >/dev/null
settle "starts"
is "nodes of a job are one unit, even with a clock that is 50 min off; another cluster's is another" "$(sql "SELECT cluster, nodes, state FROM unit WHERE uuid = '40' ORDER BY 1")" $'1|2|RUNNING\n2|1|RUNNING'
is "a job id that comes again a year later is another unit" "$(sql "SELECT count(*) FROM unit WHERE uuid = '43'")" 2
is "two runs of a requeued job are two" "$(sql "SELECT count(*) FROM unit WHERE uuid = '46'")" 2
ended() { is_sql "SELECT state FROM unit WHERE uuid = '45'" OUT_OF_MEMORY; }
ok "a job whose record never comes ends by its reports" wait_for 20 ended
lost() { is_sql "SELECT state FROM unit WHERE uuid = '48'" NODE_FAIL; }
sql "UPDATE unit_node SET heard = heard - interval '1 day' WHERE instance = 48"
ok "one that nobody hears of again is lost" wait_for 20 lost
N5=$(($(date +%s) / 300 * 300))
lines "interval instance=48 unit=48 uid=1234 started=$((T - 3 * J)) t0=$((N5 - 300)) t1=$N5 user=7" | push >/dev/null
back() { is_sql "SELECT state, ended IS NULL FROM unit WHERE uuid = '48'" "RUNNING|t"; }
ok "and runs again when it is heard of" wait_for 20 back
lines "job id=40 submit=$((T - 5)) start=$T end=$((T + 600)) state=3" "job id=46 submit=$((T - 5)) start=$T end=$((T + 50)) state=1024 event=2" \
	"job id=46 restarts=1 submit=$((T + 60)) start=$((T + 100)) end=$((T + 200)) user=bob" "job id=49 submit=$T start=0 end=$((T + 9)) state=4 event=4" \
	"job id=50 submit=$T start=$((T + 1)) end=$((T + 300)) state=8192 event=3" "job id=50 submit=$T start=$((T + 1)) resize=$((T + 300)) end=$((T + 500)) state=3 nodes=n[1-3]" | push >/dev/null
settle "records"
is "a record comes to the unit that its nodes told of" "$(sql "SELECT known_by, person IS NOT NULL, ended IS NOT NULL FROM unit WHERE uuid = '40' AND cluster = 1")" "jobcomp|t|t"
is "and not to the other cluster's" "$(sql "SELECT known_by, person IS NULL FROM unit WHERE uuid = '40' AND cluster = 2")" "node|t"
is "each run of a requeued job has its own" "$(sql "SELECT u.restarts, u.state, p.name, (SELECT count(*) FROM unit_node n WHERE n.unit = u.id) FROM unit u JOIN person p ON p.id = u.person WHERE uuid = '46' ORDER BY 1")" $'0|REQUEUED|ann|1\n1|COMPLETED|bob|1'
is "a job that never ran is there without a start" "$(sql "SELECT state, started IS NULL FROM unit WHERE uuid = '49'")" "CANCELLED|t"
is "a job that was resized is one, from its first to its last part" "$(sql "SELECT state, extract(epoch FROM ended - started)::int, extract(epoch FROM resized)::bigint - $T, node_list FROM unit WHERE uuid = '50'")" "COMPLETED|499|300|n[1-3]"
lines "final instance=60 unit=2 node=n9 started=$((T + 5)) ended=$((T + 700)) user=50 system=0" "interval instance=60 unit=2 node=n9 started=$((T + 5)) t0=$((T + 300)) t1=$((T + 700)) user=50 system=0" | push >/dev/null
settle "a late node"
is "a node's report after the record finds it" "$(sql "SELECT count(*) FROM unit_node n JOIN unit u ON u.id = n.unit WHERE u.uuid = '2'")" 2

# ---- runs that nodes do not tell apart: a requeued job goes on on a node that never saw it; a
# number is given again, which a node takes for a requeue. In each order of reports and records.
R=$((T + 1000))
before() { echo "final instance=$1 unit=$2 node=n1 started=$R ended=$((R + 60)) user=100 system=0"; }
requeued() { echo "job id=$1 submit=$((R - 5)) start=$R end=$((R + 60)) state=1024 event=2 node_count=1"; }
elsewhere() { echo "final instance=$1 unit=$2 node=n2 started=$((R + 200)) ended=$((R + 260)) user=200 system=0"; }
again() { echo "job id=$1 restarts=1 submit=$((R - 5)) start=$((R + 200)) end=$((R + 260)) node_count=1"; }
over() { echo "job id=$1 submit=$((R - 5)) start=$R end=$((R + 60)) node_count=1"; }
reused() { echo "final instance=$1 unit=$2 node=n1 restarts=1 started=$((R + 200)) ended=$((R + 260)) user=200 system=0"; }
other() { echo "job id=$1 submit=$((R + 199)) start=$((R + 200)) end=$((R + 260)) node_count=1 user=eve account=other"; }
{ before 700 700; before 710 710; requeued 720; elsewhere 731 730; before 740 740; over 750; reused 761 760; } | "$make" | push >/dev/null
settle "the first of each"
{ requeued 700; elsewhere 711 710; again 720; before 730 730; over 740; before 750 750; other 760; } | "$make" | push >/dev/null
settle "the second"
{ elsewhere 701 700; requeued 710; before 720 720; again 730; reused 741 740; other 750; before 760 760; } | "$make" | push >/dev/null
settle "the third"
{ again 700; again 710; elsewhere 721 720; requeued 730; other 740; reused 751 750; over 760; } | "$make" | push >/dev/null
settle "the last"
is "each run has what was used in it" "$(sql "SELECT u.uuid, u.restarts, j.name, u.cpu_user_ns FROM unit u LEFT JOIN project j ON j.id = u.project WHERE u.uuid BETWEEN '700' AND '760' AND u.known_by = 'jobcomp' ORDER BY u.uuid, u.started")" \
	"$(for u in 700 710 720 730; do printf '%s|0|physics|100\n%s|1|physics|200\n' $u $u; done; for u in 740 750 760; do printf '%s|0|physics|100\n%s|0|other|200\n' $u $u; done)"
is "and there are no others" "$(sql "SELECT count(*) FROM unit WHERE uuid BETWEEN '700' AND '760'")" 14

# ---- grams and recompute
grams() { sql "SELECT trim_scale((grams->>'file')::numeric * 1000000000) FROM unit WHERE uuid = '2'"; }
has_grams() { [ "$(grams)" = 200 ]; }
ok "grams are energy times the factor that a provider told" wait_for 25 has_grams
is "yearly factors of countries are there as well" "$(sql "SELECT count(*) > 100 FROM emission_factor WHERE provider = 'owid'")" t
"$agg" --db.url="$PGURL" --recompute --from="$(date -u -d @$((T - 3600)) +%FT%TZ)" --to="$(date -u -d @$((NOW + 60)) +%FT%TZ)" >out 2>&1
like "--recompute says how much it marks" "$(cat out)" "^[1-9][0-9]* hours are marked"
settle "recompute"
is "and computes the same" "$(grams)" 200
sql "INSERT INTO pue VALUES (1, '2024-01-01', 1.5)"
settle "a PUE"
is "a new PUE is computed in by itself" "$(grams)" 300
sql "INSERT INTO emission_factor VALUES ('file', 'FR', '2024-06-01', 720)"
settle "a late factor"
is "and a factor that comes late" "$(grams)" 600
sql "INSERT INTO pue VALUES (1, to_timestamp($NOW), 3); INSERT INTO emission_factor VALUES ('file', 'FR', to_timestamp($NOW), 7200)"
"$agg" --db.url="$PGURL" --recompute --from="$(date -u -d @$((T - 3600)) +%FT%TZ)" --to="$(date -u -d @$((NOW + 60)) +%FT%TZ)" >out 2>&1
settle "what counts from now on"
is "what counts from now on leaves what was" "$(grams)" 600

# ---- MUNGE: bound to the body, good once, of an allowed user
if have_munge "$agg"; then
	munge_start
	PORTS[2]=$(free_port)
	agg_start 2 --ingest.munge-socket="$MUNGE_SOCKET" --ingest.user=root --ingest.user=no-such-user --ingest.cluster=c1 --ingest.cluster=c2=munge:root \
		--ingest.cluster=c3=10.255.255.1 || ok "a third aggregator" false
	like "a user that is not known is said at the start" "$(cat agg2.log)" 'level=warn.*ingest.user: no-such-user: no such user on this host'
	here=$(uname -n)
	lines "start instance=900 unit=900 node=${here%%.*} started=$T" "start instance=902 unit=902 cluster=c2 node=$here started=$T" >body
	cred() { munge -S "$MUNGE_SOCKET" -s "$1$(sha256sum <body | cut -d' ' -f1)"; }
	body_cred() { munge -S "$MUNGE_SOCKET" -s "ceems-ingest/1 $(sha256sum <"$1" | cut -d' ' -f1)"; }
	mcode() { "${CURL[@]}" -o answer -w '%{http_code}' -H "Authorization: MUNGE $1" --data-binary @"$2" "$(url 2)"; }
	c=$(cred "ceems-ingest/1 ")
	expired=$(munge -S "$MUNGE_SOCKET" --ttl=1 -s "ceems-ingest/1 $(sha256sum <body | cut -d' ' -f1)")
	is "MUNGE of root for this body" "$(mcode "$c" body)" 200
	is "a second time it is nobody's" "$(mcode "$c" body)" 401
	lines "start instance=901 unit=901 node=elsewhere started=$T" >other
	is "MUNGE of this host for another node" "$(mcode "$(body_cred other)" other)" 403
	like "names it" "$(cat answer)" 'munge:root may not send for node elsewhere'
	lines "job id=901 submit=$T start=$T end=$((T + 1))" >other
	is "root, for a completion record" "$(mcode "$(body_cred other)" other)" 403
	like "is told that Slurm's are Slurm's" "$(cat answer)" 'munge:root may not send completion records .ingest.jobs-from'
	lines "start instance=901 unit=901 cluster=c3 node=$here started=$T" >other
	is "a cluster that another host sends for" "$(mcode "$(body_cred other)" other)" 403
	is "for another body" "$(mcode "$(cred "ceems-ingest/1 ")" other)" 401
	is "for another purpose" "$(mcode "$(cred "ceems-api/1 ")" body)" 401
	is "of a user who may not" "$(mcode "$(setpriv --reuid=65534 --regid=65534 --clear-groups munge -S "$MUNGE_SOCKET" -s "ceems-ingest/1 $(sha256sum <body | cut -d' ' -f1)")" body)" 403
	bound() { munge -S "$MUNGE_SOCKET" -s "$(munge_payload POST "${2:-$(url 2)}" "$1")"; }
	is "one for this host, path and body" "$(mcode "$(bound body)" body)" 200
	is "not for another body" "$(mcode "$(bound body)" other) $(jq -r .error answer)" "401 munge: the credential was made for another body"
	is "nor for another path" "$(mcode "$(bound body "$(url 2)x")" body) $(jq -r .error answer)" "401 munge: the credential was made for another method or path"
	is "nor for another host" "$(mcode "$(bound body http://a.other.example:9020/api/v1/ingest)" body) $(jq -r .error answer)" \
		"401 munge: the credential was made for host a.other.example, which is not this one (munge-hosts of its configuration)"
	is "and nothing of that was written" "$(sql 'SELECT count(*) FROM unit_node WHERE instance = 901')" 0
	sleep 2
	is "a credential that has expired" "$(mcode "$expired" body) $(cat answer)" '401 {"status":"error","errorType":"unauthorized","error":"munge: Expired credential"}'
	kill "${PIDS[2]}"
	wait "${PIDS[2]}"
	agg_start 2 --ingest.munge-socket="$MUNGE_SOCKET" --ingest.user=root --identity.munge-unbound=false --identity.munge-hosts=agg.site.example ||
		ok "the aggregator of a site that is done with its upgrade" false
	lines "start instance=903 unit=903 node=${here%%.*} started=$T" >body
	is "which takes none of the release before" "$(mcode "$(body_cred body)" body) $(jq -r .error answer | grep -o identity.munge-unbound)" "401 identity.munge-unbound"
	is "a host without its port is none" "$(mcode "$(bound body http://agg.site.example/api/v1/ingest)" body)" 401
	is "its other name is known by the option" "$(mcode "$(bound body http://AGG.site.example:9020/api/v1/ingest)" body)" 200
	kill "${PIDS[2]}"
	if id slurm >/dev/null 2>&1; then # the configuration as it is packaged
		mkdir etc
		sed "s|@sysconfdir@/ceems|$SCRATCH/etc|" "$TOP/contrib/packaging/etc/aggregator.yaml.in" >etc/aggregator.yaml
		install -m 600 "$TOP/contrib/packaging/etc/aggregator-web.yaml" etc/
		PORTS[2]=$(free_port)
		"$agg" --config.file=etc/aggregator.yaml --db.url="$PGURL" --web.listen-address="127.0.0.1:${PORTS[2]}" --ingest.munge-socket="$MUNGE_SOCKET" \
			--identity.munge-socket="$MUNGE_SOCKET" --security.drop-privileges=false >>agg2.log 2>&1 &
		started $!
		ok "the packaged configuration is served" wait_for 15 curl -sf -o /dev/null "http://127.0.0.1:${PORTS[2]}/health"
		lines "start instance=904 unit=904 node=${here%%.*} started=$T" >body
		lines "job id=904 submit=$T start=$T end=$((T + 1))" >other
		is "it takes reports from root, and records of jobs from SlurmUser's courier" "$(mcode "$(body_cred body)" body) $(mcode \
			"$(setpriv --reuid=slurm --regid="$(id -g slurm)" --clear-groups munge -S "$MUNGE_SOCKET" -s "ceems-ingest/1 $(sha256sum <other | cut -d' ' -f1)")" other)" "200 200"
	else
		skip "the packaged configuration takes records of jobs from SlurmUser's courier" "there is no user slurm"
	fi
else
	skip "MUNGE says who sends" "needs root, munge and libmunge"
fi

# ---- group commit: many nodes at once
before=$(metric 'ceems_aggregator_ingest_commits_total{way="copied"}')
for i in $(seq 40); do lines "start instance=$((1000 + i)) unit=$((1000 + i)) node=g$i started=$T" >"g$i"; done
pids=()
# the first finds its table locked, so that the others come together however slowly they come
psql_do -c 'BEGIN' -c 'LOCK TABLE unit_node IN EXCLUSIVE MODE' -c 'SELECT pg_sleep(4)' -c COMMIT >/dev/null & pids+=($!)
locked() { [ "$(sql "SELECT count(*) FROM pg_locks WHERE relation = 'unit_node'::regclass AND mode = 'ExclusiveLock' AND granted")" = 1 ]; }
wait_for 10 locked
for i in $(seq 40); do "${CURL[@]}" "${TOKEN[@]}" -o /dev/null --data-binary @"g$i" "$(url)" & pids+=($!); done
wait "${pids[@]}"
after=$(metric 'ceems_aggregator_ingest_commits_total{way="copied"}')
is "40 pushes at once are all there" "$(sql 'SELECT count(*) FROM unit_node WHERE instance BETWEEN 1001 AND 1040')" 40
ok "in fewer commits ($((after - before)))" [ $((after - before)) -lt 30 ]

# ---- kill -9 of aggregators and of Postgres while reports come
send() { # file, until somebody says 200
	local try
	for try in $(seq 1000); do
		[ "$(curl -s -m 20 -o /dev/null -w '%{http_code}' "${TOKEN[@]}" -H 'Content-Type: application/x-ceems-batch' --data-binary @"$1" "$(url $((try % 2)))")" = 200 ] && return 0
		sleep 0.1
	done
	return 1
}
stream() { # number
	local k
	for k in $(seq 0 24); do
		{
			[ "$k" != 0 ] || echo "many 20 start instance=$(($1 * 100)) unit=s$1 node=s$1 started=$T cpus=1"
			echo "many 20 interval instance=$(($1 * 100)) unit=s$1 node=s$1 started=$T t0=$((T + k * 60)) t1=$((T + k * 60 + 60)) user=1000 system=1 package=10"
		} | "$make" >"s$1.$k"
		send "s$1.$k" || return 1
	done
}
pids=()
for i in 201 202 203 204; do stream $i & pids+=($!); done
for what in agg pg agg pg; do
	sleep 0.7
	if [ $what = agg ]; then
		kill -9 "${PIDS[0]}"; wait "${PIDS[0]}" 2>/dev/null
		agg_start 0 || ok "the aggregator starts again" false
	else
		pg_kill; pg_up
	fi
done
rc=0
for p in "${pids[@]}"; do wait "$p" || rc=1; done
is "every report was taken in the end" $rc 0
is "each is there once" "$(sql 'SELECT count(*), count(DISTINCT instance), sum(cpu_user_ns) FROM unit_interval WHERE instance BETWEEN 20100 AND 20419')" "2000|80|2000000"
settle "after the kills"
is "sums of hours, days and intervals agree" "$(sql 'SELECT (SELECT sum(cpu_user_ns) FROM unit_interval) = (SELECT sum(cpu_user_ns) FROM unit_day), (SELECT sum(cpu_user_ns) FROM unit_day) = (SELECT sum(cpu_user_ns) FROM unit_hour), (SELECT sum(package_uj) FROM unit_day) = (SELECT sum(package_uj) FROM unit_interval)')" "t|t|t"
is "and persons' days with those of their units" "$(sql 'SELECT (SELECT sum(cpu_ns) FROM usage_day) = (SELECT sum(coalesce(cpu_user_ns, 0) + coalesce(cpu_system_ns, 0)) FROM unit_day WHERE person IS NOT NULL), (SELECT sum(units) FROM usage_day) = (SELECT count(*) FROM unit_day WHERE person IS NOT NULL)')" "t|t"
is "what they wasted is what each of their units wasted" "$(sql "SELECT (SELECT sum(wasted_cpu_ms) FROM usage_day) = (SELECT sum(wasted_cpu_ms(cpu_user_ns + cpu_system_ns, cpu_alloc_ms)) FROM unit_day WHERE person IS NOT NULL),
	(SELECT sum(wasted_uj) FROM usage_day) = (SELECT sum(wasted_uj(energy_total_uj(package_uj, dram_uj, psys_uj, gpu_uj, host_uj, other_uj), gpu_uj, cpu_user_ns + cpu_system_ns, cpu_alloc_ms, gpu_busy_ms, gpu_alloc_ms))
		FROM unit_day WHERE person IS NOT NULL), (SELECT sum(wasted_uj) FROM usage_day) > 0")" "t|t|t"
is "units with all of them have them" "$(sql "SELECT count(*), sum(cpu_user_ns) FROM unit WHERE uuid LIKE 's20_'")" "4|2000000"
is "no token in a log" "$(cat agg?.log | grep -c a-token)" 0
hwm() { awk '/^VmHWM/ { print $2 }' "/proc/${PIDS[1]}/status"; }
case $BUILD in
*/san-thread*) skip "little memory" "the thread sanitizer's own is more" ;;
*) ok "little memory: $(hwm) KiB" [ "$(hwm)" -lt 65536 ] ;;
esac
kill "${PIDS[0]}"; wait "${PIDS[0]}"
is "it ends well" $? 0
tap_done
