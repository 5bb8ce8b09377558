#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What processes of a step read and write, by mount, as the kernel counts it at the end of each system
# call, against what the programs themselves did: --collector.ebpf.io-metrics.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl python3 unshare mount; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.io-metrics 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"

. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { # what mount: of all counts of the job
	sed -n "s|^ceems_ebpf_$1_total{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\"${2+,mountpoint=\"$2\"}} ||p" "$SCRATCH/metrics"
}

tmp=$SCRATCH/mnt
mkdir -p "$tmp/a" "$tmp/b"
for m in a b; do
	mount -t tmpfs none "$tmp/$m" || skip_all "no tmpfs can be mounted here"
	mounts+=" $tmp/$m"
done
"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm \
	--collector.ebpf.io-metrics --collector.ebpf.fs-mount-point="$tmp" --unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
like "the kernel counts" "$(cat "$SCRATCH/ceemsd.log")" "counts what units read and write"
step_make 0
known() { scrape && [ -n "$(value open_requests)" ]; }
ok "the step is found" wait_for 60 known

cat >"$SCRATCH/work.py" <<'P'
import os, sys
a, b = sys.argv[1:]
fd = os.open(a + "/f", os.O_CREAT | os.O_RDWR)
for i in range(1000):
    os.write(fd, b"x" * 4097)                      # 1000 calls, 4097000 bytes
os.writev(fd, [b"a" * 10, b"b" * 20])              # 1 call, 30 bytes
os.pwrite(fd, b"c" * 50, 7)                        # 1 call, 50 bytes
for i in range(100):
    os.pread(fd, 1234, i)                          # 100 calls, 123400 bytes
os.preadv(fd, [bytearray(100), bytearray(200)], 0) # 1 call, 300 bytes
ro = os.open(a + "/f", os.O_RDONLY)
for i in range(3):
    try: os.write(ro, b"no")                       # 3 calls that fail
    except OSError: pass
out = os.open(b + "/g", os.O_CREAT | os.O_WRONLY)
os.sendfile(out, ro, 0, 65536)                     # 65536 read of a and written to b
r, w = os.pipe()
os.write(w, b"p" * 1000); os.read(r, 1000)         # no file
mem = os.memfd_create("m"); os.write(mem, b"m" * 1000)
os.read(os.open("/proc/self/stat", os.O_RDONLY), 100)
try: os.read(9999, 10)                             # a bad descriptor: no mount
except OSError: pass
try: os.mkdir(a + "/d"); os.mkdir(a + "/d")
except OSError: pass
os.rmdir(a + "/d")
try: os.unlink(a + "/none")
except OSError: pass
P
run_in 0 python3 -S -B "$SCRATCH/work.py" "$tmp/a" "$tmp/b"
scrape
counts() { for w in write_bytes write_requests write_errors read_bytes read_requests read_errors; do value $w "$1"; done | xargs; }
is "each byte, call and error on one mount" "$(counts "$tmp/a")" "4097080 1005 3 189236 102 0"
is "and on the other" "$(counts "$tmp/b")" "65536 1 0 0 0 0"
is "directories that were made or not" "$(value create_errors)" 1
is "and removed or not" "$(value unlink_requests) $(value unlink_errors)" "2 1"
is "mounts that were not asked for are left out" "$(grep -c "^ceems_ebpf_read_bytes.*uuid=\"$job\"" "$SCRATCH/metrics")" 3
is "but not what has no mount: it may be of one that was asked for" "$(counts "")" "0 0 0 0 1 1"

# many short processes: none is lost
cat >"$SCRATCH/short.sh" <<S
for i in {1..200}; do head -c 1000 /dev/zero >"$tmp/a/s"; done
S
run_in 0 bash "$SCRATCH/short.sh"
scrape
is "two hundred processes" "$(counts "$tmp/a")" "4297080 1205 3 189236 102 0"

