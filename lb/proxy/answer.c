/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses backends' answers. A backend is trusted with data, but not with our
 * connections: a broken or hostile one must not make the next answer another user's. */
#include "lb/proxy/answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/http_text.h"
#include "lib/parse.h"

#define LENGTH_DIGITS 18 /* what fits into 63 bits */
#define CHUNK_DIGITS 15
#define CHUNK_EXTENSION_MAX 256
#define TRAILER_MAX 4096

/* A piece of the head. */
struct piece {
	const char *s;
	size_t len;
};

static bool piece_is(struct piece p, const char *text)
{
	return p.len == strlen(text) && strncasecmp(p.s, text, p.len) == 0;
}

static bool is_digit_char(char c)
{
	return c >= '0' && c <= '9';
}

/* Decisive headers seen so far. */
struct seen_headers {
	bool http10, close, keep_alive, chunked;
	unsigned lengths, codings, types, encodings, grpc_statuses, grpc_messages;
	uint64_t length;
};

static const char *read_status_line(struct piece line, struct seen_headers *seen,
				    struct answer_head *h)
{
	/* HTTP/1.1 200 OK */
	if (line.len < 13 || memcmp(line.s, "HTTP/1.", 7) != 0 ||
	    (line.s[7] != '0' && line.s[7] != '1') || line.s[8] != ' ' ||
	    !is_digit_char(line.s[9]) || !is_digit_char(line.s[10]) ||
	    !is_digit_char(line.s[11]) || line.s[12] != ' ' ||
	    !http_text_is_value(line.s, line.len))
		return "no status line";
	seen->http10 = line.s[7] == '0';
	h->status = (unsigned)((line.s[9] - '0') * 100 + (line.s[10] - '0') * 10 +
			       (line.s[11] - '0'));
	if (h->status < 100 || h->status > 599)
		return "no such status";
	return h->status == 101 ? "switches protocols" : NULL;
}

static const char *read_length(struct piece value, struct seen_headers *seen)
{
	if (seen->lengths++)
		return "two lengths";
	if (value.len == 0 || value.len > LENGTH_DIGITS)
		return "bad Content-Length";
	seen->length = 0;
	for (size_t i = 0; i < value.len; i++) {
		if (!is_digit_char(value.s[i]))
			return "bad Content-Length";
		seen->length = seen->length * 10 + (uint64_t)(value.s[i] - '0');
	}
	return NULL;
}

static const char *read_coding(struct piece value, struct seen_headers *seen)
{
	if (seen->codings++)
		return "two transfer codings";
	if (!piece_is(value, "chunked"))
		return "unknown transfer coding";
	seen->chunked = true;
	return NULL;
}

static void read_connection(struct piece value, struct seen_headers *seen)
{
	while (value.len) {
		const char *comma = memchr(value.s, ',', value.len);
		struct piece one = {value.s,
				    comma ? (size_t)(comma - value.s) : value.len};
		size_t step = one.len + (comma ? 1 : 0);
		while (one.len && (*one.s == ' ' || *one.s == '\t')) {
			one.s++;
			one.len--;
		}
		while (one.len &&
		       (one.s[one.len - 1] == ' ' || one.s[one.len - 1] == '\t'))
			one.len--;
		seen->close |= piece_is(one, "close");
		seen->keep_alive |= piece_is(one, "keep-alive");
		value.s += step;
		value.len -= step;
	}
}

static const char *copy_header_value(struct piece value, char *ret, size_t size,
				     unsigned *count, const char *why)
{
	if ((*count)++ || value.len >= size)
		return why;
	memcpy(ret, value.s, value.len);
	ret[value.len] = '\0';
	return NULL;
}

static const char *read_grpc(struct piece name, struct piece value,
			     struct seen_headers *seen, struct answer_head *h)
{
	if (piece_is(name, "Grpc-Status"))
		return copy_header_value(value, h->grpc_status, sizeof(h->grpc_status),
					 &seen->grpc_statuses, "bad Grpc-Status");
	if (piece_is(name, "Grpc-Message") && value.len < sizeof(h->grpc_message))
		return copy_header_value(value, h->grpc_message,
					 sizeof(h->grpc_message), &seen->grpc_messages,
					 "bad Grpc-Message");
	return NULL;
}

