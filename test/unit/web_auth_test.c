/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/web_auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock.h"
#include "test/unit/unit.h"

static struct web_config users;
static struct web_auth *a;
static int64_t ahead_s; /* of the real clock */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	int rc = __real_clock_gettime(id, ret);

	ret->tv_sec += ahead_s;
	return rc;
}

/* A header "Basic ..." for name:password; one of a few static buffers. */
static const char *basic(const char *name, const char *password)
{
	static char out[4][512];
	static int next;
	char text[256];
	char *o = out[next++ % 4];
	snprintf(text, sizeof(text), "%s:%s", name, password);
	gnutls_datum_t in = {(unsigned char *)text, (unsigned)strlen(text)}, b64 = {0};
	assert_int_equal(gnutls_base64_encode2(&in, &b64), 0);
	snprintf(o, 512, "Basic %.*s", (int)b64.size, (char *)b64.data);
	gnutls_free(b64.data);
	return o;
}

static void add_user(const char *name, const char *password, const char *prefix)
{
	struct crypt_data data = {0};
	char salt[64];
	snprintf(salt, sizeof(salt), "%s04$abcdefghijklmnopqrstuu", prefix);
	const char *hash = crypt_r(password, salt, &data);
	assert_non_null(hash);
	assert_int_equal(strlen(hash), 60);
	users.users =
		reallocarray(users.users, users.user_count + 1, sizeof(*users.users));
	assert_non_null(users.users);
	users.users[users.user_count++] =
		(struct web_config_user){strdup(name), strdup(hash)};
}

static int setup(void **state)
{
	(void)state;
	add_user("ada", "correct horse", "$2b$");
	add_user("bob", "p\xc3\xa4ss:w\xc3\xb6rd", "$2y$");
	add_user("eve", "old style", "$2a$");
	return web_auth_new(&a, NULL);
}

static int teardown(void **state)
{
	(void)state;
	web_auth_free(a);
	web_config_done(&users);
	ahead_s = 0;
	return 0;
}

struct wait {
	pthread_mutex_t mutex;
	pthread_cond_t done;
	int left;
	enum auth_verdict verdict;
};

static void on_done(void *arg, enum auth_verdict verdict)
{
	struct wait *w = arg;
	pthread_mutex_lock(&w->mutex);
	w->verdict = verdict;
	w->left--;
	pthread_cond_signal(&w->done);
	pthread_mutex_unlock(&w->mutex);
}

static void on_verdict_lost(void *arg, enum auth_verdict verdict)
{
	(void)arg;
	(void)verdict;
}

/* The verdict, computed when it must be; *computed says whether it was. */
static enum auth_verdict verdict(const char *header, bool *computed)
{
	struct wait w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1,
			 AUTH_PENDING};
	struct auth_job *job = NULL;
	enum auth_verdict v = web_auth_check(a, &users, header, NULL, &job);
	*computed = v == AUTH_PENDING;
	if (v != AUTH_PENDING)
		return v;
	assert_int_equal(web_auth_submit(a, job, 1, on_done, &w), 0);
	pthread_mutex_lock(&w.mutex);
	while (w.left)
		pthread_cond_wait(&w.done, &w.mutex);
	pthread_mutex_unlock(&w.mutex);
	return w.verdict;
}

static void right_passwords_are_good_and_computed_once(void **state)
{
	(void)state;
	static const char *const who[][2] = {{"ada", "correct horse"},
					     {"bob", "p\xc3\xa4ss:w\xc3\xb6rd"},
					     {"eve", "old style"}};
	for (size_t i = 0; i < 3; i++) {
		bool computed;
		assert_int_equal(verdict(basic(who[i][0], who[i][1]), &computed),
				 AUTH_GOOD);
		assert_true(computed);
		for (int k = 0; k < 5; k++) {
			assert_int_equal(
				verdict(basic(who[i][0], who[i][1]), &computed),
				AUTH_GOOD);
			assert_false(computed);
		}
	}
	assert_int_equal(web_auth_computed(a), 3);
}

static void wrong_passwords_and_unknown_users_cost_one_bcrypt_each(void **state)
{
	(void)state;
	static const char *const who[][2] = {{"ada", "Correct horse"},
					     {"ada", ""},
					     {"ada", "old style"},
					     {"nobody", "correct horse"},
					     {"", ""}};
	for (size_t i = 0; i < 5; i++) {
		bool computed;
		assert_int_equal(verdict(basic(who[i][0], who[i][1]), &computed),
				 AUTH_BAD);
		assert_true(computed);
		assert_int_equal(verdict(basic(who[i][0], who[i][1]), &computed),
				 AUTH_BAD);
		assert_false(computed);
	}
	assert_int_equal(web_auth_computed(a), 5);
}

