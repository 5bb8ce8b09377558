#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Who a person is: slurmctld names another owner than a node, a login is given to somebody else, by
# each way of asking, on a real Postgres and, where there is one, with a real munged.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/api.sh"
make=$BUILD/batch_make
[ -x "$make" ] || skip_all "ceems_aggregator was not built here"
need_api
cd "$SCRATCH" || exit 1
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n  prometheus: '%s'\n" "$hash" "$hash" >web.yaml
umask 077; echo 'test=* a-token-of-this-test' >token; umask 022
chmod 600 web.yaml
pg_start || { ok "Postgres starts" false; tap_done; }
port=$(free_port)
munge=()
have_munge "$agg" && munge_start && munge=(--identity.munge-socket="$MUNGE_SOCKET")
ok "the aggregator serves" agg_start ${munge[@]+"${munge[@]}"} --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --identity.front-end-roles=true --admin.users=boss \
	--ingest.token-file="$SCRATCH/token" --ingest.jobs-from=token:test --rollup.delay=500ms
URL=http://127.0.0.1:$port
push() { # lines of batch_make
	printf '%s\n' "$@" | "$make" | curl -s -m 100 -o answer -w '%{http_code}' -H 'Authorization: Bearer a-token-of-this-test' \
		-H 'Content-Type: application/x-ceems-batch' --data-binary @- "$URL/api/v1/ingest"
}
as() { local u=$1 p=$2; shift 2; curl -s -m 100 -u 'lb:correct horse' -H "X-Grafana-User: $u" "$@" "$URL/api/v1$p"; }
verify() { as "$1" "/units/verify?cluster_id=c1&uuid=$2" -o /dev/null -w '%{http_code}' "${@:3}"; }
# what a load balancer hears of an id: true or false for each of its runs
runs() { as "$1" '/units/verify?cluster_id=c1' -H 'Content-Type: text/plain' --data-binary "$2" "${@:3}" | jq -r '[.data[0].units[]? | .[3]] | sort | map(tostring) | join(" ")'; }
own() { as "$1" '/units/own?cluster_id=c1&from=0' "${@:2}" | jq -r '[.data[0].units[]? | select(.[3]) | .[0]] | sort | join(" ")'; }
units() { as "$1" '/units?from=0' "${@:2}" | rows .uuid; }
sql() { psql_do -c "$1"; }
is_sql() { [ "$(sql "$1")" = "$2" ]; }
linked() { is_sql 'SELECT (SELECT count(*) FROM unit_node WHERE unit IS NULL) + (SELECT count(*) FROM job_record WHERE unit IS NULL)' 0; }
take() { is "$1: taken" "$(push "${@:2}")" 200; ok "$1: linked" wait_for 60 linked; }
T=$(($(date +%s) / 3600 * 3600 - 7200))

# ---- slurmctld is the authority on the owner
take "mallory's node says that alice's job is his, before its record" "start instance=11 unit=1 node=n1 uid=1001 started=$T" "start instance=12 unit=1 node=n2 uid=6666 started=$T"
is "of two words neither counts for a load balancer" "$(verify alice 1)" 403
take "the record" "job id=1 submit=$((T - 5)) start=$T end=$((T + 600)) user=alice uid=1001" "job id=2 submit=$((T - 5)) start=$T end=$((T + 600)) user=alice uid=1001" \
	"job id=3 submit=$((T - 5)) start=$T end=$((T + 600)) user=mallory uid=6666"
is "what contradicts it is held" "$(sql "SELECT uid, held, known_by FROM unit WHERE uuid = '1' ORDER BY uid")" $'1001|open|jobcomp\n6666|open|node'
is "and the unit is nobody's" "$(verify alice 1) $(verify mallory 1)" "403 403"
is "nor in a load balancer's answers" "$(runs alice 1), $(runs mallory 1)" "false false, false false"
is "it is in no list, but in the admins'" "$(units alice), $(units mallory), $(as boss '/units/admin?from=0&uuid=1' | rows .uuid)" "2, 3, 1 1"
take "the node says so after the record, too" "start instance=22 unit=2 node=n2 uid=6666 started=$((T + 60))"
is "of another job" "$(sql "SELECT uid, held FROM unit WHERE uuid = '2' ORDER BY uid")" $'1001|open\n6666|open'
is "which is nobody's either" "$(verify alice 2) $(verify mallory 2)" "403 403"
is "each is in the audit, with the node" "$(sql "SELECT detail->>'uuid', detail->>'uid', detail->>'said', detail->'nodes' FROM audit WHERE action = 'hold' ORDER BY 1")" \
	$'1|1001|6666|["n2"]\n2|1001|6666|["n2"]'
