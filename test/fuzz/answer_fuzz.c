/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of backends: the head at once and byte by byte are the same, and so is the
 * body in one piece and in pieces. */
#include "lb/proxy/answer.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The whole in pieces of step bytes; what it means goes to out, its length is returned,
 * negative when it is broken. */
static ssize_t body(const struct answer_head *h, const char *data, size_t size,
		    size_t step, char *out, bool *over)
{
	struct answer_body b;
	ssize_t total = 0;

	answer_body_begin(&b, h, false);
	for (size_t at = 0; at < size && !b.over;) {
		size_t n = size - at < step ? size - at : step, used = 0;
		char *piece = malloc(n);
		if (!piece)
			abort();
		memcpy(piece, data + at, n);
		ssize_t got = answer_body_take(&b, piece, n, &used);
		if (got > 0) {
			memcpy(out + total, piece, (size_t)got);
			total += got;
		}
		free(piece);
		if (got < 0)
			return got;
		if (used > n || (size_t)got > used || (used < n && !b.over))
			abort();
		at += used;
	}
	*over = b.over;
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer_head h, again;
	const char *why = NULL, *s = (const char *)data;
	bool over = false, over2 = false;
	ssize_t n = answer_head_read(s, size, 0, &h, &why), m = 0;

	for (size_t len = 0; size < 2000 && len <= size && m == 0; len++)
		m = answer_head_read(s, len, len ? len - 1 : 0, &again, &why);
	if (size < 2000 && n > 0 && (n != m || memcmp(&h, &again, sizeof(h)) != 0))
		abort();
	if (n <= 0) {
		if (n < 0 && !why)
			abort();
		return 0;
	}
	if (h.status < 100 || h.status > 599 || strlen(h.type) >= sizeof(h.type) ||
	    strpbrk(h.type, "\r\n") || strpbrk(h.encoding, "\r\n "))
		abort();
	size_t rest = size - (size_t)n;
	char *one = malloc(rest + 1), *two = malloc(rest + 1);
	if (!one || !two)
		abort();
	ssize_t a = body(&h, s + n, rest, rest ? rest : 1, one, &over);
	ssize_t b = body(&h, s + n, rest, 3, two, &over2);
	if ((a < 0) != (b < 0) ||
	    (a >= 0 && (a != b || memcmp(one, two, (size_t)a) != 0 || over != over2)))
		abort();
	free(one);
	free(two);
	return 0;
}
