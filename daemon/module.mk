# SPDX-License-Identifier: GPL-2.0-or-later

# libdaemon: ceemsd without its main, for tests
ARCHIVES += libdaemon
# the one circle: child_link.h and meter_checkpoint.h
libdaemon_LIBS := libsources
libdaemon_SRCS += daemon/collector_emissions.c
libdaemon_SRCS += daemon/collector_ring.c
libdaemon_SRCS += daemon/collector_slurm.c
libdaemon_SRCS += daemon/courier_args.c
libdaemon_SRCS += daemon/discover.c
libdaemon_SRCS += daemon/emissions.c
libdaemon_SRCS += daemon/emissions_link.c
libdaemon_SRCS += daemon/energy.c
libdaemon_SRCS += daemon/energy_host.c
libdaemon_SRCS += daemon/energy_options.c
libdaemon_SRCS += daemon/energy_split.c
libdaemon_SRCS += daemon/export.c
libdaemon_SRCS += daemon/found.c
libdaemon_SRCS += daemon/gpus/driver_gpus.c
libdaemon_SRCS += daemon/gpus/gpu_maps.c
libdaemon_SRCS += daemon/gpus/gpu_pause.c
libdaemon_SRCS += daemon/gpus/gpu_processes.c
libdaemon_SRCS += daemon/gpus/gpu_vgpus.c
libdaemon_SRCS += daemon/gpus/gpus.c
libdaemon_SRCS += daemon/gpus/gpus_question.c
libdaemon_SRCS += daemon/gpus/pod_gpus.c
libdaemon_SRCS += daemon/gpus/unit_gpu_labels.c
libdaemon_SRCS += daemon/gpus/unit_gpus.c
libdaemon_SRCS += daemon/ingest.c
libdaemon_SRCS += daemon/inhabited.c
libdaemon_SRCS += daemon/options.c
libdaemon_SRCS += daemon/options_load.c
libdaemon_SRCS += daemon/perf_kinds.c
libdaemon_SRCS += daemon/power_curve.c
libdaemon_SRCS += daemon/running_steps.c
libdaemon_SRCS += daemon/sample.c
libdaemon_SRCS += daemon/steps_energy.c
libdaemon_SRCS += daemon/units.c
libdaemon_SRCS += daemon/units_energy.c
libdaemon_SRCS += daemon/units_expire.c
libdaemon_SRCS += daemon/units_find.c
libdaemon_SRCS += daemon/units_found.c
libdaemon_SRCS += daemon/units_index.c
libdaemon_SRCS += daemon/profiling_file.c
libdaemon_SRCS += daemon/units_report.c
libdaemon_SRCS += daemon/units_sound.c
libdaemon_SRCS += daemon/units_store.c
libdaemon_SRCS += daemon/units_totals.c
libdaemon_SRCS += daemon/units_transaction.c

# _LIBS in link order
PROGS += ceemsd
ceemsd_SRCS := daemon/main.c daemon/daemon.c daemon/daemon_energy.c daemon/loop.c daemon/collectors.c
ceemsd_LIBS := libdrmuses librdma libprofiles libgroups libreports libticker libnode libsources libweb libhttpd libdaemon libconf libbase
ceemsd_PKGS := $(libweb_USES)
ceemsd_LDLIBS := -lcrypt
