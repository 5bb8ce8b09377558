#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pyroscope's own client through the load balancer to Pyroscope's own handlers (the generated code
# of the Go module of its API, built where Go and the module can be had; no whole Pyroscope can be
# built from a module): each call in each form gives the answer that it gives without the load
# balancer, and what is not the user's is refused in each form. The server answers with what it
# was asked, so that an answer that is the same is a question that is the same.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
for p in ceems_lb ceems_aggregator; do [ -x "$BUILD/$p" ] || skip_all "$p was not built here"; done
for t in curl jq; do command -v $t >/dev/null || skip_all "$t is not installed"; done
command -v go >/dev/null || skip_all "go is not installed: not compared with the real client and handlers of Pyroscope"
need_pg
mkdir "$SCRATCH/go" && cp test/pyroscope/main.go "$SCRATCH/go/"
printf 'module pyroscope\ngo 1.25\nrequire github.com/grafana/pyroscope/api v1.6.0\n' >"$SCRATCH/go/go.mod"
(cd "$SCRATCH/go" && go mod tidy && go build -mod=mod -o pyro .) >"$SCRATCH/go.log" 2>&1 ||
	skip_all "the Go module of Pyroscope's API cannot be had or built: $(tail -n1 "$SCRATCH/go.log")"
pyro=$SCRATCH/go/pyro

# --- each call that its client knows has a row
proto=$(cd "$SCRATCH/go" && go list -mod=mod -m -f '{{.Dir}}' github.com/grafana/pyroscope/api)/querier/v1/querier.proto
is "each call of querier.proto has a row in the table" \
	"$(sed -n 's/^ *rpc \([A-Za-z]*\)(.*/\1/p' "$proto" | sort)" \
	"$(sed -n 's/.*{RPC("\([A-Za-z]*\)").*/\1/p' lb/pyroscope/pyro_calls.c | sort)"
cd "$SCRATCH" || exit 1

# --- whose jobs are whose: alice's are 101 and 103, bob's is 102
pg_start || { ok "Postgres starts" false; tap_done; }
"$BUILD/ceems_aggregator" --migrate --db.url="$PGURL" >/dev/null && psql_do -f "$TOP/test/e2e/lb_seed.sql" >/dev/null ||
	{ ok "records of jobs" false; tap_done; }
# bcrypt of "correct horse"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >agg-web.yaml
printf "basic_auth_users:\n  grafana: '%s'\n" "$hash" >lb-web.yaml
chmod 600 agg-web.yaml
if have_root; then DROPPED=(--security.run-as-user=nobody); else DROPPED=(); fi
mine() { # FILE...: the load balancer may read them, others may not
	chmod 640 "$@"
	if have_root; then chgrp "$(id -gn nobody)" "$@"; fi
}
agg_port=$(free_port)
"$BUILD/ceems_aggregator" --db.url="$PGURL" --web.listen-address="127.0.0.1:$agg_port" --web.config.file=agg-web.yaml \
	--security.drop-privileges=false --identity.front-end=password:lb --identity.front-end-roles=true --admin.users=boss >>agg.log 2>&1 &
started $!
pyro_port=$(free_port)
"$pyro" serve "127.0.0.1:$pyro_port" >pyro.log 2>&1 &
started $!
cat >lb.yaml <<-END
	ceems_lb:
	  identity: {munge: false, front_ends: ["password:grafana"], front_end_roles: true}
	  backends:
	    - id: alpha
	      pyroscope: [{web: {url: "http://127.0.0.1:$pyro_port"}}]
	ceems_api_server:
	  web:
	    url: http://127.0.0.1:$agg_port
	    basic_auth: {username: lb, password: correct horse}
END
mine lb.yaml lb-web.yaml
wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$agg_port/health"
wait_for 30 curl -s -o /dev/null "http://127.0.0.1:$pyro_port/"
"$BUILD/ceems_lb" --config.file=lb.yaml --web.config.file=lb-web.yaml --web.listen-address=127.0.0.1:0 \
	--web.listen-address=127.0.0.1:0 "${DROPPED[@]}" 2>lb.log &
started $!
wait_for 10 grep -q 'msg="*ready' lb.log || { ok "the load balancer starts" false; sed 's/^/# /' lb.log; tap_done; }
port=$(sed -n "s/.*serves Pyroscope.* API on port \([0-9]*\).*/\1/p" lb.log)
U=http://127.0.0.1:$port
as() { curl -s -m 100 -u 'grafana:correct horse' -H "X-Grafana-User: $1" "$U$2" "${@:3}"; }

# --- the same answers
end=$(($(date +%s) * 1000)) start=$((end - 3600000))
login="Authorization: Basic $(printf 'grafana:correct horse' | base64)"
ask() { # USER OWN OTHER
	"$pyro" ask "$U" "$2" "$3" $start $end "X-Grafana-User: $1" "$login"
}
"$pyro" ask "http://127.0.0.1:$pyro_port" 101 103 $start $end >direct
ask alice 101 103 >through
is "each call in each form was asked" "$(wc -l <through)" "$(wc -l <direct)"
# its handlers know no GET, which the load balancer turns into a POST: then its POST's answers
known='$1 != "GetProfileStats" && $1 != "AnalyzeQuery"'
awk -F'\t' "$known" through >got
awk -F'\t' -v OFS='\t' 'NR == FNR { if ($2 == "proto") a[$1] = $3; next } $2 ~ /^get/ { $3 = a[$1] } '"$known" direct direct >want
ok "each answer is the one that is given without the load balancer" cmp got want ||
	diff got want | head -8 | cut -c1-300 | sed 's/^/# /'
