/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds where elements begin and end; json.c judges each of them, and what is left when
 * they are cut out. */
#include "lib/http/json_list.h"

#include <errno.h>
#include <string.h>

static bool is_json_blank(char c)
{
	return c && strchr(" \t\r\n", c);
}

static size_t count_before_blanks(const char *text, size_t len)
{
	while (len && is_json_blank(text[len - 1]))
		len--;
	return len;
}

/* Whether the bracket behind this text opens the list. */
static bool opens_list(const struct http_json_list *l, const char *text, size_t len)
{
	size_t n = strlen(l->name);

	len = count_before_blanks(text, len);
	if (!len || text[--len] != ':')
		return false;
	len = count_before_blanks(text, len);
	if (len < n + 3 || text[len - 1] != '"' || text[len - n - 2] != '"' ||
	    memcmp(text + len - n - 1, l->name, n) != 0)
		return false;
	/* else the quote is within the name */
	char before = text[len - n - 3];
	return is_json_blank(before) || before == '{' || before == ',';
}

static int put_text(struct http_json_list *l, struct buf *to, const char *data,
		    size_t len, struct err *err)
{
	to->max = l->limits.bytes_max;
	buf_put(to, data, len);
	if (buf_error(to) == -EFBIG)
		return err_set(err, -EFBIG, "%s longer than %zu bytes",
			       to == &l->text ? "an element is" : "all but the list is",
			       l->limits.bytes_max);
	return buf_error(to) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int take_element(struct http_json_list *l, bool last, struct err *err)
{
	auto_json struct json_object *o = NULL;
	const char *text = l->text.data ? l->text.data : "";

	if (last && !l->elements && !count_before_blanks(text, l->text.len))
		return 0; /* [] */
	auto_buf struct buf picked = {.max = l->limits.bytes_max};
	int rc = 0;
	if (l->picks)
		rc = http_json_pick(text, l->text.len, l->picks, &picked, err);
	if (rc == 0 && l->picks)
		rc = http_json_object(picked.data, picked.len, &l->limits, &o, err);
	else if (rc == 0)
		rc = http_json_object(text, l->text.len, &l->limits, &o, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s: element %zu", l->name, l->elements + 1);
	l->elements++;
	buf_reset(&l->text);
	return l->take(l->arg, o, err);
}

static int begin_elements(struct http_json_list *l, struct err *err)
{
	if (!opens_list(l, l->rest.data, l->rest.len - 1))
		return 0;
	if (l->had_list)
		return err_set(err, -EBADMSG, "two lists %s", l->name);
	l->in_list = l->had_list = true;
	return 0;
}

int http_json_list_feed(struct http_json_list *l, const char *data, size_t len,
			struct err *err)
{
	size_t from = 0;
	int rc = 0;

	for (size_t i = 0; i < len && rc == 0; i++) {
		char c = data[i];

		if (l->in_string) {
			l->in_string = c != '"' || l->escaped;
			l->escaped = c == '\\' && !l->escaped;
			continue;
		}
		l->in_string = c == '"';
		if (c == '{' || c == '[') {
			l->depth++;
			if (c != '[' || l->depth != 2 || l->in_list)
				continue;
			rc = put_text(l, &l->rest, data + from, i + 1 - from, err);
			from = i + 1;
			rc = rc ? rc : begin_elements(l, err);
			continue;
		}
		bool closes = c == '}' || c == ']';
		if (closes && l->depth)
			l->depth--;
		if (!l->in_list || (closes ? l->depth != 1 : c != ',' || l->depth != 2))
			continue;
		rc = put_text(l, &l->text, data + from, i - from, err);
		rc = rc ? rc : take_element(l, closes, err);
		from = closes ? i
			      : i + 1; /* of another kind, it is found in the rest */
		l->in_list = !closes;
	}
	return rc ? rc
		  : put_text(l, l->in_list ? &l->text : &l->rest, data + from,
			     len - from, err);
}

int http_json_list_end(struct http_json_list *l, struct json_object **ret,
		       struct err *err)
{
	auto_json struct json_object *o = NULL;
	int rc = http_json_object(l->rest.data ? l->rest.data : "", l->rest.len,
				  &l->limits, &o, err);

	if (rc < 0)
		return rc;
	struct json_object *list = o;
	bool null =
		l->may_be_null && json_object_object_get_ex(o, l->name, &list) && !list;
	if (!l->had_list && !null)
		return err_set(err, -EBADMSG, "no list %s", l->name);
	*ret = o;
	o = NULL;
	return 0;
}

void http_json_list_done(struct http_json_list *l)
{
	buf_done(&l->text);
	buf_done(&l->rest);
}
