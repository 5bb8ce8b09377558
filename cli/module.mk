# SPDX-License-Identifier: GPL-2.0-or-later
PROGS += ceems_tool
CLI_CHECK_SRCS := cli/check_plugstack.c
CLI_CHECK_SRCS += cli/check_energy.c
CLI_CHECK_SRCS += cli/check_jobcomp.c
CLI_CHECK_SRCS += cli/check_ring.c
CLI_CHECK_SRCS += cli/check_slurm.c
CLI_CHECK_SRCS += cli/elfsym.c
# what plugins may be told is decided by their own parsers (libgather: the energy plugin;
# libjobcomp)
CLI_CHECK_SRCS += spank/options.c
ceems_tool_SRCS := cli/ceems_tool.c cli/spool.c cli/spoolview.c $(CLI_CHECK_SRCS)
ceems_tool_SRCS += cli/prometheus.c cli/tool_prometheus.c cli/tool_config.c
ceems_tool_NET := $(filter 11111,$(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS)$(HAVE_MHD)$(HAVE_YAML))
ceems_tool_SRCS += $(if $(ceems_tool_NET),cli/selfsigned.c cli/tool_servers.c cli/tool_web.c,cli/tool_none.c)
$(OBJ)/cli/prometheus.o: contrib/prometheus/rules.in contrib/prometheus/relabel.in contrib/prometheus/alerts.yaml
ceems_tool_LIBS := $(if $(ceems_tool_NET),libcacct libident libhttp libhttpd libconf) libgather libjobcomp libbase
ceems_tool_PKGS := $(if $(ceems_tool_NET),libcurl json-c yaml-0.1 gnutls libmicrohttpd $(if $(HAVE_MUNGE),munge))
ceems_tool_LDLIBS := $(if $(ceems_tool_NET),-lcrypt)
# the ring, looked at from outside
PROGS += ceems-ringdump
ceems-ringdump_SRCS := cli/ringdump.c cli/ringview.c
ceems-ringdump_LIBS := libbase
# libcacct: cacct without its main; a program that links it lists $(libcacct_USES) in _PKGS
ifeq ($(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS),111)
ARCHIVES += libcacct
libcacct_USES := libcurl json-c yaml-0.1 gnutls $(if $(HAVE_MUNGE),munge)
libcacct_PKGS := $(libcacct_USES)
libcacct_SRCS += cli/api.c
libcacct_SRCS += cli/cacct_options.c
libcacct_SRCS += cli/cacct_query.c
libcacct_SRCS += cli/cacct_report.c
libcacct_SRCS += cli/cacct_series.c
libcacct_SRCS += cli/cacct_table.c
libcacct_SRCS += cli/cacct_usage.c
libcacct_SRCS += cli/columns.c
libcacct_SRCS += cli/cut.c
libcacct_SRCS += cli/jobsel.c
libcacct_SRCS += cli/progress.c
libcacct_SRCS += cli/promql_range.c
libcacct_SRCS += cli/report.c
libcacct_SRCS += cli/report_html.c
libcacct_SRCS += cli/series.c
libcacct_SRCS += cli/site.c
libcacct_SRCS += cli/summary.c
libcacct_SRCS += cli/svg.c
libcacct_SRCS += cli/table.c
libcacct_SRCS += cli/text.c
libcacct_SRCS += cli/unit.c
libcacct_SRCS += cli/when.c
PROGS += cacct
cacct_SRCS := cli/cacct.c
cacct_LIBS := libcacct libident libhttp libconf libbase
cacct_PKGS := $(libcacct_USES)
endif
