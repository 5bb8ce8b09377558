# SPDX-License-Identifier: GPL-2.0-or-later

# librdma: what units hold of RDMA devices
ARCHIVES += librdma
librdma_LIBS := libgroups libnode libdaemon
librdma_SRCS += daemon/rdma/collector_rdma.c
librdma_SRCS += daemon/rdma/rdma_counts.c
librdma_SRCS += daemon/rdma/rdma_link.c
librdma_SRCS += daemon/rdma/rdma_message.c
librdma_SRCS += daemon/rdma/rdma_reader.c
librdma_SRCS += daemon/rdma/rdma_sample.c
