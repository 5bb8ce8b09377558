# SPDX-License-Identifier: GPL-2.0-or-later

# libprofiles: who is profiled, told to ceems-profiler
ARCHIVES += libprofiles
libprofiles_LIBS := libdaemon libsources libreports
libprofiles_SRCS += daemon/profiles/collector_profiler.c
libprofiles_SRCS += daemon/profiles/profile_child.c
libprofiles_SRCS += daemon/profiles/profile_steps.c
libprofiles_SRCS += daemon/profiles/targets.c