counted() { curl -s -u 'prometheus:correct horse' "$URL/metrics" | grep -qx 'ceems_aggregator_units_held{state="open"} 2'; }
ok "and counted" wait_for 60 counted
is "metrics are not a front end's" "$(curl -s -m 100 -u 'lb:correct horse' -o /dev/null -w '%{http_code}' "$URL/metrics")" 403
is "nothing is gone" "$(sql 'SELECT count(*) FROM unit_node')" 3
like "somebody has looked" "$("$agg" --settle=c1/1 --db.url="$PGURL" 2>&1)" '1 runs can be seen by their owners again'
is "then it is whose slurmctld said" "$(verify alice 1) $(verify mallory 1) $(runs alice 1) $(runs mallory 1)" "200 403 true false"
like "what is not held cannot be settled" "$("$agg" --settle=c1/3 --db.url="$PGURL" 2>&1)" 'no unit 3 is held'
take "reports that come later change nothing of that" "final instance=12 unit=1 node=n2 uid=6666 started=$T ended=$((T + 600))"
is "it stays alice's" "$(verify alice 1) $(verify mallory 1)" "200 403"

# ---- a login that is used again is another person; the first of each pair is the old holder
A=3900001 B=3900002 C=3900003
job() { echo "job id=$1 submit=$2 start=$2 end=$(($2 + 300)) user=$3 uid=$4 name=of-$4"; } # id, submit, login, uid
take "ann, and another ann after her" "$(job 31 $T ann $A)" "$(job 32 $((T + 1000)) ann $B)"
take "ben, whose records come in the other order" "$(job 42 $((T + 1000)) ben $B)" "$(job 41 $T ben $A)"
for p in "ann 31 32" "ben 41 42"; do
	set -- $p
	is "$1 by a bare name is who submitted last" "$(units $1), $(own $1), $(verify $1 $2) $(verify $1 $3)" "$3, $3, 403 200"
	is "$1 with the old number is the old one" "$(units $1 -H "X-Ceems-Uid: $A"), $(own $1 -H "X-Ceems-Uid: $A"), $(verify $1 $2 -H "X-Ceems-Uid: $A") $(verify $1 $3 -H "X-Ceems-Uid: $A")" "$2, $2, 200 403"
	is "$1 with the new number is the new one" "$(units $1 -H "X-Ceems-Uid: $B"), $(runs $1 $2 -H "X-Ceems-Uid: $B") $(runs $1 $3 -H "X-Ceems-Uid: $B")" "$3, false true"
	is "$1 with a number of nobody's has nothing" "$(units $1 -H "X-Ceems-Uid: $C"), $(verify $1 $2 -H "X-Ceems-Uid: $C") $(verify $1 $3 -H "X-Ceems-Uid: $C")" ", 403 403"
	is "$1's job names are not the other's to read" "$(as $1 '/units?from=0' | grep -c "of-$A")" 0
done
is "each reuse is in the audit" "$(sql "SELECT detail->>'login', count(*) FROM audit WHERE action = 'reuse' GROUP BY 1 ORDER BY 1")" $'ann|1\nben|1'
is "a number is one, and a number" "$(as ann '/units' -H 'X-Ceems-Uid: x' -o /dev/null -w '%{http_code}') $(as ann '/units' -H "X-Ceems-Uid: $A" -H "X-Ceems-Uid: $A" -o /dev/null -w '%{http_code}')" "400 400"

# ---- a number that is used again: what only a node has told of is the new holder's
D=3900004
take "cid, then dora with his number" "$(job 51 $T cid $D)" "$(job 52 $((T + 1000)) dora $D)" "start instance=53 unit=53 uid=$D started=$((T + 2000))"
is "her job without a record is not his" "$(verify cid 53) $(verify dora 53), $(units cid)" "403 200, 51"

