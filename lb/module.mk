# SPDX-License-Identifier: GPL-2.0-or-later

# libpromql: PromQL to tree and back, and what a tree may read; libc only
ARCHIVES += libpromql
libpromql_SRCS += lb/access.c
libpromql_SRCS += lb/access_metrics.c
libpromql_SRCS += lb/claim_set.c
libpromql_SRCS += lb/form.c
libpromql_SRCS += lb/json_read.c
libpromql_SRCS += lb/prom_request.c
libpromql_SRCS += lb/promql_check.c
libpromql_SRCS += lb/promql_duration.c
libpromql_SRCS += lb/promql_features.c
libpromql_SRCS += lb/promql_functions.c
libpromql_SRCS += lb/promql_lex.c
libpromql_SRCS += lb/promql_operand.c
libpromql_SRCS += lb/promql_parse.c
libpromql_SRCS += lb/promql_print.c
libpromql_SRCS += lb/promql_time.c
libpromql_SRCS += lb/promql_tree.c
libpromql_SRCS += lb/promql_value.c
libpromql_SRCS += lb/re.c
libpromql_SRCS += lb/re_literals.c

# libpyro: Pyroscope's calls; a program that links it lists libpyro libpromql libbase in
# _LIBS and zlib in _PKGS
ifeq ($(HAVE_ZLIB),1)
ARCHIVES += libpyro
libpyro_PKGS := zlib
libpyro_SRCS += lb/pyro.c
libpyro_SRCS += lb/pyro_body.c
libpyro_SRCS += lb/pyro_calls.c
libpyro_SRCS += lb/pyro_json.c
libpyro_SRCS += lb/pyro_message.c
libpyro_SRCS += lb/pyro_proto.c
libpyro_SRCS += lb/pyro_render.c
libpyro_SRCS += lb/pyro_request.c
libpyro_SRCS += lb/pyro_schema.c
endif

# liblbsite: what the configuration says, and the servers behind the load balancer; a
# program that links it lists libpromql libident libhttp libconf libbase after it and
# $(liblbsite_USES) in _PKGS
ifeq ($(HAVE_CURL)$(HAVE_GNUTLS)$(HAVE_YAML)$(HAVE_JSON),1111)
ARCHIVES += liblbsite
liblbsite_USES := libcurl yaml-0.1 gnutls json-c $(if $(HAVE_MUNGE),munge)
liblbsite_PKGS := $(liblbsite_USES)
liblbsite_SRCS += lb/backend.c
liblbsite_SRCS += lb/backend_set.c
liblbsite_SRCS += lb/health.c
liblbsite_SRCS += lb/keep.c
liblbsite_SRCS += lb/site.c
liblbsite_SRCS += lb/site_backends.c
liblbsite_SRCS += lb/site_build.c
liblbsite_SRCS += lb/site_client.c
liblbsite_SRCS += lb/site_read.c
endif

# libgate: from a request to a verdict; a program that links it lists libgate libpyro
# libpromql libident libhttp libhttpd libconf libbase in _LIBS and $(libgate_USES) in _PKGS
ifeq ($(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS)$(HAVE_MHD)$(HAVE_ZLIB),11111)
ARCHIVES += libgate
libgate_USES := libcurl json-c gnutls zlib $(if $(HAVE_MUNGE),munge)
libgate_PKGS := $(libgate_USES)
libgate_SRCS += lb/call.c
libgate_SRCS += lb/crew.c
libgate_SRCS += lb/gate.c
libgate_SRCS += lb/gate_audit.c
libgate_SRCS += lb/gate_decide.c
libgate_SRCS += lb/gate_identity.c
libgate_SRCS += lb/gate_limit.c
libgate_SRCS += lb/gate_metrics.c
libgate_SRCS += lb/gate_remember.c
libgate_SRCS += lb/lru.c
libgate_SRCS += lb/owned.c
libgate_SRCS += lb/owned_ahead.c
libgate_SRCS += lb/owned_answer.c
libgate_SRCS += lb/owned_ask.c
libgate_SRCS += lb/owned_question.c
libgate_SRCS += lb/owned_rule.c
libgate_SRCS += lb/prom_protocol.c
endif

# liblbproxy: the path of a request; a program that links it lists liblbproxy libident
# libhttpd libhttp libconf libbase in _LIBS and $(liblbproxy_USES) in _PKGS
ifeq ($(HAVE_MHD)$(HAVE_GNUTLS)$(HAVE_CURL)$(HAVE_JSON)$(HAVE_ZLIB),11111)
ARCHIVES += liblbproxy
liblbproxy_USES := $(libhttpd_USES) libcurl json-c zlib $(if $(HAVE_MUNGE),munge)
liblbproxy_PKGS := $(liblbproxy_USES)
liblbproxy_SRCS += lb/answer.c
liblbproxy_SRCS += lb/filter.c
liblbproxy_SRCS += lb/filtered.c
liblbproxy_SRCS += lb/relay.c
liblbproxy_SRCS += lb/resolve.c
liblbproxy_SRCS += lb/upstream.c
liblbproxy_SRCS += lb/upstream_conn.c
liblbproxy_SRCS += lb/upstream_tls.c
liblbproxy_SRCS += lb/worker.c
endif

ifneq ($(and $(filter liblbsite,$(ARCHIVES)),$(filter libgate,$(ARCHIVES)),$(filter liblbproxy,$(ARCHIVES))),)
PROGS += ceems_lb
ceems_lb_SRCS := lb/main.c lb/balancer.c lb/options.c
ceems_lb_LIBS := liblbproxy libgate libpyro liblbsite libpromql libident libhttpd libhttp libconf libbase
ceems_lb_PKGS := $(liblbproxy_USES) $(liblbsite_USES) $(libgate_USES)
ceems_lb_LDLIBS := -lcrypt
endif
