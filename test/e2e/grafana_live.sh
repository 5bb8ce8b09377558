#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The dashboards in a real Grafana, set up as doc/grafana.md says, before the load balancer and the API
# of the demo with its real jobs. Grafana asks each query of each panel for the owner of the jobs, for
# another user and for an operator.
#   CEEMS_GRAFANA_HOME     its folder, with bin/grafana, conf and public (a package's: /usr/share/grafana)
#   CEEMS_GRAFANA_PLUGINS  with yesoreyeram-infinity-datasource (a package's: /var/lib/grafana/plugins)
#   CEEMS_PYROSCOPE        Pyroscope's program; without it questions about profiles end behind the load balancer
. "$(dirname "$0")/../tap.sh"
. test/pyroscope.sh
home=${CEEMS_GRAFANA_HOME:-/usr/share/grafana}
plugins=${CEEMS_GRAFANA_PLUGINS:-/var/lib/grafana/plugins}
[ -x "$home/bin/grafana" ] || skip_all "no Grafana in $home: CEEMS_GRAFANA_HOME names its folder"
[ -e "$plugins/yesoreyeram-infinity-datasource" ] || skip_all "no Infinity in $plugins: CEEMS_GRAFANA_PLUGINS names its folder"
have_root || skip_all "needs root"
for t in curl jq python3 prometheus; do command -v $t >/dev/null || skip_all "$t is not installed"; done
why=$(test/rig/slurm possible) || skip_all "$why"
for t in "$BUILD"/{ceemsd,ceems-courier,ceems_aggregator,ceems_tool,ceems_lb,cacct} "$BUILD"/slurm/*/{spank,jobcomp}_ceems.so; do
	[ -e "$t" ] || skip_all "$t was not built here"
done
export PYTHONDONTWRITEBYTECODE=1
nobody=$(id -gn nobody)
for_nobody() { chmod 640 "$@" && chgrp "$nobody" "$@"; }

# ---- real jobs; Grafana is a front end of the aggregator and of the load balancer
mkdir "$SCRATCH/build"
ln -s "$BUILD"/{ceemsd,ceems-courier,ceems_aggregator,ceems_tool,cacct,slurm} "$SCRATCH/build/"
demo=$TOP/test/rig/demo
test_cleanup() { BUILD=$SCRATCH/build "$demo" stop; }
# bcrypt of "correct horse"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
printf "basic_auth_users:\n  grafana: '%s'\n  prometheus: '%s'\n" "$hash" "$hash" >"$SCRATCH/web.yaml"
for_nobody "$SCRATCH/web.yaml"
begin=$(date +%s)
start() {
	BUILD=$SCRATCH/build CEEMS_DEMO_AGGREGATOR_FLAGS="--web.config.file=$SCRATCH/web.yaml --identity.front-end=password:grafana
		--identity.front-end-roles=true --operator.users=admin" "$demo" start >"$SCRATCH/page" 2>&1
}
ok "the demo starts" start
sed 's/^/# /' "$SCRATCH/page" | tail -n 12
[ "$tap_failed" = 0 ] || tap_done
. "$SCRATCH/build/demo/demo.env"

# ---- a profile of each user's job, from a node's spool by a courier to Pyroscope
make_profiles() {
	local at unit
	at=$((begin * 1000000000))
	printf '%s\n' "_start;main;heat::advance;heat::relax 300" '_start;main;heat::advance;MPI_Waitall 100' |
		python3 test/fake/pprof_make.py $at 15000000000 10000000 >"$SCRATCH/profile.gz" || return
	for unit in "$DEMO_JOB_A" "$DEMO_JOB_B"; do
		echo "$at $((at + 15000000000)) 400 $SCRATCH/profile.gz service_name=$unit uuid=$unit cluster=ceemsrig hostname=$(hostname) manager=slurm step=0 rank=0"
	done | "$BUILD/profile_put" "$SCRATCH/profiles" && mkdir -m 700 "$SCRATCH/reports" &&
		timeout 60 "$BUILD/ceems-courier" --once --profiles.url="$PYROSCOPE_URL" --profiles.spool="$SCRATCH/profiles" --ship.spool="$SCRATCH/reports" >"$SCRATCH/courier.log" 2>&1
}
profiles_url=http://127.0.0.1:$(free_port) # nobody is there
if [ -n "${CEEMS_PYROSCOPE:-}" ]; then
	ok "Pyroscope starts" pyroscope_start || tail -n 5 "$SCRATCH/pyroscope.log" | sed 's/^/# /'
	profiles_url=$PYROSCOPE_URL
	ok "it has profiles of two jobs" make_profiles || sed 's/^/# /' "$SCRATCH/courier.log"
fi
cat >"$SCRATCH/lb.yaml" <<-END
	ceems_lb:
	  identity: {munge: false, front_ends: ["password:grafana"], front_end_roles: true, munge_socket: "$CEEMS_MUNGE_SOCKET"}
	  roles: {operators_read_all: true}
	  backends:
	    - id: ceemsrig
	      tsdb: [{web: {url: "$PROMETHEUS_URL"}}]
	      pyroscope: [{web: {url: "$profiles_url"}}]
	ceems_api_server:
	  web: {url: "$API_URL", munge: true}
END
for_nobody "$SCRATCH/lb.yaml"
"$BUILD/ceems_lb" --config.file="$SCRATCH/lb.yaml" --web.config.file="$SCRATCH/web.yaml" --web.listen-address=127.0.0.1:0 \
	--web.listen-address=127.0.0.1:0 --security.run-as-user=nobody 2>"$SCRATCH/lb.log" &
started $!
lb_ready() { grep -q 'msg="*ready' "$SCRATCH/lb.log"; }
wait_for 20 lb_ready || { ok "the load balancer starts" false; sed 's/^/# /' "$SCRATCH/lb.log"; tap_done; }
lb_port=$(sed -n "s/.*serves Prometheus' API on port \([0-9]*\).*/\1/p" "$SCRATCH/lb.log")
pyro_port=$(sed -n "s/.*serves Pyroscope.* API on port \([0-9]*\).*/\1/p" "$SCRATCH/lb.log")
# Prometheus reads what the aggregator and the load balancer count, too
scrape_servers() {
	cat >>"$CEEMS_DEMO_DIR/prometheus/prometheus.yaml" <<-END
		  - job_name: ceems-aggregator
		    basic_auth: {username: prometheus, password: correct horse}
		    static_configs: [{targets: ["${API_URL#http://}"]}]
		  - job_name: ceems-lb
		    basic_auth: {username: prometheus, password: correct horse}
		    static_configs: [{targets: ["127.0.0.1:$lb_port"]}]
	END
	local p
	for p in $(pgrep -x prometheus); do
		[[ $(tr '\0' ' ' <"/proc/$p/cmdline") == *" --config.file=$CEEMS_DEMO_DIR/prometheus/"* ]] && kill -HUP "$p" && return
	done
	return 1
}
scraped_servers() { # both have two samples
	[ "$(curl -sg -m 10 "$PROMETHEUS_URL/api/v1/query" --data-urlencode 'query=count(count_over_time(up{job=~"ceems-.*"}[5m]) > 2)' | jq -r '.data.result[0].value[1]')" = 2 ]
}
ok "Prometheus reads the servers' counters" scrape_servers

