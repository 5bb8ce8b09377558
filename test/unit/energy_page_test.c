/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/energy_page.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/records/energy_page_file.h"
#include "test/unit/unit.h"

#define ROWS 64u

struct fixture {
	char folder[64], path[96], other[96];
	struct energy_page_writer *w;
	struct energy_page page;
	struct err err;
};

/* The writer's writes: after this many bytes nothing more gets through, as if it had
 * been killed there. */
static uint64_t bytes_left = UINT64_MAX;

ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t at)
{
	size_t n = len < bytes_left ? len : (size_t)bytes_left;

	if (bytes_left == UINT64_MAX)
		return __real_pwrite(fd, data, len, at);
	if (n == 0) {
		errno = EIO;
		return -1;
	}
	bytes_left -= n;
	return __real_pwrite(fd, data, n, at);
}

static int up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	snprintf(f->folder, sizeof(f->folder), "/tmp/energy_page_test.XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/energy", f->folder);
	snprintf(f->other, sizeof(f->other), "%s/other", f->folder);
	bytes_left = UINT64_MAX;
	if (energy_page_writer_open(f->path, ROWS, &f->w, &f->err) < 0 ||
	    energy_page_open(f->path, &f->page, &f->err) < 0) {
		fprintf(stderr, "# %s\n", f->err.text);
		return -1;
	}
	*state = f;
	return 0;
}

static int down(void **state)
{
	struct fixture *f = *state;

	bytes_left = UINT64_MAX;
	energy_page_close(&f->page);
	energy_page_writer_free(f->w);
	unlink(f->path);
	unlink(f->other);
	int rc = rmdir(f->folder);
	free(f);
	return rc;
}

/* A tick whose every number is a function of v, so that a mixture of two is seen. */
static struct energy_page_node node_of(uint64_t v)
{
	struct energy_page_node n = {.tick_ns = v * NSEC_PER_SEC,
				     .interval_ns = NSEC_PER_SEC,
				     .idle_uj = v,
				     .system_uj = v,
				     .total_mask = 1u << ENERGY_PAGE_HOST,
				     .dynamic_uj_per_cpu_s = v,
				     .idle_uw_per_cpu = v};

	for (int d = 0; d < ENERGY_PAGE_DOMAINS; d++) {
		n.uj[d] = v;
		n.uw[d] = v;
	}
	snprintf(n.source[ENERGY_PAGE_HOST], ENERGY_PAGE_SOURCE_MAX, "cray");
	return n;
}

static struct energy_page_row row_of(uint32_t job, uint32_t step, uint32_t pid,
				     uint64_t v)
{
	struct energy_page_row r = {
		.job = job,
		.step = step,
		.stepd_pid = pid,
		.total_uj = v * 1000 + job,
		.cpu_ns = v,
		.alloc_mcpu = 1000,
	};
	return r;
}

static int tick(struct fixture *f, uint64_t v, uint32_t rows)
{
	struct energy_page_node n = node_of(v);

	energy_page_begin(f->w, &n);
	for (uint32_t i = rows; i-- > 0;) {
		struct energy_page_row r = row_of(i + 1, i % 3, 100 + i, v);
		energy_page_add(f->w, &r);
	}
	return energy_page_commit(f->w, &f->err);
}

/* The tick that a reader sees, after checking that it is a whole one; -1: none */
static int64_t seen(struct fixture *f, uint32_t rows)
{
	struct energy_page_node n;
	struct energy_page_row r;

	int rc = energy_page_find(&f->page, 1, 0, 100, &n, rows ? &r : NULL);
	if (rc == -ENODATA)
		return -1;
	assert_int_equal(rc, 0);
	uint64_t v = n.idle_uj;
	assert_int_equal(n.tick_ns, v * NSEC_PER_SEC);
	assert_int_equal(n.dynamic_uj_per_cpu_s, v);
	for (int d = 0; d < ENERGY_PAGE_DOMAINS; d++)
		assert_int_equal(n.uj[d], v);
	for (uint32_t i = 0; i < rows; i++) {
		assert_int_equal(
			energy_page_find(&f->page, i + 1, i % 3, 100 + i, &n, &r), 0);
		assert_int_equal(n.idle_uj, v);
		assert_int_equal(r.total_uj, v * 1000 + i + 1);
	}
	return (int64_t)v;
}

