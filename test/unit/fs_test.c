/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "test/unit/unit.h"

static char folder[] = "/tmp/ceems-fs-test.XXXXXX";
static int dirfd_;

static void put(const char *name, const char *text)
{
	auto_close int fd =
		openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static void read_u64_rejects_what_is_not_a_number(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int rc;
	} cases[] = {{"12\n", 0},
		     {"", -ENODATA},
		     {"\n", -ENODATA},
		     {"-1\n", -EINVAL},
		     {"max\n", -EINVAL},
		     {"1\n2\n", -EINVAL},
		     {"99999999999999999999\n", -ERANGE}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err;
		uint64_t v = 77;
		put("n", cases[i].text);
		assert_int_equal(fs_read_u64_at(dirfd_, "n", &v, &err), cases[i].rc);
		if (cases[i].rc) {
			assert_true(v == 77);
			assert_non_null(strstr(err.text, "n: "));
		} else {
			assert_true(v == 12);
		}
	}
	struct err err;
	uint64_t v;
	assert_int_equal(fs_read_u64_at(dirfd_, "missing", &v, &err), -ENOENT);
	assert_string_equal(err.text, "open missing: No such file or directory");
}

static void read_is_bounded(void **state)
{
	(void)state;
	char small[8], text[3001];
	struct err err;
	put("n", "1234567");
	assert_int_equal(fs_read_at(dirfd_, "n", small, sizeof(small), &err), 7);
	put("n", "12345678");
	assert_int_equal(fs_read_at(dirfd_, "n", small, sizeof(small), &err), -EFBIG);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put("n", text);
	auto_buf struct buf b = BUF_INIT;
	assert_int_equal(fs_read_buf_at(dirfd_, "n", 3000, &b, &err), 0);
	assert_int_equal(b.len, 3000);
	assert_int_equal(fs_read_buf_at(dirfd_, "n", 2999, &b, &err), -EFBIG);
}

static void atomic_write_replaces_with_exact_mode(void **state)
{
	(void)state;
	struct err err;
	struct stat st;
	char text[16];
	assert_int_equal(fs_write_atomic_at(dirfd_, "a", "one", 3, 0640, &err), 0);
	assert_int_equal(fs_write_atomic_at(dirfd_, "a", "two!", 4, 0600, &err), 0);
	assert_int_equal(fstatat(dirfd_, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fs_read_at(dirfd_, "a", text, sizeof(text), &err), 4);
	assert_string_equal(text, "two!");
	assert_int_equal(faccessat(dirfd_, "a.new", F_OK, 0), -1);
}

/* Who owns the folder, or a crash, may have left anything under the other name. */
static void atomic_write_follows_and_truncates_nothing(void **state)
{
	(void)state;
	struct err err;
	struct stat st;
	char text[16], tmp[FS_NEW_BYTES];

	put("victim", "precious");
	assert_int_equal(fchmodat(dirfd_, "victim", 0600, 0), 0);
	assert_int_equal(linkat(dirfd_, "victim", dirfd_, "a.new", 0), 0);
	assert_int_equal(fs_write_atomic_at(dirfd_, "a", "one", 3, 0644, &err), 0);
	assert_int_equal(symlinkat("victim", dirfd_, "a.new"), 0);
	assert_int_equal(fs_write_atomic_at(dirfd_, "a", "two", 3, 0644, &err), 0);
	assert_int_equal(fs_read_at(dirfd_, "a", text, sizeof(text), &err), 3);
	assert_string_equal(text, "two");
	assert_int_equal(fs_read_at(dirfd_, "victim", text, sizeof(text), &err), 8);
	assert_string_equal(text, "precious");
	assert_int_equal(fstatat(dirfd_, "victim", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* each is a file of its own */
	auto_close int one = fs_create_new_at(dirfd_, "a", 0600, tmp, &err);
	auto_close int two = fs_create_new_at(dirfd_, "a", 0600, tmp, &err);
	assert_true(one >= 0 && two >= 0);
	assert_string_equal(tmp, "a.new");
	assert_int_equal(fstat(one, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(fstat(two, &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(unlinkat(dirfd_, tmp, 0), 0);
	/* what cannot be removed is said */
	assert_int_equal(mkdirat(dirfd_, "a.new", 0700), 0);
	assert_true(fs_write_atomic_at(dirfd_, "a", "x", 1, 0644, &err) < 0);
	assert_non_null(strstr(err.text, "remove a.new"));
	assert_int_equal(unlinkat(dirfd_, "a.new", AT_REMOVEDIR), 0);
}

static bool is_quick; /* somebody who puts a link where a file was just removed */

int __real_unlinkat(int dirfd, const char *path, int flags);
int __wrap_unlinkat(int dirfd, const char *path, int flags);

int __wrap_unlinkat(int dirfd, const char *path, int flags)
{
	int rc = __real_unlinkat(dirfd, path, flags);

	if (is_quick)
		assert_int_equal(symlinkat("victim", dirfd, path), 0);
	return rc;
}

static void a_link_that_is_made_in_between_is_refused(void **state)
{
	(void)state;
	struct err err;
	char text[16];

	put("victim", "precious");
	is_quick = true;
	int rc = fs_write_atomic_at(dirfd_, "b", "one", 3, 0644, &err);
	is_quick = false;
	assert_int_equal(rc, -EEXIST);
	assert_non_null(strstr(err.text, "create b.new"));
	assert_int_equal(fs_read_at(dirfd_, "victim", text, sizeof(text), &err), 8);
	assert_string_equal(text, "precious");
	assert_int_equal(unlinkat(dirfd_, "b.new", 0), 0);
	assert_int_equal(faccessat(dirfd_, "b", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void trust_is_refused_with_what_to_change(void **state)
{
	(void)state;
	struct err err;
	put("t", "x");
	auto_close int fd = openat(dirfd_, "t", O_RDONLY | O_CLOEXEC);
	assert_int_equal(fs_check_trusted(fd, "t", geteuid(), 0600, &err), 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(fs_check_trusted(fd, "t", geteuid(), 0600, &err), -EPERM);
	assert_string_equal(err.text, "t: mode 0644, refused (chmod 0600)");
	assert_int_equal(fs_check_trusted(fd, "t", geteuid() + 1, 0644, &err), -EPERM);
	assert_non_null(strstr(err.text, "owned by uid"));
	assert_int_equal(linkat(dirfd_, "t", dirfd_, "t2", 0), 0);
	assert_int_equal(fs_check_trusted(fd, "t", geteuid(), 0644, &err), -EPERM);
	assert_non_null(strstr(err.text, "2 links"));
	auto_close int dir = fs_opendir_at(dirfd_, ".", &err);
	assert_int_equal(fs_check_trusted(dir, ".", geteuid(), 0700, &err), -EPERM);
	assert_non_null(strstr(err.text, "not a regular file"));
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	dirfd_ = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static int teardown(void **state)
{
	(void)state;
	static const char *const names[] = {"n", "a", "t", "t2", "victim"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlinkat(dirfd_, names[i], 0);
	close(dirfd_);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_u64_rejects_what_is_not_a_number),
		cmocka_unit_test(read_is_bounded),
		cmocka_unit_test(atomic_write_replaces_with_exact_mode),
		cmocka_unit_test(atomic_write_follows_and_truncates_nothing),
		cmocka_unit_test(a_link_that_is_made_in_between_is_refused),
		cmocka_unit_test(trust_is_refused_with_what_to_change),
	};
	return cmocka_run_group_tests_name("fs", tests, setup, teardown);
}
