#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd on a machine without Slurm, ring or control groups: it starts, exports what exists,
# and logs what does not. Needs no root; as root it also shows that it keeps no privileges.
. "$(dirname "$0")/../tap.sh"

mkdir "$SCRATCH/cgroup"
port=$(free_port) || exit 1
log=$SCRATCH/log
url=http://127.0.0.1:$port

# daemon NAME ARGUMENT...: starts one, $pid
daemon() {
	local name=$1
	shift
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/$name" --path.cgroupfs="$SCRATCH/cgroup" "$@" \
		>"$log.$name" 2>&1 </dev/null &
	pid=$!
	started $pid
}
answers() { curl -sf -o "$SCRATCH/body" "$url/$1"; }
said() { grep -q -- "$1" "$log.$2"; }
times() { grep -c -- "$1" "$log.$2"; }
# ends SECONDS PID: waits for a process of ours to end; its exit status is $status
ends() {
	wait_for "$1" is_gone "$2" || return 1
	wait "$2"
	status=$?
}

cat >"$SCRATCH/config" <<END
log:
  level: info
unit:
  linger: 60s
END
daemon a --web.listen-address="127.0.0.1:$port" --config.file="$SCRATCH/config" --collector.netdev \
	--collector.slurm
a=$pid
ok "starts and answers /health" wait_for 20 answers health
ok "answers /metrics" answers metrics
for family in ceems_cpu_seconds_total ceems_meminfo_MemTotal_bytes ceems_netdev_receive_bytes_total \
	ceems_ring_records_total ceems_units_table_capacity ceems_exporter_build_info; do
	ok "serves $family" grep -q "^$family[{ ]" "$SCRATCH/body"
done
ok "answers /units" answers units
is "with an empty list" "$(jq -c .units "$SCRATCH/body")" "[]"
ok "says that there is no ring traffic" wait_for 20 said "no ring traffic so far" a
like "and that control groups are missing" "$(grep 'stop records only' "$log.a")" "$SCRATCH/cgroup: "

if have_root; then
	like "no user of root's is left" "$(grep -E '^(Uid|Gid):' "/proc/$a/status" | tr '\n' ' ')" \
		$'^Uid:\t[1-9][0-9]*\t[1-9].*Gid:\t[1-9]'
	is "no capability is left" "$(cat /proc/$a/task/*/status | sed -n 's/^Cap[A-Za-z]*:\t0*//p' | tr -d '\n')" ""
else
	skip "no user of root's is left" "not root"
	skip "no capability is left" "not root"
fi
# Capabilities belong to threads: those that talk to the network must not keep any either.
if have_root && command -v setpriv >/dev/null; then
	caps=+net_bind_service,+dac_read_search
	mkdir "$SCRATCH/ambient" && chmod 755 "$SCRATCH" && chown nobody "$SCRATCH/ambient"
	other=$(free_port)
	setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps $caps --ambient-caps $caps \
		"$BUILD/ceemsd" --path.rundir="$SCRATCH/ambient" --path.cgroupfs="$SCRATCH/cgroup" \
		--web.listen-address="127.0.0.1:$other" >"$log.ambient" 2>&1 </dev/null &
	ambient=$!
	started $ambient
	wait_for 20 said "msg=\"ready\"" ambient
	is "no thread keeps a capability that a service manager gave" \
		"$(cat /proc/$ambient/task/*/status | sed -n 's/^Cap\(Eff\|Prm\|Inh\|Amb\):\t0*//p' | tr -d '\n')" ""
	kill $ambient
else
	skip "no thread keeps a capability that a service manager gave" "not root, or no setpriv"
fi
is "nothing can be gained again" "$(sed -n 's/^NoNewPrivs:\t//p' "/proc/$a/status")" 1
is "ring and table are for their owner alone" "$(stat -c %a "$SCRATCH/a/ring" "$SCRATCH/a/units" | tr '\n' ' ')" \
	"600 600 "

# a second one: same port, then same run directory
daemon b --web.listen-address="127.0.0.1:$port"
ok "a port in use ends a start" ends 20 $pid
is "with exit status 1" "$status" 1
ok "and names the address" said "127.0.0.1:$port" b
"$BUILD/ceemsd" --path.rundir="$SCRATCH/a" --path.cgroupfs="$SCRATCH/cgroup" \
	--web.listen-address="127.0.0.1:$(free_port)" >"$log.c" 2>&1 </dev/null &
