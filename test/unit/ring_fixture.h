/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_RING_FIXTURE_H
#define CEEMS_TEST_RING_FIXTURE_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/records/ring.h"
#include "lib/records/ring_word.h"
#include "test/ring_files.h"
#include "test/unit/unit.h"

/* One scratch folder per test, with a ring of 16 slots and an attached producer. */
struct fixture {
	char folder[64];
	char path[128], other[128];
	struct ring consumer, producer;
	struct err err;
};

#define SLOTS 16u

static inline int fixture_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	bool made = false;

	if (!f)
		return -1;
	snprintf(f->folder, sizeof(f->folder), "/tmp/ring_test.XXXXXX");
	if (!mkdtemp(f->folder))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/ring", f->folder);
	snprintf(f->other, sizeof(f->other), "%s/other", f->folder);
	if (ring_consumer_open(f->path, SLOTS, &f->consumer, &made, &f->err) < 0 ||
	    !made || ring_attach(f->path, geteuid(), &f->producer, &f->err) < 0) {
		fprintf(stderr, "# %s\n", f->err.text);
		return -1;
	}
	*state = f;
	return 0;
}

static inline int fixture_down(void **state)
{
	struct fixture *f = *state;
	char tmp[160];

	ring_detach(&f->producer);
	ring_consumer_close(&f->consumer);
	remove_ring(f->path);
	unlink(f->other);
	snprintf(tmp, sizeof(tmp), "%s.new", f->path);
	unlink(tmp);
	int rc = rmdir(f->folder);
	free(f);
	return rc;
}

static inline int publish_text(struct ring *r, const char *s)
{
	return ring_publish(r, s, strlen(s));
}

/* The next record as text, or "(empty)" or "(hole)"; released when it was a record. */
static inline const char *consume_text(struct ring *r, char buf[RING_RECORD_MAX + 1])
{
	size_t len = 0;
	uint64_t pos = 0;
	int rc = ring_peek(r, buf, &len, &pos);

	if (rc == 0)
		return "(empty)";
	if (rc == 2)
		return "(hole)";
	buf[len] = '\0';
	ring_release(r, pos);
	return buf;
}

static inline void put(const char *path, mode_t mode, const void *data, size_t len,
		       off_t at, off_t size)
{
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(pwrite(fd, data, len, at), len);
	if (size)
		assert_int_equal(ftruncate(fd, size), 0);
}

/* Changes bytes of the header of the ring at path behind everybody's back. */
static inline void edit(const char *path, size_t at, const void *data, size_t len)
{
	put(path, 0600, data, len, (off_t)at, 0);
}

static inline int attach_rc(struct fixture *f, const char *path)
{
	struct ring r = {.fd = -1};
	int rc = ring_attach(path, geteuid(), &r, &f->err);

	if (rc == 0)
		ring_detach(&r);
	return rc;
}

static inline void assert_refused(struct fixture *f, const char *path, int rc,
				  const char *why)
{
	assert_int_equal(attach_rc(f, path), rc);
	if (!strstr(f->err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", f->err.text, why);
}

#endif