ok "which is one" test "$(awk -F'\t' '$1 != "Refused" && $3 ~ /^\+.*101.*/' through | wc -l)" -ge 81
is "an error of the server's is told in each form" "$(awk -F'\t' '$1 == "Refused" { print $3 }' through | sort -u)" \
	"-invalid_argument: a label has a name: 100%"
is "statistics are answered here" "$(grep -c "^GetProfileStats.*+{\"data_ingested\": *true, *\"newest_profile_time\"" through)" 9
is "what tells of everybody is for roles" "$(awk -F'\t' '$1 == "AnalyzeQuery" { print $3 }' through | sort | uniq -c | sed 's/^ *//')" \
	"9 -permission_denied: /querier.v1.QuerierService/AnalyzeQuery is only for roles that the site has listed for it"

# --- and refusals
ask alice 102 103 >foreign
is "what is another's is refused in each form, and why" \
	"$(awk -F'\t' "$known"' && $1 != "ProfileTypes" { print $3 }' foreign | sort | uniq -c | sed 's/^ *//')" \
	"90 -permission_denied: unit 102 is not yours"
ask alice 101 102 >union
is "as is one of a union or of a diff" \
	"$(awk -F'\t' '$3 ~ /^-permission_denied: unit 102/ { print $1 }' union | sort | uniq -c | sed 's/^ *//')" \
	"$(printf '9 %s\n' Diff LabelNames LabelValues Refused Series)"
is "whoever is nobody reads nothing" "$("$pyro" ask "$U" 101 103 $start $end 'X-Grafana-User: alice' |
	awk -F'\t' '$3 !~ /^-unauthenticated/' | head -3)" ""
ask bob 102 102 >bob
is "the other user reads his own" "$(awk -F'\t' '$1 == "Series" && $3 ~ /^\+/' bob | wc -l)" 9

# --- by hand
base64_frames() { as alice /querier.v1.QuerierService/ProfileTypes -H "Content-Type: application/grpc-web-text$1" -d AAAAAAA= -o /dev/null -w '%{http_code}'; }
theirs=$(curl -s -m 20 -o /dev/null -w '%{http_code}' -H 'Content-Type: application/grpc-web-text' -d AAAAAAA= "http://127.0.0.1:$pyro_port/querier.v1.QuerierService/ProfileTypes")
is "gRPC-web in base64 is spoken neither by Pyroscope's handlers nor here" "$theirs $(base64_frames '') $(base64_frames +proto)" "415 415 415"
json() { as alice "/querier.v1.QuerierService/$1" -H 'Content-Type: application/json' -d "$2"; }
is "labels of all are narrowed to one's own jobs" \
	"$(json LabelValues '{"name":"service_name","matchers":["{}"],"start":'$start',"end":'$end'}' | jq -r '.names[0] | fromjson | .matchers[0]')" \
	'{service_name=~"101|103"}'
is "profiles of all are not" "$(json SelectMergeProfile '{"profileTypeID":"process_cpu:cpu:nanoseconds:cpu:nanoseconds","labelSelector":"{}","start":'$start',"end":'$end'}' |
	jq -r '.code + " " + .message')" 'permission_denied {...}: this query selects units without naming them: add service_name="..."'
render="/pyroscope/render?from=${start}&until=$((end / 1000))&query=a:b:c:d:e"
is "the first Pyroscope's calls are made anew" "$(as alice "$render%7Bservice_name=%22101%22%7D&x=y&maxNodes=5")" \
	"GET /pyroscope/render?query=a%3Ab%3Ac%3Ad%3Ae%7Bservice_name%3D%22101%22%7D&from=$((start / 1000))&until=$((end / 1000))&maxNodes=5"
like "or refused" "$(as alice "$render%7Bservice_name=%22102%22%7D")" 'unit 102 is not yours'
like "one without a selector is for roles" "$(as alice '/pyroscope/label-values?label=service_name')" 'for roles that the site has listed'
is "who have it" "$(as boss '/pyroscope/label-values?label=service_name')" 'GET /pyroscope/label-values?label=service_name'
for p in /ingest /push.v1.PusherService/Push /settings.v1.SettingsService/Get /querier.v1.QuerierService/New /; do
	is "$p is closed" "$(as alice "$p" -o /dev/null -w '%{http_code}' -d x)" 403
done
is "also to an administrator" "$(as boss /ingest -o /dev/null -w '%{http_code}' -d x)" 403
is "who reads what all have" "$("$pyro" ask "$U" 102 101 $start $end 'X-Grafana-User: boss' "$login" | awk -F'\t' '$1 == "Diff" && $3 ~ /^\+/' | wc -l)" 9
tap_done