/* ---- reading and writing --------------------------------------------------------- */

static void a_new_page_has_no_tick_yet(void **state)
{
	struct fixture *f = *state;
	struct energy_page_node n = {.tick_ns = 7};
	struct energy_page_row r;

	assert_int_equal(energy_page_find(&f->page, 1, 0, 1, &n, &r), -ENODATA);
	assert_int_equal(n.tick_ns, 7);
}

static void each_row_of_a_tick_is_found_with_its_node(void **state)
{
	struct fixture *f = *state;

	for (uint64_t v = 1; v < 40; v++) {
		assert_int_equal(tick(f, v, (uint32_t)v), 0);
		assert_int_equal(seen(f, (uint32_t)v), v);
	}
	assert_int_equal(tick(f, 50, ROWS), 0);
	assert_int_equal(seen(f, ROWS), 50);
}

static void a_key_is_job_step_and_pid(void **state)
{
	struct fixture *f = *state;
	struct energy_page_node n = node_of(3);
	struct energy_page_row r;
	static const uint32_t keys[][3] = {
		{7, 0, 10}, {7, 0, 11}, {7, 1, 10}, {7, ENERGY_PAGE_JOB, 9}, {8, 0, 10},
	};

	energy_page_begin(f->w, &n);
	for (size_t i = 0; i < 5; i++) {
		r = row_of(keys[i][0], keys[i][1], keys[i][2], 1);
		r.cpu_ns = i;
		assert_int_equal(energy_page_add(f->w, &r), 0);
	}
	assert_int_equal(energy_page_commit(f->w, &f->err), 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(energy_page_find(&f->page, keys[i][0], keys[i][1],
						  keys[i][2], &n, &r),
				 0);
		assert_int_equal(r.cpu_ns, i);
	}
	r.cpu_ns = 77;
	assert_int_equal(energy_page_find(&f->page, 7, 0, 12, &n, &r), -ENOENT);
	assert_int_equal(r.cpu_ns, 77);
	assert_int_equal(n.idle_uj, 3);
	assert_int_equal(energy_page_find(&f->page, 6, 0, 10, &n, &r), -ENOENT);
	assert_int_equal(energy_page_find(&f->page, 9, 0, 10, &n, &r), -ENOENT);
}

static void names_that_do_not_end_are_cut(void **state)
{
	struct fixture *f = *state;
	struct energy_page_node n = node_of(3);

	n.emission_mg_per_kwh = 56000;
	memset(n.emission_provider, 'x', sizeof(n.emission_provider));
	memset(n.source[0], 'y', sizeof(n.source[0]));
	energy_page_begin(f->w, &n);
	assert_int_equal(energy_page_commit(f->w, &f->err), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 1, &n, NULL), 0);
	assert_int_equal(n.emission_mg_per_kwh, 56000);
	assert_string_equal(n.emission_provider, "xxxxxxxxxxxxxxxxxxxxxxx");
	assert_string_equal(n.source[0], "yyyyyyyyyyyyyyyyyyyyyyy");
}

static void rows_beyond_the_capacity_are_counted(void **state)
{
	struct fixture *f = *state;
	struct energy_page_node n;

	assert_int_equal(tick(f, 1, ROWS + 5), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 1, &n, NULL), 0);
	assert_int_equal(n.rows_lost, 5);
	struct energy_page_row r;
	/* the first that were added have their place */
	assert_int_equal(
		energy_page_find(&f->page, ROWS + 5, (ROWS + 4) % 3, 164 + 4, &n, &r),
		0);
	assert_int_equal(tick(f, 2, 1), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 100, &n, &r), 0);
	assert_int_equal(n.rows_lost, 0);
}

/* ---- a writer that dies ---------------------------------------------------------- */

