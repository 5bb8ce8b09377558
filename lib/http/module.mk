# SPDX-License-Identifier: GPL-2.0-or-later

# libhttpd: the HTTP server of each program that has one; a program that links it lists
# libhttpd libconf libbase in _LIBS, $(libhttpd_USES) in _PKGS and -lcrypt in _LDLIBS
ARCHIVES += libhttpd
libhttpd_USES := libmicrohttpd gnutls yaml-0.1
libhttpd_PKGS := $(libhttpd_USES)
libhttpd_SRCS += lib/http/listen.c
libhttpd_SRCS += lib/http/negotiate.c
libhttpd_SRCS += lib/http/target.c
libhttpd_SRCS += lib/http/web.c
libhttpd_SRCS += lib/http/web_auth.c
libhttpd_SRCS += lib/http/web_body.c
libhttpd_SRCS += lib/http/web_budget.c
libhttpd_SRCS += lib/http/web_config.c
libhttpd_SRCS += lib/http/web_conn.c
libhttpd_SRCS += lib/http/web_metrics.c
libhttpd_SRCS += lib/http/web_daemon.c
libhttpd_SRCS += lib/http/web_head.c
libhttpd_SRCS += lib/http/web_order.c
libhttpd_SRCS += lib/http/web_policy.c
libhttpd_SRCS += lib/http/web_request.c

# libident: who asks (MUNGE, certificates, front ends, tokens); a program that links it
# lists gnutls, and munge where HAVE_MUNGE, in _PKGS
ifeq ($(HAVE_GNUTLS),1)
ARCHIVES += libident
libident_PKGS := gnutls $(if $(HAVE_JSON),json-c) $(if $(HAVE_CURL),libcurl) $(if $(HAVE_MUNGE),munge)
libident_CFLAGS := $(if $(HAVE_MUNGE),-DHAVE_MUNGE)
libident_SRCS += $(if $(HAVE_CURL),$(if $(HAVE_JSON),lib/http/identity.c lib/http/identity_web.c lib/http/jwt.c lib/http/jwt_source.c lib/http/role_entry.c))
libident_SRCS += lib/http/munge.c
libident_SRCS += lib/http/munge_request.c
libident_SRCS += lib/http/tls_names.c
endif
