/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_SCHEMA_H
#define CEEMS_AGGREGATOR_SCHEMA_H

#include "lib/pg/migrate.h"

/* The files of aggregator/sql/, linked in at build time. */
extern const struct pg_migration schema_migrations[];
extern const size_t schema_migration_count;

#endif
