#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceemsd and energy sensors of files: counters that only root may read are still read after
# root was given up, and a fault of one is logged and affects no other.
. "$(dirname "$0")/../tap.sh"

have_root || skip_all "needs root: the counters are files of root alone, opened before root is given up"
sys=$SCRATCH/sys
cp -a test/fixture/rapl_intel2/sys "$sys"
zone=$sys/class/powercap/intel-rapl:0
chmod 0400 "$sys"/class/powercap/*/energy_uj
chmod 0755 "$SCRATCH" # the daemon's user comes by here
port=$(free_port) || exit 1
url=http://127.0.0.1:$port

scrape() { curl -sf -m 20 -o "$SCRATCH/body" "$url/metrics"; }
value() { scrape && sed -n "s|^$1{.*$2.*} ||p" "$SCRATCH/body"; }
package() { value ceems_rapl_package_joules_total 'intel-rapl:0"'; }
is_package() { [ "$(package)" = "$1" ]; }
said() { grep -q -- "$1" "$SCRATCH/log"; }
# what the kernel does: the same file has another text
# in place, all of one length: a reading never meets an empty file
reads() { printf '%s\n' "$1" 1<>"$zone/energy_uj"; }

mkdir -p "$sys/class/hwmon/hwmon0"
echo slowpoke >"$sys/class/hwmon/hwmon0/name"
echo 5000000 >"$sys/class/hwmon/hwmon0/power1_input"

"$BUILD/ceemsd" --path.sysfs="$sys" --path.rundir="$SCRATCH/run" --web.listen-address="127.0.0.1:$port" \
	--collector.hwmon --collector.cray_pm_counters --energy.interval=100ms >"$SCRATCH/log" 2>&1 </dev/null &
pid=$!
started $pid
ok "starts" wait_for 20 scrape
is "the first scrape has the first reading" "$(package)" 0
if have_root; then
	like "root is given up" "$(grep '^Uid:' "/proc/$pid/status")" $'^Uid:\t[1-9]'
else
	skip "root is given up" "not root"
fi
reads $((258218293244 + 1500000))
ok "counts what the counter does, though its file is root's alone" wait_for 20 is_package 1.5
reads 258219793000
ok "a fall that no wrap explains is a reset" wait_for 20 \
	eval 'is_package 1.5 && grep -q "^ceems_energy_source_resets_total{source=\"rapl\"} 1$" "$SCRATCH/body"'
reads $((258219793000 + 250000))
ok "and it goes on from there" wait_for 20 is_package 1.75
is "limits are there" "$(value ceems_rapl_package_power_limit_watts_total 'intel-rapl:0"')" 180
is "the hwmon sensor is there" "$(value ceems_hwmon_power_current_watts power1)" 5
ok "the age of each source is there" grep -q '^ceems_energy_source_age_seconds{source="hwmon"} ' "$SCRATCH/body"
ok "says that there is no Cray here" said "energy source cray_pm_counters: not on this machine"
ok "and has no series of it" test -z "$(grep cray "$SCRATCH/body")"
is "each present source succeeds" \
	"$(grep -cE '^ceems_scrape_collector_success\{collector="(rapl|hwmon)"\} 1$' "$SCRATCH/body")" 2

: >"$zone/energy_uj"
ok "a file that went empty is named" wait_for 20 said "intel-rapl:0/energy_uj: No data available"
is "its joules stand still" "$(package)" 1.75
is "the other socket goes on" "$(value ceems_rapl_package_joules_total 'intel-rapl:1"')" 0

kill -TERM $pid
ok "ends when told to" wait_for 20 is_gone $pid
wait $pid
is "with status 0" $? 0
tap_done
