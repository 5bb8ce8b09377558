/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over the bytes of a JSON text with a small stack. It knows the places of an
 * answer that have labels; elsewhere it only follows brackets and strings. */
#include "lb/proxy/filter.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "lib/cleanup.h"

#define DEPTH_MAX 64u
#define HELD_MAX 65536u /* of a name or a message */
#define PIECE_BYTES 16384u
#define HIDDEN "\"(a message that names labels which are hidden here)\""

const char filter_empty[] = "{\"status\":\"success\",\"data\":[]}";

/* A place in an answer. */
enum place {
	OTHER,
	ROOT,
	DATA,   /* {"resultType":...,"result":[...]} */
	RESULT, /* its list */
	SERIES, /* {"metric":{...},"values":[...]} */
	SETS,   /* a list of LABELS */
	LABELS, /* an object whose members are labels */
	NAMES,  /* a list of names of labels */
	NAME,
	TRACES, /* exemplars: a list of {"seriesLabels":{...},"exemplars":[...]} */
	TRACE,
	SAMPLES,
	SAMPLE, /* {"labels":{...},...} */
	TEXTS,  /* warnings */
	TEXT,
};

struct inside {
	enum place parent;
	const char *key; /* NULL: each element of a list */
	enum place child;
};

static const struct inside common[] = {{ROOT, "error", TEXT},
				       {ROOT, "warnings", TEXTS},
				       {ROOT, "infos", TEXTS},
				       {TEXTS, NULL, TEXT},
				       {DATA, "result", RESULT},
				       {RESULT, NULL, SERIES},
				       {SERIES, "metric", LABELS},
				       {SETS, NULL, LABELS},
				       {NAMES, NULL, NAME},
				       {TRACES, NULL, TRACE},
				       {TRACE, "seriesLabels", LABELS},
				       {TRACE, "exemplars", SAMPLES},
				       {SAMPLES, NULL, SAMPLE},
				       {SAMPLE, "labels", LABELS}};

static const struct {
	const char *path;
	enum place data;
} calls[] = {
	{"/api/v1/query", DATA},
	{"/api/v1/query_range", DATA},
	{"/api/v1/query_exemplars", TRACES},
	{"/api/v1/series", SETS},
	{"/api/v1/labels", NAMES},
};

enum state {
	VALUE,       /* a value begins */
	FIRST_VALUE, /* the same, or the list ends */
	FIRST_KEY,   /* a member begins, or the object ends */
	KEY,         /* a member begins */
	COLON,
	AFTER, /* a value has ended */
	STRING,
	ESCAPE,
	WORD, /* number, true, null */
	DONE,
};

enum mode {
	PASS,
	HOLD, /* until its meaning is known */
	SKIP,
};

struct level {
	enum place place;
	bool list, some; /* some: a member or element has been passed on */
};

struct filter {
	const struct backend *b;
	enum place data;
	enum state state;
	enum mode mode;
	bool is_key, is_text;
	unsigned depth, skip_depth;
	enum place next; /* of the next value */
	struct level levels[DEPTH_MAX];
	struct buf held;
	size_t name_at; /* in held: start of the string */
	bool too_long;  /* a message exceeds what can be held */
	bool inflates, inflate_over, pending;
	z_stream z;
	unsigned char piece[PIECE_BYTES];
};

/* ---- which answers need it ------------------------------------------------------- */

static bool is_filtered(const struct backend *b, const char *name, size_t len)
{
	for (size_t i = 0; i < b->filter_label_count; i++) {
		const char *l = b->filter_labels[i];

		if (strlen(l) == len && memcmp(l, name, len) == 0)
			return true;
	}
	return false;
}

enum filter_need filter_need(const struct backend *b, const char *target, size_t len)
{
	static const char label[] = "/api/v1/label/", values[] = "/values";
	const char *query = memchr(target, '?', len);

	if (!b->filter_label_count)
		return FILTER_NONE;
	if (query)
		len = (size_t)(query - target);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strlen(calls[i].path) == len &&
		    memcmp(calls[i].path, target, len) == 0)
			return FILTER_ANSWER;
	}
	size_t a = sizeof(label) - 1, z = sizeof(values) - 1;
	if (len <= a + z || memcmp(target, label, a) != 0 ||
	    memcmp(target + len - z, values, z) != 0)
		return FILTER_NONE;
	return is_filtered(b, target + a, len - a - z) ? FILTER_EMPTY : FILTER_ANSWER;
}

