/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renewal of the web configuration, also while it is being read. */
#include "lib/http/web_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fs.h"
#include "lib/log.h"
#include "test/unit/unit.h"

static char file[] = "/tmp/ceems-web-policy-test.XXXXXX";
static const char *next; /* the user whose file is there once this one was read */

static void write_user_to(const char *path, const char *name)
{
	char text[256];
	struct err err;
	int n = snprintf(text, sizeof(text),
			 "basic_auth_users:\n  %s: "
			 "$2b$04$abcdefghijklmnopqrstuu"
			 "...............................\n",
			 name);
	assert_true(n > 0 && (size_t)n < sizeof(text));
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, (size_t)n, 0600, &err), 0);
}

static void write_user(const char *name)
{
	write_user_to(file, name);
}

int __real_web_config_load(const char *path, struct web_config *ret, struct err *err);
int __wrap_web_config_load(const char *path, struct web_config *ret, struct err *err);
int __wrap_web_config_load(const char *path, struct web_config *ret, struct err *err)
{
	int rc = __real_web_config_load(path, ret, err);
	if (next)
		write_user(next);
	next = NULL;
	return rc;
}

static bool in_force(struct web_policy *p, const char *name)
{
	struct web_settings *s = web_policy_get(p);
	bool is =
		s->config.user_count == 1 && strcmp(s->config.users[0].name, name) == 0;
	web_settings_unref(s);
	return is;
}

/* Files are looked at once a second */
static bool comes_into_force(struct web_policy *p, const char *name)
{
	for (int i = 0; i < 600 && !in_force(p, name); i++) {
		usleep(100000);
		web_policy_refresh(p);
	}
	return in_force(p, name);
}

static void a_change_while_the_file_is_read_is_not_missed(void **state)
{
	struct web_policy *p = NULL;
	struct err err;
	(void)state;
	write_user("alpha");
	next = "beta";
	assert_int_equal(web_policy_new(file, &p, &err), 0);
	assert_true(in_force(p, "alpha"));
	assert_true(comes_into_force(p, "beta"));
	write_user("gamma");
	next = "delta";
	assert_true(comes_into_force(p, "delta"));
	next = "omega"; /* the same by SIGHUP */
	assert_int_equal(web_policy_reload(p, &err), 0);
	assert_true(comes_into_force(p, "omega"));
	web_policy_free(p);
}

static size_t count_users(struct web_policy *p)
{
	struct web_settings *s = web_policy_get(p);
	size_t n = s->config.user_count;

	web_settings_unref(s);
	return n;
}

/* Files are looked at once a second */
static void wait_for_users(struct web_policy *p, size_t n)
{
	for (int i = 0; i < 600 && count_users(p) != n; i++) {
		usleep(100000);
		web_policy_refresh(p);
	}
	assert_int_equal(count_users(p), n);
}

static void users_of_dropins_come_and_go_while_it_runs(void **state)
{
	char folder[sizeof(file) + 2], path[sizeof(folder) + 16];
	struct web_policy *p = NULL;
	struct err err;

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s.d", file);
	(void)snprintf(path, sizeof(path), "%s/50-more.yaml", folder);
	write_user("alpha");
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(web_policy_new(file, &p, &err), 0);
	assert_int_equal(count_users(p), 1);
	write_user_to(path, "beta");
	wait_for_users(p, 2);
	assert_int_equal(chmod(path, 0644), 0); /* its hashes are for us alone */
	assert_int_equal(web_policy_reload(p, &err), -EPERM);
	assert_non_null(strstr(err.text, "50-more.yaml"));
	assert_int_equal(unlink(path), 0);
	wait_for_users(p, 1);
	web_policy_free(p);
	assert_int_equal(rmdir(folder), 0);
}

static int setup(void **state)
{
	(void)state;
	int fd = mkstemp(file);
	if (fd < 0)
		return -1;
	close(fd);
	log_init("test", LOG_LOGFMT, LOG_EMERG);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_while_the_file_is_read_is_not_missed),
		cmocka_unit_test(users_of_dropins_come_and_go_while_it_runs),
	};
	return cmocka_run_group_tests_name("web_policy", tests, setup, teardown);
}
