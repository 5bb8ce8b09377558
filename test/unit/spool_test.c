/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool in one process: what comes back, and what does not after damage. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/crc32c.h"
#include "lib/fs.h"
#include "lib/records/spool_segment.h"
#include "lib/signals.h"
#include "test/unit/spool_util.h"

/* A disk that takes so many more bytes of records; -1: as many as there are. */
static ssize_t disk_left = -1;
static bool cut_fails;

ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t off);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t off);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t off)
{
	if (disk_left < 0 || len == sizeof(struct losses))
		return __real_pwrite(fd, data, len, off);
	if (disk_left == 0) {
		errno = ENOSPC;
		return -1;
	}
	if ((ssize_t)len > disk_left)
		len = (size_t)disk_left;
	ssize_t n = __real_pwrite(fd, data, len, off);
	disk_left -= n > 0 ? n : 0;
	return n;
}

int __real_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len);
int __wrap_ftruncate(int fd, off_t len)
{
	if (cut_fails) {
		errno = EIO;
		return -1;
	}
	return __real_ftruncate(fd, len);
}

/* The path of the only segment of a kind. */
static void only_segment(const char *kind, char *ret, size_t size)
{
	int found = 0;
	auto_closedir DIR *d = opendir(folder);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (strstr(e->d_name, kind)) {
			snprintf(ret, size, "%s/%.60s", folder, e->d_name);
			found++;
		}
	}
	assert_int_equal(found, 1);
}

static size_t load(const char *path, unsigned char *ret, size_t size)
{
	ssize_t n = fs_read_at(AT_FDCWD, path, (char *)ret, size, NULL);
	assert_true(n >= 0);
	return (size_t)n;
}

static void store(const char *path, const void *data, size_t len)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, data, len), 0);
}

/* ---- tests ----------------------------------------------------------------------- */

static void records_come_back_in_order_of_append(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct err err = {""};
	struct spool_record rec;
	uint64_t seq, last = 0;
	for (uint64_t i = 0; i < 2000; i++) {
		enum spool_class cls = (enum spool_class)(i * i % 7 % 3);
		assert_int_equal(put(w, cls, i, &seq, &err), 0);
		assert_true(seq > last);
		last = seq;
	}
	assert_int_equal(spool_sync(w, &err), 0);
	struct spool_reader *r = reader();
	for (uint64_t i = 0; i < 2000; i++) {
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), i);
		assert_int_equal(rec.cls, i * i % 7 % 3);
	}
	assert_int_equal(rec.seq, last);
	assert_int_equal(next(r, &rec), 0);
	assert_int_equal(put(w, SPOOL_JOB, 2000, NULL, &err), 0);
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(check(&rec), 2000);
	spool_reader_close(r);
	spool_writer_close(w);
	assert_int_equal(stats().damaged, 0);
}

static void empty_and_largest_records_travel(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	auto_free char *big = calloc(1, SPOOL_RECORD_MAX + 1);
	assert_non_null(big);
	assert_int_equal(spool_append(w, SPOOL_FINAL, "", 0, NULL, &err), 0);
	assert_int_equal(
		spool_append(w, SPOOL_FINAL, big, SPOOL_RECORD_MAX, NULL, &err), 0);
	assert_int_equal(
		spool_append(w, SPOOL_FINAL, big, SPOOL_RECORD_MAX + 1, NULL, &err),
		-EMSGSIZE);
	assert_non_null(strstr(err.text, folder));
	struct spool_reader *r = reader();
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(rec.len, 0);
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(rec.len, SPOOL_RECORD_MAX);
	assert_int_equal(next(r, &rec), 0);
	spool_reader_close(r);
	spool_writer_close(w);
	assert_int_equal(stats().lost[SPOOL_FINAL], 1);
}

