/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is let in, and whose connection ends for another. The clock stands still. */
#include "lib/http/web_conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "test/unit/unit.h"

#define MOST 8
#define LONG_MS 3600000u
#define FRONT 99

static struct web_conns *conns;
static int64_t stands_s, ahead_s;
static struct client {
	int fds[2];
	struct web_conn *conn;
} clients[4 * MOST];
static size_t used;

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	int rc = __real_clock_gettime(id, ret);

	if (!stands_s)
		stands_s = ret->tv_sec;
	*ret = (struct timespec){.tv_sec = stands_s + ahead_s};
	return rc;
}

static int start_conns(void **state, bool reserve)
{
	(void)state;
	used = 0;
	ahead_s = 0;
	return web_conns_new(LONG_MS, MOST, reserve, &conns, NULL);
}

static int make_conns(void **state)
{
	return start_conns(state, true);
}

static int setup_without_front_ends(void **state)
{
	return start_conns(state, false);
}

static int free_conns(void **state)
{
	(void)state;
	for (size_t i = 0; i < used; i++) {
		web_conn_remove(conns, clients[i].conn);
		close(clients[i].fds[0]);
		close(clients[i].fds[1]);
	}
	web_conns_free(conns);
	return 0;
}

/* NULL: it was not let in. */
static struct client *connect_from(uint64_t client)
{
	const struct web_conn_from from = {
		.client = client, .net = client, .front_end = client == FRONT};
	struct client *c = &clients[used];

	if (!web_conns_admit(conns, &from))
		return NULL;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, c->fds), 0);
	c->conn = web_conn_add(conns, c->fds[0], LONG_MS, NULL, &from);
	assert_non_null(c->conn);
	used++;
	return c;
}

/* With a request under way. */
static struct client *ask_from(uint64_t client)
{
	struct client *c = connect_from(client);

	if (c)
		web_conn_begin(conns, c->conn, LONG_MS);
	return c;
}

static bool has_ended(const struct client *c)
{
	struct pollfd p = {.fd = c->fds[1], .events = POLLIN};

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

static void one_client_that_proves_nothing_has_three_quarters(void **state)
{
	(void)state;
	for (int i = 0; i < MOST - MOST / 4; i++)
		assert_non_null(ask_from(1));
	assert_null(connect_from(1));
	for (int i = 0; i < MOST / 4; i++)
		assert_non_null(connect_from(2));
}

static void one_stranger_has_half_beside_the_reserve(void **state)
{
	(void)state;
	for (int i = 0; i < MOST / 2; i++)
		assert_non_null(ask_from(1));
	assert_null(connect_from(1));
	for (int i = 0; i < MOST / 4; i++)
		assert_non_null(ask_from(2));
	assert_null(ask_from(3));
	/* a front end is no stranger */
	for (int i = 0; i < MOST / 4; i++)
		assert_non_null(ask_from(FRONT));
}

static void strangers_leave_a_quarter_to_front_ends(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < MOST - MOST / 4; i++)
		assert_non_null(ask_from(1 + i));
	assert_null(connect_from(50));
	for (int i = 0; i < MOST / 4; i++)
		assert_non_null(connect_from(FRONT));
}

static void without_front_ends_strangers_have_it_all(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < MOST; i++)
		assert_non_null(ask_from(1 + i));
	assert_null(connect_from(50));
}

static void an_idle_stranger_ends_before_a_front_end_that_is_idle(void **state)
{
	struct client *front = connect_from(FRONT), *alone = connect_from(1);

	(void)state;
	for (uint64_t i = 0; i < MOST - 2; i++)
		assert_non_null(connect_from(2 + i % 2));
	/* strangers had six by then: the oldest of the network with most went */
	assert_true(has_ended(&clients[2]));
	assert_non_null(connect_from(FRONT));
	assert_non_null(connect_from(FRONT));
	assert_true(has_ended(&clients[3]));
	assert_false(has_ended(front));
	assert_false(has_ended(alone));
}

static void proof_moves_a_connection_to_whoever_was_proved(void **state)
{
	(void)state;
	/* all users come from one address: as many as the place has */
	for (uint64_t i = 0; i < MOST; i++) {
		struct client *c = ask_from(1);
		assert_non_null(c);
		web_conn_prove(conns, c->conn, 100 + i);
	}
	assert_null(connect_from(2));
	/* one of them has asked and rests: it ends for the next one */
	web_conn_rest(conns, clients[3].conn, LONG_MS);
	assert_non_null(connect_from(2));
	assert_true(has_ended(&clients[3]));
}

