/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_INGEST_INGEST_H
#define CEEMS_AGGREGATOR_INGEST_INGEST_H

#include "aggregator/app.h"

/* POST /api/v1/ingest: format in lib/records/batch.h, answers in doc/aggregator.md. */
extern const struct part part_ingest;

/* A text for /health while the database answers but has no space for reports, as a
 * table space of its own may be full. NULL: there is space, or no attempt for a minute,
 * so that senders that go by /health try again. Any thread. */
const char *ingest_no_space(struct app *app);

/* Who may send, for other routes that nodes use. While the part is open. */
struct ingest_senders;
const struct ingest_senders *ingest_senders(const struct app *app);
/* The status of an answer to a request that failed so. */
unsigned ingest_failure_status(int rc);
/* Answers with an error of the API. */
void ingest_answer_error(struct web_request *r, unsigned status, const char *text);

/* For the row in routes.c; arg is the struct app. */
void ingest_admit(void *arg, struct web_request *r);
void ingest_handle(void *arg, struct web_request *r);
void ingest_end(void *arg, struct web_request *r, unsigned status);

#endif
