# SPDX-License-Identifier: GPL-2.0-or-later

# libdaemon: ceemsd without its main, for tests
ARCHIVES += libdaemon
libdaemon_SRCS += daemon/options.c
libdaemon_SRCS += daemon/units.c
libdaemon_SRCS += daemon/units_store.c
