#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_rdma.sh: two soft RoCE devices, programs that use them in
# the control groups of steps, and what ceemsd says of them beside what the rdma command does.
. "$(dirname "$0")/../tap.sh"
port=9010
scope=/sys/fs/cgroup/system.slice/vm_slurmstepd.scope
step_make() { # job: its step 0 with a task
	mkdir -p "$scope/job_$1/step_0/user/task_0" "$scope/job_$1/step_0/slurm"
}
inside() { # folder command...
	local group=$1
	shift
	(echo "$BASHPID" >"$group/cgroup.procs" && exec "$@")
}
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { sed -n "s|^$1 ||p" "$SCRATCH/metrics"; } # name{labels}
of() { value "ceems_rdma_$3{manager=\"slurm\",hostname=\"vm\",device=\"$2\",port=\"$4\",uuid=\"$1\"}"; }
held() { # job device: queue pairs, completion queues and their entries, memory regions and their bytes
	scrape && echo "$(of "$1" "$2" qps_active 1)" "$(of "$1" "$2" cqs_active '')" "$(of "$1" "$2" cqe_len_active '')" \
		"$(of "$1" "$2" mrs_active '')" "$(of "$1" "$2" mrs_len_active '')" | xargs
}
holds() { # job device what: that is what it has
	[ "$(held "$1" "$2")" = "$3" ]
}
shown_all() { # device resource: with units, others and the kernel
	sed -n "s|^ceems_rdma_resources{hostname=\"vm\",device=\"$1\",resource=\"$2\",owner=\"[a-z]*\"} ||p" "$SCRATCH/metrics" | awk "{ n += \$1 } END { print n + 0 }"
}
told() { rdma resource show "$1" | sed -n "s/.* $2 \([0-9]*\) .*/\1/p"; }
cp /bin/bash "$SCRATCH/slurmstepd"
as_task() { # job command...: it runs below the step's slurmstepd
	local group=$scope/job_$1/step_0
	shift
	inside "$group/slurm" "$SCRATCH/slurmstepd" -c '(echo "$BASHPID" >"$0/cgroup.procs" && exec "$@") & wait' \
		"$group/user/task_0" "$@" >/dev/null 2>&1 &
}
pingpong() { # job device gid port program: a server and a client that talk for ever
	as_task "$1" "$5" -d "$2" -g "$3" -p "$4" -n 2000000000
	wait_for 60 eval "ss -Htln 'sport = :$4' | grep -q ."
	as_task "$1" "$5" -d "$2" -g "$3" -p "$4" -n 2000000000 127.0.0.1
}
programs_end() { # job: kills them
	local pid
	for pid in $(cat "$scope/job_$1/step_0/user/task_0/cgroup.procs"); do kill -KILL "$pid"; done
}
gid() { # device address: the index of its RoCE v2 address
	local i
	for i in 0 1 2 3 4 5; do
		grep -q "$2" "/sys/class/infiniband/$1/ports/1/gids/$i" && echo "$i" && return
	done
	return 1
}

ip addr add 10.7.7.1/24 dev dummy0 && ip link set dummy0 up
ok "there are two devices" eval 'rdma link add rxe0 type rxe netdev dummy0 && rdma link add rxe1 type rxe netdev lo'
wait_for 60 eval 'gid rxe0 ffff:0a07:0701 && gid rxe1 ffff:7f00:0001' >/dev/null
step_make 1
step_make 2
pingpong 1 rxe0 "$(gid rxe0 ffff:0a07:0701)" 18515 ibv_rc_pingpong
pingpong 2 rxe1 "$(gid rxe1 ffff:7f00:0001)" 18516 ibv_uc_pingpong
ibv_rc_pingpong -d rxe0 -g "$(gid rxe0 ffff:0a07:0701)" -p 18517 >/dev/null 2>&1 & # of no unit
nobodys=$!
wait_for 60 eval 'ss -Htln "sport = :18517" | grep -q .'

"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm --collector.rdma.stats \
	--unit.linger=10m --unit.min-export=0 >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 60 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
like "without root and filtered" "$(cat "$SCRATCH/ceemsd.log")" 'system calls are filtered'
is "it is not root any more" "$(awk '/^Uid:/ { print ($2 > 0) }' "/proc/$daemon/status") $(awk '/^CapEff:/ { print $2 }' "/proc/$daemon/status")" "1 0000000000000000"
entries=$(rdma resource show cq | sed -n "s/.* cqe \([0-9]*\) .* pid $nobodys .*/\1/p")
both=$((2 * entries))
ok "what a unit holds of the first device is shown" wait_for 60 holds 1 rxe0 "2 2 $both 2 8192" || held 1 rxe0 | sed 's/^/# /'
ok "and what another holds of the second one" wait_for 60 holds 2 rxe1 "2 2 $both 2 8192" || held 2 rxe1 | sed 's/^/# /'
is "each of its own device alone" "$(held 1 rxe1)$(held 2 rxe0)" ""
for d in rxe0 rxe1; do
	is "with all other holders it is what the rdma command counts on $d" \
		"$(shown_all $d qp) $(shown_all $d cq) $(shown_all $d mr)" "$(told $d qp) $(told $d cq) $(told $d mr)"
done
is "the program outside of units is another's" "$(value 'ceems_rdma_resources{hostname="vm",device="rxe0",resource="mr",owner="other"}')" 1
is "the ports are active" "$(value 'ceems_rdma_state_id{manager="slurm",hostname="vm",device="rxe0",port="1"}')" 4
packets() { value 'ceems_rdma_port_packets_transmitted_total{manager="slurm",hostname="vm",device="rxe0",port="1"}'; }
first=$(packets)
more_packets() { scrape && [ "$(packets)" -gt "$1" ]; }
ok "and what they send grows" wait_for 60 more_packets "${first:-0}"

# programs end, then a device goes, then the module
programs_end 2
ok "a unit whose programs have ended holds nothing" wait_for 60 holds 2 rxe1 ""
ok "a device is taken away" rdma link delete rxe1
ok "its series go" wait_for 60 eval 'scrape && ! grep -q rxe1 "$SCRATCH/metrics"'
ok "those of the other stay" wait_for 60 holds 1 rxe0 "2 2 $both 2 8192"
programs_end 1
kill "$nobodys"
wait "$nobodys"
wait_for 60 holds 1 rxe0 ""
modules_gone() { # not while ceemsd asks
	rmmod rdma_rxe ib_uverbs ib_core 2>/dev/null
	[ ! -d /sys/module/ib_core ]
}
ok "the modules are taken away" eval 'rdma link delete rxe0 && wait_for 60 modules_gone'
ok "there are no series of it" wait_for 60 eval 'scrape && ! grep -q "^ceems_rdma_[a-z_]*{.*rxe" "$SCRATCH/metrics"'
is "and the daemon goes on" "$(grep -c '^ceems_cpu_count' "$SCRATCH/metrics")" 1
grep -i rdma "$SCRATCH/ceemsd.log" | sed 's/^/# /'
kill "$daemon"
wait "$daemon"
is "it ends well" $? 0
tap_done
