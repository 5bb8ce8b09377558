/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/identity/uid_names.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

#define HANGS 7u /* this number hangs until it may end */
#define BROKEN 8u

static atomic_uint asked;
static sem_t begun, may_end;

int __wrap_getpwuid_r(uid_t uid, struct passwd *pw, char *text, size_t size,
		      struct passwd **ret);
int __wrap_getpwuid_r(uid_t uid, struct passwd *pw, char *text, size_t size,
		      struct passwd **ret)
{
	atomic_fetch_add(&asked, 1);
	*ret = NULL;
	if (uid == HANGS) {
		sem_post(&begun);
		sem_wait(&may_end);
	}
	if (uid == BROKEN)
		return EIO;
	if (uid == 9)
		return 0;
	pw->pw_name = text;
	(void)snprintf(text, size, "user%u", (unsigned)uid);
	*ret = pw;
	return 0;
}

static void answers_are_kept(void **state)
{
	struct uid_names *n = uid_names_new();
	char login[UID_NAMES_LOGIN_BYTES];
	struct err err;

	(void)state;
	atomic_store(&asked, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(uid_names_get(n, 5, login, &err), 0);
		assert_string_equal(login, "user5");
		assert_int_equal(uid_names_get(n, 9, login, &err), 0);
		assert_string_equal(login, "");
	}
	assert_int_equal(atomic_load(&asked), 2);
	/* another number in the same place of the table is no other's login */
	assert_int_equal(uid_names_get(n, 5 + 256, login, &err), 0);
	assert_string_equal(login, "user261");
	assert_int_equal(uid_names_get(n, 5, login, &err), 0);
	assert_string_equal(login, "user5");
	uid_names_free(n);
}

static void a_failure_is_not_kept(void **state)
{
	struct uid_names *n = uid_names_new();
	char login[UID_NAMES_LOGIN_BYTES];
	struct err err;

	(void)state;
	atomic_store(&asked, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(uid_names_get(n, BROKEN, login, &err), -EHOSTDOWN);
		assert_string_equal(err.text, "the user database does not answer");
	}
	assert_int_equal(atomic_load(&asked), 2);
	uid_names_free(n);
}

static void *ask_hanging(void *arg)
{
	char login[UID_NAMES_LOGIN_BYTES];

	return uid_names_get(arg, HANGS, login, NULL) == 0 &&
			       strcmp(login, "user7") == 0
		       ? arg
		       : NULL;
}

static void two_that_hang_hold_up_nobody_else(void **state)
{
	struct uid_names *n = uid_names_new();
	char login[UID_NAMES_LOGIN_BYTES];
	pthread_t threads[UID_NAMES_ASKING_MAX];
	struct err err;
	void *ended;

	(void)state;
	assert_int_equal(uid_names_get(n, 5, login, &err), 0);
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	for (size_t i = 0; i < UID_NAMES_ASKING_MAX; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_hanging, n), 0);
	for (size_t i = 0; i < UID_NAMES_ASKING_MAX; i++)
		sem_wait(&begun);
	assert_int_equal(uid_names_get(n, 5, login, &err), 0);
	assert_string_equal(login, "user5");
	assert_int_equal(uid_names_get(n, 6, login, &err), -EHOSTDOWN);
	assert_non_null(strstr(err.text, "slow"));
	assert_int_equal(uid_names_get(n, HANGS, login, &err), -EHOSTDOWN);
	for (size_t i = 0; i < UID_NAMES_ASKING_MAX; i++)
		sem_post(&may_end);
	for (size_t i = 0; i < UID_NAMES_ASKING_MAX; i++) {
		assert_int_equal(pthread_join(threads[i], &ended), 0);
		assert_non_null(ended);
	}
	assert_int_equal(uid_names_get(n, 6, login, &err), 0);
	assert_string_equal(login, "user6");
	uid_names_free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_kept),
		cmocka_unit_test(a_failure_is_not_kept),
		cmocka_unit_test(two_that_hang_hold_up_nobody_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
