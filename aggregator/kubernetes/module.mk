# SPDX-License-Identifier: GPL-2.0-or-later

# libkube: configuration and answers of Kubernetes, without a network or a database
ifeq ($(HAVE_CURL)$(HAVE_JSON),11)
ARCHIVES += libkube
libkube_LIBS := libhttp libconf
libkube_USES := libcurl json-c
libkube_PKGS := $(libkube_USES)
libkube_SRCS += aggregator/kubernetes/kube_config.c
libkube_SRCS += aggregator/kubernetes/kube_json.c
libkube_SRCS += aggregator/kubernetes/kube_picks.c
endif

# part of libaggregator
libaggregator_SRCS += aggregator/kubernetes/kube_access.c
libaggregator_SRCS += aggregator/kubernetes/kube_client.c
libaggregator_SRCS += aggregator/kubernetes/kube_reader.c
libaggregator_SRCS += aggregator/kubernetes/kubernetes.c
