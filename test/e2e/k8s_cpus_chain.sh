#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A part of a CPU that a pod requests, from ceems-k8s by ceemsd, courier, aggregator and Postgres to cacct. Folders stand for
# control groups, and test/fake/k8s_node.py for the API server: of the real ones see k8s.sh.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/chain.sh"
ceemsd=$BUILD/ceemsd k8s=$BUILD/ceems-k8s
[ -x "$k8s" ] && [ -x "$ceemsd" ] || skip_all "ceems-k8s was not built here"
command -v python3 >/dev/null || skip_all "no python3"
cd "$SCRATCH" || exit 1
chain_begin >why 2>&1
[ ! -s why ] || skip_all "$(head -n 1 why)"
sql "SELECT k8s_cluster_id('cloud')" >/dev/null
cg=$SCRATCH/cgroup run=$SCRATCH/run pods=$SCRATCH/cgroup/kubepods/burstable
uid() { printf '%08x-1111-4000-8000-000000000000' "$1"; }
mkdir -p "$pods" api
echo "cpu memory" >"$cg/cgroup.controllers"
tell() { # CPUS of the second one
	printf '%s\n' "$(uid 1) team quarter" "$(uid 2) team grows 0 $1" >api/pods.new
	mv api/pods.new api/pods
}
tell 250m
echo ok >api/mode
port=$(free_port) api_port=$(free_port) || exit 1
"$TOP/test/fake/k8s_node.py" api "$api_port" "$SCRATCH/api" >fake.log 2>&1 </dev/null &
started $!
"$ceemsd" --web.listen-address="127.0.0.1:$port" --path.rundir="$run" --path.cgroupfs="$cg" --collector.k8s --unit.linger=10m --security.drop-privileges=false \
	--reports.enabled --reports.interval=1h --reports.spool="$SCRATCH/spool" --cluster=cloud >ceemsd.log 2>&1 </dev/null &
started $!
wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
printf 'apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n' >kubeconfig
echo "clusters: [{name: k, cluster: {server: \"http://127.0.0.1:$api_port/\"}}]
users: [{name: u, user: {token: t}}]" >>kubeconfig
chmod 600 kubeconfig
"$k8s" --path.rundir="$run" --path.cgroupfs="$cg" --k8s.refresh=500ms --k8s.node-name=n1 --k8s.kubeconfig.file="$SCRATCH/kubeconfig" \
	--k8s.kubelet-pods-socket.file="$SCRATCH/none" --k8s.kubelet-podresources-socket.file="$SCRATCH/none" >k8s.log 2>&1 </dev/null &
started $!
use() { printf 'usage_usec %s\nuser_usec %s\nsystem_usec 0\n' "$2" "$2" >"$pods/pod$(uid "$1")/cpu.stat"; }
for i in 1 2; do mkdir "$pods/pod$(uid $i)" && use $i 0; done
scrape() { curl -sf -o body "http://127.0.0.1:$port/metrics"; }
has() { scrape && [ "$(awk -v u="$(uid "$1")" 'index($1, "ceems_compute_unit_cpus{") == 1 && index($1, u) { print $2; exit }' body)" = "$2" ]; }
ok "a pod has a quarter of a CPU on its node" wait_for 60 has 2 0.25 || tail -n 5 k8s.log | sed 's/^/# /'
told() { chain_ship; [ "$(sql "SELECT count(*) FROM unit_node WHERE $1")" = "$2" ]; }
ok "its record has that while it runs" wait_for 60 told "millicpus = 250 AND sized_at IS NOT NULL" 2
tell 500m
echo 410 >api/mode
asked_anew() { [ "$(grep -c '^410 ' api/asked)" -ge 1 ]; }
wait_for 30 asked_anew
echo ok >api/mode
ok "it is resized in place" wait_for 60 has 2 0.5
ok "its record has the new size, and the one before" wait_for 60 told "millicpus = 500 AND earlier_millicpus = '{250}'" 1
for i in 1 2; do use $i 1000000; done
used() { scrape && [ "$(grep -c '^ceems_compute_unit_cpu_user_seconds_total{manager="k8s".* 1$' body)" = 2 ]; }
wait_for 30 used
for i in 1 2; do rm -r "$pods/pod$(uid $i)"; done
ok "both have ended" wait_for 60 told final 2
rolled_up() { [ "$(sql "SELECT (SELECT count(*) FROM dirty) + (SELECT count(*) FROM unit WHERE as_of IS NULL)")" = 0 ]; }
ok "sums are there" wait_for 60 rolled_up
is "what was allocated is each size for its time" "$(sql "SELECT u.uuid, abs(u.cpu_alloc_ms - 0.25 * extract(epoch FROM coalesce(n.earlier_until[1], n.ended) - n.started) * 1000
	- coalesce(0.5 * extract(epoch FROM n.ended - n.earlier_until[1]) * 1000, 0)) <= 2 FROM unit_node n JOIN unit u ON u.id = n.unit ORDER BY 1")" "$(uid 1)|t
$(uid 2)|t"
is "cacct has it: CPUs, CPU hours and efficiency" "$("$BUILD/cacct" -a -n -P -o JobIDRaw,CPUs,CPUTimeRAW,CPUEff 2>cacct.err | sort)" \
	"$(sql "SELECT uuid, CASE uuid WHEN '$(uid 1)' THEN 0.25 ELSE 0.5 END, cpu_alloc_ms / 1000.0, cpu_user_ns / 10000.0 / cpu_alloc_ms FROM unit ORDER BY 1" |
		awk -F'|' '{ printf "%s|%s|%.0f|%.1f%%\n", $1, $2 + 0, $3, $4 }')"
tap_done
