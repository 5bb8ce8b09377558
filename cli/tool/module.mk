# SPDX-License-Identifier: GPL-2.0-or-later

PROGS += ceems_tool
CLI_CHECK_SRCS := cli/tool/check_plugstack.c
CLI_CHECK_SRCS += cli/tool/check_energy.c
CLI_CHECK_SRCS += cli/tool/check_jobcomp.c
CLI_CHECK_SRCS += cli/tool/check_ring.c
CLI_CHECK_SRCS += cli/tool/check_slurm.c
CLI_CHECK_SRCS += cli/tool/elfsym.c
ceems_tool_SRCS := cli/tool/ceems_tool.c cli/tool/spool.c cli/tool/spoolview.c $(CLI_CHECK_SRCS)
ceems_tool_SRCS += cli/tool/prometheus.c cli/tool/tool_prometheus.c cli/tool/tool_config.c cli/tool/tool_gpu.c
ceems_tool_NET := $(filter 11111,$(HAVE_CURL)$(HAVE_JSON)$(HAVE_GNUTLS)$(HAVE_MHD)$(HAVE_YAML))
ceems_tool_SRCS += $(if $(ceems_tool_NET),cli/tool/doctor.c cli/tool/doctor_ceemsd.c cli/tool/doctor_kernel.c cli/tool/doctor_ship.c cli/tool/migrate_config.c cli/tool/migrate_lines.c cli/tool/migrate_api.c cli/tool/migrate_unit.c cli/tool/selfsigned.c cli/tool/tool_servers.c cli/tool/tool_web.c,cli/tool/tool_none.c)
ceems_tool_SRCS += $(if $(ceems_tool_NET),cli/tool/setup.c cli/tool/setup_file.c cli/tool/setup_host.c cli/tool/setup_roles.c cli/tool/setup_slurm.c cli/tool/web_user.c)
ceems_tool_SRCS += $(if $(HAVE_SQLITE),cli/tool/migrate_database.c,cli/tool/migrate_none.c)
$(OBJ)/cli/tool/prometheus.o: contrib/prometheus/rules.in contrib/prometheus/relabel.in contrib/prometheus/alerts.yaml
ceems_tool_LIBS := $(if $(ceems_tool_NET),libcacct libident libhttp libhttpd libconf) libbase
ceems_tool_PKGS := $(if $(HAVE_SQLITE),sqlite3) $(if $(ceems_tool_NET),libcurl json-c yaml-0.1 gnutls libmicrohttpd $(if $(HAVE_MUNGE),munge))
ceems_tool_LDLIBS := $(if $(ceems_tool_NET),-lcrypt)
# the ring, looked at from outside
PROGS += ceems-ringdump
ceems-ringdump_SRCS := cli/tool/ringdump.c cli/tool/ringview.c
ceems-ringdump_LIBS := libbase
