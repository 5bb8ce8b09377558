#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# History and people: output of two releases' sacct becomes units, the same if imported twice; later
# records win; associations give rights and take them away again; a person is erased.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
for t in curl jq python3; do command -v $t >/dev/null || skip_all "$t is not installed"; done
need_pg
pg_start || { ok "Postgres starts" false; tap_done; }
port=$(free_port)
URL=http://127.0.0.1:$port/api/v1
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # of "correct horse"
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >"$SCRATCH/web.yaml"
chmod 600 "$SCRATCH/web.yaml"
common=(--db.url="$PGURL" --security.drop-privileges=false)
"$agg" --migrate "${common[@]}" >/dev/null || { ok "the schema" false; tap_done; }
import() { "$agg" "${common[@]}" --import="$@" 2>&1; }
as() { curl -s -u 'lb:correct horse' -H "X-Grafana-User: $1" "$URL$2"; }
printf 'alpha|phys|\nalpha|phys|alice\nalpha|phys|bob\nalpha|root|root\n' >"$SCRATCH/people"
# a Grafana with a team: its answer is a file, its token another
grafana=$(free_port)
echo '[{"login": "gina", "teamId": 7}, {"login": "no login"}, {"login": "o;DROP"}]' >"$SCRATCH/team"
echo glsa_planted >"$SCRATCH/token"
chmod 600 "$SCRATCH/token"
python3 - "$grafana" "$SCRATCH/team" >"$SCRATCH/grafana.log" 2>&1 <<'E' &
import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = open(sys.argv[2], 'rb').read()
        good = self.path == '/g/api/teams/7/members' and self.headers['Authorization'] == 'Bearer glsa_planted'
        self.send_response(200 if good and body else 500 if good else 401)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), H).serve_forever()
E
started $!
"$agg" "${common[@]}" --web.listen-address="127.0.0.1:$port" --web.config.file="$SCRATCH/web.yaml" --identity.front-end=password:lb --identity.front-end-roles=true \
	--admin.grafana.url="http://127.0.0.1:$grafana/g/" --admin.grafana.teams-ids=7 --admin.grafana.token-file="$SCRATCH/token" --admin.grafana.refresh=1s \
	--people.associations="$SCRATCH/people" --people.refresh=1s --admin.users=boss >"$SCRATCH/log" 2>&1 &
started $!
up() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/health")" = 200 ]; }
wait_for 20 up || { ok "it serves" false; tap_done; }

# admins by Grafana's word
admins() { as boss '/users/admin?role=admin' | jq -r '[.data[] | .name + ":" + .tags[0]] | join(" ")'; }
are() { [ "$(admins)" = "$1" ]; }
ok "members of a team of Grafana are admins" wait_for 10 are "boss:config gina:grafana"
is "and may what admins may" "$(as gina /clusters/admin | jq -r .status) $(as o /clusters/admin | jq -r .errorType)" "success forbidden"
: >"$SCRATCH/team"
ok "when it fails, that is said" wait_for 10 grep -q 'grafana: .*status 500' "$SCRATCH/log"
ok "and its last word holds" are "boss:config gina:grafana"
is "for an hour" "$(psql_do -c "SELECT valid_to - now() BETWEEN interval '50 min' AND interval '61 min' FROM role WHERE login = 'gina'")" t
psql_do -c "UPDATE role SET valid_to = now() - interval '1 s' WHERE login = 'gina'"
is "not for ever" "$(admins) $(as gina /clusters/admin | jq -r .errorType)" "boss:config forbidden"
echo '[{"login": "hugo"}]' >"$SCRATCH/team"
ok "who leaves the team is none" wait_for 10 are "boss:config hugo:grafana"
is "the token is in no log" "$(grep -c glsa_planted "$SCRATCH/log")" 0
is "teams that are no numbers are refused" "$("$agg" --check-config --admin.grafana.url=http://g --admin.grafana.teams-ids=../../x 2>&1 >/dev/null; echo $?)" \
	"$(printf '%s\n' 'ceems_aggregator: --admin.grafana.teams-ids=../../x: not a number' 2)"

