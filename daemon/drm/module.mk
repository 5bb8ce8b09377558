# SPDX-License-Identifier: GPL-2.0-or-later

# libdrmuses: what units use of GPUs by DRM
ARCHIVES += libdrmuses
libdrmuses_LIBS := libprofiles libgroups libsources libdaemon
libdrmuses_SRCS += daemon/drm/collector_drm.c
libdrmuses_SRCS += daemon/drm/drm_reader.c
libdrmuses_SRCS += daemon/drm/drm_uses.c
