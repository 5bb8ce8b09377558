/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions that are retried when the database says that they may succeed now. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/pg/pg_impl.h"

#define ATTEMPTS 5
#define PAUSE_MS 10

static const char *begin_sql(enum pg_isolation isolation)
{
	switch (isolation) {
	case PG_REPEATABLE_READ:
		return "BEGIN ISOLATION LEVEL REPEATABLE READ";
	case PG_SERIALIZABLE:
		return "BEGIN ISOLATION LEVEL SERIALIZABLE";
	case PG_READ_COMMITTED:
		break;
	}
	return "BEGIN ISOLATION LEVEL READ COMMITTED";
}

/* Two conflicting transactions must not collide again at once. */
static void pause_a_little(const struct pg *pg, unsigned attempt)
{
	uint64_t spread = (clock_boottime_ns() ^ (uintptr_t)pg) >> 10;
	uint64_t ms = ((uint64_t)PAUSE_MS << attempt) / 2 + spread % PAUSE_MS;
	struct timespec ts = {.tv_nsec = (long)(ms % 1000 * NSEC_PER_MSEC)};

	nanosleep(&ts, NULL);
}

static int rolled_back(struct pg *pg, int rc)
{
	/* The caller gets the body's failure; a failed ROLLBACK shows with the next
	 * statement. */
	if (pg_connected(pg)) {
		if (pg_exec(pg, "ROLLBACK", NULL, NULL) < 0)
			pg_disconnect(pg);
	}
	pg->in_transaction = false;
	return rc;
}

static int attempt_transaction(struct pg *pg, enum pg_isolation isolation,
			       int (*body)(struct pg *pg, void *arg, struct err *err),
			       void *arg, struct err *err)
{
	PGresult *r = NULL;
	int rc = pg_exec(pg, begin_sql(isolation), NULL, err);

	if (rc < 0)
		return rc;
	pg->in_transaction = true;
	rc = body(pg, arg, err);
	if (rc < 0)
		return rolled_back(pg, rc);
	rc = pg_exec(pg, "COMMIT", &r, err);
	/* COMMIT of a failed transaction is a ROLLBACK, which only its tag tells */
	if (rc == 0 && PQcmdStatus(r)[0] != 'C')
		rc = err_set(err, -EIO, "database: rolled back at commit");
	PQclear(r);
	pg->in_transaction = false;
	return rc;
}

int pg_transaction(struct pg *pg, enum pg_isolation isolation, unsigned attempts,
		   int (*body)(struct pg *pg, void *arg, struct err *err), void *arg,
		   struct err *err)
{
	int rc = -EAGAIN;

	if (attempts == 0)
		attempts = ATTEMPTS;
	for (unsigned i = 0; i < attempts; i++) {
		if (i > 0)
			pause_a_little(pg, i < 6 ? i : 6);
		rc = attempt_transaction(pg, isolation, body, arg, err);
		if (rc != -EAGAIN && rc != -EHOSTDOWN)
			break;
		/* do not spend the attempts while the server is down */
		if (rc == -EHOSTDOWN && pg_connect(pg, err) < 0)
			break;
	}
	return rc;
}
