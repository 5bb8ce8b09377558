# SPDX-License-Identifier: GPL-2.0-or-later

# libk8swatch: ceems-k8s without its main, for tests
ifeq ($(HAVE_YAML),1)
ARCHIVES += libk8swatch
libk8swatch_LIBS := libadapter
libk8swatch_SRCS += contrib/k8s/pod_tree.c
libk8swatch_SRCS += contrib/k8s/pods.c
endif