static void cursor_survives_and_told_files_go(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	for (uint64_t i = 0; i < 500; i++)
		assert_int_equal(
			put(w, i % 2 ? SPOOL_FINAL : SPOOL_INTERVAL, i, NULL, &err), 0);
	uint64_t before = stats().bytes;
	struct spool_reader *r = reader();
	for (uint64_t i = 0; i < 400; i++)
		assert_int_equal(next(r, &rec), 1);
	assert_int_equal(spool_ack(r, rec.seq + 1, &err), -EINVAL);
	ack(r, rec.seq - 100);
	ack(r, rec.seq - 200); /* backwards: changes nothing */
	spool_reader_close(r);
	assert_true(stats().bytes < before * 2 / 3);
	r = reader();
	for (uint64_t i = 300; i < 500; i++) {
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), i);
	}
	assert_int_equal(next(r, &rec), 0);
	ack(r, rec.seq);
	spool_reader_close(r);
	spool_writer_close(w);
	/* numbers go on over a restart, so the cursor keeps its meaning */
	w = writer(&roomy);
	assert_int_equal(put(w, SPOOL_INTERVAL, 500, NULL, &err), 0);
	r = reader();
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(check(&rec), 500);
	assert_int_equal(next(r, &rec), 0);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void numbers_go_on_when_all_segments_are_gone(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	char path[128];
	uint64_t seq = 0;
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(put(w, SPOOL_FINAL, i, NULL, &err), 0);
	struct spool_reader *r = reader();
	while (next(r, &rec))
		seq = rec.seq;
	ack(r, seq);
	spool_reader_close(r);
	spool_writer_close(w);
	only_segment("keep", path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	w = writer(&roomy);
	assert_int_equal(put(w, SPOOL_FINAL, 5, &seq, &err), 0);
	assert_int_equal(seq, 6);
	r = reader();
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(check(&rec), 5);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void damaged_cursor_means_from_the_oldest(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	char path[128];
	assert_int_equal(put(w, SPOOL_FINAL, 1, NULL, &err), 0);
	struct spool_reader *r = reader();
	assert_int_equal(next(r, &rec), 1);
	ack(r, rec.seq);
	spool_reader_close(r);
	snprintf(path, sizeof(path), "%s/cursor", folder);
	for (int i = 0; i < 3; i++) {
		static const char *const texts[] = {
			"", "CEEMSCUR", "CEEMSCUR0123456789012345678901234"};
		store(path, texts[i], strlen(texts[i]));
		r = reader();
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), 1);
		spool_reader_close(r);
	}
	spool_writer_close(w);
}

/* Every length that a crash in an append can leave. */
static void torn_tail_is_cut_at_every_byte(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct err err = {""};
	char path[128], cursor[128];
	unsigned char whole[4096];
	size_t ends[5] = {sizeof(struct segment_header)};
	snprintf(cursor, sizeof(cursor), "%s/cursor", folder);
	for (uint64_t i = 0; i < 4; i++) {
		unsigned char data[512];
		ends[i + 1] = ends[i] + record_room(payload(i, data));
		assert_int_equal(put(w, SPOOL_FINAL, i, NULL, &err), 0);
	}
	spool_writer_close(w);
	only_segment("keep", path, sizeof(path));
	size_t size = load(path, whole, sizeof(whole));
	assert_int_equal(size, ends[4]);
	for (size_t cut = 0; cut <= size; cut++) {
		struct spool_record rec;
		uint64_t whole_ones = 0, torn = stats().torn_tails;
		bool clean = false;
		while (whole_ones < 4 && ends[whole_ones + 1] <= cut)
			whole_ones++;
		clean = cut <= ends[0] || cut == ends[whole_ones];
		store(path, whole, cut);
		/* a reader without a writer stops before the torn end */
		struct spool_reader *r = reader();
		for (uint64_t i = 0; i < whole_ones; i++) {
			assert_int_equal(next(r, &rec), 1);
			assert_int_equal(check(&rec), i);
		}
		assert_int_equal(next(r, &rec), 0);
		/* and the same one goes on when a writer has cut it */
		w = writer(&roomy);
		assert_int_equal(stats().torn_tails, torn + !clean);
		assert_int_equal(put(w, SPOOL_FINAL, 77, NULL, &err), 0);
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), 77);
		spool_reader_close(r);
		r = reader();
		for (uint64_t i = 0; i < whole_ones; i++) {
			assert_int_equal(next(r, &rec), 1);
			assert_int_equal(check(&rec), i);
		}
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), 77);
		assert_int_equal(next(r, &rec), 0);
		assert_int_equal(stats().damaged, 0);
		spool_reader_close(r);
		spool_writer_close(w);
		struct segment_list l;
		auto_close int dirfd = folder_open(folder, false, &err);
		assert_int_equal(segment_list(dirfd, folder, SEGMENT_KEEP, &l, &err),
				 0);
		for (size_t i = 0; i < l.count; i++) {
			char name[SEGMENT_NAME_MAX];
			segment_name(SEGMENT_KEEP, l.items[i].first, name);
			unlinkat(dirfd, name, 0);
		}
		segment_list_done(&l);
		unlink(cursor);
	}
}

