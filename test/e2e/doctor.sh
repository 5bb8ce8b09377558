#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ceems_tool doctor on a real ceemsd whose records go to a server that takes them (ingest_host), and
# each fault on the way from a job to its record: found, named, with what to do about it.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../pki.sh"

tool=$BUILD/ceems_tool
[ -x "$BUILD/ceems-courier" ] && [ -x "$BUILD/ingest_host" ] || skip_all "ceems-courier or ingest_host is not built"
"$tool" doctor --json 2>&1 | grep -q '^{"findings"' || skip_all "ceems_tool was not built with its libraries"
command -v jq >/dev/null && command -v openssl >/dev/null || skip_all "jq or openssl is not installed"
unset SLURM_CONF
here=$PWD
cd "$SCRATCH" || exit 1
chmod 755 .

# --- machines that are not this one
mkdir -p proc/sys/kernel sys/kernel/security sys/bus/event_source/devices/cpu v2 run0
echo 4 >proc/sys/kernel/perf_event_paranoid
echo 'none integrity [confidentiality]' >sys/kernel/security/lockdown
echo 'cpuset cpu io pids' >v2/cgroup.controllers
machine() { "$tool" doctor --json --path.procfs=proc --path.sysfs=sys --path.cgroupfs=v2 --path.rundir=run0 --config.file=none.yaml --slurm-conf="$here/test/fixture/slurm-conf/good/slurm.conf"; }
said() { jq -r --arg w "$1" '.findings[] | select(.what | test($w)) | "\(.section) \(.level)"' out; }
machine >out
is "a node where nothing runs is wrong" $? 2
is "the output is one JSON object that agrees with its own sums" \
	"$(jq '([.findings[] | select(.level == "fail")] | length) == .fail and ([.findings[] | select(.level == "warn")] | length) == .warn' out)" true
is "no finding but the good ones is without advice" "$(jq '[.findings[] | select(.level != "ok" and .todo == null)] | length' out)" 0
is "a kernel without type information" "$(said 'no type information')" "kernel warn"
is "a kernel without the memory controller" "$(said 'no memory controller')" "kernel fail"
is "Debian's perf_event_paranoid, and hardware events" "$(said 'hardware events by cpu; perf_event_paranoid is 4, so that ceems-opener keeps CAP_SYS_ADMIN')" "kernel ok"
mkdir -p sys/kernel/btf && : >sys/kernel/btf/vmlinux
echo 'cpu memory' >v2/cgroup.controllers
machine >out
is "a kernel that is locked down for confidentiality" "$(said 'locked down for confidentiality')" "kernel warn"
is "both controllers" "$(said 'controller')" ""
"$tool" doctor --path.procfs=/none --path.cgroupfs=/none --path.rundir=/none >out
is "paths that are not there" "$? $(grep -c '^fail: /none: ' out)" "2 1"
printf 'collector: {libvirt: true, k8s: true}\n' >guests.yaml
mkdir proc/7 && echo '7 (ceems-k8s) S 1 7' >proc/7/stat
"$tool" doctor --json --path.procfs=proc --path.rundir=run0 --config.file=guests.yaml >out
is "a host of virtual machines of which nobody tells, and of pods of which somebody does" "$(said 'ceems-(libvirt is not|k8s is) running')" $'ceemsd fail\nceemsd ok'
"$tool" doctor --jsn 2>err
is "an unknown option" "$? $(grep -c 'unknown option: --jsn' err)" "3 1"

# --- a node that works
pki_ca ca && pki_cert node ca clientAuth DNS:localhost && pki_expired old ca clientAuth DNS:localhost || exit 1
(umask 077; echo s3cret-token >token)
chmod 640 token
have_root && { chgrp ceems token 2>/dev/null || chgrp "$(id -gn nobody)" token; }
mkfifo in
"$BUILD/ingest_host" --token s3cret-token --control "$SCRATCH/control" --log "$SCRATCH/log" <in >ready 2>&1 &
started $!
exec {IN}>in
wait_for 10 grep -q ^ready ready || exit 1
host=http://127.0.0.1:$(sed -n 's/^ready //p' ready)
cat >ceemsd.yaml <<END
collector:
  disable-defaults: true
  courier: true
  model: true
  energy: true
  ring: true
  slurm.nodes: [none-here]
