/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One block of deflate with a code that was made once, of scrapes (RFC 1951, 3.2.7): so
 * nothing is counted, sorted or searched for while writing. */
#include "daemon/web/gzip_lines.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/web/gzip_crc.h"

#define SYMBOLS 286u         /* bytes, the end of the block, lengths */
#define DISTANCES 30u        /* codes of distances */
#define LINE_BYTES_MAX 1024u /* longer lines are compared with nothing */
#define BACK_MAX (2u * LINE_BYTES_MAX)
#define COPY_MIN 4u
#define COPY_MAX 258u
#define CODE_BITS_MAX 15u
#define END_OF_BLOCK 256u

struct code {
	uint32_t bits; /* as written: the first bit is the lowest */
	uint32_t count;
};

struct gzip_lines {
	struct buf *out;
	uint64_t pending; /* bits that are no whole bytes yet */
	unsigned pending_count;
	uint32_t crc, size;
	unsigned copy, back; /* a repetition that may go on: bytes, from how far back */
	size_t last_len;
	char last[LINE_BYTES_MAX]; /* the line before the next text */
	struct code symbol[SYMBOLS], length[COPY_MAX + 1], distance[BACK_MAX + 1];
};

/* Bits of each symbol's code, in the order of RFC 1951: Huffman's for scrapes of 1000
 * units with counters of all sizes, none above 13. */
static const uint8_t symbol_bits[SYMBOLS] = {
	13, 13, 13, 13, 12, 12, 12, 12, 12, 12, 4,  12, 12, 12, 12, 12, 12, 12, 12, 12,
	12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 4,  12, 5,  10, 12, 12, 12, 12,
	12, 12, 12, 12, 10, 12, 7,  8,  4,  4,  4,  5,  5,  4,  5,  5,  5,  5,  12, 12,
	12, 10, 12, 12, 12, 12, 12, 12, 12, 10, 12, 12, 11, 12, 12, 12, 11, 12, 12, 12,
	10, 12, 12, 12, 11, 12, 12, 12, 12, 11, 12, 12, 12, 12, 12, 9,  12, 7,  10, 7,
	8,  6,  10, 9,  8,  9,  10, 9,  7,  7,  8,  6,  8,  12, 7,  6,  6,  8,  11, 9,
	10, 10, 12, 11, 12, 5,  12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
	12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
	12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
	12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
	12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
	12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
	12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 8,  12,
	12, 12, 12, 12, 12, 12, 12, 10, 12, 12, 12, 12, 8,  8,  12, 12, 12, 7,  6,  4,
	4,  8,  12, 12, 12, 12,
};
static const uint8_t distance_bits[DISTANCES] = {
	8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 6, 7, 3, 1, 2,
	8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7,
};

/* The canonical code of these lengths (RFC 1951, 3.2.2), each with its bits turned
 * around. */
static void make_codes(const uint8_t *bits, unsigned n, struct code *ret)
{
	uint32_t next[CODE_BITS_MAX + 2] = {0}, of[CODE_BITS_MAX + 1] = {0};

	for (unsigned i = 0; i < n; i++)
		of[bits[i]]++;
	for (unsigned b = 1; b <= CODE_BITS_MAX; b++)
		next[b + 1] = (next[b] + of[b]) << 1;
	for (unsigned i = 0; i < n; i++) {
		uint32_t code = next[bits[i]]++;
		ret[i] = (struct code){0, bits[i]};
		for (unsigned b = 0; b < bits[i]; b++)
			ret[i].bits |= (code >> b & 1) << (bits[i] - 1 - b);
	}
}

/* Code and extra bits of all values from first to last: their symbols take 2^extra
 * values each, extra as in the tables of RFC 1951, 3.2.5. */
static void make_ranges(const struct code *of, unsigned symbols, unsigned step,
			unsigned first, unsigned last, struct code *ret)
{
	unsigned value = first;

	for (unsigned s = 0; s < symbols; s++) {
		unsigned extra = s < 2 * step ? 0 : s / step - 1;
		for (unsigned i = 0; i < 1u << extra && value <= last; i++, value++)
			ret[value] = (struct code){of[s].bits | i << of[s].count,
						   of[s].count + extra};
	}
}

static void put_bits(struct gzip_lines *z, char **at, struct code c)
{
	z->pending |= (uint64_t)c.bits << z->pending_count;
	z->pending_count += c.count;
	if (z->pending_count >= 32) {
		uint32_t word = htole32((uint32_t)z->pending);
		memcpy(*at, &word, sizeof(word));
		*at += sizeof(word);
		z->pending >>= 32;
		z->pending_count -= 32;
	}
}

/* What a line of len bytes may take at most, with what waits */
static char *reserve_bits(struct gzip_lines *z, size_t len)
{
	return buf_reserve(z->out, len * 2 + 64);
}

static void commit_bits(struct gzip_lines *z, const char *at)
{
	buf_commit(z->out, (size_t)(at - (z->out->data + z->out->len)));
}

