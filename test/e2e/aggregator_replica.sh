#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An aggregator that only answers, from a standby of the database (--db.standby): what the one with the primary answers, a moment
# later; nothing is taken there; it survives the standby's restart and promotion.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
for t in curl jq; do command -v $t >/dev/null || skip_all "$t is not installed"; done
need_pg
cd "$SCRATCH" || exit 1
pg_start --port="$(free_port)" || { ok "Postgres starts" false; tap_done; }
"$agg" --migrate --db.url="$PGURL" >/dev/null && psql_do -f "$TOP/test/e2e/lb_seed.sql" >/dev/null || { ok "records of jobs" false; tap_done; }
primary=$PGURL
"$TOP/test/rig/pg" standby "$SCRATCH/replica" "$SCRATCH/pg" --port="$(free_port)" >rig.log 2>&1 || { sed 's/^/# /' rig.log; ok "a standby" false; tap_done; }
pg_dirs+=("$SCRATCH/replica")
standby=$(. "$SCRATCH/replica/env" && echo "$PGURL")
printf "basic_auth_users:\n  lb: '%s'\n" '$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' >web.yaml # "correct horse"
chmod 600 web.yaml
serve() { # NAME URL [flags]
	local port
	port=$(free_port)
	"$agg" --db.url="$2" --web.listen-address="127.0.0.1:$port" --web.config.file=web.yaml --security.drop-privileges=false --identity.front-end=password:lb --identity.front-end-roles=true \
		--admin.users=boss --rollup.delay=100ms "${@:3}" >"$1.log" 2>&1 </dev/null &
	started $!
	eval "$1=http://127.0.0.1:$port"
	wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
}
ok "one with the primary" serve one "$primary"
ok "one with the standby" serve two "$standby" --db.standby
as() { curl -s -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $2" "$1/api/v1/$3"; }
plain() { jq -cS 'del(.. | .as_of?, .as_of_ts?, .elapsed?, .elapsed_seconds?)'; } # without what goes on
alike() {
	local q u
	for q in "units?running" "units/verify?uuid=101&cluster_id=alpha" "units/verify?uuid=102&cluster_id=alpha" projects users "usage/current?cluster_id=alpha" clusters/admin; do
		for u in alice bob boss eve; do [ "$(as "$one" $u "$q" | plain)" = "$(as "$two" $u "$q" | plain)" ] || return; done
	done
}
ok "both give everybody the same answers" wait_for 30 alike
theirs=$(as "$two" alice "units?running" | jq '.data | length')
ok "and these are some" [ "$theirs" -ge 2 ]
psql_do -c "INSERT INTO unit (cluster, uuid, submitted, known_by, person, started) SELECT 1, '777', now(), 'jobcomp', id, now() FROM person WHERE name = 'alice' AND cluster = 1"
sees() { as "$two" alice "units?running" | grep -q '"777"'; }
ok "what is new at the primary is there a moment later" wait_for 20 sees
psql_do -c "UPDATE unit SET person = (SELECT id FROM person WHERE name = 'bob' AND cluster = 1) WHERE uuid = '777'"
sees_not() { ! sees; }
ok "and a right that ends there ends here" wait_for 20 sees_not
is "reports are refused, with where to send them" "$(curl -s -X POST -H 'Content-Type: application/x-ceems-batch' --data x "$two/api/v1/ingest" -w ' %{http_code}' | tr -d '\n' | sed 's,.*"error":"\([^"]*\)"},\1,')" \
	"this aggregator only answers (db.standby): send reports to one that has the primary database 503"
is "nothing but questions reaches the standby" "$(grep -cE 'read-only|cannot execute' two.log)" 0
"$TOP/test/rig/pg" kill "$SCRATCH/replica"
down() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$two/health")" = 503 ]; }
as "$two" alice projects >/dev/null
ok "a standby that is gone is said" wait_for 30 down
"$TOP/test/rig/pg" up "$SCRATCH/replica" >/dev/null 2>&1
up() { [ "$(as "$two" alice "units?running" | jq '.data | length')" = "$theirs" ]; }
ok "and answers again when it is back" wait_for 60 up
"$TOP/test/rig/pg" promote "$SCRATCH/replica" >/dev/null 2>&1
ok "it answers when it has been promoted" wait_for 30 up
like "a private database is no standby" "$("$agg" --check-config --db.standby 2>&1)" "db.standby needs --db.url"
tap_done
