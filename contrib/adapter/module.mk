# SPDX-License-Identifier: GPL-2.0-or-later

# libadapter: what ceems-libvirt and ceems-k8s share
ARCHIVES += libadapter
libadapter_SRCS += contrib/adapter/teller.c
