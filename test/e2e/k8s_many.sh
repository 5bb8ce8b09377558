#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems-k8s with many pods and bad answers. Folders stand for control groups, and test/fake/k8s_node.py for kubelet and the
# API server: of the real ones see k8s.sh and k8s_pods_api.sh. Needs no root.
. "$(dirname "$0")/../tap.sh"
ceemsd=$BUILD/ceemsd k8s=$BUILD/ceems-k8s fake=$TOP/test/fake/k8s_node.py
[ -x "$k8s" ] || skip_all "ceems-k8s was not built here"
[ -x "$ceemsd" ] || skip_all "ceemsd was not built here"
command -v python3 >/dev/null || skip_all "no python3"
cd "$SCRATCH" || exit 1
n=500 cg=$SCRATCH/cgroup run=$SCRATCH/run pods=$SCRATCH/cgroup/kubepods/burstable
mkdir -p "$pods" api
echo "cpu memory" >"$cg/cgroup.controllers"
uid() { printf '%08x-1111-4000-8000-000000000000' "$1"; }
for ((i = 1; i <= n; i++)); do echo "$(uid $i) team-$((i % 7)) pod-$i"; done >api/pods
for ((i = 1; i <= n; i++)); do echo "$pods/pod$(uid $i)"; done | xargs mkdir
while read -r d; do printf 'usage_usec 5000000\nuser_usec 5000000\nsystem_usec 0\n' >"$d/cpu.stat"; done < <(ls -d "$pods"/pod*)
echo ok >api/mode
port=$(free_port) api_port=$(free_port) || exit 1
"$fake" api "$api_port" "$SCRATCH/api" >fake.log 2>&1 </dev/null &
started $!
"$fake" hang "$SCRATCH/hang.sock" >>fake.log 2>&1 </dev/null &
started $!
"$fake" garbage "$SCRATCH/garbage.sock" >>fake.log 2>&1 </dev/null &
started $!
"$ceemsd" --web.listen-address="127.0.0.1:$port" --path.rundir="$run" --path.cgroupfs="$cg" --collector.k8s --collector.k8s.steps \
	--unit.max-exported=2000 --unit.linger=1s --security.drop-privileges=false >ceemsd.log 2>&1 </dev/null &
started $!
ok "ceemsd is up" wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
cat >kubeconfig <<END
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: other, context: {cluster: none}}, {name: c, context: {cluster: k, user: u, namespace: x}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:$api_port/"}}]
users: [{name: u, user: {tokenFile: token}}]
preferences: {}
END
chmod 600 kubeconfig
echo first-token >token
ok "the stand-ins are up" wait_for 20 [ -S hang.sock -a -S garbage.sock ]
"$k8s" --path.rundir="$run" --path.cgroupfs="$cg" --k8s.refresh=500ms --k8s.node-name=n1 --k8s.kubeconfig.file="$SCRATCH/kubeconfig" \
	--k8s.kubelet-pods-socket.file="$SCRATCH/hang.sock" --k8s.kubelet-podresources-socket.file="$SCRATCH/garbage.sock" >k8s.log 2>&1 </dev/null &
k8s_pid=$!
started $k8s_pid
scrape() { curl -sf -o body "http://127.0.0.1:$port/metrics"; }
value() { awk -v m="$1" -v u="$2" 'index($1, m "{") == 1 && index($1, u) { print $2; exit }' body; }
shows() { scrape && [ "$(value "$1" "$2")" = "$3" ]; }
running() { shows ceems_compute_units 'manager="k8s"' "$1"; }
ok "500 pods are units" wait_for 60 running $n || tail -n 5 k8s.log | sed 's/^/# /'
sized() { scrape && [ "$(grep -c '^ceems_compute_unit_cpus{manager="k8s".* 0.25$' body)" = $n ]; }
ok "all have what they request, by a watch of the API server" wait_for 60 sized || tail -n 5 k8s.log | sed 's/^/# /'
like "which is asked for this node's pods alone, with a token" "$(head -1 api/asked)" 'fieldSelector=spec.nodeName%3Dn1&resourceVersion=0 Bearer first-token$'
private_kb() { awk '/^Private_(Clean|Dirty)/ { s += $2 } END { print s }' "/proc/$k8s_pid/smaps_rollup"; }
used=$(private_kb)
case $BUILD in
*/san-*) skip "it has less than 12 MB of its own with them" "a sanitizer's memory is its own" ;;
*) ok "it has less than 12 MB of its own with them" [ "$used" -lt 12288 ] || echo "# $used kB" ;;
esac
echo "# $used kB of its own with $n pods"
ok "a kubelet that answers what is not gRPC is said once" [ "$(grep -c 'pod-resources: .*asked again' k8s.log)" = 1 ]

