/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_CHORE_H
#define CEEMS_AGGREGATOR_CHORE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/pg/pg.h"

/* Work that one of all aggregators of a database does at a time, again and again, on a
 * thread with a connection of its own. Whose turn it is, an advisory lock says, taken
 * with each transaction: when that aggregator dies, the next one goes on. One that
 * fails is tried again soon, then less and less often: what it needs may be away for
 * long. */

struct chore_params {
	const char *name; /* "linker": in the log; borrowed */
	int64_t lock;     /* of enum chore_lock */
	unsigned period_ms;
	unsigned timeout_ms; /* of a statement */
	/* In a transaction, the lock held: 0: nothing more to do now, 1: more waits;
	 * else why not, and it is rolled back. */
	int (*run)(struct pg *pg, void *arg, struct err *err);
	/* After a failure of run that is not the database's being away. May use pg.
	 * NULL: it is tried again. */
	void (*failed)(struct pg *pg, void *arg, int rc);
	/* Outside of a transaction and without the lock, after each turn. NULL:
	 * nothing. */
	void (*look)(struct pg *pg, void *arg);
	void *arg;
};

/* Numbers of our advisory locks of two keys: (CHORE_LOCKS, one of these) */
#define CHORE_LOCKS 0x6365656d
enum chore_lock {
	CHORE_LINKER = 1,
	CHORE_ROLLUP = 2,
	CHORE_FACTORS = 3,
	CHORE_PEOPLE = 4,
	CHORE_GRAFANA = 5
};

struct chore;

/* How long one waits that has failed so often in a row: a second, doubling, up to its
 * own period or five minutes, whichever is shorter. */
unsigned chore_retry_ms(unsigned period_ms, unsigned failures);

int chore_new(const struct pg_params *pg, const struct chore_params *params,
	      struct chore **ret, struct err *err);
void chore_stop(struct chore *c); /* what is under way is cancelled */
void chore_free(struct chore *c); /* accepts NULL */

#endif
