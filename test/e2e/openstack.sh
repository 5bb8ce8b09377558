#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An aggregator that asks Keystone and Nova, as they were recorded (test/fixture/openstack, by openstack_real.sh), and
# what goes wrong: half an answer, 429, 500, a hang, no server at all, wrong types, names of 10 MB, markers that are
# gone, cells that are silent, tokens that end, a clock that is off. The server is a stand-in for these faults.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/aggregator.sh"
. "$TOP/test/openstack.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
fixture=$TOP/test/fixture/openstack state=$SCRATCH/state
mkdir "$state"
port=$(free_port)
host_up() { # [SERVERS]
	python3 "$TOP/test/fake/openstack_host.py" "$port" "$fixture" "$state" "$@" >"$SCRATCH/host.out" 2>&1 </dev/null &
	host=$!
	started $host
	wait_for 60 grep -q ready "$SCRATCH/host.out"
}
ok "a server that replays Keystone and Nova starts" host_up
{ echo clusters: && replayed_cloud "$port" $'list_interval: 3s\nchanges_overlap: 10s\ntimeout: 2s\npage: 4'; } >clusters.yaml
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n  prometheus: '%s'\n" "$hash" "$hash" >web.yaml
chmod 600 web.yaml
flags=(--web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --clusters.file="$SCRATCH/clusters.yaml")
chmod 644 clusters.yaml
like "a password that others can read is refused" "$("$agg" --check-config "${flags[@]}" 2>&1)" 'clusters.yaml: .*mode 0644'
chmod 600 clusters.yaml
like "with the right mode the configuration is valid" "$("$agg" --check-config "${flags[@]}" 2>&1)" 'configuration is valid'
echo 3 >"$state/lifetime" # of a token
flags+=(--linker.lost-after=2s --linker.grace=1s)
agg_begin "${flags[@]}"
number() { curl -s -m 20 -u 'prometheus:correct horse' "http://127.0.0.1:$agg_port/metrics" | sed -n "s/^ceems_aggregator_cloud_$1{cluster_id=\"cloud\"} //p"; }
units() { sql "SELECT count(*) FILTER (WHERE ended IS NULL) || ' of ' || count(*) FROM unit WHERE known_by = 'nova'"; }
all=$(wc -l <"$state/servers")
are_units() { [ "$(units)" = "$all of $all" ]; }
ok "all $all servers are units, by pages of four" wait_for 60 are_units
as() { curl -s -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $1" "${@:3}" "http://127.0.0.1:$agg_port/api/v1$2"; }
verify() { as "$1" "/units/verify?cluster_id=cloud&uuid=$2" -o /dev/null -w '%{http_code}'; }
id_of() { jq -r "select(.name == \"$1\").id" "$state/servers"; }
one=$(id_of alice-1)
is "the owner sees a VM" "$(verify alice "$one")" 200
is "so does a member" "$(verify bob "$one")" 200
is "but not who is of another domain" "$(verify carol "$one")" 403
is "usage and units are listed for a member" "$(as bob '/units?cluster_id=cloud&project=web' | jq -r '[.data[] | select(.resource_manager == "openstack")] | length > 3')" true

# ---- what goes wrong changes nothing, and is over when it is
change() { # jq program: of each server, put in place as a whole
	jq -c "$1" "$state/servers" >"$state/servers.new" && mv "$state/servers.new" "$state/servers"
}
rename() { # NAME [SECONDS]: of the first server of alice's
	change "if .id == \"$one\" then .name = \"$1\" | .updated = \"$(date -u -d "${2:-0} seconds" +%FT%TZ)\" else . end"
}
named() { [ "$(sql "SELECT name FROM unit WHERE uuid = '$one'")" = "$1" ]; }
failed_more() { [ "$(number failures_total)" -gt "$before" ]; }
fault() { # WORD WHAT
	before=$(number failures_total)
	echo "$1" >"$state/fault"
	ok "$2: it is a failure" wait_for 60 failed_more
	rename "after-${1%% *}"
	rm "$state/fault"
	ok "$2: what has changed meanwhile comes" wait_for 90 named "after-${1%% *}"
}
fault half "half an answer"
fault 500 "a status of 500"
fault "429 2" "a status of 429 with a pause"
fault 401 "a token that is not taken"
fault hang "no answer"
before=$(number failures_total)
kill9 "$host"
ok "no server at all: it is a failure" wait_for 60 failed_more
T=$(($(date +%s) - 60))
printf '%s\n' "start cluster=cloud node=hv1 unit=$one instance=71 manager=2 started=$T" | "$make" | curl -sf -m 60 -o answer \
	-H 'Authorization: Bearer a-token-of-this-test' -H 'Content-Type: application/x-ceems-batch' --data-binary @- "http://127.0.0.1:$agg_port/api/v1/ingest"
lost() { [ "$(sql "SELECT how_ended FROM unit_node WHERE uuid = '$one'")" = lost ]; }
ok "meanwhile a node that reported a VM is lost" wait_for 90 lost
is "nothing has ended all the while" "$(units)" "$all of $all"
rename back
host_up
ok "a server that is back is asked again" wait_for 90 named back
like "the log says what failed" "$(cat agg.log)" 'cluster cloud: .*: its VMs keep the owners'
like "and that it is over" "$(cat agg.log)" 'cluster cloud: can be read again'

skipped_more() { [ "$(number skipped_servers_total)" -gt "$before" ]; }
before=$(number skipped_servers_total)
echo types >"$state/fault"
rename typed
ok "servers of other types than Nova's are left out" wait_for 90 skipped_more
rm "$state/fault"
is "nothing has ended of that" "$(units)" "$all of $all"
echo names >"$state/fault"
rename long
is_long() { [ "$(sql "SELECT length(name) FROM unit WHERE uuid = '$one'")" = 1024 ]; }
ok "names of 10 MB are cut, by smaller pages" wait_for 120 is_long
rm "$state/fault"
lists() { grep -c 'GET /v2.1/servers/detail?all_tenants=true&limit=4$' "$state/log"; }
listed() { [ "$(lists)" -gt "$before" ]; }
twice() { before=$(($(lists) + 1)); wait_for 90 listed; } # a list that began after now has been read
echo gone >"$state/fault"
rename gone
ok "markers that are gone: the page begins again" wait_for 90 named gone
rm "$state/fault"

# ---- cells that are silent
change 'if .name == "in-cell-2" then .silent = true else . end'
echo silent >"$state/fault"
unreachable() { [ "$(number unreachable_servers)" = 1 ]; }
ok "a server of a silent cell is counted" wait_for 90 unreachable
echo unlisted >"$state/fault"
ok "lists without it, as an older Nova's" twice
rm "$state/fault"
is "the server has not ended" "$(units)" "$all of $all"

# ---- clocks and tokens
echo 86400 >"$state/clock"
failed=$(number failures_total)
rename tomorrow 86400
ok "Nova's clock is a day ahead" wait_for 90 named tomorrow
echo -86400 >"$state/clock"
ok "it is a day behind" twice
rename yesterday -86400
ok "what changes then comes, too" wait_for 90 named yesterday
rm "$state/clock"
is "tokens of three seconds are no failure" "$(($(number failures_total) - failed))" 0
like "they are had again and again" "$(grep -c 'POST /v3/auth/tokens' "$state/log")" '^[1-9][0-9]'
had() { grep -c 'POST /v3/auth/tokens' "$state/log"; }
tokens=$(had)
echo ends >"$state/fault"
rename ended
ok "tokens that end behind each page of a list" twice
ok "tokens that end: what has changed comes" wait_for 90 named ended
rm "$state/fault"
ok "tokens that end: each page took one" [ $(($(had) - tokens)) -ge $((all / 4)) ]
is "tokens that end are no failure" "$(($(number failures_total) - failed))" 0

# ---- what Nova does with a server that stays the one that it is
states=(PAUSED SUSPENDED SHUTOFF SHELVED SHELVED_OFFLOADED REBUILD RESIZE VERIFY_RESIZE MIGRATING RESCUE SOFT_DELETED ACTIVE)
cpus=2
is_as() { [ "$(sql "SELECT state, cpus, ended IS NULL, count(*) OVER () FROM unit WHERE uuid = '$one'")" = "$1|$2|t|1" ]; }
for s in "${states[@]}"; do
	[ $s != VERIFY_RESIZE ] || cpus=4
	change "if .id == \"$one\" then .status = \"$s\" | .flavor.vcpus = $cpus | .hostId = \"host-$s\" | .updated = \"$(date -u +%FT%TZ)\" else . end"
	wait_for 60 is_as $s $cpus || echo "$s: $(sql "SELECT state, cpus, ended FROM unit WHERE uuid = '$one'")"
done >lives
is "a server that is shelved, rebuilt, resized or moved is one VM that goes on, with the CPUs of its flavour" "$(cat lives)" ""
is "and its owner's" "$(verify alice "$one") $(verify carol "$one")" "200 403"

# ---- the end
change "if .id == \"$one\" then .status = \"DELETED\" | .updated = \"$(date -u +%FT%TZ)\" | .\"OS-SRV-USG:terminated_at\" = \"$(date -u +%FT%T).000000\" else . end"
over() { [ "$(sql "SELECT state, ended IS NOT NULL FROM unit WHERE uuid = '$1'")" = "DELETED|t" ]; }
ok "a server that is deleted ends" wait_for 90 over "$one"
two=$(id_of alice-2)
change "select(.id != \"$two\")"
ok "one that Nova does not know any more ends" wait_for 90 over "$two"
is "no other does" "$(units)" "$((all - 2)) of $all"

# ---- killed in the middle of a list, while it holds the cloud
three=$(id_of bob-1)
echo second >"$state/fault"
before=$(number failures_total)
in_second() { failed_more && [ "$(sql "SELECT count(*) >= 4 FROM cloud_seen")" = t ]; }
ok "no answer for a second page: the list stops there" wait_for 90 in_second
four=$(id_of alice-3)
is_out() { [ "$(verify bob "$four")" = 403 ]; }
is_in() { [ "$(verify bob "$four")" = 200 ]; }
jq -c '.role_assignments |= map(select(.user.name != "bob"))' "$fixture/roles.json" >roles.new
mv roles.new "$state/roles"
ok "who is taken out of a project is out, though Nova's list does not go on" wait_for 60 is_out
rm "$state/roles"
ok "and in again" wait_for 60 is_in
first=$agg_port first_pid=$agg_pid
kill9 "$first_pid"
sql "UPDATE cloud_sync SET held_until = now() + interval '1h'"
rm "$state/fault"
change "select(.id != \"$three\")" # it was in the first page
ok "an aggregator at another address starts" agg_run "$(free_port)" "${flags[@]}"
before=$(wc -l <"$state/log")
sleep 2.5 # two of its turns
is "it does not read a cloud that the first holds" "$(wc -l <"$state/log")" "$before"
kill "$agg_pid"
wait_for 30 is_gone "$agg_pid"
sed -i 's/list_interval: .*/list_interval: 1d/' clusters.yaml
ok "the first is started again" agg_run "$first" "${flags[@]}"
ok "it reads without waiting for its own lease, and what was deleted meanwhile ends" wait_for 90 over "$three"
is "nothing else has ended" "$(units)" "$((all - 3)) of $all"

# ---- between two lists what has changed is asked for, from some time before the last answer on
before=$(lists)
change "if .id == \"$four\" then .name = \"late\" | .updated = \"$(date -u -d '-8 seconds' +%FT%TZ)\" else . end"
is_late() { [ "$(sql "SELECT name FROM unit WHERE uuid = '$four'")" = late ]; }
ok "a change that Nova tells of eight seconds late comes, since readings overlap by ten" wait_for 60 is_late
is "no list was read for that" "$(lists)" "$before"

# ---- who may see
# without bob, beside so many others that many have been stored when the answer ends
jq -c '.role_assignments |= (map(select(.user.name != "bob")) as $r | $r + [range(12000) as $i | $r[0] | .user.id = "made-up-\($i)" | .user.name = "made-up-\($i)"])' "$fixture/roles.json" >roles.new
before=$(number failures_total)
echo roles >"$state/fault"
mv roles.new "$state/roles"
ok "half an answer of Keystone's is a failure" wait_for 60 failed_more
is "who would be in the other half keeps rights, and nobody is in by the first" "$(verify bob "$four") $(sql "SELECT count(*) FROM membership m JOIN person p ON p.id = m.person WHERE p.external_id LIKE 'made-up-%'")" "200 0"
rm "$state/fault"
ok "all of it is believed: who is not in it is out" wait_for 60 is_out
is "everybody else is in" "$(sql "SELECT count(*) FROM membership m JOIN person p ON p.id = m.person WHERE p.external_id LIKE 'made-up-%' AND m.valid_to IS NULL")" 12000
rm "$state/roles"
ok "who is in it again sees again" wait_for 60 is_in
# the id stays; somebody else gets the login
jq -c '.role_assignments |= ((map(select(.user.name == "bob" and .scope.project.name == "shop"))[0] | .user.id = "another-alice" | .user.name = "alice") as $new
	| map(if .user.name == "alice" then .user.name = "alicia" else . end) + [$new])' "$fixture/roles.json" >roles.new
