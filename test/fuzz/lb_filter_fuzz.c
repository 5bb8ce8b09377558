/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of backends that labels are taken out of: any bytes, plain and compressed.
 * How they are cut into pieces makes no difference, and what came out once stays. */
#include "lb/proxy/filter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const hidden[] = {"instance", "u"};
static const struct backend backend = {.filter_labels = hidden,
				       .filter_label_count = 2};
static const char *const targets[] = {"/api/v1/query", "/api/v1/query_exemplars",
				      "/api/v1/series", "/api/v1/labels",
				      "/api/v1/label/x/values"};

static int run(const char *target, const char *encoding, const void *data, size_t size,
	       size_t step, struct buf *out)
{
	struct buf part = BUF_INIT;
	struct filter *f = NULL;
	int rc = filter_new(&backend, target, strlen(target), encoding, &f, NULL);

	for (size_t at = 0; rc == 0 && (at < size || filter_pending(f));) {
		size_t n = size - at < step ? size - at : step;
		ssize_t took = filter_put(f, (const char *)data + at, n, &part, NULL);

		rc = took < 0 ? (int)took : 0;
		at += took < 0 ? 0 : (size_t)took;
		if (part.len > 3ul * FILTER_OUT_BYTES)
			abort();
		buf_put(out, part.data ? part.data : "", part.len);
		buf_reset(&part);
		if (out->len > 1u << 22)
			rc = -1;
	}
	if (rc == 0)
		rc = filter_end(f, NULL);
	filter_free(f);
	buf_done(&part);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT, cut = BUF_INIT, again = BUF_INIT;

	if (!size)
		return 0;
	const char *target = targets[data[0] % 5];
	const char *encoding = data[0] & 0x80 ? "gzip" : NULL;
	size_t step = 1 + (data[0] >> 3 & 15);
	data++;
	size--;
	int a = run(target, encoding, data, size, SIZE_MAX, &whole);
	int b = run(target, encoding, data, size, step, &cut);
	if ((a < 0) != (b < 0) ||
	    (a == 0 &&
	     (whole.len != cut.len || memcmp(whole.data, cut.data, cut.len) != 0)))
		abort();
	if (a == 0 &&
	    (run(target, NULL, whole.data, whole.len, step, &again) < 0 ||
	     again.len != whole.len || memcmp(again.data, whole.data, whole.len) != 0))
		abort();
	buf_done(&whole);
	buf_done(&cut);
	buf_done(&again);
	return 0;
}