static const char *read_header(struct piece line, struct seen_headers *seen,
			       struct answer_head *h)
{
	const char *colon = memchr(line.s, ':', line.len);
	struct piece name = {line.s, colon ? (size_t)(colon - line.s) : 0};

	/* a blank before the colon, or a folded line, is not a token */
	if (!colon || !http_text_is_token(name.s, name.len))
		return "bad header";
	struct piece value = {colon + 1, line.len - name.len - 1};
	while (value.len && (*value.s == ' ' || *value.s == '\t')) {
		value.s++;
		value.len--;
	}
	while (value.len &&
	       (value.s[value.len - 1] == ' ' || value.s[value.len - 1] == '\t'))
		value.len--;
	if (!http_text_is_value(value.s, value.len))
		return "control character in a header";
	if (piece_is(name, "Content-Length"))
		return read_length(value, seen);
	if (piece_is(name, "Transfer-Encoding"))
		return read_coding(value, seen);
	if (piece_is(name, "Connection"))
		read_connection(value, seen);
	if (piece_is(name, "Content-Type"))
		return copy_header_value(value, h->type, sizeof(h->type), &seen->types,
					 "bad Content-Type");
	if (piece_is(name, "Content-Encoding"))
		return !http_text_is_token(value.s, value.len)
			       ? "bad Content-Encoding"
			       : copy_header_value(
					 value, h->encoding, sizeof(h->encoding),
					 &seen->encodings, "bad Content-Encoding");
	return read_grpc(name, value, seen, h);
}

static const char *decide_framing(const struct seen_headers *seen,
				  struct answer_head *h)
{
	if (seen->lengths && seen->codings)
		return "both a length and a transfer coding";
	if (seen->codings && seen->http10)
		return "a transfer coding in HTTP/1.0";
	if (h->status < 200 || h->status == 204) {
		if (seen->codings || seen->length)
			return "a body where none is allowed";
		h->framing = ANSWER_EMPTY;
	} else if (h->status == 304) {
		h->framing = ANSWER_EMPTY;
	} else if (seen->chunked) {
		h->framing = ANSWER_CHUNKED;
	} else if (seen->lengths) {
		h->framing = ANSWER_LENGTH;
		h->length = seen->length;
	} else {
		h->framing = ANSWER_CLOSE;
	}
	h->keeps = h->framing != ANSWER_CLOSE && !seen->close &&
		   (!seen->http10 || seen->keep_alive);
	return NULL;
}

/* The length of the head including its final blank line; 0: that has not come yet. */
static size_t find_end(const char *data, size_t len, size_t seen)
{
	const char *end = data + len, *p = data + (seen > 3 ? seen - 3 : 0);

	while (p < end && (p = memchr(p, '\r', (size_t)(end - p)))) {
		if (end - p >= 4 && memcmp(p, "\r\n\r\n", 4) == 0)
			return (size_t)(p - data) + 4;
		p++;
	}
	return 0;
}

/* Reads a line of a complete head; *at advances past it. */
static const char *read_line(const char *data, size_t end, size_t *at,
			     struct seen_headers *seen, struct answer_head *h)
{
	const char *begin = data + *at, *eol = memchr(begin, '\r', end - *at);
	struct piece line = {begin, (size_t)(eol - begin)};

	if (eol[1] != '\n')
		return "a line ends without LF";
	*at += line.len + 2;
	return begin == data ? read_status_line(line, seen, h)
			     : read_header(line, seen, h);
}

ssize_t answer_head_read(const char *data, size_t len, size_t seen_len,
			 struct answer_head *ret, const char **ret_why)
{
	struct answer_head h = {.status = 0};
	struct seen_headers seen = {.lengths = 0};
	size_t end = find_end(data, len, seen_len);

	if (end > ANSWER_HEAD_MAX || (!end && len >= ANSWER_HEAD_MAX)) {
		*ret_why = "its head is too long";
		return -EFBIG;
	}
	/* do not wait for more if it is not HTTP at all */
	if (!end && memcmp(data, "HTTP/1.", len < 7 ? len : 7) != 0) {
		*ret_why = "no status line";
		return -EBADMSG;
	}
	if (!end)
		return 0;
	const char *why = NULL;
	for (size_t at = 0; !why && at + 2 < end;)
		why = read_line(data, end, &at, &seen, &h);
	if (!why)
		why = decide_framing(&seen, &h);
	if (why) {
		*ret_why = why;
		return -EBADMSG;
	}
	*ret = h;
	return (ssize_t)end;
}

