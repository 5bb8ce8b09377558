/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/claim.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static unsigned char wire[CLAIM_BYTES_MAX + 64];
static struct claim in, out;
static struct err err;

static void fill_claim(void)
{
	memset(&in, 0, sizeof(in));
	strcpy(in.cluster, "k1");
	strcpy(in.kind, "Pod");
	strcpy(in.uid, "5b8f7fd4-0000-4000-8000-000000000001");
	in.at_ns = 7;
	in.by = CLAIM_BY_USER;
}

static void claims_come_back_as_they_were(void **state)
{
	(void)state;
	fill_claim();
	strcpy(in.namespace, "web");
	strcpy(in.owner, "oidc:alice@example.org");
	int n = claim_encode(&in, wire, sizeof(wire));
	assert_true(n > 0);
	assert_int_equal(wire[0], CLAIM_TYPE);
	assert_int_equal(claim_decode(wire, (size_t)n, &out, &err), 0);
	assert_memory_equal(&in, &out, sizeof(in));
}

static void the_longest_claim_fits(void **state)
{
	(void)state;
	memset(&in, 0, sizeof(in));
	memset(in.cluster, 'c', sizeof(in.cluster) - 1);
	memset(in.kind, 'k', sizeof(in.kind) - 1);
	memset(in.uid, 'u', sizeof(in.uid) - 1);
	memset(in.namespace, 'n', sizeof(in.namespace) - 1);
	memset(in.name, 'n', sizeof(in.name) - 1);
	memset(in.owner, 'o', sizeof(in.owner) - 1);
	memset(in.owner_uid, 'o', sizeof(in.owner_uid) - 1);
	memset(in.controller, 'c', sizeof(in.controller) - 1);
	in.at_ns = INT64_MAX;
	in.by = CLAIM_BY_CONTROLLER;
	int n = claim_encode(&in, wire, CLAIM_BYTES_MAX);
	assert_true(n > 0);
	assert_int_equal(claim_decode(wire, (size_t)n, &out, &err), 0);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_int_equal(claim_encode(&in, wire, (size_t)n - 1), -EMSGSIZE);
}

static void what_is_no_claim_is_refused(void **state)
{
	(void)state;
	fill_claim();
	int n = claim_encode(&in, wire, sizeof(wire));
	for (int cut = 0; cut < n; cut++)
		assert_int_equal(claim_decode(wire, (size_t)cut, &out, &err), -EPROTO);
	in.by = 9;
	assert_int_equal(claim_encode(&in, wire, sizeof(wire)), -EINVAL);
	fill_claim();
	in.uid[0] = '\0';
	assert_int_equal(claim_encode(&in, wire, sizeof(wire)), -EINVAL);
	/* an owner of 2000 bytes, field 6: not cut */
	fill_claim();
	static unsigned char longer[4096];
	n = claim_encode(&in, longer, sizeof(longer));
	longer[n] = 6;
	longer[n + 1] = 0;
	longer[n + 2] = 2000 & 0xff;
	longer[n + 3] = 2000 >> 8;
	memset(longer + n + 4, 'x', 2000);
	assert_int_equal(claim_decode(longer, (size_t)n + 2004, &out, &err), -EPROTO);
	assert_non_null(strstr(err.text, "owner"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_come_back_as_they_were),
		cmocka_unit_test(the_longest_claim_fits),
		cmocka_unit_test(what_is_no_claim_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
