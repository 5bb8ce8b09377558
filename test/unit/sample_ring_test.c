/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reading end of the kernel's ring buffer, on a file that is laid out like one. */
#include "profiler/sample_ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/unit/unit.h"

enum { RING_BYTES = 4096 };

static struct sample_ring ring;
static unsigned char *data;
static uint64_t *put;
static size_t page;
static int fd;
static unsigned seen[16], seen_count;

static int open_ring(void **state)
{
	struct err err;
	(void)state;

	page = (size_t)sysconf(_SC_PAGESIZE);
	fd = memfd_create("ring", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(2 * page + 2 * RING_BYTES)), 0);
	put = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   (off_t)page);
	assert_true(put != MAP_FAILED);
	data = (unsigned char *)put + page;
	assert_int_equal(sample_ring_open(&ring, fd, RING_BYTES, &err), 0);
	seen_count = 0;
	return 0;
}

static int close_ring(void **state)
{
	(void)state;
	sample_ring_close(&ring);
	munmap(put, page + RING_BYTES);
	close(fd);
	return 0;
}

/* As the kernel does */
static void put_record(unsigned number)
{
	const uint32_t size = sizeof(number);

	memcpy(data + *put % RING_BYTES, &size, sizeof(size));
	memcpy(data + *put % RING_BYTES + 8, &number, sizeof(number));
	__atomic_store_n(put, *put + 16, __ATOMIC_RELEASE);
}

static void note_record(void *arg, const void *record, size_t size)
{
	(void)arg;
	assert_int_equal(size, sizeof(unsigned));
	memcpy(&seen[seen_count++], record, size);
}

/* Waits for somebody as it looks at the first; meanwhile more records come. */
static void see_slowly(void *arg, const void *record, size_t size)
{
	note_record(arg, record, size);
	if (seen[seen_count - 1] != 1)
		return;
	put_record(3);
	sample_ring_keep(&ring);
	assert_int_equal(*ring.taken, *put); /* the kernel has room again */
	put_record(4);
}

static void samples_that_come_as_others_are_looked_at_are_kept_in_order(void **state)
{
	(void)state;
	put_record(1);
	put_record(2);
	assert_int_equal(sample_ring_take(&ring, see_slowly, NULL), 2);
	assert_int_equal(sample_ring_take(&ring, note_record, NULL), 2);
	assert_int_equal(sample_ring_take(&ring, note_record, NULL), 0);
	assert_int_equal(seen_count, 4);
	for (unsigned i = 0; i < seen_count; i++)
		assert_int_equal(seen[i], i + 1);
}

static void what_the_backlog_has_no_room_for_waits_in_the_ring(void **state)
{
	unsigned n = 0;
	(void)state;

	while (ring.backlog_end + 16 <= ring.backlog_room) {
		put_record(n++);
		sample_ring_keep(&ring);
	}
	put_record(n);
	sample_ring_keep(&ring);
	assert_int_equal(*put - *ring.taken, 16);
	put_record(n + 1);
	assert_int_equal(*put - *ring.taken, 32);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_ring, close_ring)
	const struct CMUnitTest tests[] = {
		TEST(samples_that_come_as_others_are_looked_at_are_kept_in_order),
		TEST(what_the_backlog_has_no_room_for_waits_in_the_ring),
	};
	return cmocka_run_group_tests_name("sample_ring_test", tests, NULL, NULL);
}
