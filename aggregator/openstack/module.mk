# SPDX-License-Identifier: GPL-2.0-or-later

# libcloud: configuration and answers of OpenStack, without a network or a database
ifeq ($(HAVE_CURL)$(HAVE_JSON),11)
ARCHIVES += libcloud
libcloud_LIBS := libhttp libconf libident
libcloud_USES := libcurl json-c
libcloud_PKGS := $(libcloud_USES)
libcloud_SRCS += aggregator/openstack/cloud_config.c
libcloud_SRCS += aggregator/openstack/keystone_json.c
libcloud_SRCS += aggregator/openstack/nova_json.c
endif

# part of libaggregator
libaggregator_SRCS += aggregator/openstack/cloud.c
libaggregator_SRCS += aggregator/openstack/cloud_reader.c
libaggregator_SRCS += aggregator/openstack/cloud_session.c
