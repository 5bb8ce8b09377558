#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Projects and persons with an id of another service beside Slurm's, on a real Postgres: a rename keeps
# the id, equal names in two domains are two, and neither a login nor what a node reports of a VM makes
# anybody an owner.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >web.yaml
chmod 600 web.yaml
agg_begin --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb
as() { curl -s -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $1" "${@:3}" "http://127.0.0.1:$agg_port/api/v1$2"; }
push() { # as in aggregator.sh, which knows of no password
	printf '%s\n' "$@" | "$make" | curl -sf -m 60 -o answer -H 'Authorization: Bearer a-token-of-this-test' \
		-H 'Content-Type: application/x-ceems-batch' --data-binary @- "http://127.0.0.1:$agg_port/api/v1/ingest"
}
T=$(($(date +%s) - 3600))
V=5b8f7fd4-0000-4000-8000-000000000001

ok "a job of alice's and a VM arrive" push "job id=1 cluster=c1 submit=$T start=$T end=$((T + 60)) user=alice uid=1001 account=web" \
	"start cluster=cloud node=hv1 unit=$V instance=7 manager=2 uid=1001 started=$T" "start cluster=cloud node=hv1 unit=other instance=8 manager=2 uid=0 started=$T"
ok "they are linked" settle
is "the cluster is libvirt's" "$(sql "SELECT name, manager FROM cluster ORDER BY name")" $'c1|slurm\ncloud|libvirt'
is "what a node says of a VM's owner is not kept" "$(sql "SELECT uuid, uid, gid, person, project, known_by FROM unit WHERE cluster = (SELECT id FROM cluster WHERE name = 'cloud') ORDER BY 1")" "$V|||||node"$'\n'"other|||||node"

C="(SELECT id FROM cluster WHERE name = 'cloud' AND manager = 'libvirt')::smallint" S="(SELECT id FROM cluster WHERE name = 'c1')::smallint"
long=$(printf 'n%.0s' {1..300})
is "two projects of one name, in two domains" "$(sql "SELECT external_project($C, 'p1', 'd1', 'web') <> external_project($C, 'p2', 'd2', 'web')")" t
is "a rename keeps the project" "$(sql "SELECT (SELECT id FROM project WHERE external_id = 'p1') = external_project($C, 'p1', 'd1', 'shop')")" t
is "and is seen" "$(sql "SELECT external_id, domain, name FROM project WHERE external_id IS NOT NULL ORDER BY 1")" $'p1|d1|shop\np2|d2|web'
is "long names differ in their last letter" "$(sql "SELECT external_person($C, 'l1', 'd', '${long}a') <> external_person($C, 'l2', 'd', '${long}b')")" t
is "and are not cut" "$(sql "SELECT count(DISTINCT name) FROM person WHERE length(name) = 301")" 2
is "two persons of one name" "$(sql "SELECT external_person($C, 'u1', 'd1', 'alice') <> external_person($C, 'u2', 'd2', 'alice')")" t
is "Slurm's alice is neither" "$(sql "SELECT link_person($C, 'alice', 1001) IN (SELECT id FROM person WHERE external_id IS NOT NULL)")" f
is "nor is a name without a number" "$(sql "SELECT link_person($C, 'alice', NULL) IN (SELECT id FROM person WHERE external_id IS NOT NULL)")" f
is "Slurm's account is another project" "$(sql "SELECT link_project($C, 'web') IN (SELECT id FROM project WHERE external_id IS NOT NULL)")" f
is "a list of associations names none of them" "$(sql "SELECT added FROM people_associate('[{\"cluster\":\"cloud\",\"account\":\"shop\",\"user\":\"alice\"}]', 'test')" >/dev/null
	sql "SELECT count(*) FROM membership m JOIN project p ON p.id = m.project JOIN person q ON q.id = m.person WHERE p.external_id IS NOT NULL OR q.external_id IS NOT NULL")" 0

ok "a VM gets an owner and a project by their ids" sql "UPDATE unit SET known_by = 'nova', submitted = started,
	person = (SELECT id FROM person WHERE external_id = 'u1'), project = (SELECT id FROM project WHERE external_id = 'p1') WHERE uuid = '$V'"
verify() { as "$1" "/units/verify?cluster_id=$2&uuid=$3" -o /dev/null -w '%{http_code}' "${@:4}"; }
is "alice sees her job" "$(verify alice c1 1)" 200
is "but no VM of somebody who has her name" "$(verify alice cloud "$V")" 403
is "not with her number either" "$(verify alice cloud "$V" -H 'X-Ceems-Uid: 1001')" 403
is "nor does root see what is nobody's" "$(verify root cloud other -H 'X-Ceems-Uid: 0')" 403
ok "a node that calls a VM a job of alice's is heard" push "start cluster=cloud node=hv1 unit=feigned instance=9 manager=1 uid=1001 started=$T"
ok "and linked" settle
is "but makes nobody its owner" "$(sql "SELECT uid, known_by FROM unit WHERE uuid = 'feigned'")" "|node"
is "a membership has a role, one of two" "$(sql "INSERT INTO membership (project, person, source, role) SELECT p.id, q.id, 'nova', 'admin' FROM project p, person q
	WHERE p.external_id = 'p1' AND q.external_id = 'u1' RETURNING role"; sql "UPDATE membership SET role = 'king'" 2>&1 | grep -c 'violates check')" $'admin\n1'
is "an id is one person's" "$(sql "INSERT INTO person (cluster, name, external_id) SELECT id, 'eve', 'u1' FROM cluster WHERE id = $C" 2>&1 | grep -c 'person_external')" 1
erase() { "$agg" --erase="$1" --db.url="$PGURL" 2>&1; }
like "a login is erased on each cluster that it was named on, also where two have one name" "$(erase alice)" 'erased on 3 clusters'
is "which is nobody's of another service" "$(sql "SELECT external_id, name FROM person WHERE name LIKE 'alice' ORDER BY 1")" $'u1|alice\nu2|alice'
like "who is erased by the id" "$(erase u1)" 'erased on 1 clusters'
is "with the domain" "$(sql "SELECT name LIKE 'erased-%', domain FROM person WHERE external_id = 'u1'")" "t|"
is "a rename does not bring the name back" "$(sql "SELECT external_person($C, 'u1', 'd1', 'alice') > 0; SELECT name LIKE 'erased-%' FROM person WHERE external_id = 'u1'")" $'t\nt'
tap_done