# the sum stays when the step has gone
step_remove 0
ok "the step has ended" wait_for 60 unit_ended
scrape
is "its counts stay" "$(counts "$tmp/a")" "4297080 1205 3 189236 102 0"
step_make 1
run_in 1 dd if="$tmp/a/f" of="$tmp/b/h" bs=4096 count=100 status=none
second="4297080 1205 3 598836 202 0 475136 101 0 0 0 0"
both() { scrape && [ "$(counts "$tmp/a") $(counts "$tmp/b")" = "$second" ]; }
wait_for 60 both # the step is found within seconds
is "a second step adds to them" "$(counts "$tmp/a") $(counts "$tmp/b")" "$second"

# programs of others, against what they report themselves
sums() { echo "$(value write_bytes "$tmp/b") $(value write_requests "$tmp/b") $(value read_bytes "$tmp/b") $(value read_requests "$tmp/b")"; }
added() { paste -d' ' <(xargs -n1 <<<"$1") <(sums | xargs -n1) | awk '{ print $2 - $1 }' | xargs; }
if command -v fio >/dev/null && command -v jq >/dev/null; then
	before=$(sums)
	for rw in write read; do
		run_in 1 fio --name=one --filename="$tmp/b/fio" --rw=$rw --bs=4k --size=2M --fallocate=none --ioengine=psync --output-format=json --output="$SCRATCH/fio.$rw" >/dev/null
	done
	scrape
	is "each byte and call of fio" "$(added "$before")" "$(jq -rs '[.[0].jobs[0].write.io_bytes, .[0].jobs[0].write.total_ios, .[1].jobs[0].read.io_bytes, .[1].jobs[0].read.total_ios] | join(" ")' "$SCRATCH/fio.write" "$SCRATCH/fio.read")"
	rm -f "$tmp/b/fio"
else
	skip "fio" "fio or jq is not installed"
fi
before=$(sums) from=$(value read_bytes "$tmp/a")
run_in 1 tar --totals -C "$tmp/a" -cf "$tmp/b/tar" f 2>"$SCRATCH/tar"
scrape
is "each byte that tar wrote" "$(added "$before" | cut -d' ' -f1)" "$(sed -n 's/^Total bytes written: \([0-9]*\) .*/\1/p' "$SCRATCH/tar")"
is "and read" "$(($(value read_bytes "$tmp/a") - from))" "$(stat -c %s "$tmp/a/f")"

# the same through io_uring: no system call has the bytes
if grep -q "by io_uring" "$SCRATCH/ceemsd.log"; then
	before=$(counts "$tmp/b") none=$(counts "")
	run_in 1 "$BUILD/io_ring" "$tmp/b/r" >"$SCRATCH/ring"
	rc=$?
	if [ $rc = 77 ]; then
		skip "io_uring" "this kernel does not let it be used"
	else
		is "io_ring ends well" $rc 0
		scrape
		wanted=$(paste -d' ' <(xargs -n1 <<<"$before") <(xargs -n1 <"$SCRATCH/ring") | awk '{ print $1 + $2 }' | xargs)
		is "each byte, request and error of io_uring" "$(counts "$tmp/b")" "$wanted"
		is "and a request without a file has no mount" "$(counts "")" "$(awk '{ $5++; $6++; print }' <<<"$none")"
	fi
else
	skip "io_uring" "this kernel does not let it be counted"
fi

# io_submit: what it was asked for, apart from what was read and written
before=$(counts "$tmp/b")
run_in 1 "$BUILD/io_submit" "$tmp/b/s" >"$SCRATCH/asked"
rc=$?
if [ $rc = 77 ]; then
	skip "io_submit" "this kernel does not have it"
else
	is "io_submit ends well" $rc 0
	scrape
	asked="$(value aio_write_requested_bytes "$tmp/b") $(value aio_read_requested_bytes "$tmp/b")"
	is "each byte that io_submit was asked for" "$asked" "$(cat "$SCRATCH/asked")"
	is "which is not counted as read or written" "$(counts "$tmp/b")" "$before"
fi
step_remove 1
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0
tap_done
