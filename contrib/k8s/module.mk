# SPDX-License-Identifier: GPL-2.0-or-later

# libk8swatch: ceems-k8s without its main, for tests
ifeq ($(HAVE_YAML),1)
ARCHIVES += libk8swatch
libk8swatch_LIBS := libadapter
libk8swatch_SRCS += contrib/k8s/pod_tree.c
libk8swatch_SRCS += contrib/k8s/pods.c

PROGS += ceems-k8s
ceems-k8s_SRCS := contrib/k8s/main.c contrib/k8s/options.c contrib/k8s/watch.c
ceems-k8s_LIBS := libk8swatch libadapter libconf libbase
ceems-k8s_PKGS := yaml-0.1
endif
