# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced, after test/tap.sh, by tests with virtual machines of a real libvirtd (test/rig/libvirt), a real ceemsd and ceems-libvirt.
# In $SCRATCH; a libvirtd has a folder of its own there, and so has a ceemsd. All domains have $word in their names.
ceemsd=$BUILD/ceemsd lv=$BUILD/ceems-libvirt rig=$TOP/test/rig/libvirt word=ceemstest$$ rig_pids=()
libvirt_possible() { # or skips the whole test
	local why
	[ -x "$lv" ] || skip_all "ceems-libvirt was not built here (libvirt-dev, libxml2-dev)"
	[ -x "$ceemsd" ] || skip_all "ceemsd was not built here"
	why=$("$rig" possible) || skip_all "$why"
	cd "$SCRATCH" || exit 1
}
test_cleanup() {
	[ ${#rig_pids[@]} = 0 ] || kill9_all
	for _ in {1..50}; do
		[ -n "$(find /sys/fs/cgroup -type d -path "*/machine/*$word*" 2>/dev/null | head -1)" ] || break
		"$rig" clean "$word"
		sleep 0.1
	done
	"$rig" clean "$word"
}
kill9_all() { local pid; for pid in "${rig_pids[@]}"; do kill9 "$pid"; done; }
uri_of() { echo "qemu:///system?socket=$SCRATCH/$1/sock/libvirt-sock"; } # FOLDER
libvirtd_pid() { pgrep -f "^libvirtd -f $SCRATCH/$1/" | head -1; }      # FOLDER
virsh_at() { timeout 60 virsh -q -c "$(uri_of "$1")" "${@:2}"; }        # FOLDER COMMAND...
v() { virsh_at lv "$@"; }
libvirt_begin() { # FOLDER: a libvirtd that answers
	mkdir -p "$1"
	"$rig" run "$SCRATCH/$1" >"$1.log" 2>&1 </dev/null &
	rig_pids+=($!)
	started $!
	wait_for 60 virsh_at "$1" list || { tail -n 5 "$1.log" | sed 's/^/# /'; false; }
}

uuid() { printf '3f1d2c7a-0000-4000-8000-%012d' "$1"; }
# NUMBER NAME [DEVICES]: XML of a transient domain; without a disk its BIOS finds nothing to start, and waits
domain() {
	cat >"$1.xml" <<-END
		<domain type='qemu'><name>$2</name><uuid>$(uuid "$1")</uuid>
		<metadata><nova:instance xmlns:nova="http://openstack.org/xmlns/libvirt/nova/1.1"><nova:owner><nova:user uuid="u">root</nova:user></nova:owner></nova:instance></metadata>
		<maxMemory slots='2' unit='MiB'>512</maxMemory><memory unit='MiB'>64</memory><vcpu placement='static' current='1'>2</vcpu>
		<cpu><numa><cell id='0' cpus='0-1' memory='64' unit='MiB'/></numa></cpu><os><type arch='x86_64'>hvm</type></os><features><acpi/></features>
		<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
		<devices><emulator>$(command -v qemu-system-x86_64)</emulator>${3:-}</devices></domain>
	END
}
# FILE: a disk with a guest that reads, writes, sends and changes memory at each tick
guest_image() {
	as --32 -o guest.o "$TOP/test/rig/guest.S" && ld -m elf_i386 -Ttext=0x7c00 -e0x7c00 --oformat binary -o "$1" guest.o && truncate -s 1M "$1"
}
groups_of() { find /sys/fs/cgroup -mindepth 2 -maxdepth 3 -type d -path "*/machine/qemu-*$word*$1*"; }
# usage of a domain's group where the kernel counts CPU time for it; ceems-libvirt finds it by number, so do we
used_us() {
	local d
	d=$(groups_of "$1" | grep -E '/unified/|^/sys/fs/cgroup/machine/' | head -1)
	sed -n 's/^usage_usec //p' "$d/cpu.stat" 2>/dev/null
}
# what libvirt cannot do here is not ours to test
domains_have_groups() {
	local why
	domain 9 "$word-probe"
	why=$(v create 9.xml 2>&1) && [ -n "$(used_us probe)" ] || {
		skip "domains of a real libvirtd" "libvirt cannot start one here with a control group: $(tail -n1 <<<"$why")"
		tap_done
	}
	v destroy "$(uuid 9)"
}

ceemsd_begin() { # FOLDER [OPTIONS]: one with a ring in that folder, which is the name of its node and spool, too; it answers at $port
	port=$(free_port) || exit 1
	local spool=spool
	[ "$1" = run ] || spool=spool-$1
	mkdir -p "$1"
	NODE_NAME=$1 "$ceemsd" --web.listen-address="127.0.0.1:$port" --path.rundir="$SCRATCH/$1" --collector.libvirt --energy.interval=1s \
		--security.drop-privileges=false --unit.linger=10m --reports.enabled --reports.interval=1h \
		--reports.spool="$SCRATCH/$spool" --cluster=cloud "${@:2}" >"ceemsd-$1.log" 2>&1 </dev/null &
	started $!
	wait_for 20 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
}
adapter_begin() { # FOLDER of the libvirtd, FOLDER of the ceemsd [OPTIONS]
	"$lv" --libvirt.uri="$(uri_of "$1")-ro" --libvirt.run-dir="$SCRATCH/$1/sock" --path.rundir="$SCRATCH/$2" --libvirt.refresh=30m --libvirt.statistics=1s \
		"${@:3}" >>"adapter-$2.log" 2>&1 </dev/null &
	lv_pid=$!
	started $lv_pid
}
# of the ceemsd at $port
scrape() { curl -sf -o body "http://127.0.0.1:$port/metrics"; }
value() { awk -v m="$1" -v u="$2" 'index($1, m "{") == 1 && index($1, u) { print $2; exit }' body; }
# METRIC LABEL VALUE: a scrape has it
shows() { scrape && [ "$(value "$1" "$2")" = "$3" ]; }
cpu_us() { awk -v u="$(uuid "$1")" 'index($1, "ceems_compute_unit_cpu_") == 1 && /_(user|system)_seconds_total\{/ && index($1, u) { s += $2 } END { printf "%d\n", s * 1e6 + 0.001 }' body; }
