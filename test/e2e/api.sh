#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The aggregator's API on a real Postgres: what each endpoint answers (golden), who may see what
# (each user, endpoint and parameter), each proof of who asks, hostile values in every parameter.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/api.sh"
need_api python3
api_database "as it is"
URL=http://127.0.0.1:$port/api/v1
golden=$TOP/test/golden/api
# bcrypt of "correct horse"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
printf "basic_auth_users:\n  lb: '%s'\n  prometheus: '%s'\n" "$hash" "$hash" >"$SCRATCH/web.yaml"
chmod 600 "$SCRATCH/web.yaml"

serve() { # flags
	agg_start --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --identity.front-end-roles=true --admin.users=boss --operator.users=olga "$@"
}
# as USER TARGET [curl's]: the body; ask: status, then body
as() { local u=$1 t=$2; shift 2; curl -s -u 'lb:correct horse' -H "X-Grafana-User: $u" "$@" "$URL$t"; }
status() { as "$@" -o /dev/null -w '%{http_code}'; }
serve || { ok "it serves" false; tap_done; }

# ---- golden answers; what follows the clock is left out
plain='del(.as_of) | walk(if type == "object" then (if .state? == "RUNNING" then del(.elapsed, .elapsed_seconds) else . end)
	| del(.last_report_ts) else . end) | if .data then .data |= map(del(.as_of)) else . end'
while read -r name user target; do
	as "$user" "${target//W/"$W"}" | jq -S "$plain | del(.info)" >"$SCRATCH/got" 2>&1
	[ -z "${UPDATE_GOLDEN:-}" ] || { mkdir -p "$golden"; cp "$SCRATCH/got" "$golden/$name.json"; }
	ok "answer as before: $name" diff -u "$golden/$name.json" "$SCRATCH/got"
done <<'E'
users alice /users
users_admin boss /users/admin
users_admin_role boss /users/admin?role=admin
projects alice /projects
projects_admin olga /projects/admin
units alice /units?W&timezone=Europe/Paris
units_admin boss /units/admin?W&timezone=UTC&field=uuid&field=cluster_id&field=username&field=state
unit alice /units/1?timezone=UTC
unit_hours alice /units/9?timezone=UTC&resolution=hour&from=2025-03-10T00:00:00Z
usage_current alice /usage/current?W
usage_global alice /usage/global
usage_admin boss /usage/current/admin?W&field=username&field=project&field=num_units&field=total_time_seconds
usage_daily alice /usage/daily?from=2025-03-01T00:00:00Z&to=2025-03-11T00:00:00Z&field=day&field=num_units&field=energy_joules
usage_projects olga /usage/projects?from=2025-03-01T00:00:00Z&to=2025-03-11T00:00:00Z
clusters boss /clusters/admin
stats alice /stats?W
stats_admin boss /stats/global/admin
factors alice /emissions/factors?W&timezone=UTC&provider=rte
demo_units alice /demo/units
openapi alice /openapi.json
E

# ---- a unit that is over on its nodes, while slurmctld has not said so
awaited() { as carol "/units?uuid=103&timezone=UTC$1" | jq -r '.data[0] | [.state, .ended_on_nodes_at, (.record_awaited_until_ts // 0) / 1000] | join(" ")'; }
is "a unit that runs on a node awaits nothing" "$(awaited)" "RUNNING  0"
psql_do -c "UPDATE unit_node SET ended = '2025-03-10 10:00+00', heard = '2025-03-10 10:00:05+00' WHERE uuid = '103'" >/dev/null
over=$(as carol '/units?uuid=103&timezone=UTC' | jq -r '.data[0].ended_on_nodes_at')
is "when all its nodes have ended it is said, and until when slurmctld's record is awaited: linker.lost-after" "$(awaited)" \
	"RUNNING $over $(date -d '2025-03-10T16:00:05Z' +%s)"
like "in whose time zone one asks" "$over" '2025-03-10T10:00:00|2025-03-10 10:00:00'
is "the unit's own page says so, too" "$(id=$(as carol '/units?uuid=103' | jq -r '.data[0].id'); as carol "/units/$id?timezone=UTC" | jq -r '.data[0] | .ended_on_nodes_at, (.nodes | length)' | xargs)" "$over 1"
is "chosen members may be these" "$(as carol '/units?uuid=103&field=record_awaited_until_ts' | jq -c '.data[0] | keys')" '["record_awaited_until_ts"]'
psql_do -c "UPDATE unit SET known_by = 'node' WHERE uuid = '103'" >/dev/null
is "without any record of slurmctld it is linker.grace" "$(awaited | sed 's/.* //')" "$(date -d '2025-03-10T10:10:05Z' +%s)"
psql_do -c "UPDATE unit SET known_by = 'jobcomp' WHERE uuid = '103'; UPDATE unit_node SET ended = NULL, heard = DEFAULT WHERE uuid = '103'" >/dev/null

# ---- names of steps: what ran, or what srun -J said, which is not the job's name
step_name() { psql_do -c "SELECT coalesce(api_step_name($1), 'NULL')"; }
many=$(printf 'm%.0s' {1..300})
while IFS='|' read -r args name; do
	is "a step's name of ($args)" "$(step_name "${args/MANY/$many}")" "$name"
