/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extracts the energy of one node from CAPMC's JSON. A scanner over its tokens
 * suffices; nothing else in ceemsd parses JSON. */
#include "daemon/sources/capmc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "lib/parse.h"

#define DEPTH_MAX 8
#define TOKENS_MAX 65536u

struct capmc_token {
	char kind; /* { } [ ] : , or s (string), w (number or word), 0 at the end */
	const char *text;
	size_t len;
};

/* Of the innermost object */
struct node {
	uint64_t nid, joules, us;
	bool has_nid, has_joules;
};

struct capmc_reader {
	const char *p, *end;
	int depth;
	struct capmc_token key; /* of the value that follows; len 0: none */
	struct node node, found;
	unsigned nodes;
	uint64_t code; /* "e" */
	bool has_code;
	char message[96];
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* False: not valid JSON */
static bool next_token(struct capmc_reader *r, struct capmc_token *t)
{
	while (r->p < r->end && is_blank(*r->p))
		r->p++;
	*t = (struct capmc_token){.text = r->p};
	if (r->p == r->end)
		return true;
	char c = *r->p;
	if (strchr("{}[]:,", c) && c) {
		t->kind = c;
		r->p++;
		return true;
	}
	if (c == '"') {
		t->kind = 's';
		t->text = ++r->p;
		while (r->p < r->end && *r->p != '"')
			r->p += *r->p == '\\' && r->end - r->p > 1 ? 2 : 1;
		t->len = (size_t)(r->p - t->text);
		return r->p++ < r->end;
	}
	t->kind = 'w';
	while (r->p < r->end && !is_blank(*r->p) && !strchr("{}[]:,\"", *r->p))
		r->p++;
	t->len = (size_t)(r->p - t->text);
	return t->len > 0;
}

static bool is_key(const struct capmc_reader *r, const char *name)
{
	return r->key.len == strlen(name) && memcmp(r->key.text, name, r->key.len) == 0;
}

static void take_text(struct capmc_reader *r, const struct capmc_token *t)
{
	if (is_key(r, "time")) {
		(void)capmc_time(t->text, t->len, &r->node.us);
	} else if (is_key(r, "err_msg") && r->depth == 1) {
		size_t n = t->len < sizeof(r->message) - 1 ? t->len
							   : sizeof(r->message) - 1;
		for (size_t i = 0; i < n; i++)
			r->message[i] = (char)(t->text[i] >= ' ' && t->text[i] < 127
						       ? t->text[i]
						       : '?');
		r->message[n] = '\0';
	}
}

static int take_number(struct capmc_reader *r, const struct capmc_token *t)
{
	uint64_t v;

	if (is_key(r, "e") && r->depth == 1) {
		/* a negative one is an error, too */
		r->has_code = true;
		if (parse_u64_len(t->text, t->len, &r->code) < 0)
			r->code = UINT64_MAX;
		return 0;
	}
	bool nid = is_key(r, "nid"), joules = is_key(r, "energy_ctr");
	if (!nid && !joules)
		return 0;
	if (parse_u64_len(t->text, t->len, &v) < 0)
		return -EBADMSG;
	if (nid) {
		r->node.nid = v;
		r->node.has_nid = true;
	} else {
		r->node.joules = v;
		r->node.has_joules = true;
	}
	return 0;
}

static int close_object(struct capmc_reader *r, uint64_t nid)
{
	if (r->node.has_nid && r->node.has_joules &&
	    (nid == CAPMC_ANY_NID || nid == r->node.nid)) {
		r->found = r->node;
		r->nodes++;
	}
	r->node = (struct node){0};
	return --r->depth < 0 ? -EBADMSG : 0;
}

static int take_capmc_token(struct capmc_reader *r, const struct capmc_token *t,
			    uint64_t nid)
{
	int rc;

	switch (t->kind) {
	case '{':
		r->node = (struct node){0};
		/* fall through */
	case '[':
		r->key.len = 0;
		return ++r->depth > DEPTH_MAX ? -EBADMSG : 0;
	case '}':
		return close_object(r, nid);
	case ']':
		return --r->depth < 0 ? -EBADMSG : 0;
	case ',':
		r->key.len = 0;
		return 0;
	case ':':
		return r->key.len ? 0 : -EBADMSG;
	case 's':
		/* a string after a key is its value, else it is a key */
		if (!r->key.len) {
			r->key = *t;
			return 0;
		}
		take_text(r, t);
		r->key.len = 0;
		return 0;
	default:
		rc = take_number(r, t);
		r->key.len = 0;
		return rc;
	}
}

int capmc_energy(const char *text, size_t len, uint64_t nid, struct capmc_energy *ret,
		 struct err *err)
{
	struct capmc_reader r = {.p = text, .end = text + len};
	struct capmc_token t;
	int rc = 0;

