#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make check-device` itself, since a device is seldom at hand: it says so where there is no
# driver, does its work with the library that is made up (test/fake/nvml.c), and what it writes
# down of a library answers in its place. Traces of real ones, once there are, are in
# test/fixture/nvml.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../gpu.sh"

case $BUILD in /*) here=$BUILD ;; *) here=$PWD/$BUILD ;; esac
tracer=$here/nvml_trace.so
# devices LIBRARY: what ceems-gpu reads by it; the counter does not stand still
devices() { "$BUILD/ceems-gpu" --once --gpu.nvml="$1" 2>&1 | sed 's/ energy=[^ ]*//'; }

"$BUILD/check_device" "$tracer" "$SCRATCH/none.so" >"$SCRATCH/out" 2>&1
is "without a driver it succeeds" $? 0
like "and says that it did nothing" "$(cat "$SCRATCH/out")" '^1\.\.0 # SKIP no NVIDIA driver here: '

gpu_machine 'device 0 300 busy=40 used=1000 gpm' 'device 1 100 mig gpm' 'instance 1 2 0 3 50 2000' 'instance 1 1 0 4 80 3000' \
	'process 0 123 30 500 0' 'process 1 55 30 500 2'
CHECK_DEVICE_QUICK=1 NVML_TRACE=$SCRATCH/trace "$BUILD/check_device" "$tracer" "$here/nvml_fake.so" >"$SCRATCH/out" 2>&1
is "with devices it succeeds" $? 0
is "nothing is wrong with them" "$(grep -c '^not ok' "$SCRATCH/out")" 0
is "energy of both is compared with another reader's" "$(grep -c '^ok .* a second reader sees' "$SCRATCH/out")" 2
like "it tells what a round costs" "$(cat "$SCRATCH/out")" '"metric":"round_cpu_per_device"'
like "version words of structs are written down" "$(grep -m1 MemoryInfo_v2 "$SCRATCH/trace")" ' in=1,2000028, rc=0 out=28000002'
like "and errors" "$(grep -m1 GpuInstanceProfileInfo "$SCRATCH/trace")" ' rc=3 out= '
devices "$here/nvml_fake.so" >"$SCRATCH/real"
NVML_REPLAY=$SCRATCH/trace devices "$tracer" >"$SCRATCH/replayed"
is "what was written down answers as the library did" "$(cat "$SCRATCH/replayed")" "$(cat "$SCRATCH/real")"
is "which is two devices" "$(grep -c '^[01] GPU-' "$SCRATCH/replayed")" 2

for t in test/fixture/nvml/*.trace; do
	[ -e "$t" ] || { echo "# no real device was at hand so far"; break; }
	NVML_REPLAY=$t devices "$tracer" >"$SCRATCH/replayed"
	is "a real library's answers are understood: ${t##*/}" "$(grep -c ' power=.* memory=' "$SCRATCH/replayed")" "$(grep -c '^nvmlDeviceGetHandleByIndex_v2.* rc=0' "$t")"
done
tap_done