done <<E
'run', NULL, 'job', false|run
'run', 'job', 'job', false|run
'run', 'other', 'job', false|other
'run', 'other', NULL, false|run
NULL, NULL, 'job', false|NULL
'run', '${many:0:63}', 'MANY', false|run
'run', '${many:0:63}', 'mm', false|${many:0:63}
'run', 'mm', 'MANY', false|mm
'run', 'a??', concat('a', chr(65533), chr(65533)), false|run
'run', 'job', 'job', NULL|run
'run', 'job', 'job', true|job
'run', NULL, 'job', true|run
E
psql_do -c "INSERT INTO job_record (cluster, uuid, restarts, submitted, part, state, source, unit, record)
	SELECT cluster, uuid, restarts, submitted, started, 3, 'import', id, '{\"step_names\": {\"0\": \"by Slurm\"}}' FROM unit WHERE id = 1"
is "an import knows better than a node" "$(as alice /units/1 | jq -c '.data[0].steps[] | [.step, .name, .name_known_by]' | paste -sd' ')" \
	'["0","by Slurm","import"] ["batch",null,null]'
psql_do -c "DELETE FROM job_record WHERE record ? 'step_names'"

# ---- windows, pages
is "usage is what happened in the window, not what ended in it" \
	"$(as alice "/usage/current?$W&field=total_time_seconds" | jq '.data[0].total_time_seconds.walltime')" 10800
is "and the parts of a window add up to it" "$(for w in '10:00:00Z&to=2025-03-10T11' '11:00:00Z&to=2025-03-10T12'; do
	as alice "/usage/current?from=2025-03-10T$w:00:00Z" | jq '.data[0].energy_joules.total'; done | awk '{ s += $1 } END { print s }')" 2700000
is "a window that is cut inside hours says what it became" \
	"$(as alice "/usage/current?from=2025-03-10T10:20:00Z&to=2025-03-10T11:59:00Z" | jq -r '.from + " " + .to')" "2025-03-10T10:00:00Z 2025-03-10T12:00:00Z"
edge="from=2025-03-10T11:00:00Z&to=2025-03-10T11:01:00Z"
is "a unit that ended when the window begins is of it, as for sacct, also a long one and by its id" \
	"$(as alice "/units?$edge" | jq -r '.data[].uuid' | LC_ALL=C sort | paste -sd' ') $(as alice "/units?uuid=107&$edge" | jq -r '.data[].uuid')" "101 107 107"
seen='' cursor='' pages=0
while :; do
	page=$(as alice "/units?$W&limit=2&cursor=$cursor")
	seen+=" $(jq -r '[.data[].uuid] | join(" ")' <<<"$page")"
	cursor=$(jq -r '.cursor // ""' <<<"$page")
	pages=$((pages + 1))
	[ -n "$cursor" ] && [ $pages -lt 20 ] || break
done
is "pages have each unit once, the latest first" "$seen" " 105 101 108 201 202 107"
seen='' cursor=''
for _ in $(seq 30); do
	page=$(as alice "/usage/daily?from=2025-03-01T00:00:00Z&to=2025-03-11T00:00:00Z&limit=3&cursor=$cursor")
	seen+=" $(jq '.data | length' <<<"$page")"
	cursor=$(jq -r '.cursor // ""' <<<"$page")
	[ -n "$cursor" ] || break
done
is "days come in pages" "$seen" " 3 3 3 1"
is "times in text have the zone that was asked for" "$(as alice "/units/1?timezone=Asia/Kolkata" | jq -r '.data[0].started_at')" "2025-03-10T16:00:00+0530"
like "an unknown zone is refused" "$(as alice '/units?timezone=Moon/Base')" '"bad_data".*timezone: not known'
is "a unit that began a minute ago is there" "$(psql_do -c "INSERT INTO unit (cluster, uuid, known_by, uid, started)
	VALUES (1, '999', 'node', 61001, now() - interval '1 min')"; as alice /units | rows .uuid)" "105 999"
psql_do -c "DELETE FROM unit WHERE uuid = '999'"
is "HEAD is answered like GET, without a body" "$(curl -s -I -u 'lb:correct horse' -H 'X-Grafana-User: alice' -w '%{http_code}' -o /dev/null "$URL/users")" 200

