#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# timeout 1800
# An aggregator that asks the real Keystone and Nova (test/rig/openstack: PyPI's, with MariaDB and RabbitMQ; two
# cells of Nova's own fake driver, Glance and Neutron a stand-in): owners, projects, members, paging, deletion,
# a cell whose database cannot be reached, a token that is revoked, rows that Nova has purged.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
why=$("$TOP/test/rig/openstack" possible) || skip_all "$why"
"$TOP/test/rig/openstack" make 2>"$SCRATCH/make" || skip_all "$(tail -1 "$SCRATCH/make")"
bin=${CEEMS_RIG_CACHE:-/var/cache/ceems-rig}/openstack/bin
OS_MAX_LIMIT=3 "$TOP/test/rig/openstack" run "$SCRATCH/os" >"$SCRATCH/os.log" 2>&1 </dev/null &
rig=$!
test_cleanup() { kill -9 "$rig" 2>/dev/null; wait "$rig" 2>/dev/null; } # unshare, with whom all of it ends
ready_or_over() { [ -s "$SCRATCH/os/env" ] || is_gone "$rig"; }
wait_for 900 ready_or_over
ok "Keystone and Nova start" test -s "$SCRATCH/os/env" || { tail -3 "$SCRATCH/os.log" | sed 's/^/# /'; tap_done; }
. "$SCRATCH/os/env"
. "$TOP/test/openstack.sh"

# CEEMS_RECORD=DIR: what is answered is kept there, for test/fake/openstack_host.py (test/fixture/openstack)
keep() { # NAME command...: its JSON, without what is secret or of this machine
	[ -z "${CEEMS_RECORD:-}" ] || "${@:2}" | jq 'walk(if type == "object" then del(.audit_ids, .links) else . end)' |
		sed -e "s#http://127.0.0.1:[0-9]*#http://openstack.example#" >"$CEEMS_RECORD/$1.json"
}
every_server() { # all pages
	local after='' body
	while body=$(nova "/servers/detail?all_tenants=true&limit=100$after"); do
		jq -c '.servers[]' <<<"$body"
		[ "$(jq '.servers_links | length' <<<"$body")" -gt 0 ] || break
		after="&marker=$(jq -r '.servers[-1].id' <<<"$body")"
	done | jq -s '{servers: .}'
}

# ---- two projects of one name, in two domains; bob is in one by himself and in another by a group
anew() { os_token=$(os_admin); }
anew
other=$(os_domain other) web=$(os_project web) web2=$(os_project web "$other") shop=$(os_project shop)
alice=$(os_user alice) bob=$(os_user bob) carol=$(os_user carol "$other")
reader=$(os_user ceems)
staff=$(keystone /groups -d '{"group": {"name": "staff", "domain_id": "default"}}' | jq -r .group.id)
keystone "/groups/$staff/users/$bob" -X PUT
ok "users get roles" eval 'os_grant $web users $alice member && os_grant $web users $bob reader && os_grant $web2 users $carol member && os_grant $shop groups $staff admin'
ok "so does who asks" os_grant "$(keystone /projects?name=admin | jq -r .projects[0].id)" users "$reader" admin
small=$(os_flavour small) vgpu=$(os_flavour vgpu '{"resources:VGPU": "2"}')
as_user() { os_user_token=$(os_token "$1" pw "$2" "${3:-default}"); }
as_user alice web
a=()
for i in 1 2 3 4; do a+=("$(os_server "alice-$i" "$small")"); done
as_user carol web "$other"
c1=$(os_server carol-1 "$small")
as_user bob shop
b1=$(os_server bob-1 "$small")
os_user_token=
anew
h1=$(os_server in-cell-1 "$small" compute1) h2=$(os_server in-cell-2 "$small" compute2)
g1=$(os_server no-such-gpu "$vgpu")
all_active() { local s; for s in "${a[@]}" "$c1" "$b1" "$h1" "$h2"; do os_is "$s" ACTIVE || return 1; done; }
ok "servers of three users run" wait_for 180 all_active

os_version=2.69 keep servers every_server
keep roles keystone '/role_assignments?effective&include_names=true'
keep token keystone /auth/tokens -H "X-Subject-Token: $os_token"
keep version nova /

# ---- the aggregator; once by a password, once by an application credential and the catalogue
os_version=2.87
credential=$(keystone "/users/$(keystone /auth/tokens -H "X-Subject-Token: $os_token" | jq -r .token.user.id)/application_credentials" \
	-d '{"application_credential": {"name": "ceems", "secret": "a-secret-of-this-test"}}' | jq -r .application_credential.id)