# ---- an API server that misbehaves, for each in turn: nothing ends, and it comes back
starts=$(value ceems_steps_started_total k8s)
for mode in 500 429 403 410 garbage cut long hang; do
	: >api/asked
	echo $mode >api/mode
	asked() { [ "$(grep -c "^$mode " api/asked)" -ge "$1" ]; }
	wait_for 30 asked 1 || echo "# $mode was not asked"
	[ $mode = hang ] || wait_for 30 asked 2 || echo "# $mode was not asked again"
	[ "$(wc -l <api/asked)" -lt 60 ] || echo "# $mode: $(wc -l <api/asked) requests"
	kill -0 $k8s_pid || break
	[ $mode != hang ] || break
	echo ok >api/mode
	mode=ok
	wait_for 30 asked 1 || echo "# it was not asked again"
done >trouble
is "answers 500, 429, 403, 410, garbage, half of one, 4 MiB in a line and none at all are asked again, not in a hurry" "$(cat trouble)" ""
scrape
is "and end no pod" "$(value ceems_compute_units 'manager="k8s"') $(value ceems_steps_ended_total k8s)" "$n 0"
kill -HUP $k8s_pid
kill $k8s_pid
wait_for 20 is_gone $k8s_pid
is "told to end, ceems-k8s says so, also beside an API server that hangs" "$(tail -n1 k8s.log | grep -o 'msg=.*')" 'msg="ends on SIGTERM"'
echo second-token >token
echo ok >api/mode
"$k8s" --path.rundir="$run" --path.cgroupfs="$cg" --k8s.refresh=500ms --k8s.node-name=n1 --k8s.kubeconfig.file="$SCRATCH/kubeconfig" \
	--k8s.kubelet-pods-socket.file="" --k8s.kubelet-podresources-socket.file="" >k8s2.log 2>&1 </dev/null &
k8s_pid=$!
started $k8s_pid
ok "a new ceems-k8s uses the new token" wait_for 30 grep -q 'Bearer second-token$' api/asked
echo third-token >token
echo 410 >api/mode
ok "and one that is renewed while it runs" wait_for 30 grep -q 'Bearer third-token$' api/asked
echo ok >api/mode
scrape
is "no pod started or ended by that" "$(value ceems_steps_started_total k8s) $(value ceems_steps_ended_total k8s)" "$starts 0"
is "no token is in a log" "$(grep -c 'token' k8s.log k8s2.log | cut -d: -f2 | xargs)" "0 0"

# ---- a pod with 500 containers, as a user may write one
crowd=$(uid 999)
mkdir crowd && for ((i = 0; i < 500; i++)); do printf 'crowd/%064x\n' $i; done | xargs mkdir
for d in crowd crowd/*; do
	printf 'usage_usec 1000\nuser_usec 1000\nsystem_usec 0\n' >$d/cpu.stat
	printf 'populated 1\n' >$d/cgroup.events
done
mv crowd "$pods/pod$crowd"
echo "$crowd team crowd 500" >>api/pods
echo 410 >api/mode
sleep 1
echo ok >api/mode
steps() { scrape && [ "$(grep -c "^ceems_compute_unit_step_cpu_user_seconds_total{.*uuid=\"$crowd\"" body)" = "$1" ]; }
ok "of a pod with 500 containers 64 are told" wait_for 60 steps 64 || echo "# $(grep -c "^ceems_compute_unit_step_cpu_user_seconds_total" body)"
is "which add nothing to it" "$(value ceems_compute_unit_cpu_user_seconds_total "$crowd")" "$(value ceems_compute_unit_step_cpu_user_seconds_total "$crowd")"
starts=$((starts + 1))

# ---- churn: 50 pods a second, each for a second
made=$("$fake" churn "$pods" 50 5)
churned() { scrape && [ "$(value ceems_steps_started_total k8s) $(value ceems_steps_ended_total k8s)" = "$((starts + made)) $made" ]; }
ok "no start and no end is lost at 50 pods a second" wait_for 30 churned || echo "# $(value ceems_steps_started_total k8s) $(value ceems_steps_ended_total k8s) of $((starts + made)) $made"

# ---- names that are not pods', and more pods than ceemsd has room for
mkdir -p "$pods/pod\$(id)" "$pods/pod..x y" "$pods/podé" "$cg/kubepods/podman" "$pods/pod" "$pods/x$(uid 1)"
sleep 1
is "hostile names are no pods" "$(scrape && value ceems_compute_units 'manager="k8s"')" $((n + 2)) # the crowd, and "podman" might be one
for ((i = 1; i <= 10000; i++)); do echo "$(uid $((i + 1000))) team pod-$i"; done >api/pods
echo 410 >api/mode
sleep 1
echo ok >api/mode
ok "an API server that tells of 10000 pods is listened to" wait_for 60 eval '[ "$(grep -c "^ok .*resourceVersion=0" api/asked)" -ge 1 ]'
told() { [ "$(private_kb)" -gt 3500 ]; }
wait_for 30 told
sleep 1
ok "and ceems-k8s lives" kill -0 $k8s_pid
echo "# $(private_kb) kB of its own with 10000 pods"
ls "$pods" | sed "s|^|$pods/|" | grep -v "pod\$(id)\|pod\.\.\|podé" | tr '\n' '\0' | xargs -0 rm -rf
rmdir "$cg/kubepods/podman"
ok "all end" wait_for 60 running 0
tap_done