	for (unsigned n = 0; n < TOKENS_MAX && rc == 0; n++) {
		if (!next_token(&r, &t))
			rc = -EBADMSG;
		else if (t.kind == 0)
			break;
		else
			rc = take_capmc_token(&r, &t, nid);
	}
	if (rc < 0 || r.depth != 0 || r.p != r.end || !r.has_code)
		return err_set(err, -EBADMSG, "its output is not CAPMC's JSON");
	if (r.code)
		return err_set(err, -EREMOTEIO, "CAPMC says: %s",
			       r.message[0] ? r.message : "an error");
	if (r.nodes != 1)
		return err_set(err, -ENODATA, "%s in CAPMC's answer",
			       r.nodes ? "more than one node" : "this node is not");
	*ret = (struct capmc_energy){r.found.joules, r.found.us};
	return 0;
}

/* count digits at *p */
static bool read_capmc_digits(const char **p, const char *end, unsigned count, int *ret)
{
	int v = 0;

	for (unsigned i = 0; i < count; i++, (*p)++) {
		if (*p == end || **p < '0' || **p > '9')
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return true;
}

static bool read_capmc_letter(const char **p, const char *end, char c)
{
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

/* "+05", "-0530", "-05:30"; nothing is UTC */
static bool read_capmc_zone(const char **p, const char *end, int *ret_seconds)
{
	int h = 0, m = 0;

	*ret_seconds = 0;
	if (*p == end)
		return true;
	bool west = **p == '-';
	if ((**p != '-' && **p != '+') || !((*p)++, read_capmc_digits(p, end, 2, &h)))
		return false;
	(void)read_capmc_letter(p, end, ':');
	if (*p != end && !read_capmc_digits(p, end, 2, &m))
		return false;
	*ret_seconds = (h * 3600 + m * 60) * (west ? -1 : 1);
	return *p == end && h < 24 && m < 60;
}

int capmc_time(const char *text, size_t len, uint64_t *ret_us)
{
	const char *p = text, *end = text + len;
	struct tm tm = {0};
	int us = 0, zone_seconds;

	if (!read_capmc_digits(&p, end, 4, &tm.tm_year) ||
	    !read_capmc_letter(&p, end, '-') ||
	    !read_capmc_digits(&p, end, 2, &tm.tm_mon) ||
	    !read_capmc_letter(&p, end, '-') ||
	    !read_capmc_digits(&p, end, 2, &tm.tm_mday) ||
	    !read_capmc_letter(&p, end, ' ') ||
	    !read_capmc_digits(&p, end, 2, &tm.tm_hour) ||
	    !read_capmc_letter(&p, end, ':') ||
	    !read_capmc_digits(&p, end, 2, &tm.tm_min) ||
	    !read_capmc_letter(&p, end, ':') ||
	    !read_capmc_digits(&p, end, 2, &tm.tm_sec))
		return -EINVAL;
	if (read_capmc_letter(&p, end, '.')) {
		int scale = 100000, d;
		while (p < end && scale && read_capmc_digits(&p, end, 1, &d)) {
			us += d * scale;
			scale /= 10;
		}
	}
	if (!read_capmc_zone(&p, end, &zone_seconds) || tm.tm_mon < 1 ||
	    tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 60)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	time_t s = timegm(&tm) - zone_seconds;
	if (s <= 0)
		return -ERANGE;
	*ret_us = (uint64_t)s * 1000000 + (uint64_t)us;
	return 0;
}