static void flipped_bit_is_never_given(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct err err = {""};
	char path[128];
	unsigned char whole[4096];
	size_t ends[4] = {sizeof(struct segment_header)};
	for (uint64_t i = 0; i < 3; i++) {
		unsigned char data[512];
		ends[i + 1] = ends[i] + record_room(payload(i, data));
		assert_int_equal(put(w, SPOOL_FINAL, i, NULL, &err), 0);
	}
	spool_writer_close(w);
	only_segment("keep", path, sizeof(path));
	size_t size = load(path, whole, sizeof(whole));
	for (size_t at = 0; at < size; at++) {
		struct spool_record rec;
		unsigned given = 0;
		whole[at] ^= (unsigned char)(1u << at % 8);
		store(path, whole, size);
		whole[at] ^= (unsigned char)(1u << at % 8);
		struct spool_reader *r = reader();
		while (next(r, &rec))
			given |= 1u << check(&rec); /* every byte is looked at */
		spool_reader_close(r);
		unsigned hit = 0;
		while (at >= ends[hit])
			hit++;
		if (at < ends[0])
			assert_int_equal(given, 0);
		else /* the two others always come */
			assert_int_equal(given | 1u << (hit - 1), 7);
		unsigned char data[512];
		size_t in = hit ? at - ends[hit - 1] : 0;
		if (hit && in < sizeof(struct record_header) + payload(hit - 1, data))
			assert_int_equal(given & 1u << (hit - 1), 0);
	}
}

static void damage_is_counted_once_and_writer_goes_on_after_it(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	char path[128];
	unsigned char whole[8192];
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(put(w, SPOOL_FINAL, i, NULL, &err), 0);
	spool_writer_close(w);
	only_segment("keep", path, sizeof(path));
	size_t size = load(path, whole, sizeof(whole));
	/* a hole over the header of record 0 and into its payload, and one bad byte */
	memset(whole + sizeof(struct segment_header), 0, 40);
	whole[size / 2] ^= 1;
	store(path, whole, size);
	w = writer(&roomy);
	assert_int_equal(stats().torn_tails, 0); /* what follows is good: no tail */
	assert_int_equal(put(w, SPOOL_FINAL, 10, NULL, &err), 0);
	struct spool_reader *r = reader();
	uint64_t seen = 0, last = 0;
	while (next(r, &rec)) {
		last = check(&rec);
		seen++;
	}
	assert_int_equal(seen, 9);
	assert_int_equal(last, 10);
	ack(r, rec.seq);
	spool_reader_close(r);
	assert_int_equal(stats().damaged, 2);
	r = reader();
	assert_int_equal(next(r, &rec), 0);
	assert_int_equal(put(w, SPOOL_FINAL, 11, NULL, &err), 0);
	assert_int_equal(next(r, &rec), 1);
	ack(r, rec.seq);
	spool_reader_close(r);
	assert_int_equal(stats().damaged, 2);
	spool_writer_close(w);
}

