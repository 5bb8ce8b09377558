# SPDX-License-Identifier: GPL-2.0-or-later

# libpg: Postgres by libpq; a program that links it lists libpg libbase in _LIBS and libpq
# in _PKGS
ifeq ($(HAVE_PQ),1)
ARCHIVES += libpg
libpg_PKGS := libpq
libpg_SRCS += lib/pg/migrate.c
libpg_SRCS += lib/pg/pg.c
libpg_SRCS += lib/pg/pg_copy.c
libpg_SRCS += lib/pg/pg_query.c
libpg_SRCS += lib/pg/pg_transaction.c
libpg_SRCS += lib/pg/pool.c
endif
