# SPDX-License-Identifier: GPL-2.0-or-later

# liblbproxy: the path of a request; a program that links it lists liblbproxy libident
# libhttpd libhttp libconf libbase in _LIBS and $(liblbproxy_USES) in _PKGS
ifeq ($(HAVE_MHD)$(HAVE_GNUTLS)$(HAVE_CURL)$(HAVE_JSON)$(HAVE_ZLIB),11111)
ARCHIVES += liblbproxy
liblbproxy_LIBS := liblbsite libgate
liblbproxy_USES := $(libhttpd_USES) libcurl json-c zlib $(if $(HAVE_MUNGE),munge)
liblbproxy_PKGS := $(liblbproxy_USES)
liblbproxy_SRCS += lb/proxy/answer.c
liblbproxy_SRCS += lb/proxy/filter.c
liblbproxy_SRCS += lb/proxy/filtered.c
liblbproxy_SRCS += lb/proxy/relay.c
liblbproxy_SRCS += lb/proxy/resolve.c
liblbproxy_SRCS += lb/proxy/upstream.c
liblbproxy_SRCS += lb/proxy/upstream_conn.c
liblbproxy_SRCS += lb/proxy/upstream_tls.c
liblbproxy_SRCS += lb/proxy/worker.c
endif
