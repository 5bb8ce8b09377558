/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names to addresses, with a name server of the test's. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lb/proxy/resolve.h"

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **ret);
void __wrap_freeaddrinfo(struct addrinfo *list);

static atomic_uint asked;
static atomic_int answers; /* addresses it says; 0: there is no such name */
static atomic_bool silent;

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		       struct addrinfo **ret)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	struct addrinfo *list = NULL;

	(void)host;
	(void)port;
	(void)hints;
	atomic_fetch_add(&asked, 1);
	while (atomic_load(&silent))
		nanosleep(&pause, NULL);
	for (int i = 0; i < atomic_load(&answers); i++) {
		struct addrinfo *a = calloc(1, sizeof(*a) + sizeof(struct sockaddr_in));
		assert_non_null(a);
		a->ai_addr = (struct sockaddr *)(a + 1);
		a->ai_addrlen = sizeof(struct sockaddr_in);
		a->ai_addr->sa_family = AF_INET;
		a->ai_next = list;
		list = a;
	}
	*ret = list;
	return list ? 0 : EAI_NONAME;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	while (list) {
		struct addrinfo *next = list->ai_next;
		free(list);
		list = next;
	}
}

struct test {
	struct resolver *r;
	struct loop *loop;
	struct loop_task task;
	atomic_bool stop;
};

static struct test t;

static void on_task(struct loop_task *task)
{
	(void)task;
	atomic_store(&t.stop, true);
}

static int setup(void **state)
{
	(void)state;
	atomic_store(&asked, 0);
	atomic_store(&answers, 1);
	atomic_store(&silent, false);
	t = (struct test){.task.run = on_task};
	assert_int_equal(loop_new(&t.loop, NULL), 0);
	assert_int_equal(resolver_new(&t.r, NULL), 0);
	assert_int_equal(resolver_tell(t.r, t.loop, &t.task), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	resolver_free(t.r);
	loop_free(t.loop);
	return 0;
}

/* Until somebody was told. */
static void wait_told(void)
{
	loop_run(t.loop, &t.stop);
	atomic_store(&t.stop, false);
}

static void address_is_not_asked_for(void **state)
{
	struct resolve_list list;
	struct sockaddr_in6 v6;

	(void)state;
	assert_int_equal(resolver_get(t.r, "127.0.0.1", 80, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(resolver_get(t.r, "::1", 9090, &list), 0);
	memcpy(&v6, &list.at[0].sa, sizeof(v6));
	assert_int_equal(v6.sin6_family, AF_INET6);
	assert_int_equal(ntohs(v6.sin6_port), 9090);
	assert_int_equal(asked, 0);
}

static void name_is_asked_for_once_and_who_waits_is_told(void **state)
{
	struct resolve_list list;

	(void)state;
	atomic_store(&answers, 3);
	assert_int_equal(resolver_get(t.r, "one.example", 80, &list), -EAGAIN);
	wait_told();
	for (int i = 0; i < 10; i++) {
		assert_int_equal(resolver_get(t.r, "one.example", 80, &list), 0);
		assert_int_equal(list.count, 3);
	}
	assert_int_equal(asked, 1);
}

static void asking_does_not_wait(void **state)
{
	struct resolve_list list;

	(void)state;
	atomic_store(&silent, true);
	for (int i = 0; i < 100; i++)
		assert_int_equal(resolver_get(t.r, "slow.example", 80, &list), -EAGAIN);
	assert_int_equal(resolver_get(t.r, "10.0.0.1", 80, &list), 0);
	atomic_store(&silent, false);
	wait_told();
	assert_int_equal(resolver_get(t.r, "slow.example", 80, &list), 0);
	assert_int_equal(asked, 1);
}

static void name_that_is_not_there_is_said_to_be(void **state)
{
	struct resolve_list list;

	(void)state;
	atomic_store(&answers, 0);
	assert_int_equal(resolver_get(t.r, "no.example", 80, &list), -EAGAIN);
	wait_told();
	assert_int_equal(resolver_get(t.r, "no.example", 80, &list), -EHOSTUNREACH);
}

static void more_addresses_than_fit_are_left_out(void **state)
{
	struct resolve_list list;

	(void)state;
	atomic_store(&answers, 50);
	assert_int_equal(resolver_get(t.r, "many.example", 80, &list), -EAGAIN);
	wait_told();
	assert_int_equal(resolver_get(t.r, "many.example", 80, &list), 0);
	assert_int_equal(list.count, RESOLVE_ADDRESSES_MAX);
}

static void names_are_bounded(void **state)
{
	struct resolve_list list;
	char name[32];

	(void)state;
	for (unsigned i = 0; i < RESOLVE_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "n%u.example", i);
		int rc = resolver_get(t.r, name, 80, &list);
		assert_true(rc == -EAGAIN || rc == 0);
	}
	assert_int_equal(resolver_get(t.r, "more.example", 80, &list), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(address_is_not_asked_for, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			name_is_asked_for_once_and_who_waits_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(asking_does_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(name_that_is_not_there_is_said_to_be,
						setup, teardown),
		cmocka_unit_test_setup_teardown(more_addresses_than_fit_are_left_out,
						setup, teardown),
		cmocka_unit_test_setup_teardown(names_are_bounded, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