c=$!
started $c
ok "a run directory in use is said" wait_for 20 said "in use by another ceemsd" c
ok "and does not end the start" wait_for 20 said "ready" c
kill $c
ok "a table that is in use stays whole" answers units

# reload
printf 'log:\n  level: debug\nunit:\n  linger: 90s\nweb:\n  listen-address: [":1"]\n' >"$SCRATCH/config"
kill -HUP $a
ok "SIGHUP applies what can change" wait_for 20 said "reload: changed: log.level, unit.linger" a
ok "a flag wins over the reloaded file" answers health
printf 'log:\n  level: info\nring:\n  slots: 64\n' >"$SCRATCH/config"
kill -HUP $a
ok "and says what cannot" wait_for 20 said "need a restart: ring.slots" a
printf 'log:\n  level: info\n  colour: blue\n' >"$SCRATCH/config"
kill -HUP $a
ok "a broken file is named with its line" wait_for 20 said "config:3:.*colour" a
ok "and leaves the old one in force" answers health
is "the lack of traffic was said once" "$(times 'no ring traffic' a)" 1

kill $a
ok "SIGTERM ends it" ends 20 $a
is "with exit status 0" "$status" 0

# command line and configuration
run() { "$BUILD/ceemsd" "$@" >"$SCRATCH/out" 2>&1; }
run --config.file="$SCRATCH/config"
is "an unknown key is exit status 2" $? 2
like "and names file, line and key" "$(cat "$SCRATCH/out")" "config:3:.*colour"
run --check-config --config.file="$SCRATCH/config"
is "--check-config finds it too" $? 2
printf 'collector:\n  slurm:\n    enabled: true\n' >"$SCRATCH/config"
run --check-config --config.file="$SCRATCH/config"
is "--check-config passes a good file" $? 0
run --check-config --collector.netdev --collector.netdev.device-include='^nowhere[0-9]+$'
is "a pattern that no interface matches is no mistake" $? 0
like "but perhaps one: --check-config says it" "$(cat "$SCRATCH/out")" 'warning: collector.netdev.device-include=.nowhere.*leaves none of the'
run --check-config --collector.netdev.device-include='^nowhere[0-9]+$'
is "and not where the collector is off" "$(grep -c 'leaves none' "$SCRATCH/out")" 0
run --no-such-flag
is "an unknown flag is exit status 2" $? 2
run --collector.netdev.device-include=a --collector.netdev.device-exclude=b
is "options that exclude each other are exit status 2" $? 2
run --version
is "--version" "$(cat "$SCRATCH/out")" "$("$BUILD/ceemsd" --version)"
run --help
ok "--help names the listen address" grep -q -- --web.listen-address "$SCRATCH/out"
run --help-markdown
ok "--help-markdown is a table" grep -q '^|.*unit.linger' "$SCRATCH/out"

# jobs that run before the daemon does are in the first answer, however early that comes
cp /bin/bash "$SCRATCH/slurmstepd"
"$SCRATCH/slurmstepd" -c 'sleep 100 & echo $!; wait' >"$SCRATCH/task" &
started $!
wait_for 5 test -s "$SCRATCH/task"
started "$(cat "$SCRATCH/task")"
for job in $(seq 500); do
	step=$SCRATCH/jobs/cpuacct/slurm/uid_0/job_$job/step_0
	mkdir -p "$step"
	cp "$SCRATCH/task" "$step/cgroup.procs"
	echo 5000000 >"$step/cpuacct.usage"
done
daemon first --web.listen-address="127.0.0.1:$port" --path.cgroupfs="$SCRATCH/jobs" --collector.slurm
until answers metrics; do kill -0 $pid || break; done
like "the first answer has all jobs that run" "$(grep '^ceems_compute_units{' "$SCRATCH/body")" '"} 500$'
kill $pid
ends 20 $pid

# nothing at all
daemon none --web.listen-address="127.0.0.1:$port" --path.rundir="$SCRATCH/no/where" --path.procfs=/nonexistent
ok "starts without run directory and procfs" wait_for 20 answers health
ok "and says that jobs are off" said "no/where.*jobs are not recorded" none
tap_done