# ---- Grafana, provisioned with what we ship: only addresses and folders are those of this test
profiles=grafana-pyroscope-datasource
[ -e "$home/public/app/plugins/datasource/$profiles" ] || profiles=phlare # before 10.1
provision() {
	local from=$TOP/contrib/grafana to=$SCRATCH/grafana
	mkdir -p "$to"/{data,logs} "$to"/provisioning/{alerting,notifiers,plugins,datasources,dashboards} && cp -r "$from/dashboards" "$to/pages" &&
		find "$to/pages" -name '*.json' -exec sed -i "s/grafana-pyroscope-datasource/$profiles/" {} + &&
		sed "s|https://lb.example:9030|http://127.0.0.1:$lb_port|; s|https://lb.example:9040|http://127.0.0.1:$pyro_port|
			s|https://aggregator.example:9020|$API_URL|; s|mycluster|ceemsrig|; s|timeInterval: 30s|timeInterval: 1s|
			s|grafana-pyroscope-datasource|$profiles|" "$from/provisioning/datasources/ceems-front-end.yaml.sample" >"$to/provisioning/datasources/ceems.yaml" &&
		sed "s|/usr/share/ceems/grafana/dashboards|$to/pages|" "$from/provisioning/dashboards/ceems.yaml" >"$to/provisioning/dashboards/ceems.yaml" &&
		chown -R nobody:"$nobody" "$to"
}
grafana_port=$(free_port)
GRAFANA=http://127.0.0.1:$grafana_port
write_ini() {
	cat >"$SCRATCH/grafana.ini" <<-END
		[server]
		http_addr = 127.0.0.1
		http_port = $grafana_port
		[paths]
		data = $SCRATCH/grafana/data
		logs = $SCRATCH/grafana/logs
		plugins = $plugins
		provisioning = $SCRATCH/grafana/provisioning
		[dataproxy]
		send_user_header = true
		[plugins]
		allow_loading_unsigned_plugins = yesoreyeram-infinity-datasource
		[analytics]
		reporting_enabled = false
		check_for_updates = false
		check_for_plugin_updates = false
		[unified_alerting]
		enabled = false
		[alerting]
		enabled = false
	END
}
ask_admin() { curl -s -m 60 -u admin:operator-1 -H 'Content-Type: application/json' "$@"; }
grafana_up() { [ "$(curl -s -m 10 -o /dev/null -w '%{http_code}' "$GRAFANA/api/health")" = 200 ]; }
grafana_ready() { [ "$(ask_admin "$GRAFANA/api/search?type=dash-db&limit=1000" | jq length)" = "$(find "$SCRATCH/grafana/pages" -name '*.json' | wc -l)" ]; }
start_grafana() {
	provision && write_ini || return
	(cd "$SCRATCH/grafana" && CEEMS_GRAFANA_PASSWORD='correct horse' GF_SECURITY_ADMIN_PASSWORD=operator-1 exec setpriv --reuid nobody \
		--regid "$nobody" --clear-groups "$home/bin/grafana" server --homepath "$home" --config "$SCRATCH/grafana.ini") >"$SCRATCH/grafana.log" 2>&1 &
	started $!
	wait_for 120 grafana_up && wait_for 60 grafana_ready
}
ok "Grafana starts with our data sources and pages" start_grafana
[ "$tap_failed" = 0 ] || { tail -n 20 "$SCRATCH/grafana.log" | sed 's/^/# /'; tap_done; }
echo "# Grafana $(curl -s -m 10 "$GRAFANA/api/health" | jq -r .version), Infinity $(jq -r .info.version "$plugins/yesoreyeram-infinity-datasource/plugin.json")"
is "none of them is refused" "$(grep -aE 'logger=(provisioning|plugin|datasources)[^ ]* .*level=error' "$SCRATCH/grafana.log" | head -3)" ""
wait_for 60 scraped_servers
for u in "$DEMO_USER_A" "$DEMO_USER_B"; do
	ask_admin -d "{\"login\": \"$u\", \"name\": \"$u\", \"password\": \"not so secret\"}" "$GRAFANA/api/admin/users" >/dev/null