mv roles.new "$state/roles"
is_alicia() { [ "$(verify alicia "$one")" = 200 ]; }
ok "a user who is renamed in Keystone keeps their VMs" wait_for 60 is_alicia
is "who gets the login then does not see them" "$(verify alice "$one")" 403
is "but has a login" "$(as alice '/units?cluster_id=cloud&project=shop' -o /dev/null -w '%{http_code}')" 200
is "with the new name in the record" "$(as alicia "/units?cluster_id=cloud&uuid=$one" | jq -r '[.data[].username] | unique | join(" ")')" alicia
rm "$state/roles"
is_alice() { [ "$(verify alice "$one") $(verify alicia "$one")" = "200 403" ]; }
ok "renamed back" wait_for 60 is_alice
# two whose names differ in the last of 255 letters, and one whose name is longer than a login may be: bob is the first
long=$(printf 'n%.0s' {1..254})
jq -c --arg n "$long" '.role_assignments |= ((map(select(.user.name == "bob"))[0]) as $bob
	| ($bob | .user.id = "not-bob" | .user.name = $n + "b" | .scope.project |= (.id = "another" | .name = "another")) as $other
	| map(if .user.name == "bob" then .user.name = $n + "a" else . end) + [$other, ($other | .user.id = "longer" | .user.name = $n + "aa")])' "$fixture/roles.json" >roles.new
mv roles.new "$state/roles"
is_long_bob() { [ "$(verify "${long}a" "$four") $(verify "${long}b" "$four")" = "200 403" ]; }
ok "of two names that differ in the last of 255 letters each is somebody" wait_for 60 is_long_bob
is "a longer name is nobody's login" "$(verify "${long}aa" "$four") $(sql "SELECT login IS NULL, length(name) FROM person WHERE external_id = 'longer'")" "400 t|256"
rm "$state/roles"
ok "their names are the old ones" wait_for 60 is_in
echo '{"role_assignments": []}' >"$state/roles"
before=$(number failures_total)
ok "an empty list of roles is a failure" wait_for 60 failed_more
is "and takes nobody's rights" "$(verify bob "$four")" 200
is "nobody is asked for one user or project, whatever happens" "$(sed -E 's/\?.*//; s/[0-9a-f-]{36}/ID/' "$state/log" | sort -u | paste -sd' ')" \
	"GET /v2.1/ GET /v2.1/servers/ID GET /v2.1/servers/detail GET /v3/role_assignments POST /v3/auth/tokens"
is "no secret is in the log" "$(grep -c -e secret-of-this-test -e token- agg.log)" 0
tap_done