static void one_who_is_proved_has_three_quarters(void **state)
{
	(void)state;
	for (int i = 0; i <= MOST - MOST / 4; i++) {
		struct client *c = ask_from(1 + (uint64_t)i);
		assert_non_null(c);
		web_conn_prove(conns, c->conn, 100);
		if (i == 0)
			web_conn_rest(conns, c->conn, LONG_MS);
	}
	assert_true(has_ended(&clients[0]));
	assert_false(has_ended(&clients[1]));
}

static void a_connection_rests_as_one_of_whoever_was_proved_last(void **state)
{
	(void)state;
	for (int i = 0; i <= MOST - MOST / 4; i++) {
		struct client *c = ask_from(1 + (uint64_t)i);
		assert_non_null(c);
		web_conn_prove(conns, c->conn, 50 + (uint64_t)i);
		web_conn_prove(conns, c->conn, 100);
		assert_int_equal(web_conn_who(c->conn), 100);
		assert_false(has_ended(&clients[0]));
		web_conn_rest(conns, c->conn, LONG_MS);
	}
	assert_true(has_ended(&clients[0]));
	assert_false(has_ended(&clients[1]));
}

static void what_takes_long_ends_for_another(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < MOST - MOST / 4; i++)
		assert_non_null(ask_from(1 + i));
	assert_null(connect_from(50));
	ahead_s = 6;
	assert_non_null(connect_from(50));
	assert_true(has_ended(&clients[0]));
}

/* What connect_from() gave becomes TCP. */
static struct client *connect_tcp(uint64_t client)
{
	struct client *c = connect_from(client);
	struct sockaddr_in sa = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sa);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	int theirs = socket(AF_INET, SOCK_STREAM, 0);

	assert_non_null(c);
	assert_int_equal(bind(listening, (struct sockaddr *)&sa, len), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(connect(theirs, (struct sockaddr *)&sa, len), 0);
	int ours = accept(listening, NULL, NULL);
	assert_int_equal(dup2(ours, c->fds[0]), c->fds[0]);
	assert_int_equal(dup2(theirs, c->fds[1]), c->fds[1]);
	close(ours);
	close(theirs);
	close(listening);
	return c;
}

static void
what_never_asked_is_reset_for_another_and_what_did_ends_orderly(void **state)
{
	struct client *silent = connect_tcp(1), *asked = connect_tcp(1);
	char byte;

	(void)state;
	web_conn_begin(conns, asked->conn, LONG_MS);
	web_conn_rest(conns, asked->conn, LONG_MS);
	for (int i = 0; i < MOST - MOST / 4; i++)
		assert_non_null(connect_from(1));
	assert_int_equal(recv(silent->fds[1], &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(recv(asked->fds[1], &byte, 1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			one_client_that_proves_nothing_has_three_quarters,
			setup_without_front_ends, free_conns),
		cmocka_unit_test_setup_teardown(
			one_stranger_has_half_beside_the_reserve, make_conns,
			free_conns),
		cmocka_unit_test_setup_teardown(strangers_leave_a_quarter_to_front_ends,
						make_conns, free_conns),
		cmocka_unit_test_setup_teardown(
			without_front_ends_strangers_have_it_all,
			setup_without_front_ends, free_conns),
		cmocka_unit_test_setup_teardown(
			an_idle_stranger_ends_before_a_front_end_that_is_idle,
			make_conns, free_conns),
		cmocka_unit_test_setup_teardown(
			proof_moves_a_connection_to_whoever_was_proved, make_conns,
			free_conns),
		cmocka_unit_test_setup_teardown(one_who_is_proved_has_three_quarters,
						make_conns, free_conns),
		cmocka_unit_test_setup_teardown(
			a_connection_rests_as_one_of_whoever_was_proved_last,
			make_conns, free_conns),
		cmocka_unit_test_setup_teardown(what_takes_long_ends_for_another,
						make_conns, free_conns),
		cmocka_unit_test_setup_teardown(
			what_never_asked_is_reset_for_another_and_what_did_ends_orderly,
			setup_without_front_ends, free_conns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
