/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a credential is for: each part that differs is named; what is none is none. */
#include "lib/identity/munge_request.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "test/unit/unit.h"

/* of nothing */
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define WORD MUNGE_REQUEST_WORD

static struct munge_asked asked;
static struct err err;
static char hash[MUNGE_REQUEST_HASH_BYTES];

static void expect_request(const char *peer)
{
	asked = (struct munge_asked){.method = "GET", .target = "/a?b=c"};
	asked.has_peer = peer && netaddr_parse(peer, &asked.peer) == 0;
}

static int check_payload(const char *payload)
{
	auto_munge_facts struct munge_facts m = {.rc = 0};

	buf_puts(&m.payload, payload);
	err.text[0] = '\0';
	return munge_request_check(&m, &asked, hash, &err);
}

static void loopback_is_ours_from_this_host_alone(void **state)
{
	static const char *const own[] = {WORD "GET 127.0.0.1:9020 /a?b=c " EMPTY,
					  WORD "GET [::1]:9020 /a?b=c " EMPTY,
					  WORD "GET localhost:9020 /a?b=c " EMPTY};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		expect_request("127.0.0.1");
		assert_int_equal(check_payload(own[i]), 0);
		assert_string_equal(hash, EMPTY);
		expect_request("192.0.2.1"); /* no host's (RFC 5737) */
		assert_int_equal(check_payload(own[i]), -EACCES);
		assert_non_null(strstr(err.text, "which is not this one"));
	}
}

static void a_host_is_ours_by_its_name_or_the_sites_word(void **state)
{
	static const char *const listed[] = {"agg.site", "proxy:443",
					     "[2001:db8::1]:1"};
	char name[200], payload[400];

	(void)state;
	expect_request("192.0.2.1");
	assert_int_equal(gethostname(name, sizeof(name)), 0);
	snprintf(payload, sizeof(payload), WORD "GET %s:1 /a?b=c " EMPTY, name);
	if (*name && strcasecmp(name, "localhost") != 0)
		assert_int_equal(check_payload(payload), 0);
	assert_int_equal(check_payload(WORD "GET agg.site:1 /a?b=c " EMPTY), -EACCES);
	assert_int_equal(check_payload(WORD "GET 192.0.2.9:1 /a?b=c " EMPTY), -EACCES);
	asked.has_local = netaddr_parse("192.0.2.9", &asked.local) == 0;
	assert_int_equal(check_payload(WORD "GET 192.0.2.9:1 /a?b=c " EMPTY), 0);
	assert_int_equal(check_payload(WORD "GET 192.0.2.8:1 /a?b=c " EMPTY), -EACCES);
	asked.hosts = listed;
	asked.host_count = 3;
	assert_int_equal(check_payload(WORD "GET agg.site:1 /a?b=c " EMPTY), 0);
	assert_int_equal(check_payload(WORD "GET proxy:443 /a?b=c " EMPTY), 0);
	assert_int_equal(check_payload(WORD "GET proxy:80 /a?b=c " EMPTY), -EACCES);
	assert_int_equal(check_payload(WORD "GET [2001:db8::1]:1 /a?b=c " EMPTY), 0);
	assert_int_equal(check_payload(WORD "GET agg.site.evil:1 /a?b=c " EMPTY),
			 -EACCES);
	asked.hosts = (const char *const[]){"*"};
	asked.host_count = 1;
	assert_int_equal(check_payload(WORD "GET any.where:1 /a?b=c " EMPTY), 0);
}

static void another_request_is_named_and_garbage_is_none(void **state)
{
	static const char *const bad[] = {
		"",
		WORD,
		"ceems-api/1 GET /a?b=c",
		WORD "GET localhost:1 /a?b=d " EMPTY,
		WORD "POST localhost:1 /a?b=c " EMPTY,
		WORD "GET localhost:1 /a?b=c",
		WORD "GET localhost:1 /a?b=c " EMPTY " x",
		WORD "GET localhost:1 /a?b=c x" EMPTY,
		WORD "GET localhost /a?b=c " EMPTY,
		WORD "GET :1 /a?b=c " EMPTY,
		WORD "GET []:1 /a?b=c " EMPTY,
		WORD "GET  /a?b=c " EMPTY,
	};

	(void)state;
	expect_request("127.0.0.1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(check_payload(bad[i]), -EACCES);
	assert_int_equal(check_payload(bad[3]), -EACCES);
	assert_non_null(strstr(err.text, "another method or path"));
}

static void a_node_is_named_where_it_is_asked_for_alone(void **state)
{
	static const char bare[] = WORD "GET localhost:1 /a?b=c " EMPTY;
	static const char named[] = WORD "GET localhost:1 /a?b=c " EMPTY " n1";
	auto_munge_facts struct munge_facts m = {.rc = 0};
	char node[4];

	(void)state;
	expect_request("127.0.0.1");
	assert_int_equal(check_payload(named), -EACCES);
	asked.node = true;
	assert_int_equal(check_payload(named), 0);
	assert_int_equal(check_payload(bare), -EACCES);
	assert_int_equal(check_payload(WORD "GET localhost:1 /a?b=c " EMPTY " n1 x"),
			 -EACCES);
	buf_puts(&m.payload, bare);
	assert_true(munge_request_node(&m, node, sizeof(node)));
	assert_string_equal(node, "");
	buf_puts(&m.payload, " n1");
	assert_true(munge_request_node(&m, node, sizeof(node)));
	assert_string_equal(node, "n1");
	buf_puts(&m.payload, "23"); /* has no room */
	assert_false(munge_request_node(&m, node, sizeof(node)));
}

static void a_body_has_the_hash_that_was_said(void **state)
{
	(void)state;
	assert_int_equal(munge_request_check_body(EMPTY, NULL, 0, &err), 0);
	assert_int_equal(munge_request_check_body(EMPTY, "x", 1, &err), -EACCES);
	assert_non_null(strstr(err.text, "another body"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback_is_ours_from_this_host_alone),
		cmocka_unit_test(a_host_is_ours_by_its_name_or_the_sites_word),
		cmocka_unit_test(another_request_is_named_and_garbage_is_none),
		cmocka_unit_test(a_node_is_named_where_it_is_asked_for_alone),
		cmocka_unit_test(a_body_has_the_hash_that_was_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
