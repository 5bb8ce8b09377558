/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test/unit/ring_fixture.h"

#include <errno.h>
#include <sys/prctl.h>

static void garbage_is_refused(void **state)
{
	struct fixture *f = *state;
	static char junk[RING_HEADER_BYTES + SLOTS * RING_SLOT_BYTES];

	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(i * 7 + 1);
	put(f->other, 0600, junk, sizeof(junk), 0, 0);
	assert_refused(f, f->other, -EBADF, "magic");
}

static void missing_ring_is_told_apart_and_never_created(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, f->other, -ENOENT, "No such file");
	assert_int_equal(access(f->other, F_OK), -1);
}

static void empty_and_short_files_are_refused(void **state)
{
	struct fixture *f = *state;

	put(f->other, 0600, "", 0, 0, 0);
	assert_refused(f, f->other, -EBADF, "shorter");
	ring_detach(&f->producer);
	assert_int_equal(truncate(f->path, RING_HEADER_BYTES + RING_SLOT_BYTES), 0);
	assert_refused(f, f->path, -EBADF, "bytes");
}

static void oversized_file_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(truncate(f->path, (off_t)f->consumer.bytes + 4096), 0);
	assert_refused(f, f->path, -EBADF, "bytes");
}

static void sparse_file_is_refused_because_a_full_tmpfs_would_be_sigbus(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	assert_int_equal(fallocate(f->consumer.fd,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   RING_HEADER_BYTES, 4096),
			 0);
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_size, f->consumer.bytes);
	assert_refused(f, f->path, -EBADF, "allocated");
}

static void future_version_is_told_apart(void **state)
{
	struct fixture *f = *state;
	uint32_t version = RING_VERSION + 1;

	edit(f->path, offsetof(struct ring_header, version), &version, 4);
	assert_refused(f, f->path, -EPROTO, "version 2");
}

static void
slot_counts_that_are_no_power_of_two_or_out_of_range_are_refused(void **state)
{
	struct fixture *f = *state;
	const uint32_t counts[] = {0, 1, 8, 17, RING_SLOTS_MAX * 2, 1u << 31, ~0u};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		edit(f->path, offsetof(struct ring_header, slots), &counts[i], 4);
		assert_refused(f, f->path, -EBADF, "slots");
	}
}

static void foreign_owner_is_refused(void **state)
{
	struct fixture *f = *state;
	struct ring r;

	assert_int_equal(ring_attach(f->path, geteuid() + 1, &r, &f->err), -EPERM);
	assert_non_null(strstr(f->err.text, "owned by uid"));
}

static void symbolic_link_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(symlink(f->path, f->other), 0);
	assert_refused(f, f->other, -EPERM, "symbolic");
}

static void hard_link_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(link(f->path, f->other), 0);
	assert_refused(f, f->path, -EPERM, "links");
}

static void folder_and_fifo_are_refused_without_waiting(void **state)
{
	struct fixture *f = *state;

	assert_refused(f, f->folder, -EPERM, "directory");
	assert_int_equal(mkfifo(f->other, 0600), 0);
	assert_refused(f, f->other, -EPERM, "regular");
}

static void any_other_mode_is_refused(void **state)
{
	struct fixture *f = *state;
	const mode_t modes[] = {0640, 0604, 0666, 0700, 0400, 04600};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(f->path, modes[i]), 0);
		int rc = attach_rc(f, f->path);
		assert_int_equal(rc, -EPERM);
	}
	assert_int_equal(chmod(f->path, 0600), 0);
	assert_int_equal(attach_rc(f, f->path), 0);
}

static void copied_file_is_refused(void **state)
{
	struct fixture *f = *state;

	put(f->other, 0600, f->consumer.header, f->consumer.bytes, 0, 0);
	assert_refused(f, f->other, -EBADF, "copy");
}

