# SPDX-License-Identifier: GPL-2.0-or-later

# libpromql: PromQL to tree and back, and what a tree may read; libc only
ARCHIVES += libpromql
libpromql_SRCS += lb/promql/access.c
libpromql_SRCS += lb/promql/access_metrics.c
libpromql_SRCS += lb/promql/claim_set.c
libpromql_SRCS += lb/promql/form.c
libpromql_SRCS += lb/promql/json_read.c
libpromql_SRCS += lb/promql/prom_request.c
libpromql_SRCS += lb/promql/promql_check.c
libpromql_SRCS += lb/promql/promql_duration.c
libpromql_SRCS += lb/promql/promql_features.c
libpromql_SRCS += lb/promql/promql_functions.c
libpromql_SRCS += lb/promql/promql_lex.c
libpromql_SRCS += lb/promql/promql_operand.c
libpromql_SRCS += lb/promql/promql_parse.c
libpromql_SRCS += lb/promql/promql_print.c
libpromql_SRCS += lb/promql/promql_time.c
libpromql_SRCS += lb/promql/promql_tree.c
libpromql_SRCS += lb/promql/promql_value.c
libpromql_SRCS += lb/promql/re.c
libpromql_SRCS += lb/promql/re_literals.c
