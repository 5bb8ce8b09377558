# SPDX-License-Identifier: GPL-2.0-or-later

# libgroups: what the kernel programs tell of the control groups of steps; uses libdaemon
ARCHIVES += libgroups
libgroups_LIBS := libdaemon
libgroups_SRCS += daemon/groups/collector_ebpf.c
libgroups_SRCS += daemon/groups/collector_k8s.c
libgroups_SRCS += daemon/groups/collector_libvirt.c
libgroups_SRCS += daemon/groups/collector_perf.c
libgroups_SRCS += daemon/groups/counts_page_fill.c
libgroups_SRCS += daemon/groups/group_slots.c
libgroups_SRCS += daemon/groups/hardware_export.c
libgroups_SRCS += daemon/groups/io_cells.c
libgroups_SRCS += daemon/groups/io_export.c
libgroups_SRCS += daemon/groups/io_paths.c
libgroups_SRCS += daemon/groups/net_export.c
libgroups_SRCS += daemon/groups/node_figures.c
libgroups_SRCS += daemon/groups/opener_link.c
libgroups_SRCS += daemon/groups/opener_kept.c
libgroups_SRCS += daemon/groups/perf_figures.c
libgroups_SRCS += daemon/groups/perf_figures_load.c
libgroups_SRCS += daemon/groups/step_ends.c
libgroups_SRCS += daemon/groups/step_groups.c
libgroups_SRCS += daemon/groups/unit_activity.c
libgroups_SRCS += daemon/groups/unit_hardware.c
libgroups_SRCS += daemon/groups/unit_io.c
libgroups_SRCS += daemon/groups/unit_counts.c
libgroups_SRCS += daemon/groups/unit_finals.c