int filter_new(const struct backend *b, const char *target, size_t len,
	       const char *encoding, struct filter **ret, struct err *err)
{
	struct filter *f = calloc(1, sizeof(*f));
	const char *query = memchr(target, '?', len);

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	if (query)
		len = (size_t)(query - target);
	f->b = b;
	f->state = VALUE;
	f->next = ROOT;
	f->held.max = HELD_MAX;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strlen(calls[i].path) == len &&
		    memcmp(calls[i].path, target, len) == 0)
			f->data = calls[i].data;
	}
	if (encoding && strcasecmp(encoding, "identity") != 0) {
		if (strcasecmp(encoding, "gzip") != 0 &&
		    strcasecmp(encoding, "x-gzip") != 0 &&
		    strcasecmp(encoding, "deflate") != 0) {
			filter_free(f);
			return err_set(err, -EOPNOTSUPP,
				       "labels cannot be removed from an answer that "
				       "is compressed by anything but gzip");
		}
		/* 32: gzip or zlib, detected from its header */
		if (inflateInit2(&f->z, 15 + 32) != Z_OK) {
			filter_free(f);
			return err_set(err, -ENOMEM, "out of memory");
		}
		f->inflates = true;
	}
	*ret = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	if (f->inflates)
		inflateEnd(&f->z);
	buf_done(&f->held);
	free(f);
}

/* ---- strings --------------------------------------------------------------------- */

static int parse_hex4(const char *s, uint32_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++) {
		char c = s[i];
		uint32_t d = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
			     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
			     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
						    : 16;
		if (d == 16)
			return -EBADMSG;
		*ret = *ret << 4 | d;
	}
	return 0;
}

static void put_filtered_utf8(struct buf *out, uint32_t c)
{
	if (c < 0x80) {
		buf_putc(out, (char)c);
		return;
	}
	if (c >= 0x800) {
		buf_putc(out, (char)(0xe0 | c >> 12));
		buf_putc(out, (char)(0x80 | (c >> 6 & 63)));
	} else {
		buf_putc(out, (char)(0xc0 | c >> 6));
	}
	buf_putc(out, (char)(0x80 | (c & 63)));
}

/* Unescapes. Label names have no escapes, so surrogate pairs may stay as they are: they
 * cannot match. */
static int decode_name(const char *s, size_t len, struct buf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

	for (size_t i = 0; i < len; i++) {
		uint32_t c = 0;

		if (s[i] != '\\') {
			buf_putc(out, s[i]);
			continue;
		}
		const char *e = ++i < len && s[i] ? strchr(from, s[i]) : NULL;
		if (e) {
			buf_putc(out, to[e - from]);
			continue;
		}
		if (i + 4 >= len || s[i] != 'u' || parse_hex4(s + i + 1, &c) < 0)
			return -EBADMSG;
		put_filtered_utf8(out, c);
		i += 4;
	}
	return buf_error(out);
}

/* The held string, without its quotes. */
static int held_string(struct filter *f, struct buf *out)
{
	return decode_name(f->held.data + f->name_at + 1, f->held.len - f->name_at - 2,
			   out);
}

/* Whether a message shows series with a hidden label: name="value" */
static bool names_label(const struct backend *b, const char *text)
{
	for (size_t i = 0; i < b->filter_label_count; i++) {
		const char *l = b->filter_labels[i];

		for (const char *s = text; (s = strstr(s, l)); s++) {
			const char *e = s + strlen(l);
			if (*e == '=' || (*e == '"' && e[1] == '='))
				return true;
		}
	}
	return false;
}

/* ---- places ---------------------------------------------------------------------- */

static enum place child_of(const struct filter *f, enum place parent, const char *key)
{
	if (parent == OTHER)
		return OTHER;
	if (parent == ROOT && key && strcmp(key, "data") == 0)
		return f->data;
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		const struct inside *n = &common[i];

		if (n->parent == parent && !key == !n->key &&
		    (!key || strcmp(key, n->key) == 0))
			return n->child;
	}
	return OTHER;
}

static struct level *top_level(struct filter *f)
{
	return &f->levels[f->depth - 1];
}

/* Names in a list, and significant keys, are held until they are known. */
static bool level_is_held(const struct level *l)
{
	return l->list ? l->place == NAMES : l->place != OTHER;
}

static int push_level(struct filter *f, bool list)
{
	if (f->depth == DEPTH_MAX)
		return -EFBIG;
	f->levels[f->depth++] = (struct level){.place = f->next, .list = list};
	f->state = list ? FIRST_VALUE : FIRST_KEY;
	f->next = list ? child_of(f, f->next, NULL) : OTHER;
	return 0;
}

/* ---- bytes ----------------------------------------------------------------------- */

static int hold_char(struct filter *f, char c)
{
	if (f->too_long)
		return 0;
	buf_putc(&f->held, c);
	if (buf_error(&f->held) == -EFBIG && f->is_text) {
		f->too_long = true;
		return 0;
	}
	return buf_error(&f->held);
}