path.rundir: $SCRATCH/run
reports:
  spool: $SCRATCH/spool
  interval: 1h
energy.model: host
aggregator:
  url: ["$host"]
  token-file: $SCRATCH/token
END
run() {
	local i
	for i in 1 2 3; do
		port=$(free_port) || exit 1
		"$BUILD/ceemsd" --config.file=ceemsd.yaml --web.listen-address="127.0.0.1:$port" >>ceemsd.log 2>&1 </dev/null &
		pid=$!
		started $pid
		wait_for 20 eval 'curl -sf -m 20 -o body "http://127.0.0.1:$port/metrics" || ! kill -0 $pid'
		kill -0 $pid && return
	done
	sed 's/^/# /' ceemsd.log
	return 1
}
doctor() { "${WITH[@]}" "$tool" doctor --json --config.file=ceemsd.yaml --path.rundir="$SCRATCH/run" >out; }
finds() { doctor; [ "$(said "$1")" = "$2" ]; }
# by_root CHECK WHAT ...: a ring that is not root's is refused
by_root() { if have_root; then "$@"; else skip "$2" "needs root: a ring of another user is refused"; fi; }
WITH=()
# faketime below faketime counts from the right time again
no_faketime=
command -v faketime >/dev/null || no_faketime="faketime is not installed"
[ -z "${FAKETIME:-}" ] || no_faketime="the whole test runs below faketime"
ok "ceemsd starts" run
ok "the doctor finds its courier" wait_for 20 finds 'ceems-courier is running' "ceemsd ok"
ok "and its energy" wait_for 20 finds 'energy of host: by model \(an estimate\), [0-9.]+ W now, read 0 s ago' "ceemsd ok"
is "findings come in the order of a record's way" "$(jq -r '[.findings[].section] | reduce .[] as $s ([]; if .[-1] == $s then . else . + [$s] end) | join(" ")' out)" "kernel slurm ceemsd records"
is "nothing of ceemsd's and of the records is wrong" "$(jq -r '.findings[] | select((.section == "ceemsd" or .section == "records") and .level != "ok") | .what' out)" ""
by_root is "the ring is read" "$(said 'ceemsd is reading it')" "slurm ok"
is "the aggregator answers" "$(said '/health: it answers')" "records ok"
is "its clock agrees" "$(said 'its clock agrees with ours')" "records ok"
if [ -z "$no_faketime" ]; then
	WITH=(faketime -f +3600s)
	doctor
	like "a clock that is an hour off" "$(jq -r '.findings[] | select(.what | test("differ by")) | "\(.level) \(.what)"' out)" '^warn .*differ by -?36[0-9][0-9] s'
	WITH=()
else
	skip "a clock that is an hour off" "$no_faketime"
fi

# --- what a node health check runs, which knows one good status
mkdir bin
printf '#!/bin/sh\nexec "%s" "$@" --config.file=ceemsd.yaml --path.rundir="%s"\n' "$tool" "$SCRATCH/run" >bin/ceems_tool
chmod 755 bin/ceems_tool
nhc=$(sed -n 's/^ *\* || check_cmd_status -t [0-9]* -r 0 //p' "$here/doc/install.md")
health() { PATH=$SCRATCH/bin:$PATH bash -c "$nhc" >nhc.out; echo $?; }
by_root is "a node that works is well for NHC, whatever there is to look at" "$(health) $(grep -c 'wrong$' nhc.out)" "0 1"

