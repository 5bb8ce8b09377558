# SPDX-License-Identifier: GPL-2.0-or-later

# libnode: the collectors that read the node alone
ARCHIVES += libnode
libnode_LIBS := libdaemon
libnode_SRCS += daemon/node/collector_cpu.c
libnode_SRCS += daemon/node/collector_infiniband.c
libnode_SRCS += daemon/node/collector_meminfo.c
libnode_SRCS += daemon/node/collector_netdev.c
libnode_SRCS += daemon/node/ib_ports.c
libnode_SRCS += daemon/node/proc_parse.c
libnode_SRCS += daemon/node/procfile.c
libnode_SRCS += daemon/node/procfile_collector.c
