/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer uses a fixed step of 10 s, which a server refuses for jobs above 30 hours;
 * here the step depends on the job's duration. */
#include "cli/cacct/promql_range.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cacct/api.h"
#include "lib/http/json.h"
#include "lib/rfc3339.h"

uint32_t promql_step(int64_t start_s, int64_t end_s, uint32_t wish_s)
{
	uint64_t life_s = end_s > start_s ? (uint64_t)(end_s - start_s) : 0;
	uint64_t step = wish_s ? wish_s : PROMQL_STEP_S;
	uint64_t times = life_s / (step * (PROMQL_POINTS_MAX - 1)) + 1;

	step *= times;
	return step > UINT32_MAX ? UINT32_MAX : (uint32_t)step;
}

int promql_fill(const char *query, const char *uuid, struct buf *ret, struct err *err)
{
	if (!*uuid || strspn(uuid, "0123456789abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ._:-") < strlen(uuid))
		return err_set(err, -EINVAL,
			       "a job id with characters that a query cannot have");
	for (const char *p = query; *p; p++) {
		if (p[0] == '%' && p[1] == 's') {
			buf_puts(ret, uuid);
			p++;
		} else {
			buf_putc(ret, *p);
		}
	}
	return buf_error(ret);
}

void promql_target(const char *query, int64_t start_s, int64_t end_s, uint32_t step_s,
		   struct buf *ret)
{
	char text[32];

	buf_puts(ret, "/api/v1/query_range");
	api_put_param(ret, "query", query);
	(void)snprintf(text, sizeof(text), "%" PRId64, start_s);
	api_put_param(ret, "start", text);
	(void)snprintf(text, sizeof(text), "%" PRId64, end_s);
	api_put_param(ret, "end", text);
	(void)snprintf(text, sizeof(text), "%" PRIu32, step_s);
	api_put_param(ret, "step", text);
}

int promql_put_csv(struct json_object *series, struct buf *out, struct err *err)
{
	struct json_object *values = http_json_get(series, "values", json_type_array);
	char time[RFC3339_BYTES];

	if (!values)
		return err_set(err, -EPROTO, "a series without values");
	buf_puts(out, "time,timestamp,value\r\n");
	size_t n = json_object_array_length(values);
	for (size_t i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(values, i);
		if (!json_object_is_type(v, json_type_array) ||
		    json_object_array_length(v) != 2)
			return err_set(err, -EPROTO, "a value that is not a number");
		double t = json_object_get_double(json_object_array_get_idx(v, 0));
		const char *text =
			json_object_get_string(json_object_array_get_idx(v, 1));
		/* the value is written as it came, if it is a number */
		if (!(t >= 0 && t < 1e12) || !text || strlen(text) > 32 ||
		    strspn(text, "0123456789+-.eEInfNa") < strlen(text))
			return err_set(err, -EPROTO, "a value that is not a number");
		rfc3339_print((uint64_t)t, time);
		buf_printf(out, "%s,%.3f,%s\r\n", time, t, text);
	}
	return buf_error(out);
}

static uint64_t hash_fnv(uint64_t h, const char *s)
{
	do { /* including the NUL, so that "ab","c" and "a","bc" differ */
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	} while (*s++);
	return h;
}

void promql_fingerprint(struct json_object *series, char ret[17])
{
	struct json_object *labels = http_json_get(series, "metric", json_type_object);
	uint64_t all = 0;

	if (labels) {
		json_object_object_foreach(labels, name, value)
		{
			const char *text = value ? json_object_get_string(value) : "";
			all += hash_fnv(hash_fnv(0xcbf29ce484222325u, name), text);
		}
	}
	(void)snprintf(ret, 17, "%016" PRIx64, all);
}
