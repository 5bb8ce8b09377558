# SPDX-License-Identifier: GPL-2.0-or-later

# libcacct: cacct without its main; a program that links it lists $(libcacct_USES) in _PKGS
ifeq ($(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS),111)
ARCHIVES += libcacct
libcacct_USES := libcurl json-c yaml-0.1 gnutls $(if $(HAVE_MUNGE),munge)
libcacct_PKGS := $(libcacct_USES)
libcacct_SRCS += cli/cacct/api.c
libcacct_SRCS += cli/cacct/cacct_options.c
libcacct_SRCS += cli/cacct/cacct_query.c
libcacct_SRCS += cli/cacct/cacct_report.c
libcacct_SRCS += cli/cacct/cacct_series.c
libcacct_SRCS += cli/cacct/cacct_table.c
libcacct_SRCS += cli/cacct/cacct_usage.c
libcacct_SRCS += cli/cacct/columns.c
libcacct_SRCS += cli/cacct/cut.c
libcacct_SRCS += cli/cacct/flame.c
libcacct_SRCS += cli/cacct/flame_load.c
libcacct_SRCS += cli/cacct/flame_print.c
libcacct_SRCS += cli/cacct/jobsel.c
libcacct_SRCS += cli/cacct/kind.c
libcacct_SRCS += cli/cacct/progress.c
libcacct_SRCS += cli/cacct/promql_range.c
libcacct_SRCS += cli/cacct/report.c
libcacct_SRCS += cli/cacct/report_counts.c
libcacct_SRCS += cli/cacct/report_html.c
libcacct_SRCS += cli/cacct/series.c
libcacct_SRCS += cli/cacct/site.c
libcacct_SRCS += cli/cacct/summary.c
libcacct_SRCS += cli/cacct/svg.c
libcacct_SRCS += cli/cacct/table.c
libcacct_SRCS += cli/cacct/text.c
libcacct_SRCS += cli/cacct/unit.c
libcacct_SRCS += cli/cacct/when.c
PROGS += cacct
cacct_SRCS := cli/cacct/cacct.c
cacct_LIBS := libcacct libident libhttp libconf libbase
cacct_PKGS := $(libcacct_USES)
endif
