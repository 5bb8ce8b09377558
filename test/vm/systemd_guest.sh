#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The guest's part of test/e2e/vm_systemd.sh: what make install has put into the folder $1, as
# services of a real systemd with all that their units forbid.
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/vm/init.sh"
cp -a "$1/usr/." /usr/ && cp -a "$1/etc/." /etc/ || exit 1
systemd-sysusers /usr/lib/sysusers.d/ceems.conf
mkdir -p /var/spool/ceems /var/lib/ceems
# as shipped it sends nothing and ends: an aggregator, and the spool of a slurmctld
printf 'aggregator:\n  url: [http://127.0.0.1:9020]\nship.spool:\n  - /var/spool/ceems/jobcomp\n' >/etc/ceems/ceems-courier.yaml
[ ! -x /usr/sbin/ceems-opener ] || echo 'collector.ebpf: true' >>/etc/ceems/ceemsd.yaml
[ ! -x /usr/sbin/ceems-profiler ] || printf 'profiling.policy: allow\nprofiles.spool: /var/spool/ceems/profiles\ndebuginfod.url: [http://127.0.0.1:1]\n' >>/etc/ceems/ceemsd.yaml
getent passwd slurm >/dev/null || useradd -r slurm
systemd-tmpfiles --create /usr/lib/tmpfiles.d/ceems.conf /usr/lib/tmpfiles.d/ceems-jobcomp.conf
init_prepare
for s in ceemsd ceems_aggregator ceems-courier redfish_proxy; do
	mkdir -p "$units/$s.service.d"
	printf '[Service]\nStandardOutput=append:/var/log/ceems/%s\nStandardError=append:/var/log/ceems/%s\n' $s $s >"$units/$s.service.d/log.conf"
done
init_start
state() { inside systemctl show -P "$2" "$1.service"; }
get() { # port path: status, then body
	local line
	exec 5<>"/dev/tcp/127.0.0.1/$1" || return
	printf 'GET %s HTTP/1.0\r\nHost: vm\r\n\r\n' "$2" >&5
	read -r line <&5
	echo "$line" | cut -d' ' -f2
	exec 5>&-
}
answers() { [ "$(get "$1" "$2" 2>/dev/null)" = "$3" ]; }
show() { tail -n 15 "/var/log/ceems/$1" | sed 's/^/# /'; inside systemctl status --no-pager "$1" 2>&1 | head -12 | sed 's/^/# /'; }

for s in ceemsd ceems_aggregator ceems-courier redfish_proxy; do
	inside systemctl start "$s" || show "$s"
	is "$s starts as it is packaged, and says that it is ready" "$(state "$s" ActiveState) $(state "$s" SubState)" "active running"
	case $s in ceemsd) user=ceems ;; ceems-courier) user=slurm ;; ceems_aggregator) user=ceems-aggregator ;; redfish_proxy) user=ceems-redfish ;; esac
	is "$s runs as $user, without a capability" "$(inside awk '/^Uid:/ { u = $3 } /^CapEff:/ { c = $2 } END { print u, c }' "/proc/$(state "$s" MainPID)/status")" "$(id -u $user) 0000000000000000"
done
for s in ceemsd ceems_aggregator ceems-courier redfish_proxy; do
	ok "$s filters its own system calls inside its fence" grep -q 'system calls are filtered' "/var/log/ceems/$s"
done
if [ -x /usr/sbin/ceems-opener ]; then
	ok "ceemsd has its kernel programs inside its fence" grep -q 'ebpf: the kernel follows the control groups' /var/log/ceems/ceemsd
fi
if [ -x /usr/sbin/ceems-profiler ]; then
	is "the folder for debug files is ceemsd's own" "$(stat -c '%U %a' /var/cache/ceems/debug)" "ceems 700"
fi
ok "ceemsd serves, to whom it should" wait_for 20 answers 9010 /metrics 401
ok "the aggregator has made its private database inside its fence, and serves" wait_for 200 answers 9020 /health 200 || show ceems_aggregator
answers_at_all() { [ -n "$(get 5000 / 2>/dev/null)" ]; }
ok "redfish_proxy serves" wait_for 20 answers_at_all
is "the ring is there for the plugins" "$(stat -c '%U %a' /run/ceems/ring)" "root 600"
inside systemctl reload ceemsd ceems_aggregator redfish_proxy
said() { grep -q 'reload' "/var/log/ceems/$1"; }
for s in ceemsd ceems_aggregator redfish_proxy; do
	ok "$s is reloaded" wait_for 20 said $s
	is "and runs on" "$(state $s ActiveState) $(state $s NRestarts)" "active 0"
done
for s in ceemsd ceems_aggregator ceems-courier redfish_proxy; do
	inside systemctl kill --signal=KILL --kill-whom=main "$s"
	restarted() { [ "$(state $s NRestarts) $(state $s SubState)" = "1 running" ]; }
	ok "$s is started again after kill -9" wait_for 100 restarted || show "$s"
done
if [ -x /usr/sbin/ceems-opener ]; then
	ok "ceemsd has the kernel programs that ran on meanwhile" wait_for 20 grep -q 'ebpf: the kernel has followed the control groups of steps since before this start' /var/log/ceems/ceemsd
fi
ok "the aggregator with the database that it left behind" wait_for 100 answers 9020 /health 200 || show ceems_aggregator
for s in redfish_proxy ceems-courier ceems_aggregator ceemsd; do
	inside systemctl stop "$s"
	is "$s ends well" "$(state $s Result) $(state $s ExecMainStatus) $(state $s ActiveState)" "success 0 inactive"
done
is "the private database has ended with it" "$(pgrep -x postgres | wc -l)" 0
is "the ring stays for the steps that run" "$(stat -c %U /run/ceems/ring)" root
is "nothing was refused that a program wants" "$(grep -hiE 'Operation not permitted|Permission denied|Bad system call' /var/log/ceems/c* /var/log/ceems/r* | grep -v 'rapl\|powercap\|perf' | head -5)" ""
for s in ceemsd ceems_aggregator ceems-courier redfish_proxy; do echo "# $(inside systemd-analyze security --no-pager $s.service 2>/dev/null | tail -1)"; done
tap_done
