# SPDX-License-Identifier: GPL-2.0-or-later

# libcourier: ceems-courier without its main, for tests; a program that links it lists
# $(libcourier_NEEDS) behind it in _LIBS and $(libcourier_USES) in _PKGS
ifeq ($(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS)$(HAVE_ZLIB),1111)
ARCHIVES += libcourier
libcourier_NEEDS := libhttp libident libbatch libconf libbase
libcourier_USES := libcurl json-c yaml-0.1 gnutls zlib $(if $(HAVE_MUNGE),munge)
libcourier_PKGS := $(libcourier_USES)
libcourier_CFLAGS := $(if $(HAVE_MUNGE),-DHAVE_MUNGE)
libcourier_SRCS += courier/debug_cache.c
libcourier_SRCS += courier/debuginfod.c
libcourier_SRCS += courier/emissions.c
libcourier_SRCS += courier/flush.c
libcourier_SRCS += courier/link.c
libcourier_SRCS += courier/options.c
libcourier_SRCS += courier/profile_queue.c
libcourier_SRCS += courier/profile_send.c
libcourier_SRCS += courier/profiles.c
libcourier_SRCS += courier/redfish.c
libcourier_SRCS += courier/redfish_bmc.c
libcourier_SRCS += courier/redfish_config.c
libcourier_SRCS += courier/redfish_config_yaml.c
libcourier_SRCS += courier/redfish_json.c
libcourier_SRCS += courier/ship.c
libcourier_SRCS += courier/ship_answer.c
libcourier_SRCS += courier/ship_pace.c
libcourier_SRCS += courier/ship_post.c
libcourier_SRCS += courier/ship_spool.c
libcourier_SRCS += courier/task_threads.c

PROGS += ceems-courier
ceems-courier_SRCS := courier/main.c courier/tasks.c
ceems-courier_LIBS := libcourier libemissions $(libcourier_NEEDS)
ceems-courier_PKGS := $(libcourier_USES)
endif
$(call require,COURIER,$(filter 1111,$(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS)$(HAVE_ZLIB)),libcurl or json-c or gnutls or zlib)
