# SPDX-License-Identifier: GPL-2.0-or-later
# For tests with a made-up GPU (test/fake/nvml.c). GPU_ARGS: ceemsd's options for it; GPU_AS: as
# whom it runs.

[ -e "$BUILD/nvml_fake.so" ] || skip_all "the made-up library was not built here"
chmod 755 "$SCRATCH"
export NVML_FAKE=$SCRATCH/machine

# gpu_machine LINE...: what the machine is like from now on
gpu_machine() { printf '%s\n' "$@" >"$NVML_FAKE.new" && chmod 644 "$NVML_FAKE.new" && mv "$NVML_FAKE.new" "$NVML_FAKE"; }

GPU_ARGS=(--collector.gpu "--gpu.nvml=$BUILD/nvml_fake.so")
case $BUILD in /*) ;; *) GPU_ARGS=(--collector.gpu "--gpu.nvml=$PWD/$BUILD/nvml_fake.so") ;; esac
GPU_AS=(--no-security.drop-privileges)
if have_root && setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$BUILD/ceems-gpu" 2>/dev/null; then
	GPU_AS=(--security.run-as-user=65534)
fi