static void oldest_intervals_go_before_any_final(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&small);
	struct spool_record rec;
	struct err err = {""};
	uint64_t i = 0, finals = 0, intervals = 0;
	for (; i < 2000; i++) {
		bool final = i % 40 == 0;
		int rc = put(w, final ? SPOOL_FINAL : SPOOL_INTERVAL, i, NULL, &err);
		assert_int_equal(rc, 0);
		finals += final;
		assert_true(stats().bytes <= small.max_bytes);
	}
	struct spool_reader *r = reader();
	uint64_t last = 0, first_interval = 0;
	while (next(r, &rec)) {
		uint64_t n = check(&rec);
		assert_true(n == 0 || n > last);
		last = n;
		if (rec.cls == SPOOL_FINAL)
			finals--;
		else if (intervals++ == 0)
			first_interval = n;
	}
	assert_int_equal(finals, 0);
	assert_int_equal(last, 1999);
	/* the newest are there without a gap, and every loss is counted */
	assert_int_equal(intervals + stats().lost[SPOOL_INTERVAL], 2000 - 50);
	assert_int_equal(2000 - first_interval - (2000 - first_interval) / 40,
			 intervals);
	assert_true(intervals > 100);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void full_of_finals_refuses_and_counts_until_acknowledged(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&small);
	struct spool_record rec;
	struct err err = {""};
	uint64_t stored = 0;
	int rc;
	assert_int_equal(put(w, SPOOL_INTERVAL, 5000, NULL, &err), 0);
	while ((rc = put(w, stored % 2 ? SPOOL_JOB : SPOOL_FINAL, stored, NULL,
			 &err)) == 0)
		stored++;
	assert_int_equal(rc, -EDQUOT);
	assert_non_null(strstr(err.text, folder));
	assert_non_null(strstr(err.text, "record refused"));
	assert_int_equal(put(w, SPOOL_INTERVAL, 1, NULL, &err), -EDQUOT);
	/* one who tries again counts what he gives up himself */
	static const char large[4096];
	assert_int_equal(spool_try(w, SPOOL_JOB, large, sizeof(large), NULL, &err),
			 -EDQUOT);
	assert_int_equal(spool_try(w, SPOOL_JOB, large, sizeof(large), NULL, &err),
			 -EDQUOT);
	spool_count_lost(w, SPOOL_JOB, 1);
	struct spool_stats s = stats();
	assert_int_equal(s.lost[SPOOL_FINAL] + s.lost[SPOOL_JOB], 2);
	/* the interval that stood in the way, and the one that was refused */
	assert_int_equal(s.lost[SPOOL_INTERVAL], 2);
	assert_true(s.bytes <= small.max_bytes);
	struct spool_reader *r = reader();
	for (uint64_t i = 0; i < stored; i++) {
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), i);
	}
	assert_int_equal(next(r, &rec), 0);
	ack(r, rec.seq);
	assert_int_equal(put(w, SPOOL_JOB, stored, NULL, &err), 0);
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(check(&rec), stored);
	spool_reader_close(r);
	spool_writer_close(w);
	w = writer(&small); /* the counters are in the folder */
	assert_int_equal(stats().lost[SPOOL_INTERVAL], 2);
	spool_writer_close(w);
}

static void reader_skips_what_is_given_up_under_it(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&small);
	struct spool_record rec;
	struct err err = {""};
	for (uint64_t i = 0; i < 50; i++)
		assert_int_equal(put(w, SPOOL_INTERVAL, i, NULL, &err), 0);
	struct spool_reader *r = reader();
	assert_int_equal(next(r, &rec), 1);
	uint64_t given = 1, told = check(&rec);
	ack(r, rec.seq);
	for (uint64_t i = 50; i < 2000; i++)
		assert_int_equal(put(w, SPOOL_INTERVAL, i, NULL, &err), 0);
	while (next(r, &rec)) {
		uint64_t n = check(&rec);
		assert_true(n > told);
		told = n;
		given++;
	}
	assert_int_equal(told, 1999);
	/* nothing was given and counted as lost as well */
	assert_int_equal(given + stats().lost[SPOOL_INTERVAL], 2000);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void death_between_counting_and_giving_up_counts_once(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&small);
	struct err err = {""};
	char path[128];
	uint64_t seq;
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(put(w, SPOOL_INTERVAL, i, NULL, &err), 0);
	spool_writer_close(w);
	/* as evict_oldest() leaves it when it dies before the unlink */
	snprintf(path, sizeof(path), "%s/lost", folder);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct losses l;
	assert_int_equal(losses_read(fd, &l), 0);
	l.lost[SPOOL_INTERVAL] = 10;
	l.evict_first = 1;
	l.next_seq = 11;
	assert_int_equal(losses_write(fd, &l), 0);
	/* a write torn after it must not matter */
	assert_int_equal(
		__real_pwrite(fd, "garbage", 7, (off_t)((l.turn + 1) % 2 * 512)), 7);
	close(fd);
	w = writer(&small);
	assert_int_equal(stats().lost[SPOOL_INTERVAL], 10);
	assert_int_equal(stats().bytes, 0);
	assert_int_equal(put(w, SPOOL_INTERVAL, 10, &seq, &err), 0);
	assert_int_equal(seq, 11);
	spool_writer_close(w);
	w = writer(&small);
	assert_int_equal(stats().lost[SPOOL_INTERVAL], 10);
	struct spool_reader *r = reader();
	struct spool_record rec;
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(check(&rec), 10);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void second_writer_and_second_reader_are_refused(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy), *w2 = NULL;
	struct spool_reader *r = reader(), *r2 = NULL;
	struct err err;
	char want[160];
	assert_int_equal(spool_writer_open(folder, NULL, &w2, &err), -EBUSY);
	snprintf(want, sizeof(want), "%s: in use by another writer (process %d)",
		 folder, (int)getpid());
	assert_string_equal(err.text, want);
	assert_int_equal(spool_reader_open(folder, &r2, &err), -EBUSY);
	assert_non_null(strstr(err.text, "in use by another reader"));
	spool_reader_close(r);
	spool_writer_close(w);
	spool_writer_close(writer(&roomy));
	spool_reader_close(reader());
	spool_writer_close(NULL);
	spool_reader_close(NULL);
}