# ---- by MUNGE
if [ ${#munge[@]} -gt 0 ]; then
	by() { # uid, target, more of curl
		local cred
		cred=$(setpriv --reuid="$1" --regid="$1" --clear-groups munge -S "$MUNGE_SOCKET" -s "ceems-api/1 GET /api/v1$2")
		curl -s -m 100 -H "Authorization: MUNGE $cred" "${@:3}" "$URL/api/v1$2"
	}
	is "dora's number is hers" "$(by $D '/units?from=0' | rows .uuid)" "52 53"
	is "nobody says another number than MUNGE's" "$(by $D '/units?from=0' -H "X-Ceems-Uid: $A" -o /dev/null -w '%{http_code}')" 403
	take "eve, and another eve" "$(job 61 $T eve 3900005)" "$(job 62 $((T + 1000)) eve 3900006)"
	is "each reads her own" "$(by 3900005 '/units?from=0' | rows .uuid), $(by 3900006 '/units?from=0' | rows .uuid)" "61, 62"
	is "and is told so of ids" "$(by 3900005 '/units/verify?cluster_id=c1&uuid=61' -o /dev/null -w '%{http_code}') $(by 3900005 '/units/verify?cluster_id=c1&uuid=62' -o /dev/null -w '%{http_code}')" "200 403"
	is "and of lists" "$(by 3900005 '/units/own?cluster_id=c1&from=0' | jq -r '[.data[0].units[] | .[0]] | join(" ")')" 61
else
	skip "by MUNGE" "needs root, munge and libmunge"
fi

# ---- numbers that change, and people who are to be forgotten
like "a site that gives ben's old number up" "$("$agg" --renumber=c1/ben:$A:3900009 --db.url="$PGURL" 2>&1)" ' 1 units were moved to the new uid'
is "his records go with him" "$(units ben -H 'X-Ceems-Uid: 3900009'), $(units ben -H "X-Ceems-Uid: $A"), $(units ben)" "41, , 42"
like "who is not there" "$("$agg" --renumber=c1/ben:1:2 --db.url="$PGURL" 2>&1)" 'no such person'
like "a form that is none" "$("$agg" --renumber=ben:1:2 --db.url="$PGURL" 2>&1)" 'must be CLUSTER/LOGIN:OLD:NEW'
like "a login of two people is erased by its number" "$("$agg" --erase=ann --db.url="$PGURL" 2>&1)" 'several people'
like "so" "$("$agg" --erase=ann:$A --db.url="$PGURL" 2>&1)" 'erased on 1 clusters'
is "the other ann has what she had" "$(units ann), $(sql "SELECT count(*) FROM unit WHERE name = 'of-$A' AND uuid = '31'")" "32, 0"

"$agg" --erase=mallory:6666 --db.url="$PGURL" >"$SCRATCH/erased" 2>&1
like "who was held is forgotten" "$(cat "$SCRATCH/erased")" 'erased on 1 clusters'
is "with the number in the audit, of nobody else" "$(sql "SELECT count(*) FROM audit WHERE action <> 'erase' AND detail::text ~ '\m6666\M'") $(sql "SELECT count(*) FROM audit WHERE action = 'hold' AND detail->>'uid' = '1001'")" "0 2"

# ---- roles: whose they are, and who is named to us alone
may() { as "$1" '/units/admin?from=0' "${@:2}" -o /dev/null -w '%{http_code}'; }
is "where the site says so whom a front end names may be an admin, unless it says otherwise" "$(may boss) $(may boss -H 'X-Ceems-No-Role: 1')" "200 403"
agg_stop
: >"$SCRATCH/log"
ok "the aggregator serves without that" agg_start ${munge[@]+"${munge[@]}"} --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb \
	--admin.users=boss --admin.users=eve:3900006 --admin.users=fay --admin.users=daemon --ingest.token-file="$SCRATCH/token" --ingest.jobs-from=token:test --rollup.delay=500ms
is "who is only named has no role" "$(may boss) $(may boss -H 'X-Ceems-Uid: 3900010') $(may eve -H 'X-Ceems-Uid: 3900006')" "403 403 403"
is "but reads what users read" "$(units eve -H 'X-Ceems-Uid: 3900006')" "$([ ${#munge[@]} -eq 0 ] || echo 62)"
like "which is in the log, once" "$(grep -c 'has a role, but not when password:lb names them' "$SCRATCH/log")" "^1\$"
is "nobody is root by a front end's word" "$(may root) $(may slurm) $(may eve -H 'X-Ceems-Uid: 0')" "403 403 403"
if [ ${#munge[@]} -gt 0 ]; then
	take "fay" "job id=71 submit=$T start=$T end=$((T + 300)) user=fay uid=3900012"
	can() { by "$1" '/units/admin' -o /dev/null -w '%{http_code}'; }
	is "an admin by login and number is who has proved the number" "$(can 3900006)" 200
	is "the same login with another number is none" "$(can 3900005)" 403
	is "a bare login is not whom records call so" "$(can 3900012) $(by 3900012 '/units?from=0' | rows .uuid)" "403 71"
	is "it is this host's account" "$(can "$(id -u daemon)")" 200
else
	skip "roles by MUNGE" "needs root, munge and libmunge"
fi
agg_stop
tap_done