done

# ---- each query of each page
job=$DEMO_JOB_A owner=$DEMO_USER_A other=$DEMO_USER_B
run=$(curl -s -m 60 -u 'grafana:correct horse' -H "X-Grafana-User: $owner" "$API_URL/api/v1/units?uuid=$job" | jq '.data[0].id')
like "a job to look at" "$job $run" '^[0-9]+ [0-9]+$'
ask_pages() { # USER:PASSWORD FOLDER: its answers
	python3 test/grafana_live.py "$GRAFANA" "$1" "$2" "$begin" "$(date +%s)" __from="${begin}000" __to="$(date +%s)000" cluster=ceemsrig uuid="$job" \
		run="$run" project=physics user="$owner" host='.*' node="$(hostname)" instance="${CEEMSD_URL#http://}"
}
ask_pages "$owner:not so secret" ceems >"$SCRATCH/owner"
ask_pages "$other:not so secret" ceems >"$SCRATCH/other"
ask_pages "$other:not so secret" ceems-operators >"$SCRATCH/user-operators"
ask_pages admin:operator-1 ceems-operators >"$SCRATCH/operator"

# lines of a file of answers: page, panel, ref, and what is said of it
those() { jq -r "select($2)"' | "\(.page) | \(.title) \(.ref): \(.error)"' "$SCRATCH/$1" | cut -c1-240 | head -8; }
number() { jq -s 'length' "$SCRATCH/$1"; }
lacking() { # FILE: of "page|title|refs" on stdin those without a value
	local page title refs
	while IFS='|' read -r page title refs; do
		jq -rs --arg p "$page" --arg t "$title" --arg r "$refs" '[.[] | select(.page == $p and .title == $t and .values > 0) | .ref] as $have |
			$r | split("") | map(select(IN($have[]) | not)) | if length > 0 then "\($p)|\($t)|\(join(""))" else empty end' "$SCRATCH/$1"
	done
}
# where Pyroscope is not here, what was proved for it ends as an error of the server behind
fails='.error != ""'
[ -n "${PYROSCOPE_URL:-}" ] || fails+=' and .kind != "profiles"'
is "the owner is refused nothing on users' pages ($(number owner) questions)" \
	"$(those owner "($fails) or"' (.error | test("not yours|not allowed|forbidden|operators"))')" ""
