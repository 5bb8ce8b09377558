# SPDX-License-Identifier: GPL-2.0-or-later

# liblbsite: what the configuration says, and the servers behind the load balancer; a
# program that links it lists libpromql libident libhttp libconf libbase after it and
# $(liblbsite_USES) in _PKGS
ifeq ($(HAVE_CURL)$(HAVE_GNUTLS)$(HAVE_YAML)$(HAVE_JSON),1111)
ARCHIVES += liblbsite
liblbsite_LIBS := libpromql
liblbsite_USES := libcurl yaml-0.1 gnutls json-c $(if $(HAVE_MUNGE),munge)
liblbsite_PKGS := $(liblbsite_USES)
liblbsite_SRCS += lb/site/backend.c
liblbsite_SRCS += lb/site/backend_set.c
liblbsite_SRCS += lb/site/health.c
liblbsite_SRCS += lb/site/site.c
liblbsite_SRCS += lb/site/site_backends.c
liblbsite_SRCS += lb/site/site_build.c
liblbsite_SRCS += lb/site/site_client.c
liblbsite_SRCS += lb/site/site_read.c
endif