static void let_through(struct filter *f, struct buf *out)
{
	if (f->held.len)
		buf_put(out, f->held.data, f->held.len);
	buf_reset(&f->held);
	f->mode = PASS;
}

/* Drops what is held, and the value that follows a key. */
static void leave_out(struct filter *f)
{
	buf_reset(&f->held);
	f->mode = SKIP;
	f->skip_depth = f->depth;
	f->next = OTHER;
}

static int key_ended(struct filter *f, struct buf *out)
{
	auto_buf struct buf name = BUF_INIT;
	struct level *l = top_level(f);

	f->state = COLON;
	f->next = OTHER;
	if (f->mode != HOLD)
		return 0;
	int rc = held_string(f, &name);
	if (rc < 0)
		return rc;
	/* a key with a NUL is not a known one */
	const char *key = name.data ? name.data : "";
	if (l->place == LABELS && is_filtered(f->b, key, name.len)) {
		leave_out(f);
		return 0;
	}
	if (strlen(key) == name.len)
		f->next = child_of(f, l->place, key);
	l->some = true;
	let_through(f, out);
	return 0;
}

static int element_ended(struct filter *f, struct buf *out)
{
	auto_buf struct buf name = BUF_INIT;
	int rc = held_string(f, &name);

	f->state = AFTER;
	if (rc < 0)
		return rc;
	if (is_filtered(f->b, name.data ? name.data : "", name.len)) {
		leave_out(f);
		return 0;
	}
	top_level(f)->some = true;
	let_through(f, out);
	return 0;
}

static int text_ended(struct filter *f, struct buf *out)
{
	auto_buf struct buf text = BUF_INIT;
	int rc = f->too_long ? 0 : held_string(f, &text);

	f->state = AFTER;
	f->is_text = false;
	if (rc < 0)
		return rc;
	const char *words = text.data ? text.data : "";
	if (f->too_long || strlen(words) != text.len || names_label(f->b, words)) {
		buf_reset(&f->held);
		buf_puts(&f->held, HIDDEN);
	}
	f->too_long = false;
	let_through(f, out);
	return 0;
}

static int string_ended(struct filter *f, struct buf *out)
{
	if (f->is_key)
		return key_ended(f, out);
	if (f->mode == HOLD && f->is_text)
		return text_ended(f, out);
	if (f->mode == HOLD)
		return element_ended(f, out);
	f->state = f->depth ? AFTER : DONE;
	return 0;
}

/* ---- structure ------------------------------------------------------------------- */

/* A value begins with c. */
static int begin_value(struct filter *f, char c, struct buf *out)
{
	if (f->mode == HOLD && c != '"') { /* not a string in a list of names */
		top_level(f)->some = true;
		let_through(f, out);
	}
	if (c == '{' || c == '[')
		return push_level(f, c == '[');
	if (c == '"') {
		f->state = STRING;
		f->is_key = false;
		if (f->mode == PASS && f->next == TEXT) {
			f->mode = HOLD;
			f->is_text = true;
		}
		f->name_at = f->held.len;
		return 0;
	}
	if (!strchr("-0123456789tfn", c) || !c)
		return -EBADMSG;
	f->state = WORD;
	return 0;
}

static int close_level(struct filter *f, bool list)
{
	if (top_level(f)->list != list)
		return -EBADMSG;
	f->depth--;
	f->state = f->depth ? AFTER : DONE;
	return 0;
}

/* After a value: the next one, or the end of the enclosing object or list. */
static int go_on(struct filter *f, char c, bool *ret_drop)
{
	struct level *l = top_level(f);

	if (c != ',' && c != '}' && c != ']')
		return -EBADMSG;
	if (f->mode == SKIP && f->depth == f->skip_depth)
		f->mode = PASS;
	if (c != ',')
		return close_level(f, c == ']');
	f->state = l->list ? VALUE : KEY;
	f->next = l->list ? child_of(f, l->place, NULL) : OTHER;
	if (f->mode == PASS && level_is_held(l)) {
		f->mode = HOLD;
		/* nothing before it was passed on: no comma needed */
		*ret_drop = (l->place == LABELS || l->place == NAMES) && !l->some;
	}
	return 0;
}

/* Handles c outside of strings and words. *ret_drop: do not pass it on. */
static int take_structure_char(struct filter *f, char c, struct buf *out,
			       bool *ret_drop)
{
	switch (f->state) {
	case FIRST_VALUE:
		if (c == ']')
			return close_level(f, true);
		if (f->mode == PASS && level_is_held(top_level(f)))
			f->mode = HOLD;
		return begin_value(f, c, out);
	case VALUE:
		return begin_value(f, c, out);
	case FIRST_KEY:
		if (c == '}')
			return close_level(f, false);
		if (f->mode == PASS && level_is_held(top_level(f)))
			f->mode = HOLD;
		/* fall through */
	case KEY:
		if (c != '"')
			return -EBADMSG;
		f->state = STRING;
		f->is_key = true;
		f->name_at = f->held.len;
		return 0;
	case COLON:
		f->state = VALUE;
		return c == ':' ? 0 : -EBADMSG;
	case AFTER:
		return go_on(f, c, ret_drop);
	default:
		return -EBADMSG;
	}
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_json_word_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' ||
	       c == '-' || c == '+' || c == 'E';
}

