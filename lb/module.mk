# SPDX-License-Identifier: GPL-2.0-or-later

# libpromql: PromQL to tree and back, and what a tree may read; libc only
ARCHIVES += libpromql
libpromql_SRCS += lb/access.c
libpromql_SRCS += lb/form.c
libpromql_SRCS += lb/prom_request.c
libpromql_SRCS += lb/promql_check.c
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
