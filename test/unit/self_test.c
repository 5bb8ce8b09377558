/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/web/self.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "test/unit/unit.h"

#define FILES 40

/* process_open_fds as a scrape has it now, UINT64_MAX when it is left out */
static uint64_t open_fds(struct self *s)
{
	static const char key[] = "\nprocess_open_fds ";
	struct prom *out = prom_new(1 << 16);
	struct buf text;
	uint64_t n = UINT64_MAX;

	assert_non_null(out);
	buf_init(&text, 1 << 16);
	self_put_process(s, out);
	assert_int_equal(prom_render(out, PROM_TEXT, &text), 0);
	buf_put(&text, "", 1);
	assert_int_equal(buf_error(&text), 0);
	const char *at = strstr(text.data, key);
	if (at) {
		const char *p = at + sizeof(key) - 1;
		assert_int_equal(scan_u64(&p, text.data + text.len, &n), 0);
	}
	buf_done(&text);
	prom_free(out);
	return n;
}

static struct env env_of(int procfd)
{
	return (struct env){.procfd = procfd,
			    .realtime_ns = clock_realtime_ns,
			    .boottime_ns = clock_boottime_ns};
}

static void open_fds_follow_the_files_that_are_open(void **state)
{
	(void)state;
	struct self *s;
	int fds[FILES];
	struct env env = env_of(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	assert_true(env.procfd >= 0);
	assert_int_equal(self_new(&env, &s), 0);
	uint64_t before = open_fds(s);
	assert_in_range(before, 4, 1000); /* 0, 1, 2 and /proc */
	for (int i = 0; i < FILES; i++) {
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	assert_int_equal(open_fds(s), before + FILES);
	for (int i = 0; i < FILES; i++)
		close(fds[i]);
	assert_int_equal(open_fds(s), before);
	self_free(s);
	close(env.procfd);
}

static void where_the_size_is_no_count_the_fds_are_listed(void **state)
{
	(void)state;
	struct self *s;
	char folder[] = "/tmp/ceems-self.XXXXXX", path[128];

	assert_non_null(mkdtemp(folder));
	struct env env = env_of(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	assert_int_equal(mkdirat(env.procfd, "self", 0755), 0);
	assert_int_equal(mkdirat(env.procfd, "self/fd", 0755), 0);
	for (int i = 0; i < 6; i++) {
		(void)snprintf(path, sizeof(path), "self/fd/%d", i);
		int fd = openat(env.procfd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	assert_int_equal(self_new(&env, &s), 0);
	assert_int_equal(open_fds(s), 5); /* less the listing's own */
	self_free(s);
	for (int i = 0; i < 6; i++) {
		(void)snprintf(path, sizeof(path), "self/fd/%d", i);
		(void)unlinkat(env.procfd, path, 0);
	}
	(void)unlinkat(env.procfd, "self/fd", AT_REMOVEDIR);
	(void)unlinkat(env.procfd, "self", AT_REMOVEDIR);
	close(env.procfd);
	(void)rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_fds_follow_the_files_that_are_open),
		cmocka_unit_test(where_the_size_is_no_count_the_fds_are_listed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
