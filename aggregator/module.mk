# SPDX-License-Identifier: GPL-2.0-or-later

# libaggregator: ceems_aggregator without its main, for tests
ifeq ($(HAVE_PQ)$(HAVE_MHD)$(HAVE_CURL)$(HAVE_JSON),1111)
ARCHIVES += libaggregator
libaggregator_USES := $(libhttpd_USES) libpq libcurl json-c zlib $(if $(HAVE_MUNGE),munge)
libaggregator_PKGS := $(libaggregator_USES)
libaggregator_CFLAGS := -I$(OBJ)
libaggregator_SRCS += aggregator/check.c
libaggregator_SRCS += aggregator/periodic_job.c
libaggregator_SRCS += aggregator/cluster.c
libaggregator_SRCS += aggregator/cluster_files.c
libaggregator_SRCS += aggregator/cluster_find.c
libaggregator_SRCS += aggregator/coverage.c
libaggregator_SRCS += aggregator/access.c
libaggregator_SRCS += aggregator/api.c
libaggregator_SRCS += aggregator/api_doc.c
libaggregator_SRCS += aggregator/api_limit.c
libaggregator_SRCS += aggregator/api_site.c
libaggregator_SRCS += aggregator/api_own.c
libaggregator_SRCS += aggregator/api_people.c
libaggregator_SRCS += aggregator/api_units.c
libaggregator_SRCS += aggregator/api_usage.c
libaggregator_SRCS += aggregator/associations.c
libaggregator_SRCS += aggregator/database.c
libaggregator_SRCS += aggregator/export.c
libaggregator_SRCS += aggregator/import.c
libaggregator_SRCS += aggregator/import_rows.c
libaggregator_SRCS += aggregator/import_units.c
libaggregator_SRCS += aggregator/sacct.c
libaggregator_SRCS += aggregator/sacct_json.c
libaggregator_SRCS += aggregator/retention.c
libaggregator_SRCS += aggregator/factors.c
libaggregator_SRCS += aggregator/grafana.c
libaggregator_SRCS += aggregator/grafana_members.c
libaggregator_SRCS += aggregator/options.c
libaggregator_SRCS += aggregator/own.c
libaggregator_SRCS += aggregator/partitions.c
libaggregator_SRCS += aggregator/params.c
libaggregator_SRCS += aggregator/profiles/profile_check.c
libaggregator_SRCS += aggregator/profiles/profile_inspect.c
libaggregator_SRCS += aggregator/profiles/profiles.c
libaggregator_SRCS += aggregator/parts.c
libaggregator_SRCS += aggregator/query.c
libaggregator_SRCS += aggregator/records.c
libaggregator_SRCS += aggregator/routes.c
libaggregator_SRCS += aggregator/schema.c
libaggregator_SRCS += aggregator/witness.c

PROGS += ceems_aggregator
ceems_aggregator_SRCS := aggregator/main.c
ceems_aggregator_LIBS := libaggregator libcloud libkube libingest libemissions libpg libident libhttpd libhttp libbatch libconf libbase
ceems_aggregator_PKGS := $(libaggregator_USES)
ceems_aggregator_LDLIBS := -lcrypt

# the migrations, in the order of their numbers: SQL_FILE(1, sql_0001, "0001_schema.sql"). It stays as it is where a
# folder is newer and holds the same files, as in a copy
AGGREGATOR_SQL := $(sort $(wildcard aggregator/sql/[0-9][0-9][0-9][0-9]_*.sql))
$(OBJ)/aggregator/sql_files.h: $(AGGREGATOR_SQL) aggregator/module.mk aggregator/sql
	@mkdir -p $(@D) && for f in $(notdir $(AGGREGATOR_SQL)); do \
		n=$${f%%_*}; echo "SQL_FILE($$((10#$$n)), sql_$$n, \"$$f\")"; done >$@.new && { cmp -s $@.new $@ && rm $@.new || mv $@.new $@; }
$(OBJ)/aggregator/schema.o $(OBJ)/pic/aggregator/schema.o: $(OBJ)/aggregator/sql_files.h $(AGGREGATOR_SQL)
endif
