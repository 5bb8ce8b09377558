#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every query of every panel is asked: the API's of a real aggregator with known records, as a
# user and as an operator, and each column must be in its answer; Prometheus' of the demo, with
# real jobs, as the user whose job it is: no error, and data where data must be.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/pg.sh"
for t in curl jq python3; do command -v $t >/dev/null || skip_all "$t is not installed"; done
export PYTHONDONTWRITEBYTECODE=1
kept=contrib/grafana/dashboards
questions() { python3 test/grafana.py queries $kept "$@"; } # NAME=VALUE...
# lines of kind and folder with their numbers: N ASK
of() { jq -r --arg k "$1" --arg f "$2" 'select((.kind | test("^(" + $k + ")$")) and .folder == $f) | "\(.n) \(.ask)"' "$SCRATCH/q"; }
judge() { python3 test/grafana.py judge "$SCRATCH/q" "$SCRATCH/a" "$SCRATCH/must" "$@"; }
# what is not in the records: no VM or pod; no GPU; one provider of factors; one sensor; no counters of CPUs
missing='tags.flavour tags.namespace counts.cpu_cycles counts.instructions counts.cache_references counts.cache_misses avg_gpu_usage.global total_gpu_energy_usage_kwh.total energy_joules.gpu energy_joules.dram'

# ---- the API, with records of March 2025
agg=${AGGREGATOR:-$BUILD/ceems_aggregator}
# ask KINDS FOLDER command...: the command gets what is asked, each thing once
ask() {
	local kinds=$1 folder=$2 n ask last=
	shift 2
	while read -r n ask; do
		[ "$ask" = "${last#* }" ] || "$@" "$ask" >"$SCRATCH/answer"
		last="$n $ask"
		cp "$SCRATCH/answer" "$SCRATCH/a/$n"
	done < <(of "$kinds" "$folder" | sort -k2)
}
records_as() { local u=$1 a=$2; shift 2; curl -s -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $u" "http://127.0.0.1:$agg_port$a" "$@"; }
if [ ! -x "$agg" ] || ! test/rig/pg possible >/dev/null; then
	skip "the API's columns" "no aggregator or no Postgres here"
else
	pg_start && "$agg" --migrate --db.url="$PGURL" >/dev/null && psql_do -f test/e2e/api_seed.sql >/dev/null || { ok "records to ask for" false; tap_done; }
	# somebody on clusters of other kinds as well; their units are lb_kinds.sh's
	psql_do -c "INSERT INTO cluster (name, manager) VALUES ('vms', 'openstack'), ('pods', 'k8s'); INSERT INTO person (cluster, external_id, name, login)
		SELECT id, 'user:alice', 'alice', 'alice' FROM cluster WHERE manager <> 'slurm'" >/dev/null
	pg_still || { ok "the chores stand still" false; tap_done; }
	agg_port=$(free_port)
	days=$((($(date +%s) - 1735689600) / 86400 + 62))d
	printf "basic_auth_users:\n  lb: '%s'\n" '$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' >"$SCRATCH/web.yaml"
	chmod 600 "$SCRATCH/web.yaml"
	"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$agg_port" --web.config.file="$SCRATCH/web.yaml" --security.drop-privileges=false \
		--retention.hours="$days" --retention.intervals="$days" --identity.front-end=password:lb --identity.front-end-roles=true --operator.users=olga >"$SCRATCH/agg.log" 2>&1 &
	started $!
	up() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$agg_port/health")" = 200 ]; }
	wait_for 30 up
	: >"$SCRATCH/must"
	mkdir "$SCRATCH/a"
	questions __from=1741600800000 __to=1741608000000 cluster=alpha uuid=101 run=1 project=phys user=alice from=0 to=0 step=1 >"$SCRATCH/q"
	ask api user records_as alice
	# shellcheck disable=SC2086
	is "a user's API panels have all of their columns ($(ls "$SCRATCH/a" | wc -l) questions)" "$(judge $missing grams.{rte,emaps,wt,global,file} | head -5)" ""
	like "a column that no row has is seen" "$(judge 2>&1 | head -1)" 'no row has'
	rm -r "$SCRATCH/a"; mkdir "$SCRATCH/a"
	ask api operator records_as olga
	# shellcheck disable=SC2086
	is "so have an operator's ($(ls "$SCRATCH/a" | wc -l))" "$(judge $missing grams.{rte,emaps,wt,global,file} | head -5)" ""
	rm -r "$SCRATCH/a"; mkdir "$SCRATCH/a"
	ask api operator records_as alice
	like "which are refused to a user" "$(judge | sort -u)" 'this is for operators and admins'
	rm -r "$SCRATCH/a"
fi

