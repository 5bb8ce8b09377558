/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spool in two processes: at once, killed, and on a disk that is really full. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "test/unit/spool_util.h"

/* In a child with a tmpfs of its own: a disk that is really full. */
static int on_full_tmpfs(void)
{
	static const struct spool_limits limits = {.max_bytes = 16 << 20,
						   .segment_bytes = 64 << 10};
	struct spool_writer *w;
	struct spool_reader *r;
	struct spool_record rec;
	struct err err;
	uint64_t i, finals = 0, intervals = 0;
	char path[128];

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("spool", root, "tmpfs", 0, "size=1m") < 0)
		return 77;
	if (spool_writer_open(folder, &limits, &w, &err) < 0)
		return 1;
	for (i = 0; i < 10000; i++) { /* far more than fits */
		if (put(w, i % 100 ? SPOOL_INTERVAL : SPOOL_FINAL, i, NULL, &err) < 0)
			return 2;
	}
	if (spool_reader_open(folder, &r, &err) < 0)
		return 3;
	while (spool_next(r, &rec, &err) > 0) {
		check(&rec);
		finals += rec.cls == SPOOL_FINAL;
		intervals += rec.cls == SPOOL_INTERVAL;
	}
	struct spool_stats s = stats();
	if (finals != 100 || intervals + s.lost[SPOOL_INTERVAL] != 9900 || s.damaged)
		return 4;
	/* another program takes all that is left, finals alone fill the rest */
	for (i = 0; put(w, SPOOL_FINAL, i, NULL, &err) == 0; i++)
		if (i > 100000)
			return 5;
	if (!strstr(err.text, folder) || !strstr(err.text, "No space left"))
		return 6;
	/* a full disk does not stop the reader from making room */
	while (spool_next(r, &rec, &err) > 0)
		finals++;
	if (finals != 100 + i || spool_ack(r, rec.seq, &err) < 0)
		return 7;
	if (put(w, SPOOL_FINAL, 1, NULL, &err) < 0 || spool_next(r, &rec, &err) != 1)
		return 8;
	spool_reader_close(r);
	spool_writer_close(w);
	snprintf(path, sizeof(path), "%s/cursor", folder);
	return access(path, F_OK) < 0 ? 9 : 0;
}

/* Much more than fits, but told as soon as written: the default of a segment is eight
 * times this file system. */
static int on_small_tmpfs(void)
{
	struct spool_writer *w;
	struct spool_reader *r;
	struct spool_record rec;
	struct err err;

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("spool", root, "tmpfs", 0, "size=1m") < 0)
		return 77;
	if (spool_writer_open(folder, NULL, &w, &err) < 0 ||
	    spool_reader_open(folder, &r, &err) < 0)
		return 1;
	for (uint64_t i = 0; i < 40000; i++) {
		if (put(w, SPOOL_FINAL, i, NULL, &err) < 0)
			return 2;
		if (spool_next(r, &rec, &err) != 1 || spool_ack(r, rec.seq, &err) < 0)
			return 3;
	}
	spool_reader_close(r);
	spool_writer_close(w);
	return 0;
}

static void assert_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void full_file_system_keeps_finals_and_recovers(void **state)
{
	(void)state;
	assert_child(on_full_tmpfs);
}

static void small_file_system_is_not_filled_by_what_was_told(void **state)
{
	(void)state;
	assert_child(on_small_tmpfs);
}

