#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --collector.ebpf where the kernel programs cannot be had: one line says why, and ceemsd works as
# without it.
. "$(dirname "$0")/../tap.sh"
[ -x "$BUILD/ceemsd" ] || skip_all "ceemsd was not built here"
command -v curl >/dev/null || skip_all "curl is not installed"
. "$(dirname "$0")/../port.sh"

up() { curl -sf -o /dev/null "http://127.0.0.1:$port/health"; }
without() { # NAME WANTED [flags]: ceemsd starts, serves, and has said so
	local name=$1 wanted=$2
	shift 2
	port=$(free_port) || exit 1
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address="127.0.0.1:$port" --collector.ebpf "$@" </dev/null >"$SCRATCH/log" 2>&1 &
	pid=$!
	started $pid
	ok "$name: ceemsd serves" wait_for 30 up
	is "$name: without the metrics" "$(curl -sf "http://127.0.0.1:$port/metrics" | grep -c '^ceems_groups_')" 0
	like "$name: it is said" "$(grep 'msg="ebpf: ' "$SCRATCH/log")" "$wanted"
	kill "$pid"
	wait "$pid"
	is "$name: ceemsd ends well" $? 0
}
without "no opener" "No such file or directory: a step without a stop record ends with the counters that were read last" --opener.path="$SCRATCH/none"
printf '#!/bin/sh\nexit 0\n' >"$SCRATCH/mute"
printf '#!/bin/sh\nprintf "some other greeting, of another build" >&3\n' >"$SCRATCH/other"
printf '#!/bin/sh\nprintf "no greeting, and no end" >&3\nexec sleep 1000\n' >"$SCRATCH/stays"
chmod 755 "$SCRATCH/mute" "$SCRATCH/other" "$SCRATCH/stays"
without "an opener that ends at once" "it ended without an answer" --opener.path="$SCRATCH/mute"
without "one of another build" "it is not of the same build as ceemsd" --opener.path="$SCRATCH/other"
without "one that stays" "it is not of the same build as ceemsd" --opener.path="$SCRATCH/stays"

# Killed while it hands over: this one has given the control groups, and is gone before it comes to reads and writes.
killed() { # times: so often, then the real one
	cat >"$SCRATCH/killed" <<-END
		#!/bin/bash
		echo >>"$SCRATCH/times"
		[ "\$(wc -l <"$SCRATCH/times")" -le $1 ] || exec "$(realpath "$BUILD")/ceems-opener" "\$@"
		"$(realpath "$BUILD")/ceems-opener" "\$@" --no-collector.ebpf.io-metrics
		kill -9 \$\$
	END
	chmod 755 "$SCRATCH/killed"
	: >"$SCRATCH/times"
	port=$(free_port) || exit 1
	"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address="127.0.0.1:$port" --collector.slurm --collector.ebpf.io-metrics \
		--opener.path="$SCRATCH/killed" </dev/null >"$SCRATCH/log" 2>&1 &
	pid=$!
	started $pid
	ok "an opener that is killed $1 times: ceemsd serves" wait_for 30 up
	curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"
	like "an opener that is killed $1 times: that is counted" "$(cat "$SCRATCH/metrics")" "ceems_opener_restarts_total\{[^}]*\} $2"
	like "an opener that is killed $1 times: control groups are followed" "$(cat "$SCRATCH/metrics")" 'ceems_groups_slots\{[^}]*\} 4096'
	is "an opener that is killed $1 times: reads and writes are counted by what it could give at last" "$(grep -c '^ceems_io_cells{' "$SCRATCH/metrics")" "$3"
	kill "$pid"
	wait "$pid"
	is "an opener that is killed $1 times: ceemsd ends well" $? 0
}
if "$BUILD/ceems-opener" --collector.ebpf.io-metrics >"$SCRATCH/why" 2>&1; then
	killed 2 2 1
	killed 99 2 0
	like "that it was killed is said" "$(cat "$SCRATCH/log")" "was killed 2 times while it began, and was started again"
	like "as is what is not counted" "$(cat "$SCRATCH/log")" "what units read and write is not counted"
else
	skip "an opener that is killed" "this kernel does not let it: $(head -1 "$SCRATCH/why")"
fi

out=$("$BUILD/ceemsd" --check-config --collector.ebpf.slots=100 2>&1)
like "slots that are no power of two are refused" "$out" "--collector.ebpf.slots=100: must be a power of two"

if [ ! -x "$BUILD/ceems-opener" ]; then
	skip "a kernel that refuses" "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
elif [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	out=$(setpriv --bounding-set -all --inh-caps -all "$BUILD/ceems-opener" 2>&1)
	is "without capabilities it fails" $? 1
	like "and names what it takes" "$out" "Operation not permitted"
	is "in one line" "$(wc -l <<<"$out")" 1
	if "$BUILD/older_kernel" lockdown true 2>/dev/null; then
		out=$("$BUILD/older_kernel" lockdown "$BUILD/ceems-opener" 2>&1)
		is "a kernel that is locked down: it fails" $? 1
		like "it says what it takes" "$out" "Operation not permitted \\(it takes CAP_BPF and CAP_PERFMON, and a kernel that is not locked down\\)"
		is "in one line" "$(wc -l <<<"$out")" 1
		out=$("$BUILD/older_kernel" verifier "$BUILD/ceems-opener" 2>&1)
		is "a kernel that takes no program: it fails" $? 1
		like "it says which, and why" "$out" "msg=\"[^\"]*program[^\"]*Invalid argument"
		is "in one line of bounded length" "$(wc -l <<<"$out") $((${#out} < 600))" "1 1"
	else
		skip "a kernel that is locked down" "no filter of system calls can be set here"
	fi
	if unshare -m mount -t tmpfs none /sys/kernel/btf 2>/dev/null; then
		out=$(unshare -m bash -c 'mount -t tmpfs none /sys/kernel/btf && exec "$0"' "$BUILD/ceems-opener" 2>&1)
		is "without the kernel's BTF it fails" $? 1
		like "and names what the kernel lacks" "$out" "/sys/kernel/btf/vmlinux: .*: this kernel does not describe itself \\(CONFIG_DEBUG_INFO_BTF\\)"
		is "in one line" "$(wc -l <<<"$out")" 1
	else
		skip "without the kernel's BTF it fails" "there is none here, or nothing may be mounted"
	fi
else
	skip "a kernel that refuses" "takes root and setpriv"
fi
tap_done