static void changed_password_ends_the_remembered_verdict(void **state)
{
	(void)state;
	bool computed;
	assert_int_equal(verdict(basic("ada", "correct horse"), &computed), AUTH_GOOD);
	const char *old = users.users[0].hash;
	users.users[0].hash = users.users[1].hash;
	assert_int_equal(verdict(basic("ada", "correct horse"), &computed), AUTH_BAD);
	assert_true(computed);
	users.users[0].hash = old;
}

/* Holds the auth thread until it is told otherwise: what is submitted meanwhile waits.
 */
struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t change;
	bool reached, open;
};

static void hold_thread(void *arg, enum auth_verdict verdict)
{
	struct gate *g = arg;

	(void)verdict;
	pthread_mutex_lock(&g->mutex);
	g->reached = true;
	pthread_cond_broadcast(&g->change);
	while (!g->open)
		pthread_cond_wait(&g->change, &g->mutex);
	pthread_mutex_unlock(&g->mutex);
}

static void open_gate(struct gate *g)
{
	pthread_mutex_lock(&g->mutex);
	g->open = true;
	pthread_cond_broadcast(&g->change);
	pthread_mutex_unlock(&g->mutex);
}

static void submit_held(struct gate *g)
{
	struct auth_job *job = NULL;

	assert_int_equal(web_auth_check(a, &users, basic("ada", "holds"), NULL, &job),
			 AUTH_PENDING);
	assert_int_equal(web_auth_submit(a, job, 1, hold_thread, g), 0);
	pthread_mutex_lock(&g->mutex);
	while (!g->reached)
		pthread_cond_wait(&g->change, &g->mutex);
	pthread_mutex_unlock(&g->mutex);
}

static void many_with_one_credential_wait_for_one_bcrypt(void **state)
{
	enum { PANELS = 8 * AUTH_QUEUE_MAX };
	struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
			 false};
	struct wait w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PANELS,
			 AUTH_PENDING};

	(void)state;
	submit_held(&g);
	for (int i = 0; i < PANELS; i++) {
		struct auth_job *job = NULL;
		assert_int_equal(web_auth_check(a, &users,
						basic("ada", "correct horse"), NULL,
						&job),
				 AUTH_PENDING);
		assert_int_equal(web_auth_submit(a, job, 1, on_done, &w), 0);
	}
	open_gate(&g);
	pthread_mutex_lock(&w.mutex);
	while (w.left)
		pthread_cond_wait(&w.done, &w.mutex);
	pthread_mutex_unlock(&w.mutex);
	assert_int_equal(w.verdict, AUTH_GOOD);
	assert_int_equal(web_auth_computed(a), 2);
}

struct late {
	struct wait wait;
	unsigned computed; /* when it was told */
};

static void on_late(void *arg, enum auth_verdict verdict)
{
	struct late *l = arg;

	l->computed = web_auth_computed(a);
	on_done(&l->wait, verdict);
}

static void wait_for_late(struct late *l)
{
	pthread_mutex_lock(&l->wait.mutex);
	while (l->wait.left)
		pthread_cond_wait(&l->wait.done, &l->wait.mutex);
	pthread_mutex_unlock(&l->wait.mutex);
}

/* So many guesses as are taken from one client. */
static int submit_guesses(uint64_t client, const char *user)
{
	int taken = 0;

	for (int rc = 0; rc == 0; taken += rc == 0) {
		struct auth_job *job = NULL;
		char guess[64];
		snprintf(guess, sizeof(guess), "%s %d", user, taken);
		assert_int_equal(
			web_auth_check(a, &users, basic(user, guess), NULL, &job),
			AUTH_PENDING);
		rc = web_auth_submit(a, job, client, on_verdict_lost, NULL);
		assert_true(rc == 0 || rc == -EBUSY);
	}
	return taken;
}

static void a_flood_of_guesses_delays_whoever_sends_it_alone(void **state)
{
	struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
			 false};
	struct late far = {.wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
				    1, AUTH_PENDING}};
	struct late near = far;
	struct auth_job *job = NULL;

	(void)state;
	submit_held(&g);
	assert_int_equal(submit_guesses(7, "ada"), AUTH_LANE_MAX);
	assert_int_equal(submit_guesses(7, "nobody"), AUTH_LANE_MAX);
	/* the same user from elsewhere, another user from the same client */
	assert_int_equal(
		web_auth_check(a, &users, basic("ada", "correct horse"), NULL, &job),
		AUTH_PENDING);
	assert_int_equal(web_auth_submit(a, job, 8, on_late, &far), 0);
	assert_int_equal(
		web_auth_check(a, &users, basic("eve", "old style"), NULL, &job),
		AUTH_PENDING);
	assert_int_equal(web_auth_submit(a, job, 7, on_late, &near), 0);
	open_gate(&g);
	wait_for_late(&far);
	wait_for_late(&near);
	assert_int_equal(far.wait.verdict, AUTH_GOOD);
	assert_int_equal(near.wait.verdict, AUTH_GOOD);
	/* after the one that held the thread, at most one of each other */
	assert_true(far.computed <= 5);
	assert_true(near.computed <= 5);
}

