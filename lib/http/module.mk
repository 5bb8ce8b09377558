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

# libhttp: the bounded HTTP client; a program that links it lists libhttp libbase in _LIBS
# and libcurl in _PKGS. libcurl in the build with GnuTLS, the TLS library of the web server.
ifeq ($(HAVE_CURL),1)
ARCHIVES += libhttp
libhttp_PKGS := libcurl $(if $(HAVE_JSON),json-c)
libhttp_SRCS += lib/http/client.c
libhttp_SRCS += lib/http/client_url.c
libhttp_SRCS += $(if $(HAVE_JSON),lib/http/json.c lib/http/json_list.c lib/http/pod_size.c lib/http/pod_size_json.c)
libhttp_SRCS += lib/http/profile_push.c
libhttp_SRCS += lib/http/redfish_login.c
endif
