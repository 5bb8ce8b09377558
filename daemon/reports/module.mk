# SPDX-License-Identifier: GPL-2.0-or-later

# libreports: what the node tells the aggregator, into its spool; uses libticker and libdaemon
ARCHIVES += libreports
libreports_LIBS := libsources libdaemon
libreports_SRCS += daemon/reports/cluster_name.c
libreports_SRCS += daemon/reports/report_fill.c
libreports_SRCS += daemon/reports/reporter.c
libreports_SRCS += daemon/reports/report_age.c
libreports_SRCS += daemon/reports/reports.c