# people
has() { [ "$(as "$1" /projects | jq -r '[.data[].name] | join(" ")')" = "$2" ]; }
ok "associations give rights" wait_for 10 has alice phys
printf 'alpha|phys|\nalpha|phys|bob\nalpha|chem|alice\n' >"$SCRATCH/people.new"
mv "$SCRATCH/people.new" "$SCRATCH/people"
ok "and take them away at the next refresh" wait_for 10 has alice chem
: >"$SCRATCH/people"
like "a list that is none is refused" "$(import "sacctmgr=$SCRATCH/people")" "no associations"
sleep 2
ok "and takes nothing away" has bob phys
# a command that fails is not run each second, nor given up
mkdir "$SCRATCH/bin"
cat >"$SCRATCH/bin/sacctmgr" <<-END
	#!/bin/sh
	date +%s%3N >>$SCRATCH/calls
	[ ! -e $SCRATCH/works ] || exec cat $SCRATCH/people.works
	echo 'slurmdbd is not there' >&2
	exit 1
END
chmod 755 "$SCRATCH/bin/sacctmgr"
echo 'alpha|phys|carol' >"$SCRATCH/people.works"
: >"$SCRATCH/calls"
psql_do -c "CREATE DATABASE other" 2>/dev/null || psql_admin -c "CREATE DATABASE other OWNER ceems"
other=(--db.url="${PGURL/\/ceems\?//other?}" --security.drop-privileges=false)
"$agg" --migrate "${other[@]}" >/dev/null
"$agg" "${other[@]}" --web.listen-address="127.0.0.1:$(free_port)" --web.config.file="$SCRATCH/web.yaml" \
	--people.associations=sacctmgr --slurm.bindir="$SCRATCH/bin" --people.refresh=4s >"$SCRATCH/log.other" 2>&1 &
started $!
called() { [ "$(wc -l <"$SCRATCH/calls")" -ge "$1" ]; }
ok "a refresh that fails is tried again" wait_for 30 called 5
is "after one second, two, four, then each four" \
	"$(awk 'NR > 1 && NR < 6 { d = $1 - t; print (d >= (NR == 2 ? 1000 : NR == 3 ? 2000 : 4000)) } { t = $1 }' "$SCRATCH/calls" | xargs)" "1 1 1 1"
touch "$SCRATCH/works"
ok "until it works" wait_for 30 grep -q 'people: works again' "$SCRATCH/log.other"
like "a list can be given by hand" "$(printf 'alpha|phys|alice\nalpha|phys|bob\nalpha|chem|alice\n' | import sacctmgr=-)" ': 3 associations of users read, 1 memberships begin, 0 end'
is "membership has its times" "$(psql_do -c "SELECT count(*), count(valid_to) FROM membership m JOIN person p ON p.id = m.person WHERE p.name = 'alice'")" "3|1"

# jobs
like "jobs of 22.05's JSON" "$(import sacct=test/fixture/sacct/22.05.json)" ': 5 jobs read, 5 of them new or changed, 0 rows refused'
like "twice is once" "$(import sacct=test/fixture/sacct/22.05.json)" ': 5 jobs read, 0 of them new'
like "its text is the same jobs" "$(import sacct=- <test/fixture/sacct/22.05.txt)" ': 5 jobs read'
units() { [ "$(as boss '/units/admin?from=2026-01-01T00:00:00Z' | jq -r '.data | length')" = "$1" ]; }
psql_do -c "UPDATE job_record SET received = now()" # nothing is left behind
ok "they become units, each once" wait_for 10 units 5
row() { as boss "/units/admin?uuid=$1" | jq -r ".data[0] | $2"; }
knows() { [ "$(row 2 '[.name, .state, .username, .project, .known_by, .tags.exit_code, .allocation.cpus] | map(tostring) | join(" ")')" = "fails FAILED alice phys import 3:0 1" ]; }
ok "with what Slurm knew" wait_for 10 knows
is "names may have any characters" "$(row 1 .name)" "pipe|name"
is "tasks of an array are found by its number" "$(as boss '/units/admin?uuid=3' | jq '.data | length')" 2
is "a job that runs runs" "$(row 5 .state)" RUNNING
sed 's/RUNNING/COMPLETED/; s/Unknown/1795309999/' test/fixture/sacct/22.05.txt >"$SCRATCH/later.txt"
like "a later import knows its end" "$(import "sacct=$SCRATCH/later.txt")" ' 1 of them new or changed'
ended() { [ "$(row 5 .state)" = COMPLETED ]; }
ok "and the unit has it" wait_for 10 ended
# slurmctld's own word
psql_do -c "INSERT INTO job_record (cluster, uuid, restarts, submitted, part, state, source, record)
	SELECT cluster, uuid, restarts, submitted, part, 4, 'jobcomp', record || '{\"state\": \"CANCELLED\", \"name\": \"told\", \"submit_line\": \"srun /home/alice/x\", \"admin_comment\": \"told alice\", \"extra\": \"alice\"}'
	FROM job_record WHERE uuid = '5' AND state = 3"
