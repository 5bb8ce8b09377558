#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ways to RAPL without being root: a site's ACL, CAP_DAC_READ_SEARCH, perf events with
# CAP_PERFMON; and what is opened as root goes on when root is given up. The files are a
# recorded tree; the perf events are real ones of this kernel (its CPU clock of CPU 0, whose
# nanoseconds the tree calls nanojoules: 1 W), since no RAPL is here.
. "$(dirname "$0")/../tap.sh"

have_root || skip_all "needs root: it becomes another user, with and without capabilities"
command -v setpriv >/dev/null || skip_all "setpriv is not installed"
chmod 0755 "$SCRATCH"
user=65534

tree() { # name: a powercap tree for root only
	sys=$SCRATCH/$1
	cp -a test/fixture/rapl_intel2/sys "$sys"
	chmod 0400 "$sys"/class/powercap/*/energy_uj
	zone=$sys/class/powercap/intel-rapl:0
}
pmu() { # name: a tree with the PMU only
	local d=$SCRATCH/$1/bus/event_source/devices/power
	sys=$SCRATCH/$1
	mkdir -p "$d/events"
	echo 1 >"$d/type" # PERF_TYPE_SOFTWARE
	echo 0 >"$d/cpumask"
	echo event=0x00 >"$d/events/energy-pkg" # PERF_COUNT_SW_CPU_CLOCK
	echo 1e-9 >"$d/events/energy-pkg.scale"
}
n=0
daemon() { # command...: run before ceemsd; $pid, $log, $url
	local port
	port=$(free_port) || exit 1
	n=$((n + 1)) log=$SCRATCH/log.$n url=http://127.0.0.1:$port
	mkdir "$SCRATCH/run.$n" && chown $user "$SCRATCH/run.$n"
	"$@" "$BUILD/ceemsd" --path.sysfs="$sys" --path.rundir="$SCRATCH/run.$n" --web.listen-address="127.0.0.1:$port" \
		--energy.interval=100ms >"$log" 2>&1 </dev/null &
	pid=$!
	started $pid
	wait_for 20 curl -sf -o "$SCRATCH/body" "$url/metrics" || sed 's/^/# /' "$log"
}
other=(setpriv --reuid=$user --regid=$user --clear-groups)
package() {
	curl -sf -m 20 -o "$SCRATCH/body" "$url/metrics"
	sed -n 's/^ceems_rapl_package_joules_total{.*index="0".*} //p' "$SCRATCH/body"
}
is_package() { [ "$(package)" = "$1" ]; }
grows() { awk -v a="$(package)" -v b="$1" 'BEGIN { exit !(a > b) }'; }
# what a counter did in the meantime is in the metric
counts() { # what
	wait_for 20 is_package 0
	echo $((258218293244 + 1500000)) >"$zone/energy_uj"
	ok "$1" wait_for 20 is_package 1.5
}
nothing_left() {
	is "$1" "$(sed -n 's/^Cap\(Prm\|Eff\|Amb\):\t0*//p' "/proc/$pid/status" | tr -d '\n') $(sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$pid/status")" " $user"
}
stop() { kill $pid && wait $pid; }

tree none
daemon "${other[@]}" --inh-caps=-all
ok "without any right it is said which would help" grep -q 'energy_uj: Permission denied: start ceemsd as root or with CAP_DAC_READ_SEARCH' "$log"
is "and there is no series" "$(package)" ""
stop

if command -v setfacl >/dev/null && tree acl && setfacl -m u:$user:r "$sys"/class/powercap/*/energy_uj 2>/dev/null; then
	daemon "${other[@]}" --inh-caps=-all
	counts "a site's ACL is enough"
	stop
else
	skip "a site's ACL is enough" "setfacl is not installed, or the file system has no ACLs"
fi

tree cap
daemon "${other[@]}" --inh-caps=+dac_read_search --ambient-caps=+dac_read_search
counts "CAP_DAC_READ_SEARCH at start is enough"
nothing_left "and it is given up"
stop

pmu perf
if [ "$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 9)" -ge 1 ]; then
	daemon "${other[@]}" --inh-caps=-all
	ok "perf without any right: it is said which would help" grep -q 'events/energy-pkg: perf_event_open: .*: start ceemsd as root or with CAP_PERFMON' "$log"
	stop
else
	skip "perf without any right: it is said which would help" "kernel.perf_event_paranoid lets everybody count here"
fi
probe() { # command...: may it open such an event? (the daemon says so)
	daemon "$@"
	grep -q 'energy source rapl: .*perf_event_open' "$log" || return 0
	why=$(grep -o 'perf_event_open: [^:]*' "$log" | head -1)
	stop
	return 1
}
for how in "CAP_PERFMON" "root, given up afterwards"; do
	case $how in
	CAP_*) start=("${other[@]}" --inh-caps=+perfmon --ambient-caps=+perfmon) ;;
	*) start=(env) ;;
	esac
	if probe "${start[@]}"; then
		ok "perf events by $how: they count" wait_for 20 grows 0.2
		first=$(package)
		ok "and go on" wait_for 20 grows "$first"
		like "under powercap's names" "$(grep '^ceems_rapl_package' "$SCRATCH/body")" 'index="0",path="[^"]*/bus/event_source/devices/power/events/energy-pkg"'
		nothing_left "with no right left"
		stop
	else
		skip "perf events by $how" "this kernel: $why"
	fi
done
tap_done
