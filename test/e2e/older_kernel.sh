#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --check-config says what the kernel will refuse to each program, or why it cannot; on a kernel
# without Landlock or filters (test/fake/older_kernel.c) they start with a warning and serve.
. "$(dirname "$0")/../tap.sh"
command -v curl >/dev/null || skip_all "curl is not installed"
"$BUILD/older_kernel" landlock true || skip_all "this kernel or what runs the test has no filters of system calls"
cd "$SCRATCH" || exit 1
chmod 755 .
mkdir cgroup
if have_root; then as=(--security.run-as-user=nobody); else as=(); fi
LANDLOCK='warning: files will not be fenced: this kernel has no Landlock'
SECCOMP='warning: system calls will not be filtered: this kernel has no filters'

# a file for those that want one
printf 'ceems_lb:\n  backends: [{id: one, tsdb: [{web: {url: "http://127.0.0.1:1"}}]}]\n' >ceems_lb.yaml
printf 'redfish_proxy:\n  targets: [{url: "http://127.0.0.1:1", host_ip_addrs: [127.0.0.2]}]\n' >redfish_proxy.yaml
printf '{}\n' >ceemsd.yaml
cp ceemsd.yaml ceems_aggregator.yaml
cp ceemsd.yaml ceems-courier.yaml
chmod 600 *.yaml
checked() { "$@" --check-config --config.file="$(basename "$program").yaml" 2>&1; }
good() { grep -q 'configuration is' <<<"$1"; } # whatever the sentence
for name in ceemsd ceems_aggregator ceems_lb redfish_proxy ceems-courier; do
	program=$BUILD/$name
	[ -x "$program" ] || { skip "--check-config of $name" "not built here"; continue; }
	out=$(checked "$program")
	like "$name says what it will have filtered, or not" "$out" 'system calls will (not )?be filtered'
	like "$name says that it is switched off" "$(checked "$program" --security.seccomp=false)" 'system calls will not be filtered .--security.seccomp'
	out=$(checked "$BUILD/older_kernel" seccomp "$program")
	like "$name says that the kernel has none" "$out" "$SECCOMP"
	ok "which is no mistake of $name's configuration" good "$out"
done
for name in ceems_lb redfish_proxy; do
	program=$BUILD/$name
	[ -x "$program" ] || { skip "--check-config of $name, files" "not built here"; continue; }
	like "$name says which files, or not" "$(checked "$program")" 'files will (not )?be fenced'
	like "$name says that they are not, when told so" "$(checked "$program" --security.landlock=false)" 'files will not be fenced .--security.landlock'
	like "$name says that there is no Landlock" "$(checked "$BUILD/older_kernel" landlock "$program")" "$LANDLOCK"
done

# starts WHAT PROGRAM ARGUMENT...: on a kernel without it, $pid, $log, $port
starts() {
	local without=$1 program=$2
	shift 2
	log=$SCRATCH/$program.$without.log
	"$BUILD/older_kernel" "$without" "$BUILD/$program" --web.listen-address="127.0.0.1:$port" "${as[@]}" "$@" 2>"$log" </dev/null &
	pid=$!
	started $pid
	wait_for 60 grep -q 'msg="*ready' "$log" || sed 's/^/# /' "$log"
	[ "$port" != 0 ] || port=$(sed -n 's/.*serves .*on port \([0-9]*\).*/\1/p' "$log" | head -1)
}
active() { curl -s -m 60 "http://127.0.0.1:$port/metrics" | sed -n "s/^ceems_$1_sandbox_active{kind=\"$2\"} //p"; }
if [ -x "$BUILD/redfish_proxy" ]; then
	for without in landlock seccomp; do
		port=0
		starts $without redfish_proxy
		is "redfish_proxy serves without $without" "$(active redfish_proxy $without)" 0
		ok "and has warned of it" grep -qE 'level=warn.*(files are not fenced|system calls are not filtered): this kernel has no' "$log"
		kill $pid
		wait $pid
		is "and ends well without $without" $? 0
	done
else
	skip "redfish_proxy without Landlock" "not built here"
fi
port=$(free_port) || exit 1
starts seccomp ceemsd --path.rundir="$SCRATCH/run" --path.cgroupfs="$SCRATCH/cgroup"
is "ceemsd serves without filters" "$(active exporter seccomp)" 0
ok "and has warned" grep -q 'level=warn.*system calls are not filtered: this kernel has no' "$log"
kill $pid
wait $pid
is "and ends well" $? 0
tap_done
