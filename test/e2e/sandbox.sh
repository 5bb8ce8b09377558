#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd with every collector, the courier as its child and the courier alone under their own
# filter of system calls: all threads have it, and they do what they did without.
. "$(dirname "$0")/../tap.sh"

mkdir "$SCRATCH/cgroup" && chmod 755 "$SCRATCH"
if have_root; then as=(--security.run-as-user=nobody); else as=(); fi
port=$(free_port) || exit 1
# daemon NAME ARGUMENT...: $pid
daemon() {
	local name=$1
	shift
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/$name" --path.cgroupfs="$SCRATCH/cgroup" \
		--web.listen-address="127.0.0.1:$port" "${as[@]}" "$@" >"$SCRATCH/log.$name" 2>&1 </dev/null &
	pid=$!
	started $pid
	wait_for 20 curl -sf -o "$SCRATCH/body" "http://127.0.0.1:$port/metrics" || sed 's/^/# /' "$SCRATCH/log.$name"
}
modes() { cat /proc/$1/task/*/status 2>/dev/null | sed -n 's/^Seccomp:\t//p' | sort -u | tr -d '\n'; }
filters() { sed -n 's/^Seccomp_filters:\t//p' "/proc/$1/status"; }
active() { sed -n "s/^$1_sandbox_active{kind=\"seccomp\"} //p" "$SCRATCH/body"; }
end() { kill $1 && wait $1; }

daemon off --no-security.seccomp
off=$(active ceems_exporter) without=$(filters $pid)
end $pid

# what of a machine is missing here turns a collector off and no more
daemon on --collector.cray_pm_counters --collector.hwmon --collector.infiniband --collector.ipmi_dcmi --collector.netdev \
	--collector.slurm --collector.emissions --collector.emissions.provider=owid --reports.enabled --reports.spool="$SCRATCH/spool" \
	--aggregator.url="http://127.0.0.1:1" --energy.interval=100ms
grep -q 'not filtered: this kernel has no filters' "$SCRATCH/log.on" && skip_all "this kernel or what runs the test has no filters of system calls"
ok "it can be switched off, and says so" grep -q 'system calls are not filtered (--security.seccomp' "$SCRATCH/log.off"
is "in its metrics too" "$off" 0
ok "it says that they are filtered" grep -q 'system calls are filtered' "$SCRATCH/log.on"
is "and so do its metrics" "$(active ceems_exporter)" 1
is "all threads have a filter" "$(modes $pid)" 2
if [ -n "$without" ]; then
	is "its own ones, beside those that it was started with" "$(($(filters $pid) - without))" 2
else
	skip "its own ones, beside those that it was started with" "this kernel does not count them (before 5.9)"
fi
courier() { courier=$(pgrep -P $pid -f ceems-courier) && [ "$(modes "$courier")" = 2 ]; }
ok "what it starts inherits them" wait_for 20 courier
for i in 1 2 3; do curl -sf -o "$SCRATCH/body" "http://127.0.0.1:$port/metrics"; done
ok "collectors go on" grep -q '^ceems_scrape_collector_success{collector="netdev"} 1' "$SCRATCH/body"
kill -HUP $pid
ok "it is reloaded" wait_for 20 grep -q 'reload: done' "$SCRATCH/log.on"
end $pid
is "and ends well" $? 0
is "nothing was refused that it wants" "$(grep -i 'Operation not permitted' "$SCRATCH/log.on")" ""

if [ -x "$BUILD/ceems-courier" ]; then
	mkdir "$SCRATCH/jobs" && chmod 700 "$SCRATCH/jobs"
	"$BUILD/ceems-courier" --aggregator.url=http://127.0.0.1:1 --ship.spool="$SCRATCH/jobs" >"$SCRATCH/log.courier" 2>&1 </dev/null &
	pid=$!
	started $pid
	filtered() { grep -q 'system calls are filtered' "$SCRATCH/log.courier" && [ "$(modes $pid)" = 2 ]; }
	ok "a courier of its own has its own" wait_for 20 filtered || sed 's/^/# /' "$SCRATCH/log.courier"
	end $pid
else
	skip "a courier of its own has its own" "ceems-courier was not built here"
fi
tap_done
