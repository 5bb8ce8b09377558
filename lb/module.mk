# SPDX-License-Identifier: GPL-2.0-or-later

ifneq ($(and $(filter liblbsite,$(ARCHIVES)),$(filter libgate,$(ARCHIVES)),$(filter liblbproxy,$(ARCHIVES))),)
PROGS += ceems_lb
ceems_lb_SRCS := lb/main.c lb/balancer.c lb/options.c
ceems_lb_LIBS := liblbproxy libgate libpyro liblbsite libpromql libident libhttpd libhttp libconf libbase
ceems_lb_PKGS := $(liblbproxy_USES) $(liblbsite_USES) $(libgate_USES)
ceems_lb_LDLIBS := -lcrypt
endif
