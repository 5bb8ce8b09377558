/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the output of ipmi-dcmi, ipmitool and ipmiutil: lines are recognised by their
 * first words, others are skipped. */
#include "daemon/sources/ipmi_cmd.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/parse.h"

#define LINES_MAX 256u

struct line {
	const char *key, *value;
	size_t key_len, value_len;
};

static void trim_ipmi_text(const char **s, size_t *len)
{
	while (*len && isspace((unsigned char)**s)) {
		(*s)++;
		(*len)--;
	}
	while (*len && isspace((unsigned char)(*s)[*len - 1]))
		(*len)--;
}

static bool split_ipmi_line(const char *text, size_t len, struct line *ret)
{
	const char *colon = memchr(text, ':', len);

	if (!colon)
		return false;
	*ret = (struct line){.key = text,
			     .key_len = (size_t)(colon - text),
			     .value = colon + 1,
			     .value_len = len - (size_t)(colon - text) - 1};
	trim_ipmi_text(&ret->key, &ret->key_len);
	trim_ipmi_text(&ret->value, &ret->value_len);
	return true;
}

static bool text_is_word(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(s, word, len) == 0;
}

static bool key_begins(const struct line *l, const char *word)
{
	return l->key_len >= strlen(word) &&
	       strncasecmp(l->key, word, strlen(word)) == 0;
}

/* "332 Watts" */
static int read_watts(const struct line *l, uint32_t *value)
{
	const char *p = l->value, *end = p + l->value_len;
	uint64_t v;

	if (*value)
		return -EBADMSG; /* from two machines */
	int rc = scan_u64(&p, end, &v);
	if (rc < 0 || !scan_blank(&p, end) ||
	    !text_is_word(p, (size_t)(end - p), "watts"))
		return -EBADMSG;
	*value = v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
	return 0;
}

/* 1: a reading or its state, 0: another line */
static int take_ipmi_line(const struct line *l, struct ipmi_power *p, bool *has_current,
			  bool *has_state)
{
	static const struct {
		const char *begin;
		size_t off;
	} keys[] = {
		{"min power over sampl", offsetof(struct ipmi_power, min_w)},
		{"minimum power over sampl", offsetof(struct ipmi_power, min_w)},
		{"minimum during sampl", offsetof(struct ipmi_power, min_w)},
		{"max power over sampl", offsetof(struct ipmi_power, max_w)},
		{"maximum power over sampl", offsetof(struct ipmi_power, max_w)},
		{"maximum during sampl", offsetof(struct ipmi_power, max_w)},
		{"avg power over sampl", offsetof(struct ipmi_power, avg_w)},
		{"average power over sampl", offsetof(struct ipmi_power, avg_w)},
		{"average power reading over sampl",
		 offsetof(struct ipmi_power, avg_w)},
	};

	if (text_is_word(l->key, l->key_len, "power measurement") ||
	    text_is_word(l->key, l->key_len, "power reading state is")) {
		if (*has_state)
			return -EBADMSG;
		*has_state = true;
		p->active = text_is_word(l->value, l->value_len, "active") ||
			    text_is_word(l->value, l->value_len, "activated");
		return 1;
	}
	if (text_is_word(l->key, l->key_len, "current power") ||
	    text_is_word(l->key, l->key_len, "instantaneous power reading")) {
		if (*has_current)
			return -EBADMSG;
		*has_current = true;
		return read_watts(l, &p->current_w) ? -EBADMSG : 1;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (key_begins(l, keys[i].begin))
			return read_watts(l, (uint32_t *)((char *)p + keys[i].off))
				       ? -EBADMSG
				       : 1;
	}
	return 0;
}

int ipmi_cmd_power(const char *text, size_t len, struct ipmi_power *ret,
		   struct err *err)
{
	struct ipmi_power p = {0};
	bool has_current = false, has_state = false;
	const char *at = text, *end = text + len, *line;
	size_t line_len;

	for (unsigned n = 0; n < LINES_MAX && scan_line(&at, end, &line, &line_len);
	     n++) {
		struct line l;
		if (!split_ipmi_line(line, line_len, &l))
			continue;
		if (take_ipmi_line(&l, &p, &has_current, &has_state) < 0)
			return err_set(err, -EBADMSG, "not understood: \"%.*s\"",
				       line_len < 80 ? (int)line_len : 80, line);
	}
	if (!has_current)
		return err_set(err, -EBADMSG, "no power reading in its output");
	if (!has_state)
		return err_set(err, -EBADMSG, "no state of the reading in its output");
	int rc = ipmi_power_check(&p, err);
	if (rc == 0)
		*ret = p;
	return rc;
}
