# SPDX-License-Identifier: GPL-2.0-or-later

# libredfishproxy: redfish_proxy without its main, for tests
ifeq ($(HAVE_CURL)$(HAVE_MHD),11)
ARCHIVES += libredfishproxy
libredfishproxy_USES := $(libhttpd_USES) libcurl $(if $(HAVE_MUNGE),munge)
libredfishproxy_PKGS := $(libredfishproxy_USES)
libredfishproxy_CFLAGS := $(if $(HAVE_MUNGE),-DHAVE_MUNGE)
libredfishproxy_SRCS += redfish_proxy/access.c
libredfishproxy_SRCS += redfish_proxy/bmc.c
libredfishproxy_SRCS += redfish_proxy/cache.c
libredfishproxy_SRCS += redfish_proxy/config.c
libredfishproxy_SRCS += redfish_proxy/metrics.c
libredfishproxy_SRCS += redfish_proxy/options.c
libredfishproxy_SRCS += redfish_proxy/path.c
libredfishproxy_SRCS += redfish_proxy/proxy.c
libredfishproxy_SRCS += redfish_proxy/reply.c
libredfishproxy_SRCS += redfish_proxy/session.c
libredfishproxy_SRCS += redfish_proxy/site.c
libredfishproxy_SRCS += redfish_proxy/target.c
libredfishproxy_SRCS += redfish_proxy/url.c

PROGS += redfish_proxy
redfish_proxy_SRCS := redfish_proxy/main.c
redfish_proxy_LIBS := libredfishproxy libident libhttpd libhttp libconf libbase
redfish_proxy_PKGS := $(libredfishproxy_USES)
redfish_proxy_LDLIBS := -lcrypt
endif