static void a_writer_that_dies_at_any_byte_leaves_a_whole_tick(void **state)
{
	struct fixture *f = *state;
	uint64_t total = 8 + sizeof(struct energy_page_half) +
			 20 * sizeof(struct energy_page_row) + 16;
	uint64_t last = 1;

	assert_int_equal(tick(f, 1, 20), 0);
	for (uint64_t left = 0; left <= total; left++) {
		bytes_left = left;
		int rc = tick(f, left + 2, 20);
		assert_int_equal(rc, left == total ? 0 : -EIO);
		bytes_left = UINT64_MAX;
		if (total - left >= 8) /* the header's generation is not begun */
			assert_int_equal(seen(f, 20), last);
		/* started again, it goes on, and the tick before stays readable */
		energy_page_writer_free(f->w);
		assert_int_equal(energy_page_writer_open(f->path, ROWS, &f->w, &f->err),
				 0);
		if (total - left >= 8)
			assert_int_equal(seen(f, 20), last);
		last = left + 100000;
		assert_int_equal(tick(f, last, 20), 0);
		assert_int_equal(seen(f, 20), last);
	}
}

static void a_failed_commit_is_said_and_the_next_one_works(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(tick(f, 1, 20), 0);
	bytes_left = 500;
	assert_int_equal(tick(f, 2, 20), -EIO);
	assert_non_null(strstr(f->err.text, "energy page"));
	bytes_left = UINT64_MAX;
	assert_int_equal(seen(f, 20), 1);
	assert_int_equal(tick(f, 3, 20), 0);
	assert_int_equal(seen(f, 20), 3);
}

struct hammer {
	struct fixture *f;
	bool stop;
};

static void *write_on(void *arg)
{
	struct hammer *h = arg;

	for (uint64_t v = 2; !__atomic_load_n(&h->stop, __ATOMIC_RELAXED); v++)
		tick(h->f, v, 40);
	return NULL;
}

static void a_reader_beside_a_busy_writer_never_sees_a_mixture(void **state)
{
	struct fixture *f = *state;
	struct hammer h = {.f = f};
	struct energy_page_node n;
	struct energy_page_row r;
	pthread_t thread;
	unsigned whole = 0, again = 0;

	assert_int_equal(tick(f, 1, 40), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_on, &h), 0);
	for (uint64_t i = 0, last = 0; i < 20000; i++) {
		uint32_t job = (uint32_t)(i % 40) + 1;
		int rc = energy_page_find(&f->page, job, (job - 1) % 3, 99 + job, &n,
					  &r);
		if (rc == -EAGAIN) {
			again++;
			continue;
		}
		assert_int_equal(rc, 0);
		assert_int_equal(n.tick_ns, n.idle_uj * NSEC_PER_SEC);
		assert_int_equal(n.idle_uw_per_cpu, n.idle_uj);
		assert_int_equal(r.total_uj, n.idle_uj * 1000 + job);
		assert_true(n.idle_uj >= last);
		last = n.idle_uj;
		whole++;
	}
	__atomic_store_n(&h.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	print_message("# %u whole, %u gave up\n", whole, again);
	assert_true(whole > 1000);
}

/* ---- whose page it is ------------------------------------------------------------ */

static void a_writer_takes_over_a_sound_page_and_replaces_any_other(void **state)
{
	struct fixture *f = *state;
	struct energy_page_node n;

	assert_int_equal(tick(f, 5, 3), 0);
	energy_page_writer_free(f->w);
	assert_int_equal(energy_page_writer_open(f->path, ROWS, &f->w, &f->err), 0);
	assert_int_equal(seen(f, 3), 5);
	energy_page_writer_free(f->w);
	assert_int_equal(energy_page_writer_open(f->path, ROWS * 2, &f->w, &f->err), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 100, &n, NULL), -ESTALE);
	energy_page_close(&f->page);
	assert_int_equal(energy_page_open(f->path, &f->page, &f->err), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 100, &n, NULL), -ENODATA);
	assert_int_equal(tick(f, 6, ROWS * 2), 0);
	assert_int_equal(seen(f, ROWS * 2), 6);
}

static void the_size_of_a_page_has_limits(void **state)
{
	struct fixture *f = *state;
	struct energy_page_writer *w = NULL;

	assert_int_equal(energy_page_writer_open(f->other, 0, &w, &f->err), -EINVAL);
	assert_int_equal(energy_page_writer_open(f->other, ENERGY_PAGE_ROWS_MAX + 1, &w,
						 &f->err),
			 -EINVAL);
	assert_null(w);
	assert_int_equal(access(f->other, F_OK), -1);
}

