# SPDX-License-Identifier: GPL-2.0-or-later

# libticker: the energy ticks; uses libsources, libdaemon and libnode
ARCHIVES += libticker
libticker_LIBS := libsources libdaemon libnode
libticker_SRCS += daemon/ticker/collector_energy.c
libticker_SRCS += daemon/ticker/energy_page_fill.c
libticker_SRCS += daemon/ticker/gpu_idle.c
libticker_SRCS += daemon/ticker/gpu_readings.c
libticker_SRCS += daemon/ticker/gpu_sharing.c
libticker_SRCS += daemon/ticker/gpu_use.c
libticker_SRCS += daemon/ticker/gpu_weights.c
libticker_SRCS += daemon/ticker/host_check.c
libticker_SRCS += daemon/ticker/node_use.c
libticker_SRCS += daemon/ticker/tick_thread.c
libticker_SRCS += daemon/ticker/ticker.c
libticker_SRCS += daemon/ticker/usage_deltas.c
