#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What users can do against the counting of reads and writes: use up the cells with mounts of their own, name mounts
# oddly, claim to have written what they have not. Other units' calls are still counted, each of them.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../port.sh"
for c in curl dd unshare mount; do command -v $c >/dev/null || skip_all "$c is not installed"; done
[ -x "$BUILD/ceems-opener" ] || skip_all "ceems-opener was not built here (libbpf-dev, clang, bpftool)"
why=$("$BUILD/ceems-opener" --collector.ebpf.io-metrics 2>&1) || skip_all "this kernel does not let it: ${why#*msg=}"
. "$(dirname "$0")/../step_group.sh"
port=$(free_port) || exit 1
scrape() { curl -sf "http://127.0.0.1:$port/metrics" >"$SCRATCH/metrics"; }
value() { # what mount: of all counts of the job
	sed -n "s|^ceems_ebpf_$1_total{manager=\"slurm\",hostname=\"[^\"]*\",uuid=\"$job\",mountpoint=\"$2\"} ||p" "$SCRATCH/metrics"
}
of_node() { sed -n "s|^ceems_io_$1{[^}]*} ||p" "$SCRATCH/metrics"; }
tmp=$SCRATCH/mnt
mkdir -p "$tmp/late" "$tmp/odd"
mount -t tmpfs none "$tmp/late" || skip_all "no tmpfs can be mounted here"
mount -t tmpfs none "$tmp/odd"
mounts="$tmp/late $tmp/odd"
# A step of v1 takes two slots and some 14 cells: so many that others on this machine find room
slots=1024 steps=$(seq 180)
"$BUILD/ceemsd" --path.rundir="$SCRATCH/run" --web.listen-address=127.0.0.1:$port --collector.slurm --collector.ebpf.slots=$slots \
	--collector.ebpf.io-metrics --unit.linger=10m --unit.min-export=0 </dev/null >"$SCRATCH/ceemsd.log" 2>&1 &
daemon=$!
started $daemon
ok "ceemsd starts" wait_for 30 curl -sf -o /dev/null "http://127.0.0.1:$port/health"
step_make 0
known() { scrape && grep -q "^ceems_ebpf_open_requests_total.*uuid=\"$job\"" "$SCRATCH/metrics"; }
ok "the step is found" wait_for 60 known

run_in 0 "$BUILD/io_claims" "$tmp/odd/f"
case $? in
0)
	scrape
	is "neither an odd number nor a claim is believed" "$(value write_bytes "$tmp/odd") $(value write_requests "$tmp/odd")" "100 1"
	# nothing else runs on the processor while the kernel program looks at its requests
	asked=$(value aio_read_requested_bytes "$tmp/odd")
	in_bounds() { [ "${asked:-0}" -ge 1 ] && [ "$asked" -le 4096 ]; }
	ok "of one call of io_submit at most 4096 parts are looked at, whatever it claims" in_bounds
	;;
77) skip "claims are not believed" "no seccomp listener here" ;;
*) ok "io_claims does it" false ;;
esac

# Steps with 20 mounts each that have names which are no text
cat >"$SCRATCH/fill.sh" <<S
mkdir -p "$tmp/odd/d"
for i in {1..20}; do
	m=$tmp/odd/d/\$i\$'\\xff\\n"'
	mkdir -p "\$m" && mount -t tmpfs none "\$m" && echo x >"\$m/f"
done
for step in "\$@"; do
	for c in $controllers; do echo \$\$ >/sys/fs/cgroup/\$c/slurm_$node/uid_0/job_$job/step_\$step/cgroup.procs; done
	for m in $tmp/odd/d/*; do echo x >"\$m/f"; done
done
S
run_in 0 unshare -m bash "$SCRATCH/fill.sh"
scrape
is "a mount's name that is no text is readable" "$(value write_requests "$tmp/odd/d/1"'??\\"')" 1
others=$(value write_requests "")
ok "mounts beyond the row count without their path" test "${others:-0}" -ge 4
# Twice as many cells as slots. Other tests on this machine have steps, too, whose cells come and go.
for step in $steps; do
	for c in $controllers; do mkdir -p "$(step_folder $c $step)"; done
done
unshare -m bash "$SCRATCH/fill.sh" $steps
scrape
ok "all cells were taken: calls were counted without their mount" test "$(of_node calls_without_cell_total)" -gt 0

# another job
first_sleeper=$sleeper first_stepd=$stepd first_job=$job job=1$job
step_make 0
wait_for 60 known
ok "another job's step is found" known
run_in 0 dd if=/dev/zero of="$tmp/late/g" bs=4097 count=1000 status=none
scrape
sum_of() { sed -n "s|^ceems_ebpf_$1_total{.*uuid=\"$job\".*} ||p" "$SCRATCH/metrics" | awk '{ n += $1 } END { print n + 0 }'; }
is "and counted, each byte and call" "$(sum_of write_bytes) $(sum_of write_requests)" "4097000 1000"
step_remove 0
sleeper=$first_sleeper stepd=$first_stepd job=$first_job
step_remove 0
for step in $steps; do
	for c in $controllers; do rmdir "$(step_folder $c $step)"; done
done
few_used() { scrape && [ "$(of_node cells_used)" -le $slots ]; }
ok "the cells are free again" wait_for 60 few_used
kill "$daemon"
wait "$daemon"
is "ceemsd ends well" $? 0
tap_done