/* Filters a piece of the text; bytes that pass are copied in runs. */
static int filter_bytes(struct filter *f, const char *p, size_t n, struct buf *out)
{
	size_t run = 0; /* start of the current run */
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		enum mode before = f->mode;
		bool ended = false, drop = false;
		char c = p[i];

		if (f->state == WORD && !is_json_word_char(c))
			f->state = f->depth ? AFTER : DONE;
		if (f->state == STRING) {
			if ((unsigned char)c < 0x20)
				return -EBADMSG;
			if (c == '\\')
				f->state = ESCAPE;
			ended = c == '"';
		} else if (f->state == ESCAPE) {
			f->state = STRING;
		} else if (f->state != WORD && !is_blank(c)) {
			rc = take_structure_char(f, c, out, &drop);
			if (rc < 0)
				return rc;
			if (before == PASS && f->mode != PASS)
				buf_put(out, p + run, i - run);
		}
		if (before != PASS && f->mode == PASS)
			run = i;
		before = f->mode;
		if (f->mode == HOLD && !drop)
			rc = hold_char(f, c);
		if (rc == 0 && ended)
			rc = string_ended(f, out);
		if (rc < 0)
			return rc;
		if (before != PASS && f->mode == PASS)
			run = i + 1;
	}
	if (f->mode == PASS && n > run)
		buf_put(out, p + run, n - run);
	return buf_error(out);
}

/* ---- pieces ---------------------------------------------------------------------- */

static int inflate_piece(struct filter *f, size_t *ret_len)
{
	f->z.next_out = f->piece;
	f->z.avail_out = sizeof(f->piece);
	int z = inflate(&f->z, Z_NO_FLUSH);
	*ret_len = sizeof(f->piece) - f->z.avail_out;
	f->pending = f->z.avail_out == 0;
	if (z == Z_STREAM_END) {
		f->inflate_over = true;
		f->pending = false;
		return 0;
	}
	/* Z_BUF_ERROR: it wants more */
	return z == Z_OK || z == Z_BUF_ERROR ? 0 : -EBADMSG;
}

static int explain_filter_failure(int rc, struct err *err)
{
	const char *what = rc == -EFBIG
				   ? "it is nested too deeply, or a name is too long"
			   : rc == -ENOMEM ? "out of memory"
					   : "it is not an answer of Prometheus";

	return err_set(err, rc, "an answer from which labels are removed: %s", what);
}

static ssize_t put_packed(struct filter *f, const void *data, size_t len,
			  struct buf *out, struct err *err)
{
	size_t part = len < UINT32_MAX ? len : UINT32_MAX;

	f->z.next_in = (unsigned char *)(uintptr_t)data;
	f->z.avail_in = (uInt)part;
	while (out->len < FILTER_OUT_BYTES && (f->z.avail_in || f->pending)) {
		size_t n = 0;
		/* concatenated streams are one text (RFC 1952 2.2) */
		if (f->inflate_over && inflateReset(&f->z) != Z_OK)
			return explain_filter_failure(-EBADMSG, err);
		f->inflate_over = false;
		int rc = inflate_piece(f, &n);
		if (rc == 0)
			rc = filter_bytes(f, (const char *)f->piece, n, out);
		if (rc < 0)
			return explain_filter_failure(rc, err);
	}
	return (ssize_t)(part - f->z.avail_in);
}

ssize_t filter_put(struct filter *f, const void *data, size_t len, struct buf *out,
		   struct err *err)
{
	size_t taken = 0;

	if (f->inflates)
		return put_packed(f, data, len, out, err);
	while (taken < len && out->len < FILTER_OUT_BYTES) {
		size_t n = len - taken < PIECE_BYTES ? len - taken : PIECE_BYTES;
		int rc = filter_bytes(f, (const char *)data + taken, n, out);

		if (rc < 0)
			return explain_filter_failure(rc, err);
		taken += n;
	}
	return (ssize_t)taken;
}

bool filter_pending(const struct filter *f)
{
	return f->pending;
}

int filter_end(struct filter *f, struct err *err)
{
	if (f->state == DONE && (!f->inflates || f->inflate_over))
		return 0;
	return explain_filter_failure(-EBADMSG, err);
}
