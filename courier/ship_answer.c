/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer of an aggregator, or of something in its place: records are given up only
 * on the word of an aggregator, never of a proxy's error page. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "courier/ship.h"
#include "lib/http/json.h"
#include "lib/parse.h"

#define DEPTH_MAX 8
#define ANSWER_MAX ((size_t)4 << 20)

static void copy_printable_text(char *ret, size_t size, const char *s)
{
	size_t n = 0;

	for (; s && *s && n + 1 < size; s++) {
		bool printable = *s >= 0x20 && *s < 0x7f;
		ret[n] = *s;
		if (!printable)
			ret[n] = '?';
		n++;
	}
	ret[n] = '\0';
}

/* A whole number from 0 to max, else -EBADMSG. */
static int read_answer_number(struct json_object *j, const char *key, uint32_t max,
			      uint32_t *ret)
{
	uint64_t n = 0;

	if (http_json_u64(j, key, max, &n) < 0)
		return -EBADMSG;
	*ret = (uint32_t)n;
	return 0;
}

/* *ret_head: refused records of the head, which come first in the list. */
static int read_refused(struct json_object *list, uint32_t head, uint32_t count,
			uint32_t *ret_head, struct ship_answer *ret)
{
	size_t n = json_object_array_length(list);

	if (n > (size_t)head + count)
		return -EBADMSG;
	for (size_t i = 0; i < n && ret->reason_count < SHIP_REASONS_MAX; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		uint32_t index = 0, k = ret->reason_count;
		if (!json_object_is_type(one, json_type_object) ||
		    read_answer_number(one, "index", head + count - 1, &index) < 0)
			return -EBADMSG;
		if (index < head) {
			++*ret_head;
			continue;
		}
		ret->reasons[k].index = index - head;
		copy_printable_text(ret->reasons[k].text, SHIP_REASON_BYTES,
				    http_json_text(one, "reason"));
		ret->reason_count++;
	}
	ret->refused = (uint32_t)n - *ret_head;
	return ret->refused > count ? -EBADMSG : 0;
}

static int read_success(struct json_object *j, uint32_t head, uint32_t count,
			struct ship_answer *ret)
{
	struct json_object *data = http_json_get(j, "data", json_type_array);
	const char *status = http_json_text(j, "status");

	if (!status || strcmp(status, "success") != 0 || !data ||
	    json_object_array_length(data) != 1)
		return -EBADMSG;
	data = json_object_array_get_idx(data, 0);
	if (!json_object_is_type(data, json_type_object) ||
	    read_answer_number(data, "accepted", count, &ret->accepted) < 0)
		return -EBADMSG;
	struct json_object *refused = http_json_get_any(data, "refused");
	if (!refused)
		return 0;
	if (!json_object_is_type(refused, json_type_array))
		return -EBADMSG;
	uint32_t of_head = 0, all = 0;
	int rc = read_refused(refused, head, count, &of_head, ret);
	/* the list may be incomplete */
	if (rc == 0 &&
	    read_answer_number(data, "refused_count", head + count, &all) == 0 &&
	    all > of_head && all - of_head > ret->refused)
		ret->refused = all - of_head;
	return rc;
}

static bool read_error(struct json_object *j, struct ship_answer *ret)
{
	const char *status = http_json_text(j, "status");

	if (!status || strcmp(status, "error") != 0)
		return false;
	copy_printable_text(ret->error, sizeof(ret->error), http_json_text(j, "error"));
	return true;
}

void ship_answer_read(unsigned status, const char *body, size_t len, uint32_t head,
		      uint32_t count, const char *retry_after, struct ship_answer *ret)
{
	static const struct http_json_limits limits = {
		.bytes_max = ANSWER_MAX, .depth_max = DEPTH_MAX, .strict = true};
	auto_json struct json_object *j = NULL;
	struct ship_answer a = {.verdict = SHIP_LATER, .status = status};
	bool is_json = http_json_object(body ? body : "", len, &limits, &j, NULL) == 0;
	bool ours = is_json && read_error(j, &a);

	if (retry_after && parse_u32(retry_after, &a.retry_after_s) < 0)
		a.retry_after_s = 0;
	if (status == 401 || status == 403) {
		a.verdict = SHIP_DENIED;
	} else if (status == 413 || (ours && (status == 400 || status == 415))) {
		a.verdict = SHIP_HALVE;
	} else if (status == 200 && is_json) {
		struct ship_answer taken = a;
		if (read_success(j, head, count, &taken) == 0) {
			taken.verdict = SHIP_TAKEN;
			a = taken;
		}
	}
	*ret = a;
}