is "and sees data where data must be" "$(lacking owner <<-'END'
	ceems-my-jobs|Jobs|A
	ceems-my-jobs|Time|A
	ceems-my-jobs|CPU time used|A
	ceems-my-jobs|Energy|A
	ceems-my-jobs|Emissions|A
	ceems-my-jobs|Energy a day|A
	ceems-my-jobs|$cluster|V
	ceems-job|What it is|A
	ceems-job|CPU in use|A
	ceems-job|User and system|ABC
	ceems-job|CPU time|AB
	ceems-job|Memory|ABCD
	ceems-job|Memory, share of limit|A
	ceems-job|Power by domain|A
	ceems-job|Power on each node|A
	ceems-job|Energy|A
	ceems-job|Power with the building's share|A
	ceems-job|$uuid|V
	ceems-job|$run|V
	ceems-job|$host|V
END
)" ""
is "another user sees nothing of the job" "$(those other '(.page | IN("ceems-job", "ceems-vm", "ceems-pod")) and .values > 0 and (.title | IN("$cluster", "$uuid", "$provider") | not)')" ""
its='.values > 0 and (.text | test("\"'"$owner"'\"|burner1|burner3"))'
is "nor anything else that is the owner's" "$(those other "$its")" ""
ok "which the owner's answers have" [ -n "$(those owner "$its")" ]
ok "but sees what is its own" [ -z "$(lacking other <<<'ceems-my-jobs|Jobs|A')" ]
is "the API refuses what is asked about the job by its name" "$(those other '.page == "ceems-job" and (.title | IN("CPU", "Peak memory", "Energy as measured", "Emissions")) and .kind == "api" and (.error | test("404") | not)')" ""
is "each question about the job itself is refused with words" "$(those other '(.kind | IN("prometheus", "profiles", "labels")) and (.error | test("unit '"$job"' is not yours") | not)')" ""
is "an operator is refused nothing on operators' pages ($(number operator) questions)" \
	"$(those operator "($fails) or"' (.error | test("not yours|not allowed|forbidden|operators"))')" ""
is "and sees data where data must be" "$(lacking operator <<-'END'
	ceems-op-cluster|Power|AC
	ceems-op-cluster|Charged to units|A
	ceems-op-cluster|Nodes|AB
	ceems-op-cluster|Power by domain|A
	ceems-op-cluster|CPU|A
	ceems-op-cluster|Memory|A
	ceems-op-node|Charged, idle and system|AC
	ceems-op-node|CPU|A
	ceems-op-node|Memory|AB
	ceems-op-node|$node|V
	ceems-op-self|CPU of ceemsd|AB
	ceems-op-self|Memory of ceemsd|AB
	ceems-op-self|Collectors|A
	ceems-op-unit|What it is|A
	ceems-op-unit|CPU in use|A
	ceems-op-units|$user|V
	ceems-op-units|Units|A
END
)" ""
if [ -n "${PYROSCOPE_URL:-}" ]; then
	flame() { jq -rs '[.[] | select(.title == "CPU time by function" and (.page | IN("ceems-job", "ceems-op-unit")) and (.text | test("heat::relax"))) | .page] | join(" ")' "$SCRATCH/$1"; }
	is "the owner's flame graph has the job's functions" "$(flame owner)" ceems-job
	is "an operator's as well" "$(flame operator)" ceems-op-unit
	is "another user's flame graphs have none" "$(flame other)$(flame user-operators)" ""
	like "and say why" "$(jq -r 'select(.title == "CPU time by function" and .page == "ceems-job") | .error' "$SCRATCH/other")" "unit $job is not yours"
else
	skip "flame graphs" "no Pyroscope: CEEMS_PYROSCOPE names its program"
fi
is "a user sees nothing on operators' pages but refusals" "$(those user-operators '.values > 0 and (.title | IN("Emission factors", "$provider") | not)')" ""
is "each with words" "$(those user-operators '.error == "" and (.title | IN("Emission factors", "$provider") | not)')" ""
tap_done