(umask 077; echo pw >password; echo a-secret-of-this-test >secret)
cat >clusters.yaml <<END
clusters:
  - id: slurm-0
    manager: slurm
    cli: {path: /usr/bin}
  - id: cloud
    manager: openstack
    extra_config: &cloud
      api_service_endpoints: {compute: $OS_COMPUTE, identity: $OS_IDENTITY}
      auth:
        identity:
          methods: [password]
          password: {user: {name: ceems, password_file: password, domain: {name: Default}}}
        scope: {project: {name: admin, domain: {name: Default}}}
      login_domains: [Default]
      refresh_interval: 1s
      people_interval: 1s
      list_interval: 10s
  - id: by-credential
    manager: openstack
    extra_config:
      api_service_endpoints: {identity: $OS_IDENTITY}
      region: R1
      auth:
        identity:
          methods: [application_credential]
          application_credential: {id: $credential, secret_file: secret}
END
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n  prometheus: '%s'\n" "$hash" "$hash" >web.yaml
chmod 600 web.yaml
flags=(--web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --clusters.file="$SCRATCH/clusters.yaml")
agg_begin "${flags[@]}"
units() { sql "SELECT count(*) FROM unit u JOIN cluster c ON c.id = u.cluster WHERE c.name = '$1' AND known_by = 'nova' AND u.ended IS NULL"; }
has_units() { [ "$(units "$1")" = "$2" ]; }
ok "all nine servers are units, by pages of three" wait_for 300 has_units cloud 9
ok "also by an application credential, with the catalogue's endpoint" wait_for 300 has_units by-credential 9
owner() { sql "SELECT p.name, coalesce(r.domain, '') || '/' || r.name, u.cpus, u.memory_bytes, u.state, u.started IS NOT NULL, u.ended IS NULL
	FROM unit u JOIN cluster c ON c.id = u.cluster AND c.name = 'cloud' JOIN person p ON p.id = u.person JOIN project r ON r.id = u.project WHERE u.uuid = '$1'"; }
is "a server has Nova's owner, project and flavour" "$(owner "${a[0]}")" "alice|Default/web|2|67108864|ACTIVE|t|t"
is "the project of that name in another domain is another" "$(owner "$c1")" "carol|other/web|2|67108864|ACTIVE|t|t"
is "they are two" "$(sql "SELECT count(*), count(DISTINCT external_id) FROM project p JOIN cluster c ON c.id = p.cluster WHERE c.name = 'cloud' AND p.name = 'web'")" "2|2"
like "a server that found no host has not started" "$(wait_for 60 eval 'owner $g1 | grep -q ERROR'; owner "$g1")" "^admin\|Default/admin\|2\|67108864\|ERROR\|f\|t$"
is "the gpus of its flavour are counted" "$(sql "SELECT DISTINCT gpus FROM unit WHERE uuid = '$g1'")" 2
roles() { sql "SELECT p.name, r.domain, r.name, m.role FROM membership m JOIN person p ON p.id = m.person JOIN project r ON r.id = m.project JOIN cluster c ON c.id = p.cluster
	WHERE c.name = 'cloud' AND m.valid_to IS NULL AND p.name NOT IN ('admin', 'ceems') ORDER BY 1, 2, 3"; }
is "members come from roles, also a group's" "$(roles)" $'alice|Default|web|member\nbob|Default|shop|admin\nbob|Default|web|member\ncarol|other|web|member'

# ---- who sees what
as() { curl -s -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $1" "${@:3}" "http://127.0.0.1:$agg_port/api/v1$2"; }
verify() { as "$1" "/units/verify?cluster_id=cloud&uuid=$2" -o /dev/null -w '%{http_code}'; }
is "alice sees her VM" "$(verify alice "${a[0]}")" 200
is "so does bob, who may read in the project" "$(verify bob "${a[0]}")" 200
is "but alice sees nothing of the shop" "$(verify alice "$b1")" 403
is "nor of the other web" "$(verify alice "$c1")" 403
is "carol's domain has no logins here" "$(verify carol "$c1")" 403
is "and nobody gets her VMs by her name" "$(verify carol "${a[0]}")" 403
is "bob lists what is in his projects" "$(as bob '/units?cluster_id=cloud&project=web&project=shop' | jq -r '[.data[].name] | sort | join(" ")')" "alice-1 alice-2 alice-3 alice-4 bob-1"

# ---- what a node tells is joined by the VM's id; owners that it names count for nothing
T=$(($(date +%s) - 30))
push_vm() { printf '%s\n' "$@" | "$make" | curl -sf -m 60 -o answer -H 'Authorization: Bearer a-token-of-this-test' \
	-H 'Content-Type: application/x-ceems-batch' --data-binary @- "http://127.0.0.1:$agg_port/api/v1/ingest"; }
ok "two nodes report the VM" push_vm "start cluster=cloud node=hv1 unit=${a[0]} instance=71 manager=2 uid=1001 started=$T" \
	"start cluster=cloud node=hv2 unit=${a[0]} instance=72 manager=2 uid=0 started=$((T + 20))"
ok "they are linked" settle
is "both are the one unit of Nova's" "$(sql "SELECT count(*), count(DISTINCT n.unit), min(u.known_by) FROM unit_node n JOIN unit u ON u.id = n.unit WHERE n.uuid = '${a[0]}'")" "2|1|nova"
new=$(uuidgen 2>/dev/null || cat /proc/sys/kernel/random/uuid)
ok "a node reports a VM that Nova does not have" push_vm "start cluster=cloud node=hv1 unit=$new instance=73 manager=2 uid=1001 started=$T"
ok "it is linked" settle
is "and is nobody's" "$(sql "SELECT person, project, known_by FROM unit WHERE uuid = '$new'")" "||node"

# ---- deletion, by what changed
anew
os_delete "${a[3]}"
ended() { [ "$(sql "SELECT state, ended IS NOT NULL AND ended >= started FROM unit u JOIN cluster c ON c.id = u.cluster AND c.name = 'cloud' WHERE uuid = '$1'")" = "DELETED|t" ]; }
ok "a server that is deleted ends" wait_for 60 ended "${a[3]}"

# ---- the token is revoked, with the password that it was had for
requests() { curl -s -m 20 -u 'prometheus:correct horse' "http://127.0.0.1:$agg_port/metrics" | sed -n "s/^ceems_aggregator_cloud_$1{cluster_id=\"cloud\"} //p"; }
is "so far nothing has failed" "$(requests failures_total)" 0
(umask 077; echo another-password-of-this-test >password)
keystone "/users/$reader" -X PATCH -d '{"user": {"password": "another-password-of-this-test"}}' -o /dev/null
as_user alice web
later=$(os_server alice-later "$small")
os_user_token=
is_unit() { [ "$(owner "$later" | cut -d'|' -f1)" = alice ]; }
ok "a server that is made after that comes" wait_for 90 is_unit
is "without a failure" "$(requests failures_total)" 0

# ---- a cell whose database cannot be reached
"$TOP/test/rig/openstack" cell "$OS_DIR" down
ok "Nova knows little of a server whose cell does not answer" wait_for 120 os_is "$h2" UNKNOWN
unreachable() { [ "$(requests unreachable_servers)" -gt 0 ]; }
ok "they are counted" wait_for 90 unreachable
is "but not ended, and keep owner and name" "$(owner "$h2")" "admin|Default/admin|2|67108864|ACTIVE|t|t"
"$TOP/test/rig/openstack" cell "$OS_DIR" up
reachable() { [ "$(requests unreachable_servers)" = 0 ]; }
ok "the cell answers again" wait_for 120 reachable
is "nothing has ended meanwhile" "$(units cloud)" 9

# ---- rights end, names change
anew
keystone "/projects/$web/users/$bob/roles/$(os_role reader)" -X DELETE
sees_no_more() { [ "$(verify bob "${a[0]}")" = 403 ]; }
ok "who lost the role does not see the project any more" wait_for 60 sees_no_more
id=$(sql "SELECT id FROM project p WHERE external_id = '$shop' AND cluster = (SELECT id FROM cluster WHERE name = 'cloud')")
keystone "/projects/$shop" -X PATCH -d '{"project": {"name": "store"}}' -o /dev/null
renamed() { [ "$(sql "SELECT name FROM project WHERE id = $id")" = store ]; }
ok "a project that is renamed stays the one that it was" wait_for 60 renamed

# ---- deleted and purged while nobody asked
kill "$agg_pid"
wait_for 30 is_gone "$agg_pid"
anew
os_delete "$h1"
gone() { os_is "$h1" gone; }
ok "a server is deleted while no aggregator runs" wait_for 60 gone
purge() { for d in nova1 nova2; do "$bin/nova-manage" --config-dir "$OS_DIR/$d" db archive_deleted_rows --until-complete --purge; done >purge.log 2>&1
	"$bin/nova-manage" --config-dir "$OS_DIR/nova" db archive_deleted_rows --all-cells --until-complete --purge >>purge.log 2>&1
	[ "$(nova '/servers/detail?all_tenants=true&limit=100&deleted=true' | jq '.servers | length')" = 0 ]; }
ok "and Nova forgets it" wait_for 60 purge
ok "the aggregator is started again" agg_run "$agg_port" "${flags[@]}"
ok "it ends, since Nova does not know it any more" wait_for 60 ended "$h1"
is "no other does" "$(units cloud)" 8
is "no secret is in the log" "$(grep -c -e "$OS_ADMIN_PASSWORD" -e a-secret-of-this-test -e another-password -e gAAAA agg.log)" 0
tap_done