static void assert_refused(struct fixture *f, const char *path, int rc, const char *why)
{
	struct energy_page p = ENERGY_PAGE_CLOSED;

	int got = energy_page_open(path, &p, &f->err);
	if (got != rc || !strstr(f->err.text, why))
		fail_msg("%d \"%s\", wanted %d \"%s\"", got, f->err.text, rc, why);
	assert_int_equal(p.fd, -1);
}

/* The page under another name, as another file */
static void copy_page(struct fixture *f, size_t len, off_t at, const void *data,
		      size_t data_len)
{
	static char bytes[1 << 16];

	unlink(f->other);
	auto_close int from = open(f->path, O_RDONLY | O_CLOEXEC);
	auto_close int to = open(f->other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ssize_t n = pread(from, bytes, sizeof(bytes), 0);
	assert_int_equal(n, energy_page_bytes(ROWS));
	struct stat st;
	assert_int_equal(fstat(to, &st), 0);
	uint64_t inode = st.st_ino;
	memcpy(bytes + offsetof(struct energy_page_header, inode), &inode, 8);
	memcpy(bytes + at, data, data_len);
	assert_int_equal(write(to, bytes, len), len);
}

static void what_is_not_a_page_is_refused(void **state)
{
	struct fixture *f = *state;
	size_t size = (size_t)energy_page_bytes(ROWS);
	uint32_t version = ENERGY_PAGE_VERSION + 1, rows = ENERGY_PAGE_ROWS_MAX + 1;
	uint64_t inode = 1;

	assert_refused(f, f->other, -ENOENT, "other");
	copy_page(f, size, 0, "CEEMSNRG", 8);
	struct energy_page p;
	assert_int_equal(energy_page_open(f->other, &p, &f->err), 0);
	energy_page_close(&p);
	copy_page(f, size, 0, "CEEMSRNG", 8);
	assert_refused(f, f->other, -EBADF, "magic");
	copy_page(f, size, 8, &version, 4);
	assert_refused(f, f->other, -EPROTO, "version 3");
	copy_page(f, size, offsetof(struct energy_page_header, capacity), &rows, 4);
	assert_refused(f, f->other, -EBADF, "rows");
	copy_page(f, size, offsetof(struct energy_page_header, inode), &inode, 8);
	assert_refused(f, f->other, -EBADF, "copy");
	copy_page(f, size, offsetof(struct energy_page_header, boot_id), "zzzz", 4);
	if (!is_tmpfs(f->folder))
		assert_refused(f, f->other, -EBADF, "another boot");
	copy_page(f, size - 1, 0, "C", 1);
	assert_refused(f, f->other, -EBADF, "bytes, by its header it has");
	copy_page(f, 79, 0, "C", 1);
	assert_refused(f, f->other, -EBADF, "shorter");
	copy_page(f, 4096, 0, "C", 1);
	assert_int_equal(truncate(f->other, (off_t)size), 0);
	assert_refused(f, f->other, -EBADF, "not fully allocated");
}

static void what_others_may_touch_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(chmod(f->path, 0640), 0);
	assert_refused(f, f->path, -EPERM, "mode");
	assert_int_equal(chmod(f->path, 0400), 0);
	assert_refused(f, f->path, -EPERM, "mode");
	assert_int_equal(chmod(f->path, 0600), 0);
	assert_int_equal(link(f->path, f->other), 0);
	assert_refused(f, f->path, -EPERM, "links");
	assert_int_equal(unlink(f->other), 0);
	assert_int_equal(symlink(f->path, f->other), 0);
	assert_refused(f, f->other, -EPERM, "other");
	assert_int_equal(unlink(f->other), 0);
	assert_int_equal(mkfifo(f->other, 0600), 0);
	assert_refused(f, f->other, -EPERM, "not a regular file");
	assert_refused(f, f->folder, -EPERM, "not a regular file");
	assert_refused(f, "energy", -ENOENT, "energy");
	assert_int_equal(chmod(f->folder, 0770), 0);
	assert_refused(f, f->path, -EPERM, "chmod go-w");
	assert_int_equal(chmod(f->folder, 0750), 0);
	struct energy_page p;
	assert_int_equal(energy_page_open(f->path, &p, &f->err), 0);
	energy_page_close(&p);
}

