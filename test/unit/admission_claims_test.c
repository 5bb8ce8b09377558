/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flood of reviews while nothing can be written: what waits is bounded, what does not
 * fit is counted, and the rest is written once it can be. */
#include "contrib/k8s/admission/claims.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define TOO_MANY 7u

static void put_many(struct claims *c, unsigned n)
{
	struct claim claim = {.by = CLAIM_BY_USER,
			      .at_ns = 1,
			      .cluster = "k1",
			      .kind = "Pod",
			      .owner = "alice"};

	for (unsigned i = 0; i < n; i++) {
		snprintf(claim.uid, sizeof(claim.uid), "pod-%u", i);
		claims_put(c, &claim);
	}
}

static void what_waits_is_bounded_and_written_later(void **state)
{
	char dir[SCRATCH_PATH], spool[2 * SCRATCH_PATH];
	struct claims_stats s = {0};
	struct claims *c = NULL;
	struct err err = {""};

	(void)state;
	scratch_make(dir);
	snprintf(spool, sizeof(spool), "%s/gone/spool", dir);
	assert_int_equal(claims_new(spool, 0, &c, &err), 0);
	put_many(c, CLAIMS_QUEUE_MAX + TOO_MANY);
	claims_read_stats(c, &s);
	assert_int_equal(s.queued, CLAIMS_QUEUE_MAX);
	assert_int_equal(s.lost, TOO_MANY);
	assert_int_equal(s.written, 0);

	snprintf(spool, sizeof(spool), "%s/gone", dir);
	assert_int_equal(mkdir(spool, 0700), 0);
	for (int i = 0; i < 6000 && s.written < CLAIMS_QUEUE_MAX; i++) {
		usleep(10000);
		claims_read_stats(c, &s);
	}
	assert_int_equal(s.written, CLAIMS_QUEUE_MAX);
	assert_int_equal(s.lost, TOO_MANY);
	assert_int_equal(s.queued, 0);
	claims_free(c);
	scratch_remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_is_bounded_and_written_later),
	};
	return cmocka_run_group_tests_name("admission_claims_test", tests, NULL, NULL);
}
