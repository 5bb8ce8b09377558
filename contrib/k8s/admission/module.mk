# SPDX-License-Identifier: GPL-2.0-or-later

# libadmission: ceems_k8s_admission_controller without its main, for tests
ifeq ($(HAVE_MHD)$(HAVE_GNUTLS)$(HAVE_JSON),111)
ARCHIVES += libadmission
libadmission_USES := $(libhttpd_USES) json-c $(if $(HAVE_CURL),libcurl)
libadmission_PKGS := $(libadmission_USES)
libadmission_SRCS += contrib/k8s/admission/claims.c
libadmission_SRCS += contrib/k8s/admission/hook.c
libadmission_SRCS += contrib/k8s/admission/options.c
libadmission_SRCS += contrib/k8s/admission/owner.c
libadmission_SRCS += contrib/k8s/admission/review.c

ifeq ($(HAVE_CURL),1)
PROGS += ceems_k8s_admission_controller
ceems_k8s_admission_controller_SRCS := contrib/k8s/admission/main.c
ceems_k8s_admission_controller_LIBS := libadmission libident libhttpd libhttp libconf libbase
ceems_k8s_admission_controller_PKGS := $(libadmission_USES) $(if $(HAVE_MUNGE),munge)
ceems_k8s_admission_controller_LDLIBS := -lcrypt
endif
endif