static void a_foreign_folder_is_refused(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(chown(f->folder, 1, 1), 0);
	assert_refused(f, f->path, -EPERM, "owned by uid 1");
	/* the daemon's own file in the daemon's own folder, or in root's */
	assert_int_equal(energy_page_writer_chown(f->w, 1, 1, &f->err), 0);
	struct energy_page p;
	assert_int_equal(energy_page_open(f->path, &p, &f->err), 0);
	energy_page_close(&p);
	assert_int_equal(chown(f->folder, 0, 0), 0);
	assert_int_equal(energy_page_open(f->path, &p, &f->err), 0);
	energy_page_close(&p);
}

static void a_page_that_was_removed_or_cut_is_noticed(void **state)
{
	struct fixture *f = *state;
	struct energy_page_node n = {.tick_ns = 9};
	struct energy_page_row r;

	assert_int_equal(tick(f, 1, 3), 0);
	assert_int_equal(truncate(f->path, 4096), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 100, &n, &r), -EBADF);
	assert_int_equal(truncate(f->path, 0), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 100, &n, &r), -EBADF);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(energy_page_find(&f->page, 1, 0, 100, &n, &r), -ESTALE);
	assert_int_equal(n.tick_ns, 9);
}

/* ---- from the tick to now -------------------------------------------------------- */

static const struct energy_page_node card = {
	.tick_ns = 100 * NSEC_PER_SEC,
	.interval_ns = NSEC_PER_SEC,
	.dynamic_uj_per_cpu_s = 12000000, /* 12 W per busy CPU */
	.idle_uw_per_cpu = 1500000,       /* 1.5 W per allocated one */
};

static uint64_t estimate(const struct energy_page_row *row, struct energy_page_now now)
{
	uint64_t uj = 1;

	assert_int_equal(energy_page_estimate(&card, row, &now, &uj), 0);
	return uj;
}

static void an_estimate_adds_what_was_used_since_the_tick(void **state)
{
	(void)state;
	struct energy_page_row row = {.total_uj = 5000000,
				      .cpu_ns = 3 * NSEC_PER_SEC,
				      .alloc_mcpu = 2500,
				      .extra_uw = 250000000};
	struct energy_page_now now = {.boottime_ns =
					      100 * NSEC_PER_SEC + NSEC_PER_SEC / 2,
				      .cpu_ns = 3 * NSEC_PER_SEC + NSEC_PER_SEC / 4,
				      .has_cpu = true};

	/* 5 J + 12 W x 0.25 s + 1.5 W x 2.5 x 0.5 s + 250 W x 0.5 s */
	assert_int_equal(estimate(&row, now), 5000000 + 3000000 + 1875000 + 125000000);
	now.has_cpu = false;
	assert_int_equal(estimate(&row, now), 5000000 + 1875000 + 125000000);
	/* at the tick, or by a clock that stands before it, it is the row's */
	now = (struct energy_page_now){.boottime_ns = 99 * NSEC_PER_SEC,
				       .has_cpu = true};
	assert_int_equal(estimate(&row, now), 5000000);
}

static void a_step_younger_than_the_tick_has_all_its_life_estimated(void **state)
{
	(void)state;
	struct energy_page_now now = {.boottime_ns = 100 * NSEC_PER_SEC + 20000000,
				      .started_ns = 100 * NSEC_PER_SEC,
				      .cpu_ns = 18000000,
				      .has_cpu = true,
				      .alloc_mcpu = 1000};

	assert_int_equal(estimate(NULL, now), 12 * 18000 + 30000);
}

static void a_row_that_knows_no_cpus_yet_takes_the_readers(void **state)
{
	(void)state;
	struct energy_page_row row = {.total_uj = 5};
	struct energy_page_now now = {.boottime_ns = 101 * NSEC_PER_SEC,
				      .alloc_mcpu = 2000};

	assert_int_equal(estimate(&row, now), 5 + 3000000);
	row.alloc_mcpu = 1000;
	assert_int_equal(estimate(&row, now), 5 + 1500000);
}

