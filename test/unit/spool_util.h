/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_SPOOL_UTIL_H
#define CEEMS_TEST_SPOOL_UTIL_H
/* A spool in a scratch folder, and records whose every byte can be checked. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/records/spool.h"
#include "test/unit/unit.h"

static char root[] = "/tmp/ceems-spool-test.XXXXXX";
static char folder[64];
static const struct spool_limits small = {.max_bytes = 64 << 10,
					  .segment_bytes = 8 << 10};
static const struct spool_limits roomy = {.max_bytes = 64 << 20,
					  .segment_bytes = 8 << 10};

static inline void empty_folder(const char *path)
{
	auto_closedir DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		unlinkat(dirfd(d), e->d_name, 0);
	rmdir(path);
}

static inline int each_setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "%s/spool", root);
	empty_folder(folder);
	return 0;
}

static inline struct spool_writer *writer(const struct spool_limits *limits)
{
	struct spool_writer *w = NULL;
	struct err err = {""};
	int rc = spool_writer_open(folder, limits, &w, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(rc, 0);
	return w;
}

static inline struct spool_reader *reader(void)
{
	struct spool_reader *r = NULL;
	struct err err = {""};
	int rc = spool_reader_open(folder, &r, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(rc, 0);
	return r;
}

static inline struct spool_stats stats(void)
{
	struct spool_stats s;
	struct err err;
	assert_int_equal(spool_stats(folder, &s, &err), 0);
	return s;
}

/* Payload of record i: its length and every byte follow from i. */
static inline size_t payload(uint64_t i, unsigned char *ret)
{
	size_t len = 20 + (size_t)(i * 7919 % 300);
	for (size_t k = 0; k < len; k++)
		ret[k] = (unsigned char)(i * 31 + k);
	memcpy(ret, &i, sizeof(i));
	return len;
}

static inline int put(struct spool_writer *w, enum spool_class cls, uint64_t i,
		      uint64_t *seq, struct err *err)
{
	unsigned char data[512];
	return spool_append(w, cls, data, payload(i, data), seq, err);
}

/* The number in a record, after checking every byte of it. */
static inline uint64_t check(const struct spool_record *rec)
{
	unsigned char want[512];
	uint64_t i;
	assert_true(rec->len >= sizeof(i));
	memcpy(&i, rec->data, sizeof(i));
	assert_int_equal(rec->len, payload(i, want));
	assert_memory_equal(rec->data, want, rec->len);
	return i;
}

static inline int next(struct spool_reader *r, struct spool_record *rec)
{
	struct err err = {""};
	int rc = spool_next(r, rec, &err);
	assert_string_equal(err.text, "");
	assert_true(rc >= 0);
	return rc;
}

static inline void ack(struct spool_reader *r, uint64_t seq)
{
	struct err err;
	assert_int_equal(spool_ack(r, seq, &err), 0);
}

static inline int setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static inline int teardown(void **state)
{
	(void)state;
	empty_folder(folder);
	return rmdir(root);
}

#define T(f) cmocka_unit_test_setup(f, each_setup)

#endif