# ---- Prometheus, with the demo's jobs
why=$(test/rig/slurm possible) || { skip "Prometheus' panels" "$why"; tap_done; }
for t in "$BUILD"/{ceemsd,ceems-courier,ceems_aggregator,ceems_tool,cacct} "$BUILD"/slurm/*/{spank,jobcomp}_ceems.so; do
	[ -e "$t" ] || { skip "Prometheus' panels" "$t was not built here"; tap_done; }
done
command -v prometheus >/dev/null || { skip "Prometheus' panels" "prometheus is not installed"; tap_done; }
mkdir "$SCRATCH/build"
ln -s "$BUILD"/{ceemsd,ceems-courier,ceems_aggregator,ceems_tool,cacct,slurm} "$SCRATCH/build/"
demo=$TOP/test/rig/demo
test_cleanup() { BUILD=$SCRATCH/build "$demo" stop; }
begin=$(date +%s)
start() { BUILD=$SCRATCH/build "$demo" start >"$SCRATCH/page" 2>&1; }
ok "the demo starts" start
sed 's/^/# /' "$SCRATCH/page" | tail -n 12
. "$SCRATCH/build/demo/demo.env"
job=$(awk '$2 == "burner3" { print $1; exit }' "$SCRATCH/page")
like "a job to look at" "$job" '^[0-9]+$'
owner=$(awk -v j="$job" '$1 == j { print $3; exit }' "$SCRATCH/page")
owner_get() { # ask: the API, by MUNGE as the job's owner
	local c
	c=$(setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups munge --socket="$CEEMS_MUNGE_SOCKET" -s "ceems-api/1 GET $1") &&
		curl -s -g -m 60 -H "Authorization: MUNGE $c" "$API_URL$1"
}
read -r cluster run < <(owner_get "/api/v1/units?uuid=$job" | jq -r '.data[0] | "\(.cluster_id) \(.id)"')
questions __from="${begin}000" __to="$(date +%s)000" __rate_interval=8s __range=300s cluster="$cluster" uuid="$job" run="$run" project=none host='.*' \
	node="$(hostname)" instance="${CEEMSD_URL#http://}" from="$begin" to="$(date +%s)" step=1 >"$SCRATCH/q"
mkdir "$SCRATCH/a"
ask api user owner_get
is "the API answers the owner of a real job ($(ls "$SCRATCH/a" | wc -l) questions)" "$(jq -r 'select(.status != "success") | .error' "$SCRATCH"/a/* | sort -u | head -5)" ""
is "with that job" "$(jq -r 'select(.page == "ceems-job" and .title == "What it is") | .n' "$SCRATCH/q" | while read -r n; do jq -r '.data[0] | "\(.name) \(.username)"' "$SCRATCH/a/$n"; done)" "burner3 $owner"
rm -r "$SCRATCH/a"
# through the load balancer, for which the job is alice's and olga is an operator
lb_start() {
	profiles_port=$(free_port)
	psql_do -c "INSERT INTO unit (cluster, uuid, restarts, submitted, known_by, uid, person, started, state) SELECT cluster, '$job', 0,
		to_timestamp($begin), 'jobcomp', uid, id, to_timestamp($begin), 'RUNNING' FROM person WHERE cluster = 1 AND name = 'alice'" || return 1
	cat >"$SCRATCH/lb.yaml" <<-END
		ceems_lb:
		  identity: {munge: false, front_ends: ["password:lb"], front_end_roles: true}
		  roles: {operators_read_all: true}
		  backends:
		    - id: alpha
		      tsdb: [{web: {url: "$PROMETHEUS_URL"}}]
		      pyroscope: [{web: {url: "http://127.0.0.1:$profiles_port"}}]
		ceems_api_server:
		  web: {url: "http://127.0.0.1:$agg_port", basic_auth: {username: lb, password: correct horse}}
	END
	python3 - "$profiles_port" >/dev/null 2>&1 <<-'END' &
		import http.server, sys
		class Profiles(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        self.rfile.read(int(self.headers.get("Content-Length") or 0))
		        self.send_response(200)
		        self.send_header("Content-Type", "application/json")
		        self.send_header("Content-Length", "17")
		        self.end_headers()
		        self.wfile.write(b'{"flamegraph":{}}')
		    do_GET = do_POST
		http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Profiles).serve_forever()
	END
	started $!
	profiles_up() { curl -s -o /dev/null "http://127.0.0.1:$profiles_port/ready"; } # or its next chance is in five seconds
	wait_for 20 profiles_up
	chmod 640 "$SCRATCH/lb.yaml" "$SCRATCH/web.yaml"
	chgrp "$(id -gn nobody)" "$SCRATCH/lb.yaml" "$SCRATCH/web.yaml"
	"$BUILD/ceems_lb" --config.file="$SCRATCH/lb.yaml" --web.config.file="$SCRATCH/web.yaml" --web.listen-address=127.0.0.1:0 \
		--web.listen-address=127.0.0.1:0 --security.run-as-user=nobody 2>"$SCRATCH/lb.log" &
	started $!
	wait_for 10 grep -q 'msg="*ready' "$SCRATCH/lb.log" || { sed 's/^/# /' "$SCRATCH/lb.log"; return 1; }
	lb_port=$(sed -n "s/.*serves Prometheus' API on port \([0-9]*\).*/\1/p" "$SCRATCH/lb.log")
	pyro_port=$(sed -n "s/.*serves Pyroscope.* API on port \([0-9]*\).*/\1/p" "$SCRATCH/lb.log")
}
lb_port=
if [ ! -x "$BUILD/ceems_lb" ] || [ -z "${PGURL:-}" ]; then
	skip "through the load balancer" "it was not built here, or there is no Postgres"
