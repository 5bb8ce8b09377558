# SPDX-License-Identifier: GPL-2.0-or-later

# libgate: from a request to a verdict; a program that links it lists libgate libpyro
# libpromql libident libhttp libhttpd libconf libbase in _LIBS and $(libgate_USES) in _PKGS
ifeq ($(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS)$(HAVE_MHD)$(HAVE_ZLIB),11111)
ARCHIVES += libgate
libgate_LIBS := liblbsite libpromql
libgate_USES := libcurl json-c gnutls zlib $(if $(HAVE_MUNGE),munge)
libgate_PKGS := $(libgate_USES)
libgate_SRCS += lb/gate/call.c
libgate_SRCS += lb/gate/gate.c
libgate_SRCS += lb/gate/gate_audit.c
libgate_SRCS += lb/gate/gate_decide.c
libgate_SRCS += lb/gate/gate_identity.c
libgate_SRCS += lb/gate/gate_limit.c
libgate_SRCS += lb/gate/gate_metrics.c
libgate_SRCS += lb/gate/gate_remember.c
libgate_SRCS += lb/gate/lru.c
libgate_SRCS += lb/gate/ownership.c
libgate_SRCS += lb/gate/ownership_ahead.c
libgate_SRCS += lb/gate/ownership_answer.c
libgate_SRCS += lb/gate/ownership_ask.c
libgate_SRCS += lb/gate/ownership_question.c
libgate_SRCS += lb/gate/ownership_rule.c
libgate_SRCS += lb/gate/prom_protocol.c
libgate_SRCS += lb/gate/thread_pool.c
endif
