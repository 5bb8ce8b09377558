/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of a filter, in portions of the reader's size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/proxy/filter.h"
#include "lib/cleanup.h"

#define RAW_BYTES 16384u

struct filtered {
	struct filter *filter;
	ssize_t (*read)(void *arg, void *buf, size_t max);
	void *arg;
	struct buf out; /* filtered; returned up to out_at */
	size_t out_at;
	size_t raw_at, raw_len; /* of raw: not yet filtered */
	bool over;
	char raw[RAW_BYTES];
};

int filtered_new(const struct backend *b, const char *target, size_t len,
		 const char *encoding,
		 ssize_t (*read)(void *arg, void *buf, size_t max), void *arg,
		 struct filtered **ret, struct err *err)
{
	struct filtered *f = malloc(sizeof(*f));

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	*f = (struct filtered){.read = read, .arg = arg};
	int rc = filter_new(b, target, len, encoding, &f->filter, err);
	if (rc < 0) {
		free(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void filtered_free(struct filtered *f)
{
	if (!f)
		return;
	filter_free(f->filter);
	buf_done(&f->out);
	free(f);
}

/* Filters what has come; 1: there was something. */
static int sieve_raw(struct filtered *f)
{
	if (f->raw_at == f->raw_len && !filter_pending(f->filter))
		return 0;
	ssize_t n = filter_put(f->filter, f->raw + f->raw_at, f->raw_len - f->raw_at,
			       &f->out, NULL);
	if (n < 0)
		return (int)n;
	f->raw_at += (size_t)n;
	return 1;
}

/* More bytes of the answer: 1, or 0 at its end. */
static int fill_raw(struct filtered *f)
{
	ssize_t n = f->read(f->arg, f->raw, sizeof(f->raw));

	if (n < 0)
		return (int)n;
	f->raw_at = 0;
	f->raw_len = (size_t)n;
	if (n > 0)
		return 1;
	f->over = true;
	return filter_end(f->filter, NULL);
}

ssize_t filtered_read(struct filtered *f, void *buf, size_t max)
{
	while (f->out_at == f->out.len && !f->over) {
		buf_reset(&f->out);
		f->out_at = 0;
		int rc = sieve_raw(f);
		if (rc == 0)
			rc = fill_raw(f);
		if (rc < 0)
			return rc;
	}
	size_t n = f->out.len - f->out_at;
	if (n > max)
		n = max;
	if (n)
		memcpy(buf, f->out.data + f->out_at, n);
	f->out_at += n;
	return (ssize_t)n;
}