elif [ "$(records_as alice /api/v1/units/own -o /dev/null -w '%{http_code}')" = 404 ]; then
	skip "through the load balancer" "this aggregator does not say whose units are whose"
else
	ok "the load balancer starts" lb_start
fi
prometheus_get() { # USER ASK
	if [ -n "$lb_port" ]; then
		curl -s -g -m 60 -u 'lb:correct horse' -H "X-Grafana-User: $1" -H 'X-Ceems-Cluster-Id: alpha' "http://127.0.0.1:$lb_port$2"
	else
		curl -s -g -m 60 "$PROMETHEUS_URL$2"
	fi
}
cat >"$SCRATCH/must" <<'END'
ceems-job|CPU in use|A
ceems-job|User and system|ABC
ceems-job|CPU time|AB
ceems-job|Memory|ABCD
ceems-job|Memory, share of limit|A
ceems-job|Power by domain|A
ceems-job|Power on each node|A
ceems-job|Energy|A
ceems-job|Power with the building's share|A
ceems-job|Emissions|A
ceems-job|$host|V
END
mkdir "$SCRATCH/a"
ask 'prometheus|labels' user prometheus_get alice
is "each query of users' panels is answered, with data where data must be ($(ls "$SCRATCH/a" | wc -l) questions)" "$(judge 2>&1 | head -10)" ""
cat >"$SCRATCH/must" <<'END'
ceems-op-cluster|Power|AC
ceems-op-cluster|Charged to units|A
ceems-op-cluster|Running|A
ceems-op-cluster|Nodes|AB
ceems-op-cluster|Unbalanced nodes|A
ceems-op-cluster|Power by domain|A
ceems-op-cluster|CPU|A
ceems-op-cluster|Memory|A
ceems-op-cluster|Emissions|A
ceems-op-cluster|Emission factors|A
ceems-op-cluster|Age of sensors|A
ceems-op-node|Units|A
ceems-op-node|Charged, idle and system|AC
ceems-op-node|Domains|A
ceems-op-node|CPU|A
ceems-op-node|Memory|AB
ceems-op-node|$node|V
ceems-op-node|$instance|V
ceems-op-self|CPU of ceemsd|AB
ceems-op-self|Memory of ceemsd|AB
ceems-op-self|Collectors|A
ceems-op-self|Records|A
ceems-op-self|Fill level|ABC
ceems-op-self|Written|A
ceems-op-self|Waiting|AB
ceems-op-self|Spools|AB
ceems-op-self|Couriers|AB
ceems-op-unit|CPU in use|A
END
rm -r "$SCRATCH/a"; mkdir "$SCRATCH/a"
ask 'prometheus|labels' operator prometheus_get olga
is "and each of operators' ($(ls "$SCRATCH/a" | wc -l))" "$(judge 2>&1 | head -10)" ""
if [ -n "$lb_port" ]; then
	flame() { # USER: how each flame graph is answered
		local n ask
		while read -r n ask; do
			curl -s -m 60 -o "$SCRATCH/answer" -w '%{http_code} ' -u 'lb:correct horse' -H "X-Grafana-User: $1" -H 'X-Ceems-Cluster-Id: alpha' \
				-H 'Content-Type: application/json' -d "$ask" "http://127.0.0.1:$pyro_port/querier.v1.QuerierService/SelectMergeStacktraces"
		done < <(of profiles user)
	}
	is "the flame graphs of a job are its owner's" "$(flame alice)" "200 200 "
	is "and nobody else's" "$(flame bob)" "403 403 "
	refused() { jq -r '.status + " " + (.error // "")' "$SCRATCH"/a/* | grep -c '^error'; }
	rm -r "$SCRATCH/a"; mkdir "$SCRATCH/a"
	ask 'prometheus|labels' user prometheus_get bob
	asked=$(ls "$SCRATCH/a" | wc -l)
	is "another user is refused each of them" "$(refused)" "$asked"
	rm -r "$SCRATCH/a"; mkdir "$SCRATCH/a"
	ask 'prometheus|labels' operator prometheus_get alice
	like "and what is for operators is refused to users" "$(judge 2>&1 | grep -m1 'ceems-op-cluster: Power A')" 'operators may read it'
fi
echo "no-page|no panel|A" >>"$SCRATCH/must"
is "a panel without data is seen" "$(judge | tail -1)" "no-page: no panel A: no data"
tap_done