static void whoever_guessed_wrong_waits_behind_those_who_did_not(void **state)
{
	struct gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
			 false};
	struct late right = {.wait = {PTHREAD_MUTEX_INITIALIZER,
				      PTHREAD_COND_INITIALIZER, 1, AUTH_PENDING}};
	struct auth_job *job = NULL;
	bool computed;

	(void)state;
	/* client 1 has one wrong, and so for a while has a lane of those who fail */
	assert_int_equal(verdict(basic("ada", "wrong"), &computed), AUTH_BAD);
	submit_held(&g);
	assert_int_equal(submit_guesses(1, "ada"), AUTH_LANE_MAX);
	assert_int_equal(
		web_auth_check(a, &users, basic("ada", "correct horse"), NULL, &job),
		AUTH_PENDING);
	assert_int_equal(web_auth_submit(a, job, 2, on_late, &right), 0);
	open_gate(&g);
	wait_for_late(&right);
	assert_int_equal(right.wait.verdict, AUTH_GOOD);
	assert_true(right.computed <= 4);
}

static void what_was_decided_before_it_was_submitted_is_told_at_once(void **state)
{
	struct wait w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1,
			 AUTH_PENDING};
	struct auth_job *late = NULL;
	const char *good = basic("ada", "correct horse");
	bool computed;

	(void)state;
	assert_int_equal(web_auth_check(a, &users, good, NULL, &late), AUTH_PENDING);
	assert_int_equal(verdict(good, &computed), AUTH_GOOD);
	assert_int_equal(web_auth_submit(a, late, 1, on_done, &w), 0);
	assert_int_equal(w.left, 0);
	assert_int_equal(w.verdict, AUTH_GOOD);
	assert_int_equal(web_auth_computed(a), 1);
}

static void a_right_password_outlives_quiet_nights_while_it_is_used(void **state)
{
	const char *good = basic("ada", "correct horse");
	bool computed;

	(void)state;
	assert_int_equal(verdict(good, &computed), AUTH_GOOD);
	for (int nights = 0; nights < 30; nights++) {
		ahead_s += 86400;
		assert_int_equal(verdict(good, &computed), AUTH_GOOD);
		assert_false(computed);
	}
	/* but not for ever without */
	ahead_s += 8 * 86400;
	assert_int_equal(verdict(good, &computed), AUTH_GOOD);
	assert_true(computed);
}

static void a_configuration_that_is_read_again_forgets(void **state)
{
	const char *good = basic("ada", "correct horse");
	bool computed;

	(void)state;
	assert_int_equal(verdict(good, &computed), AUTH_GOOD);
	users.reading++;
	assert_int_equal(verdict(good, &computed), AUTH_GOOD);
	assert_true(computed);
	users.reading--;
}

static void headers_that_are_none_are_bad_without_work(void **state)
{
	(void)state;
	static const char *const headers[] = {
		"",
		"Basic",
		"Basic ",
		"Basic !!!!",
		"Bearer abc",
		"Basic YWRh",         /* no colon */
		"Basic YWRhAGI6eA==", /* a NUL in it */
		"Basic YWRhOng",      /* cut */
	};
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		struct auth_job *job = NULL;
		if (web_auth_check(a, &users, headers[i], NULL, &job) != AUTH_BAD)
			fail_msg("%s", headers[i]);
		assert_null(job);
	}
	assert_int_equal(web_auth_check(a, &users, NULL, NULL, NULL), AUTH_BAD);
	char name[8], password[8];
	assert_int_equal(web_auth_decode(basic("longer than 8", "x"), name,
					 sizeof(name), password, sizeof(password)),
			 -EINVAL);
	assert_int_equal(web_auth_decode(basic("u", "longer than 8"), name,
					 sizeof(name), password, sizeof(password)),
			 -EINVAL);
	assert_int_equal(web_auth_decode("bAsIc dTpwOnE=", name, sizeof(name), password,
					 sizeof(password)),
			 0);
	assert_string_equal(name, "u");
	assert_string_equal(password, "p:q");
}

