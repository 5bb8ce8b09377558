# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests of who may read what through a load balancer: a real aggregator on a real Postgres
# that knows jobs of alice, bob and carol in two clusters (test/e2e/lb_seed.sql), a real Prometheus (or another ENGINE, test/engine.sh) with a metric of
# them, and a configuration of ceems_lb over both. Sets end, agg_port, lb, agg, munge, M (the metric) and C (the cluster).
. "$TOP/test/munge.sh"
. "$TOP/test/pg.sh"
. "$TOP/test/engine.sh"
lb=$BUILD/ceems_lb agg=$BUILD/ceems_aggregator
for p in "$lb" "$agg"; do [ -x "$p" ] || skip_all "${p##*/} was not built here"; done
for t in curl jq; do command -v $t >/dev/null || skip_all "$t is not installed"; done
need_engine
need_pg
cd "$SCRATCH" || exit 1
# bcrypt of "correct horse"
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu'
pg_start || { ok "Postgres starts" false; tap_done; }
"$agg" --migrate --db.url="$PGURL" >/dev/null && psql_do -f "$TOP/test/e2e/lb_seed.sql" >/dev/null || { ok "records of jobs" false; tap_done; }
printf "basic_auth_users:\n  lb: '%s'\n" "$hash" >agg-web.yaml
printf "basic_auth_users:\n  grafana: '%s'\n  prometheus: '%s'\n" "$hash" "$hash" >lb-web.yaml
chmod 600 agg-web.yaml lb-web.yaml
agg_port=$(free_port)
munge=() identity='munge: false'
have_munge "$agg" && munge_start && munge=(--identity.munge-socket="$MUNGE_SOCKET" --identity.front-end=munge:root) identity="munge_socket: $MUNGE_SOCKET"
"$agg" --db.url="$PGURL" --web.listen-address="127.0.0.1:$agg_port" --web.config.file=agg-web.yaml --security.drop-privileges=false \
	--identity.front-end=password:lb --identity.front-end-roles=true ${munge[@]+"${munge[@]}"} >agg.log 2>&1 &
started $!
wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$agg_port/health" || { ok "an aggregator" false; tap_done; }

# what bob's jobs measured is 66601, 66602, ...: no answer to alice may have it. A test may have made data of its own.
end=$(date +%s)
[ -e data.om ] || awk -v to="$end" 'BEGIN {
	n = split("alpha 101 1,alpha 102 66602,alpha 103 3,alpha 104 4,alpha 105 5,beta 101 66601,beta 201 6", unit, ",")
	print "# TYPE ceems_compute_unit_memory_used_bytes gauge"
	for (i = 1; i <= n; i++) {
		split(unit[i], u, " ")
		for (t = to - 7200; t <= to; t += 30)
			printf "ceems_compute_unit_memory_used_bytes{ceems_id=\"%s\",uuid=\"%s\",secret=\"s%s\"} %d %d\n", u[1], u[2], u[3], u[3], t
	}
	print "# EOF" }' >data.om
engine_begin data.om || { ok "data in a server of time series" false; tap_done; }
[ -z "$engine_tenant" ] || is "its data is one tenant's" "$(engine_has_data && echo site) $(engine_has_data another && echo another)" "site "

config() { # more of ceems_lb, how it proves itself to the aggregator
	cat >lb.yaml <<-END
		ceems_lb:
		  identity: {$identity, front_ends: ["password:grafana"], front_end_roles: true}
		  limits: {owned: ${OWNED:-4s}, unknown: 1s, linger: 1s, user_requests: 100}
		  cluster_label: ceems_id
		  $1
		  backends:
		    - {id: alpha, tsdb: [{web: {$engine_web}}]}
		    - {id: beta, tsdb: [{web: {$engine_web}}]}
		ceems_api_server:
		  web: {url: "http://127.0.0.1:$agg_port", ${2:-basic_auth: {username: lb, password: correct horse\}}}
	END
	chmod 600 lb.yaml
}
M=ceems_compute_unit_memory_used_bytes C=alpha
lb_begin() { # as config: starts it, as process LB with Prometheus' API on $port
	config "$@"
	"$lb" --config.file=lb.yaml --web.config.file=lb-web.yaml --web.listen-address=127.0.0.1:0 --web.listen-address=127.0.0.1:0 \
		--security.drop-privileges=false 2>lb.log &
	LB=$!
	started $LB
	wait_for 10 grep -q 'msg="*ready' lb.log || { ok "the load balancer starts" false; sed 's/^/# /' lb.log; tap_done; }
	port=$(sed -n "s/.*serves Prometheus' API on port \([0-9]*\).*/\1/p" lb.log)
}
# USER PATH, more of curl
as() { local u=$1 p=$2; shift 2; curl -s -m 100 -u 'grafana:correct horse' -H "X-Grafana-User: $u" -H "X-Ceems-Cluster-Id: $C" "http://127.0.0.1:$port$p" "$@"; }