static void a_look_takes_nothing_and_leaves_nothing(void **state)
{
	struct spool_writer *w;
	struct spool_reader *r, *look;
	struct spool_record record;
	struct err err;
	char path[300];
	(void)state;

	assert_int_equal(spool_writer_open(folder, NULL, &w, &err), 0);
	assert_int_equal(spool_append(w, SPOOL_FINAL, "a", 1, NULL, &err), 0);
	assert_int_equal(spool_reader_peek(folder, &look, &err), 0);
	assert_int_equal(spool_next(look, &record, &err), 1);
	assert_int_equal(spool_ack(look, record.seq, &err), -EPERM);
	snprintf(path, sizeof(path), "%s/reader.lock", folder);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(spool_reader_open(folder, &r, &err), 0);
	assert_int_equal(spool_next(r, &record, &err), 1);
	spool_reader_close(r);
	spool_reader_close(look);
	spool_writer_close(w);
}

static void folder_that_cannot_be_trusted_is_refused(void **state)
{
	(void)state;
	struct spool_writer *w = NULL;
	struct spool_reader *r = NULL;
	struct err err;
	char link[128], slash[140];
	assert_int_equal(spool_reader_open(folder, &r, &err), -ENOENT);
	spool_writer_close(writer(&roomy));
	snprintf(link, sizeof(link), "%s/link", root);
	snprintf(slash, sizeof(slash), "%s//", link);
	assert_int_equal(symlink(folder, link), 0);
	assert_int_equal(spool_writer_open(link, NULL, &w, &err), -EPERM);
	assert_non_null(strstr(err.text, "a symbolic link, refused"));
	assert_int_equal(spool_writer_open(slash, NULL, &w, &err), -EPERM);
	assert_int_equal(spool_reader_open(link, &r, &err), -EPERM);
	unlink(link);
	store(link, "", 0);
	assert_int_equal(spool_writer_open(link, NULL, &w, &err), -EPERM);
	assert_non_null(strstr(err.text, "not a folder"));
	unlink(link);
	assert_int_equal(chmod(folder, 0750), 0);
	assert_int_equal(spool_writer_open(folder, NULL, &w, &err), -EPERM);
	assert_non_null(strstr(err.text, "mode 0750, refused (chmod 0700)"));
	assert_int_equal(spool_reader_open(folder, &r, &err), -EPERM);
	assert_int_equal(chmod(folder, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(folder, 65534, 65534), 0);
		assert_int_equal(spool_writer_open(folder, NULL, &w, &err), -EPERM);
		assert_non_null(strstr(err.text, "owned by uid 65534"));
		spool_reader_close(reader()); /* root may read anybody's */
		assert_int_equal(chown(folder, 0, 0), 0);
	}
	assert_int_equal(spool_writer_open("/nonexistent/a/spool", NULL, &w, &err),
			 -ENOENT);
	assert_string_equal(err.text,
			    "create /nonexistent/a/spool: No such file or directory");
	static const struct spool_limits bad = {.max_bytes = 32768,
						.segment_bytes = 16384};
	assert_int_equal(spool_writer_open(folder, &bad, &w, &err), -EINVAL);
}

