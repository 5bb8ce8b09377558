# SPDX-License-Identifier: GPL-2.0-or-later
# libbase: libc only; the PIC build of it is all that plugins link.
ARCHIVES += libbase
libbase_SRCS :=
libbase_SRCS += lib/account.c
libbase_SRCS += lib/boot.c
libbase_SRCS += lib/buf.c
libbase_SRCS += lib/cgroup.c
libbase_SRCS += lib/cgroup_fds.c
libbase_SRCS += lib/cgroup_final.c
libbase_SRCS += lib/cgroup_memory.c
libbase_SRCS += lib/cgroup_parse.c
libbase_SRCS += lib/cgroup_read.c
libbase_SRCS += lib/cgroup_record.c
libbase_SRCS += lib/energy_page.c
libbase_SRCS += lib/energy_page_writer.c
libbase_SRCS += lib/err.c
libbase_SRCS += lib/fence.c
libbase_SRCS += lib/fair.c
libbase_SRCS += lib/fs.c
libbase_SRCS += lib/log.c
libbase_SRCS += lib/loop.c
libbase_SRCS += lib/netaddr.c
libbase_SRCS += lib/own_host.c
libbase_SRCS += lib/party.c
libbase_SRCS += lib/parse.c
libbase_SRCS += lib/privileges.c
libbase_SRCS += lib/sandbox.c
libbase_SRCS += lib/crc32c.c
libbase_SRCS += lib/prom.c
libbase_SRCS += lib/secret.c
libbase_SRCS += lib/exec.c
libbase_SRCS += lib/spool_reader.c
libbase_SRCS += lib/spool_segment.c
libbase_SRCS += lib/spool_writer.c

# libconf: options and their YAML file; a program that links it lists libconf libbase in
# _LIBS and yaml-0.1 in _PKGS
ARCHIVES += libconf
libconf_SRCS := lib/conf.c lib/conf_help.c lib/conf_yaml.c lib/program.c lib/yaml_walk.c
libconf_PKGS := yaml-0.1
libbase_SRCS += lib/record.c
libbase_SRCS += lib/report.c
libbase_SRCS += lib/spelling.c
libbase_SRCS += lib/report_clock.c
libbase_SRCS += lib/tlv.c
libbase_SRCS += lib/turns.c
libbase_SRCS += lib/ring.c
libbase_SRCS += lib/ring_gone.c
libbase_SRCS += lib/notify.c
libbase_SRCS += lib/service.c
libbase_SRCS += lib/signals.c
libbase_SRCS += lib/siphash.c
libbase_SRCS += lib/slurmconf.c

# libhttp: the bounded HTTP client; a program that links it lists libhttp libbase in _LIBS
# and libcurl in _PKGS. libcurl in the build with GnuTLS, the TLS library of the web server.
ifeq ($(HAVE_CURL),1)
ARCHIVES += libhttp
libhttp_PKGS := libcurl $(if $(HAVE_JSON),json-c)
libhttp_SRCS += lib/http/client.c
libhttp_SRCS += lib/http/client_url.c
libhttp_SRCS += $(if $(HAVE_JSON),lib/http/json.c)
libhttp_SRCS += lib/http/redfish_login.c
endif
libbase_SRCS += lib/rfc3339.c
libbase_SRCS += lib/emission.c
libbase_SRCS += lib/emission_table.c
$(OBJ)/lib/emission_table.o $(OBJ)/pic/lib/emission_table.o: contrib/emissions/owid.csv
libbase_SRCS += lib/courier_msg.c
libbase_SRCS += lib/job.c
libbase_SRCS += lib/job_names.c

# libbatch: the body of a POST to the aggregator; a program that links it lists libbatch
# libbase in _LIBS and zlib in _PKGS
ifeq ($(HAVE_ZLIB),1)
ARCHIVES += libbatch
libbatch_PKGS := zlib
libbatch_SRCS := lib/batch.c
endif
libbase_SRCS += lib/job_json.c
libbase_SRCS += lib/finding.c
