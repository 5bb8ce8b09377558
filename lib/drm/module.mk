# SPDX-License-Identifier: GPL-2.0-or-later

# part of libbase
libbase_SRCS += lib/drm/drm_fdinfo.c
libbase_SRCS += lib/drm/drm_gpus.c
libbase_SRCS += lib/drm/pci_gpus.c