# ---- the OpenAPI document has the endpoints of the table, no more and no fewer
is "the OpenAPI document lists the endpoints" "$(as x /openapi.json | jq -r '.paths | keys[]' | sort | tr '\n' ' ')" \
	"$(sed -n 's/^	{"\(\/[^"]*\)",.*/\1/p' "$TOP/aggregator/access.c" | sed 's/\*/{id}/' | sort | tr '\n' ' ')"

# ---- a unit by what its user knows of it
one() { as "$1" "/units/$2" | jq -c 'if .data then .data[0] | [.id, .restarts] else .errorType end'; }
is "a unit is found by its cluster and number" "$(one alice alpha/101) $(one carol beta/101)" "[1,0] [4,0]"
is "another's is not there" "$(one alice beta/101) $(one alice alpha/102) $(one alice alpha/300) $(one boss alpha/102)" '"not_found" "not_found" "not_found" [2,0]'
is "of a number that was used again the latest that one may see" "$(one alice alpha/50) $(one bob alpha/50) $(one boss alpha/50)" "[8,0] [7,0] [8,0]"
psql_do -c "INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, person, started) SELECT cluster, uuid, 2, submitted, known_by, uid, person, started + interval '1 day' FROM unit WHERE id = 8"
is "a run by its number" "$(one alice alpha/50/0) $(one alice alpha/50/2 | cut -d, -f2) $(one alice alpha/50 | cut -d, -f2) $(one alice alpha/50/1)" '[8,0] 2] 2] "not_found"'
psql_do -c "DELETE FROM unit WHERE uuid = '50' AND restarts = 2"
is "what is no path is none" "$(for p in alpha/101/x alpha/101/0/0 alpha/ /101 alpha/a%20b alpha/101/-1 alpha/%2e%2e; do status boss "/units/$p"; done)" 404404404404404404400

# ---- PUE of each day, as grams have it
psql_do -c "INSERT INTO pue VALUES (1, '1970-01-01 00:00+00', 1.2), (1, '2025-03-05 12:00+00', 1.6)"
pue() { jq -c "[.data[] | [.day, (((.total_cpu_energy_usage_kwh.total + (.total_gpu_energy_usage_kwh.total // 0)) * 3600000 / .energy_joules.total * 1000 | round) / 1000)]] | $1"; }
is "a day's kWh have the building's share of that day" "$(as alice '/usage/daily?from=2025-03-04T00:00:00Z&to=2025-03-07T00:00:00Z' | pue .)" '[["2025-03-04",1.2],["2025-03-05",1.4],["2025-03-06",1.6]]'
is "a window's are the sum of its days'" "$(as alice '/usage/current?from=2025-03-04T00:00:00Z&to=2025-03-07T00:00:00Z' | pue '.[0][1]') $(as alice "/usage/current?$W" | pue '.[0][1]')" "1.4 1.6"
psql_do -c "DELETE FROM pue"

# ---- groupby: names of the peer, never a text
g() { status alice "/usage/current?$W&groupby=$1"; }
is "what rows are told apart by may be asked for" "$(for c in cluster_id resource_manager project groupname username username\&groupby=project; do g $c; done) $(as alice "/usage/global?groupby=project" | jq -c .warnings)" "200200200200200200 null"
is "nothing else" "$(for c in state uuid 1 '1%20UNION%20SELECT%20name%20FROM%20person--' "'"; do g "$c"; done) $(status boss '/usage/global/admin?groupby=1')" "400400400400400 400"

# ---- of which resource manager
psql_do -c "UPDATE cluster SET manager = 'openstack' WHERE name = 'beta'"
of() { as carol "/$1?$W&$2" | rows '.resource_manager + ":" + (.uuid // .project)'; }
is "units of one resource manager" "$(of units resource_manager=slurm) $(of units resource_manager=openstack)" "slurm:103 openstack:101 openstack:106"
is "of several, and of none that there is" "$(of units 'resource_manager=slurm&resource_manager=openstack' | wc -w) $(of units resource_manager=k8s | wc -w)" "3 0"
is "sums of one" "$(of usage/current resource_manager=openstack)" "openstack:phys"
is "another word is refused" "$(for m in '' Slurm nova slurm%27; do status carol "/units?resource_manager=$m"; done)" 400400400400
psql_do -c "UPDATE unit SET flavour = 'm1' WHERE uuid = '101'"
is "a VM has its flavour, as here and as the peer has it" "$(as carol "/units?$W&uuid=101" | jq -c '.data[0] | [.tags.flavour, .tags.namespace, .allocation.name, .allocation.vcpus]')" '["m1",null,"m1",4]'
psql_do -c "UPDATE cluster SET manager = 'k8s' WHERE name = 'beta'; UPDATE project SET external_id = 'ns:1' WHERE name = 'phys' AND cluster = (SELECT id FROM cluster WHERE name = 'beta')"
space() { as carol "/units?$W&uuid=101" | jq -r '.data[0].tags.namespace // "none"'; }
is "a pod has its namespace" "$(space)" phys
psql_do -c "UPDATE project SET external_id = 'annotation:phys' WHERE external_id = 'ns:1'"
is "an annotation's project is none" "$(space) $(psql_do -c "UPDATE unit SET namespace = 'lab' WHERE uuid = '101'"; space)" "none lab"
psql_do -c "UPDATE cluster SET manager = 'slurm'; UPDATE unit SET flavour = NULL, namespace = NULL; UPDATE project SET external_id = NULL"

# ---- the matrix: who sees whose
paths='/users /projects /units /units/visible /usage/current /usage/current/visible /usage/global /usage/daily /usage/daily/visible /stats /emissions/factors'
admin_paths='/users/admin /projects/admin /units/admin /usage/current/admin /usage/global/admin /usage/daily/admin /usage/projects
	/clusters/admin /stats/current/admin /stats/global/admin'
mkdir "$SCRATCH/m"
asked=()
for p in $paths; do
	for q in '' "$W" "$W&user=bob" 'user=bob' 'project=phys' 'project=chem' 'cluster_id=beta' 'cluster_id=alpha&cluster_id=beta' \
		'uuid=102' 'uuid=101' 'uuid=101&uuid=102&uuid=103' "project=phys&$W" "user=alice&user=bob&$W" 'running=true&project=chem' \
		'field=username&field=project' 'role=admin' 'from=0&to=now' 'from=0&project=phys' 'timezone=UTC&from=0' 'limit=1000&from=0'; do
		printf 'url = "%s"\noutput = "%s"\n' "$URL$p?$q" "$SCRATCH/m/${#asked[@]}"
		asked+=("$p?$q")
	done
done >"$SCRATCH/curl.conf"
as alice '' -K "$SCRATCH/curl.conf" -o /dev/null
is "alice is answered each of ${#asked[@]} questions" "$(find "$SCRATCH/m" -type f -size +1c | wc -l)" "${#asked[@]}"
# of whom there are traces in an answer to her
sed -i 's/"error":"[^"]*"//' "$SCRATCH"/m/*
bad=$(cd "$SCRATCH/m" && grep -oE '(bob|carol|dave|chem|beta)' -- * | sort -u | while IFS=: read -r n who; do echo "${asked[n]}: $who; "; done)
is "alice gets nothing of others, whatever she asks with" "$bad" ""
for p in $admin_paths; do
	for q in '' "$W" 'user=alice' 'project=phys' 'cluster_id=alpha'; do printf 'url = "%s"\noutput = /dev/null\n' "$URL$p?$q"; done
done >"$SCRATCH/curl.conf"
each() { as "$1" '' -o /dev/null -K "$SCRATCH/curl.conf" -w '%{http_code} %{url_effective}\n' | grep -v "^404 $URL\$"; }
bad=$(for u in alice bob carol dave stranger; do each $u | sed "s/^/$u /" | grep -v "^$u 403 "; done
	for u in boss olga opa; do each $u | sed "s/^/$u /" | grep '?$' | grep -v "^$u 200 "; done)
is "each was asked of a user" "$(each alice | grep -c '^403 ')" $((5 * $(wc -w <<<"$admin_paths")))
is "what is for operators and admins is for nobody else" "$bad" ""
for id in 1 5 8 9 10 11 12; do [ "$(status alice /units/$id)" = 200 ] || bad+="alice /units/$id; "; done
for id in 2 3 4 6 7 13 9999999 0; do [ "$(status alice /units/$id)" = 404 ] || bad+="alice /units/$id; "; done
is "a unit of another is as one that is not there" "$bad" ""
is "a user who is nobody's sees nothing" "$(for p in $paths; do as stranger "$p" | jq -c .data; done | sort | uniq -c | sort -rn | head -1 | awk '{ print $2 }')" "[]"
is "the same number is another's on another cluster" "$(as carol "/units?$W" | rows '.cluster_id + ":" + .uuid')" "alpha:103 beta:101 beta:106"
is "an operator of one cluster sees that one" "$(as opa "/units/admin?$W&cluster_id=beta" | jq -c .data) $(as opa /clusters/admin | rows .id)" "[] alpha"
is "and only its numbers" "$(as opa /usage/global/admin | rows .cluster_id) $(as opa /stats/global/admin | rows .cluster_id) $(as opa /users/admin | jq -r '[.data[].cluster_id] | unique[]')" "alpha alpha alpha alpha alpha"
is "an admin's own units are an admin's own" "$(as boss /units?from=0 | jq -c .data)" "[]"
visible() { as "$1" "/units/visible?$W" | jq -cr '[.data[] | .cluster_id + ":" + .uuid] | sort | join(" ")'; }
is "what one may see is one's own for a user" "$(visible alice)" "$(as alice "/units?$W" | jq -cr '[.data[] | .cluster_id + ":" + .uuid] | sort | join(" ")')"
is "everybody's for operators and admins" "$(visible boss) $(visible olga | wc -w)" "$(as boss "/units/admin?$W" | jq -cr '[.data[] | .cluster_id + ":" + .uuid] | sort | join(" ")') $(visible boss | wc -w)"
psql_do -c "INSERT INTO role (login, role, cluster, source) SELECT 'carol', 'operator', id, 'test' FROM cluster WHERE name = 'alpha'"
is "an operator of one cluster sees her own of the others, too" "$(visible carol | tr ' ' '\n' | grep -c alpha) $(visible carol | tr ' ' '\n' | grep beta | paste -sd' ')" "$(visible boss | tr ' ' '\n' | grep -c alpha) beta:101 beta:106"
is "also in sums" "$(as carol "/usage/current/visible?$W" | rows '.cluster_id + ":" + .username' | tr ' ' '\n' | grep beta)" beta:carol
psql_do -c "DELETE FROM role WHERE login = 'carol'"
is "sums of a user are hers, also of another's name" "$(as alice "/usage/current/visible?$W" | rows .username) $(as alice "/usage/current/visible?$W&user=bob" | rows .username) $(as boss "/usage/current/visible?$W&user=bob" | rows .username)" "alice  bob"
is "filters are kept by admins as well" "$(as boss "/units/admin?$W&user=bob" | rows .uuid) $(as boss "/units/admin?$W&project=chem" | rows .uuid)" "102 103"
is "rights end with a membership" "$(as dave /projects | jq -c .data)" "[]"

# verify: each run of an id that meets the window
v() { status "$1" "/units/verify?$2"; }
is "one's own is one's own" "$(v alice 'uuid=101&cluster_id=alpha') $(v carol 'uuid=101&cluster_id=beta')" "200 200"
is "an id that two clusters have is nobody's without one" "$(v alice uuid=101) $(v alice 'uuid=101&cluster_id=alpha&cluster_id=beta')" "403 403"
is "an id that is used again is each one's in its time" "$(v alice 'uuid=50&from=2025-01-01T00:00:00Z') $(v bob 'uuid=50&to=2024-12-31T00:00:00Z') $(v alice uuid=50) $(v bob uuid=50)" "200 200 403 403"
is "one that is not among mine spoils all" "$(v alice 'uuid=107&uuid=102&cluster_id=alpha') $(v alice 'uuid=107&uuid=31337&cluster_id=alpha')" "403 403"
is "a unit that nobody has linked yet is its owner's" "$(v bob uuid=300) $(v alice uuid=300)" "200 403"
is "a hundred ids are one question, more are not" "$(v alice "$(printf 'uuid=1234567%d&' $(seq 10 109))") $(v alice "$(printf 'uuid=1%d&' $(seq 10 119))")" "403 400"
is "none is no question" "$(v alice '') $(v alice 'uuid=') $(v alice 'uuid=a%20b')" "400 400 400"
is "operators may see theirs, admins all" "$(v opa 'uuid=102&cluster_id=alpha') $(v opa 'uuid=101&cluster_id=beta') $(v boss uuid=101)" "200 403 200"

# many ids at once, for load balancers: all runs of each
many() { local u=$1 c=$2; shift 2; printf '%s\n' "$@" | as "$u" "/units/verify?cluster_id=$c" -X POST -H 'Content-Type: text/plain' --data-binary @-; }
runs() { jq -r '.data[0] | .role + ":" + ([.units[] | "\(.[0])=\(.[3])"] | sort | join(","))'; }
is "many ids are one question: every run of each, and the role" "$(many alice alpha 101 102 300 31337 | runs)" "user:101=true,102=false,300=false"
is "what only a node has told of is its owner's" "$(many bob alpha 300 | runs)" "user:300=true"
is "an id that was used again has both runs" "$(many alice alpha 50 | runs) $(many bob alpha 50 | runs)" "user:50=false,50=true user:50=false,50=true"
is "begin and end are milliseconds" "$(many alice alpha 50 | jq -r '[.data[0].units[] | (.[1] | type), (.[2] | type)] | unique | join(",")')" number
is "another cluster has other units" "$(many alice beta 101 | runs) $(many alice nowhere 101 | runs)" "user:101=false user:"
is "roles are of the cluster" "$(many opa alpha 102 | runs) $(many opa beta 101 | runs) $(many olga beta 101 | runs) $(many boss beta 101 | runs)" "operator:102=true user:101=false operator:101=true admin:101=true"
psql_do -c "INSERT INTO cluster (name, manager) VALUES ('alpha', 'k8s')" -c "INSERT INTO role (login, role, cluster, source) SELECT 'carol', 'operator', id, 'test' FROM cluster WHERE name = 'alpha' AND manager = 'slurm'"
is "an operator of one manager's is none of all that has its name" "$(many carol alpha 102 | runs) $(many olga alpha 102 | runs)" "user:102=true operator:102=true"
psql_do -c "DELETE FROM role WHERE login = 'carol'" -c "DELETE FROM cluster WHERE name = 'alpha' AND manager = 'k8s'"
is "none is a question after the role" "$(as boss '/units/verify?cluster_id=alpha' -X POST -H 'Content-Type: text/plain' -d '' | runs)" "admin:"
is "ten thousand ids are" "$(seq 100000 109999 | as alice '/units/verify?cluster_id=alpha' -X POST -H 'Content-Type: text/plain' --data-binary @- | runs)" "user:"
post() { as alice "/units/verify$1" -o /dev/null -w '%{http_code}' -X POST -H "Content-Type: ${3:-text/plain}" --data-binary "$2"; }
is "more are not, nor what is no id, nor without one cluster, nor in another form" \
	"$(post '?cluster_id=alpha' "$(seq 100000 110000)") $(post '?cluster_id=alpha' "$(printf '1\n"x\n')") $(post '?cluster_id=alpha' "$(printf '1\n\n2')") $(post '' 1) $(post '?cluster_id=alpha&cluster_id=beta' 1) $(post '?cluster_id=alpha&uuid=1' 1) $(post '?cluster_id=alpha' 1 application/json)" \
	"400 400 400 400 400 400 415"
latest() { as "$1" "/units/verify?cluster_id=$2&latest=$3" -X POST -H 'Content-Type: text/plain' --data-binary "$4" | jq -r '.data[0] | (.user // "-") + ":" + ([.units[] | .[0]] | sort | join(",")) + ":" + ([.latest[]? | "\(.[0])=\(.[3])"] | unique | join(","))'; }
is "one's own that began last beside them, every run of each" "$(latest alice alpha 1000 102 | grep -o '^alice:102:' )$(latest alice alpha 1000 102 | tr ':,' '\n\n' | grep -c '^50=')" "alice:102:2"
is "all that records say are hers" "$(latest alice alpha 1000 '' | cut -d: -f3 | tr , '\n' | cut -d= -f1 | sort -u | xargs)" "101 107 201 202 50"
is "the last, no more than are asked for, of this cluster" "$(latest alice alpha 1 '' | tr ',' '\n' | cut -d= -f1 | sort -u | wc -l) $(latest alice nowhere 9 '')" "1 alice::"
is "nobody else's" "$(latest eve alpha 9 101)" "eve:101:"
is "and only so" "$(post '?cluster_id=alpha&latest=0' 1) $(post '?cluster_id=alpha&latest=1001' 1) $(v alice 'uuid=107&cluster_id=alpha&latest=3')" "400 400 400"
is "own units of a window, with what else had their ids" "$(as alice "/units/own?cluster_id=alpha&from=0" | jq -r '.data[0].units[] | select(.[0] == "50") | .[3]' | sort | xargs)" "false true"
is "for themselves everybody is a user" "$(as boss "/units/own?cluster_id=alpha&from=0" | runs)" "admin:"
is "and no more than are asked for" "$(as alice "/units/own?cluster_id=alpha&from=0&most=1" | jq '[.data[0].units[][0]] | unique | length') $(status alice '/units/own?cluster_id=alpha&most=0') $(status alice '/units/own')" "1 400 400"

# ---- who asks
code() { curl -s -o "$SCRATCH/body" -w '%{http_code}' "$@"; }
is "nobody is nobody" "$(code "$URL/units")" 401
is "a header alone is never enough" "$(code -H 'X-Grafana-User: boss' "$URL/units/admin") $(jq -r .error "$SCRATCH/body" | grep -c 'header alone')" "401 1"
is "nor with a password of somebody else" "$(code -u 'prometheus:correct horse' -H 'X-Grafana-User: boss' "$URL/units/admin")" 401
is "nor with a wrong one" "$(code -u 'lb:wrong' -H 'X-Grafana-User: boss' "$URL/units/admin")" 401
is "two headers are refused" "$(code -u 'lb:correct horse' -H 'X-Grafana-User: alice' -H 'X-Grafana-User: boss' "$URL/units/admin")" 400
is "other headers name nobody" "$(code -u 'lb:correct horse' -H 'X-Grafana-User: alice' -H 'X-Ceems-Admin-User: boss' -H 'X-Ceems-Logged-User: boss' -H 'X-Auth-Request-User: boss' "$URL/units/admin")" 403
is "a name that is none is refused" "$(code -u 'lb:correct horse' -H "X-Grafana-User: alice' OR '1'='1" "$URL/units") $(code -u 'lb:correct horse' -H 'X-Grafana-User;' "$URL/units")" "400 400"
is "the peer's own service name is nobody's" "$(status ceems-int-svc /units/admin)" 403
is "a forged token is refused" "$(code -H 'X-Grafana-Id: eyJhbGciOiJub25lIn0.eyJ1c2VybmFtZSI6ImJvc3MifQ.' "$URL/units/admin")" 401

# ---- hostile values in every parameter
before=$(psql_do -c 'SELECT count(*), sum(id) FROM unit')
values=$(printf '%s\n' "'" "' OR '1'='1" "1;DROP TABLE unit;--" '$1' "\\'" '{}' "' UNION SELECT * FROM person--" | jq -rR @uri; echo '%0d%0aX-Injected:%20yes%0d%0a%0d%0a')
# what an endpoint does not take is not looked at: one value shows that. What it takes has each of them
as x /openapi.json | jq -r '.paths | to_entries[] | select(.key | test("openapi|demo") | not)
	| .key + " " + ([.value.get.parameters[]? | select(.in == "query").name] | join(" "))' |
	sed 's/{id}/1/; s/{cluster}/alpha/; s/{uuid}/101/; s/{run}/0/' >"$SCRATCH/takes"
while read -r p takes; do
	for name in uuid project user cluster_id from to field timezone cursor limit running state role resolution zone provider groupby latest most x; do
		case " $takes " in *" $name "*) ;; *) echo "$p?$name=${values%%$'\n'*}"; continue ;; esac
		for value in $values %00 %ff % -1 99999999999999999999 NaN; do echo "$p?$name=$value"; done
	done
done <"$SCRATCH/takes" >"$SCRATCH/hostile"
awk -v u="$URL" '{ printf "url = \"%s%s\"\noutput = /dev/null\n", u, $0 }' "$SCRATCH/hostile" >"$SCRATCH/curl.conf"
curl -s -Z --parallel-max 8 -u 'lb:correct horse' -H 'X-Grafana-User: boss' -w '%{http_code} %{url_effective} %header{x-injected}\n' -K "$SCRATCH/curl.conf" >"$SCRATCH/codes" 2>/dev/null
is "hostile values are refused or find nothing ($(wc -l <"$SCRATCH/hostile") of them)" "$(awk '$1 != 200 && $1 != 400 && $1 != 403 { print; n++ } n > 5 { exit }' "$SCRATCH/codes")" ""
ok "each parameter of each endpoint is among them" [ "$(grep -c "?to=NaN" "$SCRATCH/hostile")" -gt 5 ]
is "each was answered" "$(wc -l <"$SCRATCH/codes")" "$(wc -l <"$SCRATCH/hostile")"
is "none became a header of the answer" "$(grep -c ' yes$' "$SCRATCH/codes")" 0
is "and changed nothing" "$(psql_do -c 'SELECT count(*), sum(id) FROM unit')" "$before"
is "nothing was an error of the program or of SQL" "$(grep -cE 'level=(error|warn).*api: ' "$SCRATCH/log")" 0
like "a path that is not there is not there" "$(as alice /units/../users/admin --path-as-is)" not_found
is "nor others" "$(status alice /units/1x) $(status alice /units/-1) $(status alice /Units) $(status alice '/units//') $(status alice /units/1/nodes)" "404 404 404 404 404"
like "a word that is no id is told what is" "$(as alice /units/job42)" 'CLUSTER/UUID'
like "and what is no endpoint where they are listed" "$(as alice /unit)" 'no such endpoint .openapi.json lists them'
like "the page that a browser finds first names the document" "$(curl -s "http://127.0.0.1:$port/")" 'href="/api/v1/openapi.json"'
is "without a list of origins nobody asks first" "$(status alice /units -X OPTIONS -H 'Origin: https://g.example')" 405
is "writing is not for this API" "$(as alice /units -X POST -o /dev/null -w '%{http_code}') $(as alice /units/1 -X DELETE -o /dev/null -w '%{http_code}')" "405 405"
is "many parameters are refused" "$(status alice "/units?$(printf 'project=a&%.0s' $(seq 140))")" 400
agg_stop

# ---- a site where project members see each other; MUNGE
serve --privacy.project-members --web.route-prefix=/ceems --query.max-period=40d --web.cors.origin='https://(g|h)[.]example'
URL=http://127.0.0.1:$port/ceems/api/v1
is "project members see each other where the site says so" "$(as alice "/units?$W&project=phys" | rows .uuid)" "101 102 107 108 201 202"
like "the page that a browser finds first names the API where it is" "$(curl -s "http://127.0.0.1:$port/")" 'href="/ceems/api/v1/openapi.json"'
is "for those who ask" "$(as alice "/units?$W" | rows .uuid) / $(as alice "/units?$W&user=bob" | rows .uuid)" "101 105 107 108 201 202 / 102"
is "usage too" "$(as alice "/usage/current?$W" | rows .username) $(status alice /units/2) $(v alice 'uuid=102&cluster_id=alpha')" "alice bob 200 200"
is "but no others" "$(as alice "/usage/current?$W&project=chem" | jq -c .data) $(as alice "/units?$W&user=carol" | jq -c .data) $(status alice /units/3) $(v alice uuid=103)" "[] [] 404 403"
is "a project of the same name elsewhere is another one" "$(as alice "/units?$W&project=phys" | rows .cluster_id | tr ' ' '\n' | sort -u)" "alpha"
is "and former members are none" "$(as dave "/units?$W&project=phys" | jq -c .data) $(status dave /units/2)" "[] 404"
psql_do -c "INSERT INTO job_record (cluster, uuid, restarts, submitted, part, state, source, unit, record)
	SELECT cluster, uuid, restarts, coalesce(submitted, started), started, 3, 'jobcomp', id, jsonb_build_object('event', 'ended', 'slurm_flags', 'SchedMain',
		'admin_comment', 'of ' || uuid, 'submit_line', 'sbatch --token=s3cret' || uuid, 'submit_line_cut', true, 'priority', 4711)
	FROM unit WHERE uuid IN ('101', '102') AND cluster = 1 ON CONFLICT (cluster, uuid, restarts, submitted, part, state, source) DO UPDATE SET record = job_record.record || excluded.record"
lines() { as "$1" "$2" | jq -r '[.data[].slurm | select(.) | "\(.flags) \(.admin_comment) \(.submit_line) \(.submit_line_cut) \(.priority)"] | sort | join(", ")'; }
is "of each other's jobs members do not see the command line" "$(lines alice "/units?$W&project=phys"), $(lines alice /units/2)" \
	"SchedMain of 101 sbatch --token=s3cret101 true 4711, SchedMain of 102 null null 4711, SchedMain of 102 null null 4711"
is "whoever ran it does, and operators" "$(lines bob /units/2), $(lines opa "/units/visible?$W&user=bob"), $(lines boss "/units/admin?$W&uuid=102")" \
	"$(for i in 1 2 3; do echo "SchedMain of 102 sbatch --token=s3cret102 true 4711"; done | paste -sd, | sed 's/,/, /g')"
counted() { as "$1" /units/2 | jq -c '.data[0] | [.counts.read_bytes, .mounts[].path, (.node_counts[] | .counts.read_bytes, .mounts[]?.path)]'; }
is "of each other's jobs members see what was read, but no path of a mount" "$(counted alice)" "[5,5]"
is "whoever ran it sees them, and operators: paths of mounts" "$(counted bob) $(counted opa) $(counted boss)" "$(for i in 1 2 3; do echo '[5,"/home/bob",5,"/home/bob"]'; done | paste -sd' ')"
psql_do -c "INSERT INTO unit_node (instance, node, uuid, restarts, uid, started, ended, last_t1, unit)
	SELECT 22, node, uuid, restarts, uid, started, ended, last_t1, unit FROM unit_node WHERE instance = 21"
is "what one of two nodes has not counted is not known of both" "$(counted bob)" '[null,5,"/home/bob"]'
psql_do -c "INSERT INTO unit_counts SELECT 22, provisional, counts - 'write_bytes', mounts || jsonb_set(mounts->0, '{path}', '\"/x\"') FROM unit_counts WHERE instance = 21"
is "what both have is added up" "$(as bob /units/2 | jq -c '.data[0] | [.counts.read_bytes, .counts.write_bytes, (.mounts[] | .path, .read_bytes)]')" '[10,null,"/home/bob",10,"/x",5]'
psql_do -c "DELETE FROM unit_counts WHERE instance = 22; DELETE FROM unit_node WHERE instance = 22"
is "members are listed" "$(as bob /projects | jq -c '.data[0].users')" '["alice","bob"]'
is "a page of a listed origin may read" "$(as alice /users -o /dev/null -D - -H 'Origin: https://g.example' | tr -d '\r' | grep -i '^access-control')" "Access-Control-Allow-Origin: https://g.example"
is "no other" "$(as alice /users -o /dev/null -D - -H 'Origin: https://g.example.evil' | grep -ci '^access-control')" 0
preflight() { curl -s -X OPTIONS -o /dev/null -D - -w '%{http_code}\n' -H "Origin: $1" -H 'Access-Control-Request-Method: GET' -H 'Access-Control-Request-Headers: authorization' "$URL/units" | tr -d '\r'; }
is "a browser that asks first is told what a page may send" "$(preflight https://h.example | grep -iE '^(access|vary|[0-9]+$)' | sort)" \
	"$(printf '%s\n' 204 'Access-Control-Allow-Headers: Accept, Authorization, Content-Type, Origin, X-Grafana-Id' 'Access-Control-Allow-Methods: GET, HEAD' \
		'Access-Control-Allow-Origin: https://h.example' 'Vary: Origin' | sort)"
is "a page of another origin nothing" "$(preflight https://h.example.evil | grep -ciE '^access') $(preflight null | tail -1)" "0 403"
is "too long a window is refused" "$(status alice '/units?from=0')" 400
agg_stop

if ! have_munge "$BUILD/ceems_aggregator"; then
	skip "identity by MUNGE" "needs root, munged and munge"
else
	URL=http://127.0.0.1:$port/api/v1
	munge_start
	serve --identity.munge-socket="$MUNGE_SOCKET"
	cred() { setpriv --reuid="$1" --regid=100 --clear-groups munge --socket="$MUNGE_SOCKET" -s "$2"; }
	m() { curl -s -o "$SCRATCH/body" -w '%{http_code}' -H "Authorization: MUNGE $1" "${@:3}" "http://127.0.0.1:$port$2"; }
	expired=$(setpriv --reuid=61001 --regid=100 --clear-groups munge --socket="$MUNGE_SOCKET" --ttl=1 -s 'ceems-api/1 GET /api/v1/users')
	c=$(cred 61001 'ceems-api/1 GET /api/v1/units?from=0')
	is "a credential proves who asks, by a number that only the records have a name for" "$(m "$c" '/api/v1/units?from=0') $(rows .uuid <"$SCRATCH/body")" \
		"403 "
	psql_do -c "UPDATE person SET uid = 62001 WHERE cluster = 2 AND name = 'carol'"
	c=$(cred 61001 'ceems-api/1 GET /api/v1/units?from=0')
	is "when the clusters agree about it" "$(m "$c" '/api/v1/units?from=0') $(rows .uuid <"$SCRATCH/body")" "200 101 105 106 107 108 201 202 50"
	psql_do -c "INSERT INTO cluster (name) VALUES ('vms')" -c "INSERT INTO person (cluster, name) SELECT id, 'alice' FROM cluster WHERE name = 'vms'" \
		-c "INSERT INTO unit (cluster, uuid, submitted, known_by, person, started) SELECT cluster, 'vm1', now(), 'import', id, now() FROM person WHERE name = 'alice' AND uid IS NULL" \
		|| ok "a cluster whose people have no numbers" false
	c=$(cred 61001 'ceems-api/1 GET /api/v1/units?from=0')
	is "a name that only records have for the number is nobody's where they have no number" "$(m "$c" '/api/v1/units?from=0') $(rows .uuid <"$SCRATCH/body")" \
		"200 101 105 106 107 108 201 202 50"
	psql_do -c "DELETE FROM unit WHERE uuid = 'vm1'" -c "DELETE FROM person WHERE cluster = (SELECT id FROM cluster WHERE name = 'vms')" -c "DELETE FROM cluster WHERE name = 'vms'"
	# a uid that a node tells of a VM or a pod is a hint, also while the unit is not linked yet
	psql_do -c "INSERT INTO cluster (name, manager) VALUES ('pods', 'k8s'), ('jobs', 'slurm')" -c "INSERT INTO node (cluster, name, last_report) SELECT id, 'w1', now() FROM cluster WHERE name IN ('pods', 'jobs')" \
		-c "INSERT INTO unit_node (instance, node, uuid, restarts, uid, started, last_t1) SELECT 900 + o.id, o.id, 'of-' || c.name, 0, 61001, now() - interval '1 min', now() FROM node o JOIN cluster c ON c.id = o.cluster WHERE c.name IN ('pods', 'jobs')" >/dev/null
	hinted() { m "$(cred 61001 "ceems-api/1 GET /api/v1/units/verify?cluster_id=$1&uuid=of-$1")" "/api/v1/units/verify?cluster_id=$1&uuid=of-$1"; }
	is "a node's word on a uid counts for jobs and for no pods" "$(hinted jobs) $(hinted pods)" "200 403"
	psql_do -c "DELETE FROM unit_node WHERE uuid LIKE 'of-%'" -c "DELETE FROM node WHERE name = 'w1'" -c "DELETE FROM cluster WHERE name IN ('pods', 'jobs')" >/dev/null
	is "a replayed one is refused" "$(m "$c" '/api/v1/units?from=0') $(jq -r .error "$SCRATCH/body")" "401 munge: Replayed credential"
	c=$(cred 61001 'ceems-api/1 GET /api/v1/units')
	is "one for another request is refused" "$(m "$c" /api/v1/users)" 401
	is "one with a user's header is refused" "$(m "$(cred 61001 'ceems-api/1 GET /api/v1/users')" /api/v1/users -H 'X-Grafana-User: boss')" 403
	is "a forged one is refused" "$(m 'MUNGE:AwQDAADc4fd+:' /api/v1/users)" 401
	sleep 2
	is "one that has expired is refused" "$(m "$expired" /api/v1/users) $(jq -r .error "$SCRATCH/body")" "401 munge: Expired credential"
	is "one without a name here is refused" "$(m "$(cred 64242 'ceems-api/1 GET /api/v1/users')" /api/v1/users) $(jq -r .error "$SCRATCH/body")" "403 uid 64242 has no login on this host"
	agg_stop
fi
URL=http://127.0.0.1:$port/api/v1
serve --web.max-requests=3
codes=$(for i in 1 2 3 4 5 6 7 8; do status alice /users; done)
like "who asks too often is told to wait, others are not" "$codes $(status bob /users)" '^(200){3,6}(429)+(200)*(429)* 200$'
is "what a load balancer asks about units is not counted" \
	"$(for i in 1 2 3 4 5 6 7 8; do status carol '/units/verify?uuid=none'; done)" 403403403403403403403403
agg_stop

# ---- roles that change, without a restart
printf 'admin:\n  users: [bob]\n' >"$SCRATCH/agg.yaml"
agg_start --config.file="$SCRATCH/agg.yaml" --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --identity.front-end-roles=true
is "who is an admin by the file is one" "$(status bob /clusters/admin) $(status alice /clusters/admin)" "200 403"
printf 'admin:\n  users: [alice]\n' >"$SCRATCH/agg.yaml"
kill -HUP "$agg_pid"
now_alice() { [ "$(status bob /clusters/admin) $(status alice /clusters/admin)" = "403 200" ]; }
ok "SIGHUP takes it from one and gives it to another" wait_for 10 now_alice
printf 'admin:\n  users: ["no login"]\n' >"$SCRATCH/agg.yaml"
kill -HUP "$agg_pid"
ok "a list that makes no sense is said" wait_for 10 grep -q 'reload: api: .*admin.users' "$SCRATCH/log"
ok "and the old one stays" now_alice
agg_stop
is "nobody's password is in the log" "$(grep -c 'correct horse' "$SCRATCH/log")" 0
tap_done