static void garbage_segments_do_not_stop_anybody(void **state)
{
	(void)state;
	static const char *const names[] = {
		"0000000000000001-keep.seg", /* the name the writer would take */
		"0000000000000400-keep.seg",
		"7fffffffffffffff-interval.seg",
		"ffffffffffffffff-keep.seg",
		"000000000000000G-keep.seg",
		"x.seg"};
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	char path[128];
	char junk[9000];
	memset(junk, 'j', sizeof(junk));
	spool_writer_close(w);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		store(path, junk, i % 2 ? sizeof(junk) : 100);
	}
	snprintf(path, sizeof(path), "%s/0000000000000002-keep.seg", folder);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	struct spool_reader *r = reader();
	assert_int_equal(next(r, &rec), 0);
	w = writer(&roomy);
	uint64_t seq;
	assert_int_equal(put(w, SPOOL_FINAL, 1, &seq, &err), 0);
	assert_true(seq < 100);
	assert_int_equal(put(w, SPOOL_INTERVAL, 2, NULL, &err), 0);
	assert_int_equal(put(w, SPOOL_JOB, 3, NULL, &err), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), i);
	}
	assert_int_equal(next(r, &rec), 0);
	assert_int_equal(stats().unreadable, 3);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void segment_of_a_newer_version_is_left_alone(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	char path[128];
	struct segment_header h = {.magic = SEGMENT_MAGIC,
				   .version = SEGMENT_VERSION + 1,
				   .kind = SEGMENT_KEEP,
				   .first = 1};
	assert_int_equal(put(w, SPOOL_FINAL, 1, NULL, &err), 0);
	spool_writer_close(w);
	only_segment("keep", path, sizeof(path));
	unsigned char old[1024];
	size_t size = load(path, old, sizeof(old));
	h.crc = crc32c(0, &h, offsetof(struct segment_header, crc));
	memcpy(old, &h, sizeof(h));
	store(path, old, size);
	w = writer(&roomy);
	assert_int_equal(put(w, SPOOL_FINAL, 2, NULL, &err), 0);
	struct spool_reader *r = reader();
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(check(&rec), 2);
	ack(r, rec.seq);
	assert_int_equal(access(path, F_OK), 0);
	spool_reader_close(r);
	spool_writer_close(w);
	assert_int_equal(stats().unreadable, 0);
}

static void full_disk_leaves_nothing_half_written(void **state)
{
	(void)state;
	struct err err = {""};
	unsigned char data[512];
	size_t room = record_room(payload(1, data));
	for (size_t left = 0; left < room; left += 7) {
		empty_folder(folder);
		struct spool_writer *w = writer(&roomy);
		struct spool_record rec;
		assert_int_equal(put(w, SPOOL_FINAL, 0, NULL, &err), 0);
		uint64_t before = stats().bytes;
		disk_left = (ssize_t)left;
		int rc = put(w, SPOOL_FINAL, 1, NULL, &err);
		disk_left = -1;
		assert_int_equal(rc, -ENOSPC);
		assert_non_null(strstr(err.text, folder));
		assert_non_null(strstr(err.text, "No space left on device"));
		assert_int_equal(stats().bytes, before);
		assert_int_equal(stats().lost[SPOOL_FINAL], 1);
		assert_int_equal(put(w, SPOOL_FINAL, 2, NULL, &err), 0);
		struct spool_reader *r = reader();
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), 0);
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), 2);
		assert_int_equal(next(r, &rec), 0);
		assert_int_equal(stats().damaged, 0);
		spool_reader_close(r);
		spool_writer_close(w);
	}
}