static void ring_of_another_boot_is_refused_and_replaced(void **state)
{
	struct fixture *f = *state;
	bool made = false;

	if (is_tmpfs(f->folder))
		skip();
	ring_consumer_close(&f->consumer);
	edit(f->path, offsetof(struct ring_header, boot_id), "1", 1);
	edit(f->path, offsetof(struct ring_header, boot_id) + 1, "zz", 2);
	assert_refused(f, f->path, -EBADF, "another boot");
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err), 0);
	assert_true(made);
	assert_non_null(strstr(f->err.text, "another boot"));
	assert_int_equal(attach_rc(f, f->path), 0);
}

static void on_a_tmpfs_no_boot_id_is_looked_up(void **state)
{
	struct fixture *f = *state;
	char folder[] = "/dev/shm/ring_test.XXXXXX", path[64];
	struct ring consumer, producer;
	bool made;

	if (!is_tmpfs("/dev/shm") || !mkdtemp(folder))
		skip();
	snprintf(path, sizeof(path), "%s/ring", folder);
	assert_int_equal(ring_consumer_open(path, SLOTS, &consumer, &made, &f->err), 0);
	edit(path, offsetof(struct ring_header, boot_id), "zz", 2);
	int rc = ring_attach(path, geteuid(), &producer, &f->err);
	ring_detach(&producer);
	ring_consumer_close(&consumer);
	remove_ring(path);
	rmdir(folder);
	assert_int_equal(rc, 0);
}

static void ring_of_another_pid_namespace_is_refused(void **state)
{
	struct fixture *f = *state;
	uint32_t ns = f->consumer.header->pidns + 1, unknown = 0;

	assert_int_not_equal(f->consumer.header->pidns, 0);
	edit(f->path, offsetof(struct ring_header, pidns), &ns, 4);
	assert_refused(f, f->path, -EBADF, "namespace");
	edit(f->path, offsetof(struct ring_header, pidns), &unknown, 4);
	assert_int_equal(attach_rc(f, f->path), 0);
}

static void attaching_leaves_no_descriptor_open(void **state)
{
	struct fixture *f = *state;
	struct ring r;
	int next = dup(0);

	close(next);
	assert_int_equal(ring_attach(f->path, geteuid(), &r, &f->err), 0);
	assert_int_equal(r.fd, -1);
	int again = dup(0);
	close(again);
	assert_int_equal(again, next);
	ring_detach(&r);
	ring_detach(&r);
	ring_detach(NULL);
}

static void forked_child_does_not_inherit_the_mapping(void **state)
{
	struct fixture *f = *state;
	void *page = f->producer.header;

	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		unsigned char vec;
		int gone = mincore(page, 4096, &vec) < 0 && errno == ENOMEM;
		ring_detach(&f->producer);
		_exit(gone ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(publish_text(&f->producer, "still mapped here"), 0);
}

#define RING_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_up, fixture_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(garbage_is_refused),
		RING_TEST(missing_ring_is_told_apart_and_never_created),
		RING_TEST(empty_and_short_files_are_refused),
		RING_TEST(oversized_file_is_refused),
		RING_TEST(sparse_file_is_refused_because_a_full_tmpfs_would_be_sigbus),
		RING_TEST(future_version_is_told_apart),
		RING_TEST(
			slot_counts_that_are_no_power_of_two_or_out_of_range_are_refused),
		RING_TEST(foreign_owner_is_refused),
		RING_TEST(symbolic_link_is_refused),
		RING_TEST(hard_link_is_refused),
		RING_TEST(folder_and_fifo_are_refused_without_waiting),
		RING_TEST(any_other_mode_is_refused),
		RING_TEST(copied_file_is_refused),
		RING_TEST(ring_of_another_boot_is_refused_and_replaced),
		RING_TEST(on_a_tmpfs_no_boot_id_is_looked_up),
		RING_TEST(ring_of_another_pid_namespace_is_refused),
		RING_TEST(attaching_leaves_no_descriptor_open),
		RING_TEST(forked_child_does_not_inherit_the_mapping),
	};
	return cmocka_run_group_tests_name("ring_attach", tests, NULL, NULL);
}