told() { [ "$(row 5 '.state + .known_by')" = CANCELLEDjobcomp ]; }
ok "slurmctld's own record wins" wait_for 10 told
import "sacct=$SCRATCH/later.txt" >/dev/null
sleep 1
ok "also over a later import" told
like "what is not sacct's is refused" "$(echo hello | import sacct=-)" "not what sacct prints"
like "24.11's JSON is read" "$(import sacct=test/fixture/sacct/24.11.json)" ': 5 jobs read, 5 of them new or changed, 0 rows refused'
like "imports are in the audit" "$(psql_do -c "SELECT count(*) FROM audit WHERE action = 'import'")" '^[3-9]'

# names of steps: the rows that follow their job's
python3 - test/fixture/sacct/24.11.txt >"$SCRATCH/steps.txt" <<'E'
import sys
lines = open(sys.argv[1]).read().splitlines()
names = lines[0].split('\x1f')
print(lines[0])
print(lines[1])
for step, name in (('batch', 'batch'), ('0', 'pipe|step'), ('1', 'a\'b"c')):
    row = lines[1].split('\x1f')
    row[names.index('JobIDRaw')] += '.' + step
    row[names.index('JobName')] = name
    print('\x1f'.join(row))
E
like "rows of steps are no jobs" "$(import "sacct=$SCRATCH/steps.txt")" ': 1 jobs read, 1 of them new or changed, 0 rows refused'
of_steps() { psql_do -c "SELECT $1 FROM job_record WHERE record ? 'step_names' ORDER BY received DESC LIMIT 1"; }
linked() { [ -n "$(of_steps unit)" ]; }
ok "they are linked with it" wait_for 10 linked
psql_do -c "INSERT INTO unit_step (instance, step, command) SELECT 77, s, 'guess' FROM generate_series(0, 2) s;
	INSERT INTO node (cluster, name) SELECT id, 'n1' FROM cluster LIMIT 1;
	INSERT INTO unit_node (instance, node, uuid, restarts, started, last_t1, unit)
		SELECT 77, n.id, '1', 0, now(), now(), $(of_steps unit) FROM node n LIMIT 1"
step_names() { as boss "/units/$(of_steps unit)" | jq -r '[.data[0].steps[] | .step + "=" + .name + "/" + .name_known_by] | join(" ")'; }
is "and their names win over what nodes saw" "$(step_names)" $'0=pipe|step/import 1=a\'b"c/import 2=guess/node'

# forgotten
ok "both are there" wait_for 10 units 10
like "a person is made a pseudonym" "$("$agg" "${common[@]}" --erase=alice 2>&1)" 'erased on 1 clusters'
is "no trace of the name" "$(for t in unit job_record unit_node unit_step person membership role audit project; do psql_do -c "SELECT t::text FROM $t t"; done | grep -c 'alice\|pipe\|guess')" 0
is "but what was used stays" "$(as boss '/units/admin?from=2026-01-01T00:00:00Z' | jq -r '[.data[].username] | unique | join(" ")')" "erased-$(psql_do -c "SELECT min(id) FROM person WHERE erased_at IS NOT NULL")"
is "the pseudonym is nobody's login" "$(as "erased-$(psql_do -c 'SELECT min(id) FROM person WHERE erased_at IS NOT NULL')" '/units?from=0' | jq -c .data)" "[]"
import sacct=test/fixture/sacct/22.05.json >/dev/null
sleep 2
is "an import does not bring it back" "$(as alice '/units?from=0' | jq -c .data)" "[]"
like "who is not there cannot be erased" "$("$agg" "${common[@]}" --erase=nobody 2>&1)" "no such person"
tap_done