# --- and each fault
cp ceemsd.yaml good.yaml
echo 'collector.perf: true' >>ceemsd.yaml
doctor
is "an opener that should be there" "$(said 'ceems-opener is not running: nothing is counted')" "ceemsd fail"
cp good.yaml ceemsd.yaml
printf '  cert-file: %s\n  key-file: %s\n  ca-file: %s\n' "$SCRATCH/node.pem" "$SCRATCH/node.key" "$SCRATCH/none.pem" >>ceemsd.yaml
doctor
is "a CA file that is not there" "$(said "the aggregator's CA: .*none.pem")" "records fail"
is "a certificate that ends tomorrow" "$(said 'our certificate: .*node.pem is valid for 1 more days')" "records warn"
sed -i "s,none.pem,ca.pem,; s,node.pem,old.pem," ceemsd.yaml
doctor
is "one that has expired" "$(said 'our certificate: .*old.pem has expired')" "records fail"
advice() { jq -r --arg w "$1" '.findings[] | select(.level == "fail" and (.what | test($w))) | .todo' out; }
sed "s#url: .*#url: [\"${host/http/https}\", \"http://ceems.invalid:9020\"]#" good.yaml >ceemsd.yaml
doctor
like "an aggregator whose certificate is refused" "$(advice 'GET https://127')" 'aggregator.ca-file verifies'
like "one whose name nobody knows" "$(advice 'GET http://ceems.invalid')" 'aggregator.url, or what resolves names'
cp good.yaml ceemsd.yaml
chmod g+w ceemsd.yaml && mkdir ceemsd.d && chmod 777 ceemsd.d
doctor
is "a configuration that others can write, and its drop-ins" "$(said 'ceemsd.(yaml|d): mode 0[67][67][47]: others than root can change')" $'ceemsd fail\nceemsd fail'
rmdir ceemsd.d && chmod 644 ceemsd.yaml
doctor
is "one that they cannot" "$(said 'others than root')" ""
mv spool moved
doctor
is "a spool that is gone" "$(said 'spool: open .*No such file')" "records fail"
rm -rf spool && mv moved spool
if have_root && unshare --mount true 2>/dev/null; then
	WITH=(unshare --mount bash -c 'mount -t tmpfs -o size=16k,mode=755 full "$0" && exec "$@"' "$SCRATCH/spool")
	doctor
	is "a spool whose disk is full" "$(said 'spool: [0-9]+ KiB are left on the disk: no report is stored')" "records fail"
	WITH=()
else
	skip "a spool whose disk is full" "needs root and a mount namespace"
fi
echo 'status 503' >control
"$BUILD/unit_source" --ring="$SCRATCH/run/ring" --count=5 --first-id=1 >/dev/null
ok "an aggregator that refuses: records wait" wait_for 20 finds 'spool: [1-9][0-9]* records wait' "records ok"
if [ -z "$no_faketime" ]; then
	WITH=(faketime -f +5h)
	doctor
	is "for hours: that is wrong" "$(said 'records wait, the oldest for 1[78][0-9]{3} s')" "records fail"
	WITH=()
else
	skip "for hours: that is wrong" "$no_faketime"
fi
kill -STOP "$pid"
pkill_courier=$(pgrep -P "$pid" -f ceems-courier) && kill -9 "$pkill_courier"
ok "a courier that is gone" wait_for 20 finds 'ceems-courier is not running: records stay in the spool' "ceemsd fail"
by_root ok "a daemon that hangs" wait_for 20 finds 'ceemsd last looked [0-9]+ s ago' "slurm fail"
kill -CONT "$pid"
kill -9 "$pid"
ok "a daemon that is dead" wait_for 20 finds 'ceemsd is not running|no process ceemsd has the ring' "ceemsd fail"
is "a node that does not is not" "$(health)" 1
rm run/units
echo 'wrong: 1' >>ceemsd.yaml
doctor
is "a table that is gone" "$(said 'there is no table of units')" "ceemsd fail"
like "a configuration that ceemsd refuses" "$(jq -r '.findings[] | select(.section == "ceemsd" and .level == "fail") | .what' out)" 'wrong'
is "its secrets are not shown" "$(grep -c s3cret out)" 0
tap_done