static void a_connection_knows_what_it_proved_under_this_configuration(void **state)
{
	struct auth_known known = {.until_ns = 0};
	struct auth_job *job = NULL;
	const char *good = basic("ada", "correct horse");
	bool computed;

	(void)state;
	users.reading = 1;
	assert_int_equal(verdict(good, &computed), AUTH_GOOD);
	assert_int_equal(web_auth_check(a, &users, good, &known, NULL), AUTH_GOOD);
	assert_string_equal(known.user, "ada");
	assert_int_not_equal(known.until_ns, 0);

	/* with no user left nobody but the connection can know */
	size_t count = users.user_count;
	users.user_count = 0;
	assert_int_equal(web_auth_check(a, &users, good, &known, NULL), AUTH_GOOD);
	/* read again: what was known is worth nothing */
	users.reading = 2;
	assert_int_equal(web_auth_check(a, &users, good, &known, &job), AUTH_PENDING);
	assert_int_equal(known.until_ns, 0);
	assert_int_equal(web_auth_submit(a, job, 1, on_verdict_lost, NULL), 0);
	users.user_count = count;
	/* nor is what anybody was told before */
	assert_int_equal(verdict(good, &computed), AUTH_GOOD);
	assert_true(computed);

	/* another header (the last letter of base64 has bits that say nothing), none */
	assert_int_equal(web_auth_check(a, &users, good, &known, NULL), AUTH_GOOD);
	for (size_t i = 6; i < strlen(good) - 2; i++) {
		char other[512];
		struct auth_known k = known;
		snprintf(other, sizeof(other), "%s", good);
		other[i] ^= 1;
		job = NULL;
		assert_int_not_equal(web_auth_check(a, &users, other, &k, &job),
				     AUTH_GOOD);
		assert_int_equal(k.until_ns, 0);
		if (job)
			(void)web_auth_submit(a, job, 1, on_verdict_lost, NULL);
	}
	assert_int_equal(web_auth_check(a, &users, NULL, &known, NULL), AUTH_BAD);
	/* and not for ever */
	known.until_ns = 1;
	users.user_count = 0;
	job = NULL;
	/* (the verdict without users may be there by now) */
	assert_int_not_equal(web_auth_check(a, &users, good, &known, &job), AUTH_GOOD);
	if (job) /* the queue may be full */
		(void)web_auth_submit(a, job, 1, on_verdict_lost, NULL);
	users.user_count = count;
}

static void queue_is_bounded_and_stop_answers_what_waits(void **state)
{
	(void)state;
	struct wait w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0,
			 AUTH_PENDING};
	int refused = 0, taken = 0;
	for (int i = 0; i < 200; i++) {
		char password[32];
		struct auth_job *job = NULL;
		snprintf(password, sizeof(password), "guess %d", i);
		assert_int_equal(
			web_auth_check(a, &users, basic("ada", password), NULL, &job),
			AUTH_PENDING);
		pthread_mutex_lock(&w.mutex);
		w.left++;
		pthread_mutex_unlock(&w.mutex);
		int rc = web_auth_submit(a, job, 1, on_done, &w);
		if (rc == 0) {
			taken++;
			continue;
		}
		assert_int_equal(rc, -EBUSY);
		refused++;
		pthread_mutex_lock(&w.mutex);
		w.left--;
		pthread_mutex_unlock(&w.mutex);
	}
	assert_true(refused > 0);
	assert_true(taken >= AUTH_LANE_MAX);
	web_auth_stop(a);
	/* every one that was taken has been answered */
	assert_int_equal(w.left, 0);
	assert_int_equal(w.verdict, AUTH_BAD);
	struct auth_job *job = NULL;
	assert_int_equal(web_auth_check(a, &users, basic("ada", "late"), NULL, &job),
			 AUTH_PENDING);
	assert_int_equal(web_auth_submit(a, job, 1, on_done, &w), -ESHUTDOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			right_passwords_are_good_and_computed_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			wrong_passwords_and_unknown_users_cost_one_bcrypt_each, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			changed_password_ends_the_remembered_verdict, setup, teardown),
		cmocka_unit_test_setup_teardown(
			many_with_one_credential_wait_for_one_bcrypt, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_flood_of_guesses_delays_whoever_sends_it_alone, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			whoever_guessed_wrong_waits_behind_those_who_did_not, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			what_was_decided_before_it_was_submitted_is_told_at_once, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_right_password_outlives_quiet_nights_while_it_is_used, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_configuration_that_is_read_again_forgets, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_connection_knows_what_it_proved_under_this_configuration,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			headers_that_are_none_are_bad_without_work, setup, teardown),
		cmocka_unit_test_setup_teardown(
			queue_is_bounded_and_stop_answers_what_waits, setup, teardown),
	};
	return cmocka_run_group_tests_name("web_auth_test", tests, NULL, NULL);
}
