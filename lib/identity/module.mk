# SPDX-License-Identifier: GPL-2.0-or-later

# libident: who asks (MUNGE, certificates, front ends, tokens); a program that links it
# lists gnutls, and munge where HAVE_MUNGE, in _PKGS
ifeq ($(HAVE_GNUTLS),1)
ARCHIVES += libident
libident_PKGS := gnutls $(if $(HAVE_JSON),json-c) $(if $(HAVE_CURL),libcurl) $(if $(HAVE_MUNGE),munge)
libident_CFLAGS := $(if $(HAVE_MUNGE),-DHAVE_MUNGE)
libident_SRCS += $(if $(HAVE_CURL),$(if $(HAVE_JSON),lib/identity/identity.c lib/identity/identity_web.c lib/identity/jwt.c lib/identity/jwt_source.c lib/identity/role_entry.c))
libident_SRCS += lib/identity/munge.c
libident_SRCS += lib/identity/munge_request.c
libident_SRCS += lib/identity/party.c
libident_SRCS += lib/identity/tls_names.c
libident_SRCS += lib/identity/uid_names.c
endif