/* Appends for ever; after each record its number goes into the pipe. */
static void append_until_killed(int out, uint64_t from)
{
	struct spool_writer *w;
	struct err err;
	if (spool_writer_open(folder, &roomy, &w, &err) < 0)
		_exit(1);
	for (uint64_t i = from;; i++) {
		if (put(w, (enum spool_class)(i % 3), i, NULL, &err) < 0 ||
		    write(out, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

static void killed_writer_loses_no_appended_record(void **state)
{
	(void)state;
	uint64_t from = 0, expect = 0;
	struct spool_reader *r = NULL;
	for (int round = 0; round < 15; round++) {
		int fds[2];
		uint64_t last = from ? from - 1 : 0, i;
		struct spool_record rec;
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			close(fds[0]);
			append_until_killed(fds[1], from);
		}
		close(fds[1]);
		/* in the middle of things, after a differing number of records */
		for (int k = 0; k < 20 + 37 * round; k++) {
			assert_int_equal(read(fds[0], &i, sizeof(i)), sizeof(i));
			last = i;
		}
		kill(pid, SIGKILL);
		while (read(fds[0], &i, sizeof(i)) == sizeof(i))
			last = i;
		close(fds[0]);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		if (!r)
			r = reader();
		/* each is there, in order, and at most one that was not reported */
		while (next(r, &rec))
			assert_int_equal(check(&rec), expect++);
		assert_true(expect == last + 1 || expect == last + 2);
		ack(r, rec.seq);
		from = expect;
	}
	spool_reader_close(r);
	assert_int_equal(stats().damaged, 0);
}

static void reader_and_writer_run_at_once(void **state)
{
	(void)state;
	enum { RECORDS = 30000 };
	struct err err = {""};
	spool_writer_close(writer(&roomy));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct spool_writer *w;
		if (spool_writer_open(folder, &roomy, &w, &err) < 0)
			_exit(1);
		for (uint64_t i = 0; i < RECORDS; i++) {
			if (put(w, (enum spool_class)(i % 7 % 3), i, NULL, &err) < 0)
				_exit(2);
		}
		spool_writer_close(w);
		_exit(0);
	}
	struct spool_reader *r = reader();
	uint64_t expect = 0;
	bool writer_done = false;
	while (expect < RECORDS) {
		struct spool_record rec;
		int status;
		if (next(r, &rec)) {
			assert_int_equal(check(&rec), expect++);
			if (expect % 1000 == 0) {
				ack(r, rec.seq);
				spool_reader_close(r); /* restarted now and then */
				r = reader();
			}
			continue;
		}
		assert_false(writer_done);
		pid_t got = waitpid(pid, &status, WNOHANG);
		if (got == pid) {
			assert_int_equal(status, 0);
			writer_done = true;
			pid = 0;
		}
	}
	if (pid)
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	spool_reader_close(r);
	assert_int_equal(stats().damaged, 0);
	assert_int_equal(stats().lost[SPOOL_INTERVAL], 0);
}

/* Writer and reader at once while the spool is always full, the reader
 * restarted: whatever happens to intervals, each final comes, in order, and nothing
 * comes that was not appended. */
static void finals_come_through_an_always_full_spool(void **state)
{
	(void)state;
	enum { RECORDS = 20000 };
	struct err err = {""};
	spool_writer_close(writer(&small));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct spool_writer *w;
		if (spool_writer_open(folder, &small, &w, &err) < 0)
			_exit(1);
		for (uint64_t i = 0; i < RECORDS; i++) {
			enum spool_class cls =
				i % 20 == 0 ? SPOOL_FINAL : SPOOL_INTERVAL;
			/* an interval that finds no room is lost and counted */
			for (int tries = 0; put(w, cls, i, NULL, &err) < 0; tries++) {
				if (cls == SPOOL_INTERVAL)
					break;
				if (tries > 10000)
					_exit(2);
				usleep(1000);
			}
		}
		spool_writer_close(w);
		_exit(0);
	}
	struct spool_reader *r = reader();
	struct spool_record rec;
	uint64_t finals = 0, intervals = 0, last = 0, seq = 0;
	bool writer_done = false;
	for (;;) {
		int status;
		if (next(r, &rec)) {
			uint64_t i = check(&rec);
			assert_true(i == 0 || i > last);
			last = i;
			seq = rec.seq;
			if (rec.cls == SPOOL_FINAL)
				assert_int_equal(i, 20 * finals++);
			else
				intervals++;
			if (finals % 7 == 0)
				ack(r, seq);
			if (i % 500 == 0) {
				ack(r, seq);
				spool_reader_close(r);
				r = reader();
				usleep(3000); /* let it fill */
			}
		} else if (writer_done) {
			break;
		} else if (waitpid(pid, &status, WNOHANG) == pid) {
			assert_int_equal(status, 0);
			writer_done = true;
		}
	}
	spool_reader_close(r);
	struct spool_stats st = stats();
	assert_int_equal(finals, RECORDS / 20);
	assert_true(st.lost[SPOOL_INTERVAL] > 0);
	/* given and not yet acknowledged when it went: counted as lost too */
	assert_true(intervals + st.lost[SPOOL_INTERVAL] >= RECORDS - RECORDS / 20);
	assert_int_equal(st.damaged, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(full_file_system_keeps_finals_and_recovers),
		T(small_file_system_is_not_filled_by_what_was_told),
		T(killed_writer_loses_no_appended_record),
		T(reader_and_writer_run_at_once),
		T(finals_come_through_an_always_full_spool),
	};
	return cmocka_run_group_tests_name("spool_process", tests, setup, teardown);
}