static void limit_of_a_files_size_is_a_full_disk(void **state)
{
	(void)state;
	struct rlimit was, limit;
	struct err err = {""};
	struct spool_record rec;
	uint32_t stored = 0;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	/* as all programs begin: without it the write below ends the process */
	void (*handler)(int) = signal(SIGXFSZ, SIG_DFL);
	int fd = -1;
	sigset_t mask;
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &mask), 0);
	assert_int_equal(signals_open(&fd, &err), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &mask, NULL), 0);
	struct spool_writer *w = writer(&roomy);
	limit = was;
	limit.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	while (stored < 1000 && put(w, SPOOL_FINAL, stored, NULL, &err) == 0)
		stored++;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_in_range(stored, 1, 999);
	assert_non_null(strstr(err.text, "No space left on device"));
	assert_int_equal(stats().lost[SPOOL_FINAL], 1);
	assert_int_equal(put(w, SPOOL_FINAL, stored, NULL, &err), 0);
	struct spool_reader *r = reader();
	for (uint32_t i = 0; i <= stored; i++) {
		assert_int_equal(next(r, &rec), 1);
		assert_int_equal(check(&rec), i);
	}
	assert_int_equal(next(r, &rec), 0);
	assert_int_equal(stats().damaged, 0);
	spool_reader_close(r);
	spool_writer_close(w);
	signal(SIGXFSZ, handler);
}

static void tail_that_cannot_be_cut_is_left_behind(void **state)
{
	(void)state;
	struct spool_writer *w = writer(&roomy);
	struct spool_record rec;
	struct err err = {""};
	assert_int_equal(put(w, SPOOL_FINAL, 0, NULL, &err), 0);
	disk_left = 50;
	cut_fails = true;
	int rc = put(w, SPOOL_FINAL, 1, NULL, &err);
	disk_left = -1;
	cut_fails = false;
	assert_int_equal(rc, -ENOSPC);
	struct spool_reader *r = reader();
	assert_int_equal(next(r, &rec), 1);
	assert_int_equal(next(r, &rec), 0); /* the torn end is not passed... */
	assert_int_equal(put(w, SPOOL_FINAL, 2, NULL, &err), 0);
	assert_int_equal(next(r, &rec), 1); /* ...until a newer segment follows */
	assert_int_equal(check(&rec), 2);
	spool_reader_close(r);
	spool_writer_close(w);
}

static void records_are_read_again_in_any_order(void **state)
{
	enum { COUNT = 60 };
	struct spool_record all[COUNT], again;
	struct spool_writer *w = writer(&roomy);
	struct err err;

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		assert_int_equal(
			put(w, i % 3 ? SPOOL_INTERVAL : SPOOL_FINAL, i, NULL, &err), 0);
	struct spool_reader *r = reader();
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(next(r, &all[i]), 1);
	for (int i = COUNT - 1; i >= 0; i--) {
		assert_int_equal(spool_read_again(r, &all[i], &again, &err), 0);
		assert_int_equal(check(&again), i);
		assert_true(again.seq == all[i].seq);
	}
	struct spool_record wrong = all[7];
	wrong.seq++;
	assert_int_equal(spool_read_again(r, &wrong, &again, &err), -EBADMSG);
	wrong = all[7];
	wrong.off += 8;
	assert_int_equal(spool_read_again(r, &wrong, &again, &err), -EBADMSG);
	ack(r, all[COUNT - 1].seq);
	assert_int_equal(spool_read_again(r, &all[1], &again, &err), -ENOENT);
	spool_reader_close(r);
	spool_writer_close(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(records_come_back_in_order_of_append),
		T(empty_and_largest_records_travel),
		T(cursor_survives_and_told_files_go),
		T(numbers_go_on_when_all_segments_are_gone),
		T(damaged_cursor_means_from_the_oldest),
		T(torn_tail_is_cut_at_every_byte),
		T(flipped_bit_is_never_given),
		T(damage_is_counted_once_and_writer_goes_on_after_it),
		T(oldest_intervals_go_before_any_final),
		T(full_of_finals_refuses_and_counts_until_acknowledged),
		T(reader_skips_what_is_given_up_under_it),
		T(death_between_counting_and_giving_up_counts_once),
		T(second_writer_and_second_reader_are_refused),
		T(a_look_takes_nothing_and_leaves_nothing),
		T(folder_that_cannot_be_trusted_is_refused),
		T(garbage_segments_do_not_stop_anybody),
		T(segment_of_a_newer_version_is_left_alone),
		T(full_disk_leaves_nothing_half_written),
		T(limit_of_a_files_size_is_a_full_disk),
		T(records_are_read_again_in_any_order),
		T(tail_that_cannot_be_cut_is_left_behind),
	};
	return cmocka_run_group_tests_name("spool", tests, setup, teardown);
}