static void nothing_is_added_to_what_has_ended(void **state)
{
	(void)state;
	struct energy_page_row row = {
		.total_uj = 42, .flags = ENERGY_PAGE_ENDED, .alloc_mcpu = 1000};
	struct energy_page_now now = {.boottime_ns = 500 * NSEC_PER_SEC,
				      .cpu_ns = NSEC_PER_SEC,
				      .has_cpu = true};

	assert_int_equal(estimate(&row, now), 42);
}

static void a_stopped_daemon_is_not_carried_on(void **state)
{
	(void)state;
	struct energy_page_row row = {.total_uj = 42, .alloc_mcpu = 1000};
	struct energy_page_now now = {.boottime_ns = 111 * NSEC_PER_SEC,
				      .cpu_ns = NSEC_PER_SEC,
				      .has_cpu = true};
	struct energy_page_node slow = card;
	uint64_t uj = 0;

	assert_int_equal(energy_page_estimate(&card, &row, &now, &uj), -ESTALE);
	assert_int_equal(uj, 42);
	assert_int_equal(energy_page_estimate(&card, NULL, &now, &uj), -ESTALE);
	assert_int_equal(uj, 0);
	slow.interval_ns = 10 * NSEC_PER_SEC;
	assert_int_equal(energy_page_estimate(&slow, &row, &now, &uj), 0);
	assert_true(uj > 42);
}

static void an_estimate_of_garbage_is_only_a_number(void **state)
{
	(void)state;
	struct energy_page_node n;
	struct energy_page_row row;
	struct energy_page_now now = {.boottime_ns = 1, .cpu_ns = 5, .has_cpu = true};
	uint64_t uj;

	memset(&n, 0xff, sizeof(n));
	memset(&row, 0xff, sizeof(row));
	row.flags = 0;
	n.tick_ns = row.cpu_ns = 0;
	assert_int_equal(energy_page_estimate(&n, &row, &now, &uj), 0);
	assert_int_equal(uj, UINT64_MAX);
	assert_int_equal(energy_page_total(&n, n.uj), UINT64_MAX);
}

static void the_total_is_the_sum_of_the_domains_that_make_it(void **state)
{
	(void)state;
	struct energy_page_node n = {.total_mask = 1u << ENERGY_PAGE_PACKAGE |
						   1u << ENERGY_PAGE_DRAM};
	static const uint64_t values[ENERGY_PAGE_DOMAINS] = {1, 10, 100, 1000, 10000};

	assert_int_equal(energy_page_total(&n, values), 11);
	n.total_mask = 1u << ENERGY_PAGE_HOST;
	assert_int_equal(energy_page_total(&n, values), 10000);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_new_page_has_no_tick_yet),
		T(each_row_of_a_tick_is_found_with_its_node),
		T(a_key_is_job_step_and_pid),
		T(names_that_do_not_end_are_cut),
		T(rows_beyond_the_capacity_are_counted),
		T(a_writer_that_dies_at_any_byte_leaves_a_whole_tick),
		T(a_failed_commit_is_said_and_the_next_one_works),
		T(a_reader_beside_a_busy_writer_never_sees_a_mixture),
		T(a_writer_takes_over_a_sound_page_and_replaces_any_other),
		T(the_size_of_a_page_has_limits),
		T(what_is_not_a_page_is_refused),
		T(what_others_may_touch_is_refused),
		T(a_foreign_folder_is_refused),
		T(a_page_that_was_removed_or_cut_is_noticed),
		cmocka_unit_test(an_estimate_adds_what_was_used_since_the_tick),
		cmocka_unit_test(
			a_step_younger_than_the_tick_has_all_its_life_estimated),
		cmocka_unit_test(a_row_that_knows_no_cpus_yet_takes_the_readers),
		cmocka_unit_test(nothing_is_added_to_what_has_ended),
		cmocka_unit_test(a_stopped_daemon_is_not_carried_on),
		cmocka_unit_test(an_estimate_of_garbage_is_only_a_number),
		cmocka_unit_test(the_total_is_the_sum_of_the_domains_that_make_it),
	};
	return cmocka_run_group_tests_name("energy_page", tests, NULL, NULL);
}
