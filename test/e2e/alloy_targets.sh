#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The peer's list of processes for Grafana Alloy, in its shape, behind the same password as the metrics; and its
# options for profiles, which turn into ours.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl jq; do command -v $c >/dev/null || skip_all "$c is not installed"; done
have_root || skip_all "needs root, for control groups"
. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
hash='$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu' # correct horse
(umask 077; printf "basic_auth_users:\n  alloy: '%s'\n" "$hash" >"$SCRATCH/web.yaml")
daemon_on() { # flags
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm --collector.slurm.nodes=$node --security.drop-privileges=false \
		--web.config.file="$SCRATCH/web.yaml" "$@" </dev/null >>"$SCRATCH/ceemsd.log" 2>&1 &
	daemon=$!
	started $daemon
	wait_for 30 curl -sf -u 'alloy:correct horse' -o /dev/null "http://127.0.0.1:$port/metrics"
}
daemon_off() { kill $daemon; wait $daemon 2>/dev/null; }
get() { curl -s -m 20 -u 'alloy:correct horse' "http://127.0.0.1:$port/${1:-alloy-targets}"; }
code() { curl -s -m 20 -o /dev/null -w '%{http_code} %{content_type}' "$@" "http://127.0.0.1:$port/alloy-targets"; }
ok "ceemsd starts" daemon_on
is "without the option there is no such page" "$(code -u 'alloy:correct horse')" "404 text/plain; charset=utf-8"
daemon_off
ok "it starts with it" daemon_on --discoverer.alloy-targets
is "no process is an empty list, not null" "$(get)" "[]"
is "it is JSON" "$(code -u 'alloy:correct horse')" "200 application/json"
is "nobody reads it without the metrics' password" "$(code | cut -d' ' -f1)" 401
daemon_off
step_make 0 # what is there at the start is found at once
ok "it starts beside a step" daemon_on --discoverer.alloy-targets
listed() { [ "$(get | jq -c 'map(.labels.__process_pid__ | tonumber) | sort')" = "$1" ]; }
ok "a step's processes are listed" wait_for 30 listed "[$sleeper]"
is "as the peer lists them" "$(get | jq -c .)" "[{\"targets\":[\"$job\"],\"labels\":{\"__process_pid__\":\"$sleeper\",\"service_name\":\"$job\"}}]"
daemon_off
ok "it starts for another manager" daemon_on --discoverer.alloy-targets --discoverer.alloy-targets.resource-manager=k8s
wait_for 30 eval 'get units | grep -q "\"id\":\"$job\""'
is "whose units alone are listed" "$(get)" "[]"
pod=5a3ab2e8-0000-4000-8000-00000000$$
path=/slurm_$node/kubepods/pod$pod # below what is removed at the end
mkdir -p "/sys/fs/cgroup/cpuacct$path" "/sys/fs/cgroup/memory$path"
sleep 1000 &
inside=$!
started $inside
for c in cpuacct memory; do echo $inside >"/sys/fs/cgroup/$c$path/cgroup.procs"; done
"$BUILD/vm_put" "$SCRATCH/run/ring" start $pod pod "cgroup=$path"
ok "a pod's processes are, without a slurmstepd" wait_for 30 listed "[$inside]" || get | sed 's/^/# /'
setsid bash -c 'for c in cpuacct memory; do echo $$ >"/sys/fs/cgroup/$c$1/cgroup.procs"; done
	for ((i = 0; i < 1000; i++)); do sleep 1000 & done; wait' many "$path" &
many=$!
started $many
count_is() { [ "$(get | jq length)" = "$1" ]; }
ok "of very many processes each is listed" wait_for 30 count_is 1002 || get | jq length | sed 's/^/# /'
kill -- -$many $inside
wait $inside $many 2>/dev/null
daemon_off
ok "it starts for those who asked" daemon_on --discoverer.alloy-targets --discoverer.alloy-targets.env-var=ENABLE_PROFILING --discoverer.alloy-targets.self-profiler --web.targets-path=/targets
wait_for 30 eval 'get units | grep -q "\"id\":\"$job\""'
is "a step that did not ask is not listed; ceemsd itself is" "$(get targets | jq -c .)" \
	"[{\"targets\":[\"__internal_ceems_exporter\"],\"labels\":{\"__process_pid__\":\"$daemon\",\"service_name\":\"__internal_ceems_exporter\"}}]"
daemon_off

# --- the peer's profiler
check() { "$BUILD/ceemsd" --check-config "$@" 2>&1; }
cat >"$SCRATCH/profiler.yaml" <<'Y'
ceems_profiler:
  ebpf:
    {collect_interval: 30s, discover_interval: 30s, sample_rate: 97, collect_user_profile: true, collect_kernel_profile: false, python_enabled: true,
     demangle: none, build_id_cache_size: 64, pid_cache_size: 32, pid_map_size: 2048, same_file_cache_size: 8, symbols_map_size: 16384, cache_rounds: 3}
  pyroscope: {url: "http://$STORE:4040", external_labels: {host: x}}
Y
export STORE=localhost
like "its file is read under each of its names" "$(for o in config.file config-file; do check --profiling.ebpf --profiling.ebpf.$o="$SCRATCH/profiler.yaml" --profiling.ebpf.config.file.expand-env-vars; done | grep -c 'configuration is valid')" 2
is "all keys without a counterpart are said" "$(check --profiling.ebpf --profiling.ebpf.config.file="$SCRATCH/profiler.yaml" | grep -c 'accepted, no effect')" 12
sed -i 's/cache_rounds/cache_round/' "$SCRATCH/profiler.yaml"
like "one that is not known is an error" "$(check --profiling.ebpf --profiling.ebpf.config.file="$SCRATCH/profiler.yaml")" 'profiler.yaml:4: unknown key: cache_round'
printf 'ceems_profiler: {pyroscope: {basic_auth: {username: x, password: y}}}\n' >"$SCRATCH/profiler.yaml"
like "a password for the store is refused, not dropped" "$(check --profiling.ebpf --profiling.ebpf.config.file="$SCRATCH/profiler.yaml")" 'profiler.yaml:1: .*basic_auth'
is "without the switch nothing of it is read" "$(check --profiling.ebpf.config.file=/does/not/exist | grep -c 'configuration is valid')" 1
tap_done
