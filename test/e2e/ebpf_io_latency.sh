#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How long reads and writes of a step take, and why they fail: --collector.ebpf.io-latency.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3 mount; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.io-metrics 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { # name more labels
	sed -n "s|^ceems_ebpf_$1{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\",mountpoint=\"$tmp\"$2} ||p" "$SCRATCH/metrics"
}
tmp=$SCRATCH/mnt
mkdir -p "$tmp"
mount -t tmpfs -o size=256k none "$tmp" || skip_all "no tmpfs can be mounted here"
mounts=$tmp
"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm \
	--collector.ebpf.io-latency --unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
is "the kernel lets it" "$(grep -c "refuses the program" "$SCRATCH/ceemsd.log")" 0
# the kernel memory of its maps is what doc/ebpf.md says, but for what only the program has
maps_bytes() { # pid
	cat /proc/"$1"/fdinfo/* 2>/dev/null | awk '$1 == "value_size:" { v = $2 } $1 == "max_entries:" { n += v * $2 } END { print n + 0 }'
}
bare=$(free_port) || exit 1
"$BUILD/ceemsd" --path.rundir="$SCRATCH/bare" --web.listen-address=127.0.0.1:$bare --collector.slurm --collector.ebpf </dev/null >"$SCRATCH/bare.log" 2>&1 &
without=$!
started $without
ok "another without it starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$bare/health"
cpus=$(tr ',' '\n' </sys/devices/system/cpu/possible | awk -F- '{ n += ($2 == "" ? $1 : $2) - $1 + 1 } END { print n }')
for ((stripes = 1; stripes < cpus && stripes < 16;)); do stripes=$((stripes * 2)); done
is "its maps take what the formula says" $(($(maps_bytes $daemon) - $(maps_bytes $without))) \
	$((4096 * (stripes * 128 + 128) + 8192 * (stripes * 64 + 416) + (8192 + 4096) * ((stripes < 4 ? stripes : 4) * 256 + 144) + 128))
kill $without
wait $without
step_make 0
known() { scrape && grep -q "^ceems_ebpf_open_requests_total.*uuid=\"$job\"" "$SCRATCH/metrics"; }
ok "the step is found" wait_for 60 known

cat >"$SCRATCH/work.py" <<'P'
import os, sys, threading, time
folder = sys.argv[1]
fd = os.open(folder + "/f", os.O_CREAT | os.O_RDWR)
for i in range(100):
    os.pwrite(fd, b"x" * 1000, i)
for i in range(50):
    os.pread(fd, 1000, i)
# a call that takes 300 ms in the kernel: it waits for room in a pipe, which comes that long after it is seen there
r, w = os.pipe()
room = 0
os.set_blocking(w, False)
try:
    while True: room += os.write(w, b"p" * 4096)
except BlockingIOError: pass
os.set_blocking(w, True)
caller = threading.get_native_id()
def is_waiting(): # in a call whose first argument is the pipe
    words = open("/proc/self/task/%d/syscall" % caller).read().split()
    return len(words) > 1 and words[0].isdigit() and int(words[1], 16) == w
def drain():
    try:
        while not is_waiting(): time.sleep(0.01)
    except OSError: time.sleep(1) # a kernel that does not say
    time.sleep(0.3)
    os.read(r, room)
drainer = threading.Thread(target=drain)
drainer.start()
os.sendfile(w, fd, 0, 100)
drainer.join()
ro = os.open(folder + "/f", os.O_RDONLY)
for i in range(3):
    try: os.write(ro, b"no")
    except OSError: pass
for i in range(2):
    try: os.pwrite(fd, b"x" * 1000, 1 << 20)   # beyond the size of the file system: one page too many
    except OSError: pass
full = os.open(folder + "/full", os.O_CREAT | os.O_WRONLY)
try:
    while True: os.write(full, b"x" * 65536)
except OSError: pass
P
run_in 0 python3 -S -B "$SCRATCH/work.py" "$tmp"
is "the program ends well" $? 0
scrape
reads=$(value read_requests_total) writes=$(value write_requests_total)
is "each read is in the histogram" "$(value io_latency_seconds_count ',direction="read"') $(value io_latency_seconds_bucket ',direction="read",le="+Inf"')" "$reads $reads"
is "and each write" "$(value io_latency_seconds_count ',direction="write"') $(value io_latency_seconds_bucket ',direction="write",le="+Inf"')" "$writes $writes"
is "of reads there are" "$reads" 51
slow=$(value io_latency_seconds_bucket ',direction="read",le="0.262144"')
ok "the one that takes 300 ms is among the slow ones" test "${slow:-51}" -lt 51
ok "and in the sum" eval "value io_latency_seconds_sum ',direction=\"read\"' | awk '{ exit !(\$1 >= 0.3) }'"
errors=$(value write_errors_total)
of_class() { value io_errors_total ",call=\"write\",class=\"$1\""; }
is "descriptors that are not for writing are another error" "$(of_class other)" 3
is "all others are a full file system" "$(of_class space)" $((errors - 3))
is "the type is said" "$(grep -c '^# TYPE ceems_ebpf_io_latency_seconds histogram' "$SCRATCH/metrics")" 1
missing() { sed -n "s|^ceems_ebpf_io_errors_total{.*uuid=\"$job\",mountpoint=\"\",call=\"name\",class=\"missing\"} ||p" "$SCRATCH/metrics"; }
before=$(missing)
run_in 0 python3 -S -B -c 'import os
for i in range(7):
    try: os.unlink("/nonexistent/f")
    except OSError: pass'
scrape
ok "names that are missing are counted, of no mount" test $(($(missing) - ${before:-0})) -ge 7
step_remove 0
ok "the step has ended" wait_for 60 unit_ended
scrape
is "its times stay" "$(value io_latency_seconds_count ',direction="read"') $(of_class other)" "$reads 3"
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0
tap_done
