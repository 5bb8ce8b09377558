/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_H

#include "aggregator/app.h"

/* POST /api/v1/ingest: lib/records/batch.h says what comes, doc/aggregator.md how it is
 * answered. */
extern const struct part part_ingest;

/* Words for /health while reports find no space in the database, though it answers: a
 * table space of its own may be full. NULL: they do, or have not been tried for a
 * minute, so that whoever goes by /health sends one again. Any thread. */
const char *ingest_no_space(struct app *app);

/* Of the row in routes.c; arg is the struct app. */
void ingest_admit(void *arg, struct web_request *r);
void ingest_handle(void *arg, struct web_request *r);
void ingest_end(void *arg, struct web_request *r, unsigned status);

#endif
