#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sites on sssd or LDAP: logins with @ and upper case mean exactly who they are, by name and by number; a name service that is slow,
# or does not answer, delays and refuses those whom it is about, and nobody else. The name service is made
# up (test/fake/slow_names.c); records, MUNGE and aggregator are real.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/munge.sh"
. "$TOP/test/pg.sh"
agg=$BUILD/ceems_aggregator
[ -x "$agg" ] || skip_all "ceems_aggregator was not built here"
case $BUILD in */san-*) skip_all "a sanitizer must be the first library" ;; esac
for t in curl jq setpriv; do command -v $t >/dev/null || skip_all "$t is not installed"; done
have_munge "$agg" || skip_all "needs root, munged and munge"
"${CC:-cc}" -std=gnu11 -O1 -shared -fPIC -D_GNU_SOURCE -o "$SCRATCH/slow_names.so" "$TOP/test/fake/slow_names.c" 2>/dev/null || skip_all "no compiler for the name service"
need_pg
cd "$SCRATCH" || exit 1
munge_start || skip_all "munged does not start"
pg_start || { ok "Postgres starts" false; tap_done; }
"$agg" --migrate --db.url="$PGURL" >/dev/null && psql_do -c "INSERT INTO cluster (name) VALUES ('alpha'); INSERT INTO person (cluster, name, uid) VALUES (1, 'Ann@Site.Example', 1), (1, 'ann@site.example', 61009), (1, 'ann', 61010);
	INSERT INTO project (cluster, name) VALUES (1, 'P@Q'); INSERT INTO unit (cluster, uuid, submitted, known_by, uid, person, project, started)
	SELECT 1, (300 + id)::text, now(), 'jobcomp', uid, id, 1, now() FROM person ORDER BY id" || { ok "records" false; tap_done; }
printf "basic_auth_users:\n  lb: '%s'\n" '$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' >web.yaml # "correct horse"
chmod 600 web.yaml
serve() { # what the name service says
	[ -z "${pid:-}" ] || { kill "$pid"; wait_for 20 gone; }
	port=$(free_port)
	env LD_PRELOAD="$SCRATCH/slow_names.so" SLOW_NAMES="$1" "$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$port" --web.config.file=web.yaml --security.drop-privileges=false \
		--identity.front-end=password:lb --identity.munge-socket="$MUNGE_SOCKET" >>agg.log 2>&1 </dev/null &
	pid=$!
	started $pid
	wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
}
gone() { ! kill -0 "$pid" 2>/dev/null; }
ids() { jq -r '[.data[]?.uuid] | sort | join(" ")' 2>/dev/null; }
named() { curl -s -m 100 -u 'lb:correct horse' -H "X-Grafana-User: $1" "http://127.0.0.1:$port/api/v1/units?running"; }
by_number() { # as number 1, in a folder that it may write
	local c
	c=$(setpriv --reuid=1 --regid=1 --clear-groups munge --socket="$MUNGE_SOCKET" -s "$(munge_payload GET "http://127.0.0.1:$port/api/v1/units?running")")
	curl -s -m 100 -H "Authorization: MUNGE $c" "http://127.0.0.1:$port/api/v1/units?running" "$@"
}
ok "an aggregator" serve 1:Ann@Site.Example:0
is "a login with @ and upper case reads its own" "$(named Ann@Site.Example | ids)" 301
is "another case is somebody else" "$(named ann@site.example | ids)" 302
is "and so is the part before the @" "$(named ann | ids)" 303
is "a case that nobody has reads nothing" "$(named ANN@SITE.EXAMPLE | ids)" ""
is "the number that MUNGE proves reads the same" "$(by_number | ids)" 301
ok "where the name service knows no such number" serve 2:nobody:0
is "it is the number that counts" "$(by_number | ids)" 301
ok "where it calls the number by another login" serve 1:ann@site.example:0
is "neither reads the other's: the two words contradict each other" "$(by_number | ids)" ""
ok "where it does not answer" serve 1:-:0
is "the number is refused, and told why" "$(by_number -o body -w '%{http_code}') $(jq -r .error body)" "503 the user database does not answer"
is "others are served" "$(named ann | ids)" 303

ok "where it takes 8 s" serve 1:Ann@Site.Example:8000
for i in 1 2 3 4 5 6 7 8; do { by_number -o /dev/null -w '%{http_code}\n'; date +%s%3N; } >"slow.$i" & slow[i]=$!; done
asking() { [ "$(cat slow.* | grep -c '^503')" = 6 ]; } # the other two wait for the name service
ok "two ask it, and six are told at once that it is slow" wait_for 20 asking
for i in 1 2 3 4 5; do named ann | ids; done >fast
fast_at=$(date +%s%3N)
for i in 1 2 3 4 5 6 7 8; do wait "${slow[i]}"; done
is "others are served meanwhile" "$(paste -sd' ' fast)" "303 303 303 303 303"
ok "before the two have their answer" [ "$fast_at" -lt "$(grep -l '^200' slow.* | xargs tail -qn1 | sort -n | head -1)" ]
is "which then is known" "$(by_number | ids)" 301
tap_done
