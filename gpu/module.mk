# SPDX-License-Identifier: GPL-2.0-or-later

# libgpu: ceems-gpu without its main, for tests
ARCHIVES += libgpu
libgpu_SRCS += gpu/amd.c
libgpu_SRCS += gpu/amd_metrics.c
libgpu_SRCS += gpu/device.c
libgpu_SRCS += gpu/device_nvml.c
libgpu_SRCS += gpu/intel.c
libgpu_SRCS += gpu/kernel_device.c
libgpu_SRCS += gpu/kfd.c
libgpu_SRCS += gpu/module_check.c
libgpu_SRCS += gpu/nvidia_files.c
libgpu_SRCS += gpu/nvml.c
libgpu_SRCS += gpu/nvml_event.c
libgpu_SRCS += gpu/nvml_gpm.c
libgpu_SRCS += gpu/nvml_mig.c
libgpu_SRCS += gpu/nvml_more.c
libgpu_SRCS += gpu/nvml_process.c
libgpu_SRCS += gpu/nvml_vgpu.c
libgpu_SRCS += gpu/options.c
libgpu_SRCS += gpu/process_list.c
libgpu_SRCS += gpu/refresh.c

PROGS += ceems-gpu
ceems-gpu_SRCS := gpu/main.c
ceems-gpu_LIBS := libgpu libconf libbase
ceems-gpu_PKGS := yaml-0.1
ceems-gpu_LDLIBS := -ldl
