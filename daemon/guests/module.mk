# SPDX-License-Identifier: GPL-2.0-or-later

# part of libdaemon: what guests say of themselves
libdaemon_SRCS += daemon/guests/guest_figures.c