/* The lengths of the codes, each in four bits: a code of codes that needs no thought */
static void put_block_header(struct gzip_lines *z)
{
	static const char head[10] = {0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 4, 3};
	char *at;

	buf_put(z->out, head, sizeof(head));
	at = reserve_bits(z, SYMBOLS + DISTANCES);
	if (!at)
		return;
	/* the last block, of kind 2; how many of each */
	put_bits(z, &at, (struct code){5, 3});
	put_bits(z, &at, (struct code){SYMBOLS - 257, 5});
	put_bits(z, &at, (struct code){DISTANCES - 1, 5});
	put_bits(z, &at, (struct code){19 - 4, 4});
	/* 16, 17, 18 are not used; 0 to 15 have four bits each */
	for (unsigned i = 0; i < 19; i++)
		put_bits(z, &at, (struct code){i < 3 ? 0 : 4, 3});
	uint8_t four[16];
	struct code lengths[16];
	memset(four, 4, sizeof(four));
	make_codes(four, 16, lengths);
	for (unsigned i = 0; i < SYMBOLS; i++)
		put_bits(z, &at, lengths[symbol_bits[i]]);
	for (unsigned i = 0; i < DISTANCES; i++)
		put_bits(z, &at, lengths[distance_bits[i]]);
	commit_bits(z, at);
}

struct gzip_lines *gzip_lines_new(struct buf *out)
{
	struct gzip_lines *z = calloc(1, sizeof(*z));
	struct code distances[DISTANCES];

	if (!z)
		return NULL;
	z->out = out;
	make_codes(symbol_bits, SYMBOLS, z->symbol);
	make_codes(distance_bits, DISTANCES, distances);
	make_ranges(z->symbol + 257, 28, 4, 3, COPY_MAX - 1, z->length);
	z->length[COPY_MAX] = z->symbol[285];
	make_ranges(distances, DISTANCES, 2, 1, BACK_MAX, z->distance);
	put_block_header(z);
	return z;
}

static void put_copy(struct gzip_lines *z, char **at)
{
	if (z->copy) {
		put_bits(z, at, z->length[z->copy]);
		put_bits(z, at, z->distance[z->back]);
	}
	z->copy = 0;
}

static void put_bytes(struct gzip_lines *z, char **at, const char *text, size_t len)
{
	if (len)
		put_copy(z, at);
	for (size_t i = 0; i < len; i++)
		put_bits(z, at, z->symbol[(unsigned char)text[i]]);
}

/* len bytes that also are `back` bytes before. They lengthen the last such, if they
 * follow it. */
static void put_same(struct gzip_lines *z, char **at, const char *text, size_t len,
		     unsigned back)
{
	if (z->copy && z->back == back) {
		size_t more = COPY_MAX - z->copy;
		more = len < more ? len : more;
		z->copy += (unsigned)more;
		text += more;
		len -= more;
	}
	while (len >= COPY_MIN) {
		size_t part = len < COPY_MAX ? len : COPY_MAX;
		put_copy(z, at);
		z->copy = (unsigned)part;
		z->back = back;
		text += part;
		len -= part;
	}
	put_bytes(z, at, text, len);
}

static size_t count_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t n = 0, most = a_len < b_len ? a_len : b_len;
	uint64_t x, y;

	for (; n + sizeof(x) <= most; n += sizeof(x)) {
		memcpy(&x, a + n, sizeof(x));
		memcpy(&y, b + n, sizeof(y));
		if (x != y)
			return n + (size_t)__builtin_ctzll(le64toh(x ^ y)) / 8;
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/* Where names, values and parts of paths end */
static bool is_divider(char c)
{
	return c == '"' || c == ' ' || c == '/' || c == '_' || c == '\n';
}

/* Mostly near: the end of a number or name */
static size_t find_byte(const char *text, size_t from, size_t len, char c)
{
	while (from < len && text[from] != c)
		from++;
	return from;
}

/* After a difference both go on behind the next divider that they have in common. */
static void put_line(struct gzip_lines *z, const char *line, size_t len,
		     const char *last, size_t last_len)
{
	char *at = reserve_bits(z, len);
	size_t i = 0, j = 0;

	while (at && i < len) {
		size_t n = count_same(line + i, len - i, last + j, last_len - j);
		if (n)
			put_same(z, &at, line + i, n, (unsigned)(last_len - j + i));
		i += n;
		j += n;
		n = 0;
		while (i + n < len && !is_divider(line[i + n]))
			n++;
		put_bytes(z, &at, line + i, n);
		i += n;
		if (i < len)
			j = find_byte(last, j, last_len, line[i]);
		if (j == last_len && i < len)
			put_bytes(z, &at, line + i++, 1);
	}
	if (at)
		commit_bits(z, at);
}

void gzip_lines_put(struct gzip_lines *z, const char *text, size_t len)
{
	const char *last = z->last, *end = text + len;
	size_t last_len = z->last_len;

	z->crc = gzip_crc(z->crc, text, len);
	z->size += (uint32_t)len;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((newline ? newline + 1 : end) - text);
		put_line(z, text, n, last, last_len);
		last = text;
		last_len = n <= LINE_BYTES_MAX ? n : 0;
		text += n;
	}
	/* the text may be gone when the next comes */
	memmove(z->last, last, last_len);
	z->last_len = last_len;
}

int gzip_lines_end(struct gzip_lines *z)
{
	char *at = reserve_bits(z, 0);

	if (!at)
		return buf_error(z->out);
	put_copy(z, &at);
	put_bits(z, &at, z->symbol[END_OF_BLOCK]);
	/* up to a whole byte, whatever remains in the word */
	for (; z->pending_count > 0; z->pending >>= 8) {
		*at++ = (char)z->pending;
		z->pending_count -= z->pending_count < 8 ? z->pending_count : 8;
	}
	const uint32_t tail[2] = {htole32(z->crc), htole32(z->size)};
	memcpy(at, tail, sizeof(tail));
	commit_bits(z, at + sizeof(tail));
	return buf_error(z->out);
}

void gzip_lines_free(struct gzip_lines *z)
{
	free(z);
}