enum part { SIZE, EXTENSION, SIZE_LF, DATA, DATA_CR, DATA_LF, TRAILER, TRAILER_LF };

void answer_body_begin(struct answer_body *b, const struct answer_head *h, bool head)
{
	*b = (struct answer_body){.framing = head ? ANSWER_EMPTY : h->framing};
	b->left = b->framing == ANSWER_LENGTH ? h->length : 0;
	b->over = b->framing == ANSWER_EMPTY ||
		  (b->framing == ANSWER_LENGTH && b->left == 0);
}

/* A byte of a chunk's first line. */
static int take_size(struct answer_body *b, char c)
{
	int v = parse_hex_digit(c);

	if (v >= 0) {
		if (b->digits++ == CHUNK_DIGITS)
			return -EBADMSG;
		b->left = b->left << 4 | (unsigned)v;
		return 0;
	}
	if (!b->digits || (c != ';' && c != '\r'))
		return -EBADMSG;
	b->digits = 0;
	b->part = c == ';' ? EXTENSION : SIZE_LF;
	return 0;
}

/* A byte of a trailer, whose contents are ignored. b->left: bytes of all lines,
 * b->digits: of this one. */
static int take_trailer(struct answer_body *b, char c)
{
	if (++b->left > TRAILER_MAX)
		return -EBADMSG;
	if (b->part == TRAILER && c == '\r') {
		b->part = TRAILER_LF;
	} else if (b->part == TRAILER) {
		b->digits++;
		return c == '\n' || c == '\0' ? -EBADMSG : 0;
	} else if (c != '\n') {
		return -EBADMSG;
	} else {
		b->over = b->digits == 0;
		b->digits = 0;
		b->part = TRAILER;
	}
	return 0;
}

/* A byte that is framing, not data. */
static int take_frame(struct answer_body *b, char c)
{
	switch ((enum part)b->part) {
	case SIZE:
		return take_size(b, c);
	case EXTENSION:
		if (c == '\r')
			b->part = SIZE_LF;
		else if ((unsigned char)c < 0x20 || ++b->digits > CHUNK_EXTENSION_MAX)
			return -EBADMSG;
		return 0;
	case SIZE_LF:
		b->digits = 0;
		b->part = b->left ? DATA : TRAILER;
		return c == '\n' ? 0 : -EBADMSG;
	case DATA:
	case DATA_CR:
		b->part = DATA_LF;
		return c == '\r' ? 0 : -EBADMSG;
	case DATA_LF:
		b->part = SIZE;
		return c == '\n' ? 0 : -EBADMSG;
	case TRAILER:
	case TRAILER_LF:
		return take_trailer(b, c);
	}
	return -EBADMSG;
}

static ssize_t take_chunks(struct answer_body *b, char *data, size_t len, size_t *used)
{
	size_t out = 0, at = 0;

	while (at < len && !b->over) {
		if (b->part == DATA) {
			size_t n = len - at < b->left ? len - at : (size_t)b->left;
			if (out != at)
				memmove(data + out, data + at, n);
			out += n;
			at += n;
			b->left -= n;
			if (b->left == 0)
				b->part = DATA_CR;
		} else if (take_frame(b, data[at++]) < 0) {
			return -EBADMSG;
		}
	}
	*used = at;
	return (ssize_t)out;
}

ssize_t answer_body_take(struct answer_body *b, char *data, size_t len, size_t *used)
{
	size_t n = len;

	*used = 0;
	if (b->over)
		return 0;
	switch (b->framing) {
	case ANSWER_CHUNKED:
		return take_chunks(b, data, len, used);
	case ANSWER_LENGTH:
		n = len < b->left ? len : (size_t)b->left;
		b->left -= n;
		b->over = b->left == 0;
		break;
	case ANSWER_EMPTY:
	case ANSWER_CLOSE:
		break;
	}
	*used = n;
	return (ssize_t)n;
}

int answer_body_end(struct answer_body *b)
{
	if (!b->over && b->framing != ANSWER_CLOSE)
		return -ECONNRESET;
	b->over = true;
	return 0;
}
