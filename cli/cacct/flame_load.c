/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks the load balancer for a job's profile. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cacct/api.h"
#include "cli/cacct/flame.h"
#include "cli/cacct/when.h"
#include "lib/http/json.h"

#define CPU_TIME "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define BLOCKED_TIME "off_cpu:off_cpu:nanoseconds::" /* as Pyroscope calls it */
#define NODES_MAX "4096"

/* A label's value in a query */
static void put_query_text(struct buf *out, const char *s)
{
	buf_putc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *s);
	}
	buf_putc(out, '"');
}

static void put_flame_target(const struct site *site, const struct unit *u,
			     int64_t now_s, bool off_cpu, struct buf *target)
{
	auto_buf struct buf query = BUF_INIT;
	double ended = u->number[UNIT_ENDED];
	char from[24], until[24];

	buf_puts(&query, off_cpu ? BLOCKED_TIME : CPU_TIME);
	buf_puts(&query, "{service_name=");
	put_query_text(&query, u->text[UNIT_UUID] ? u->text[UNIT_UUID] : "");
	if (site->cluster) {
		buf_puts(&query, ",ceems_id=");
		put_query_text(&query, site->cluster);
	}
	buf_putc(&query, '}');
	(void)snprintf(from, sizeof(from), "%" PRId64,
		       (int64_t)when_seconds(u->number[UNIT_STARTED]));
	(void)snprintf(until, sizeof(until), "%" PRId64,
		       isnan(ended) ? now_s : (int64_t)when_seconds(ceil(ended)));
	buf_puts(target, "/pyroscope/render");
	api_put_param(target, "query", query.data ? query.data : "");
	api_put_param(target, "from", from);
	api_put_param(target, "until", until);
	api_put_param(target, "max-nodes", NODES_MAX);
	api_put_param(target, "format", "json");
}

int flame_load(struct site *site, const struct unit *u, int64_t now_s, bool off_cpu,
	       struct flame *ret, struct err *err)
{
	static const struct http_json_limits limits = {
		.bytes_max = HTTP_BODY_MAX, .depth_max = 16, .strict = true};
	auto_buf struct buf target = {.max = 16384}, text = {.max = HTTP_BODY_MAX};
	auto_api struct api *api = NULL;
	struct json_object *answer = NULL;

	if (!site->profiles.url)
		return err_set(err, -EINVAL,
			       "no address for profiles: --profiles.url, "
			       "CEEMS_PROFILES_URL, or pyroscope: web: url: in "
			       "cacct.yaml");
	if (isnan(u->number[UNIT_STARTED]))
		return err_set(err, -EINVAL, "the job has not begun");
	/* the same proof as for records, unless the site has another one for it */
	if (!site->profiles.token_file && !site->profiles.user) {
		site->profiles.token_file = site->api.token_file;
		site->profiles.munge_socket = site->api.munge_socket;
	}
	if (!site->profiles.ca_file)
		site->profiles.ca_file = site->api.ca_file;
	int rc = api_new(&site->profiles, &api, err);
	if (rc < 0)
		return rc;
	put_flame_target(site, u, now_s, off_cpu, &target);
	if (buf_error(&target))
		return err_set(err, -EINVAL, "the question is too long");
	rc = api_get_text(api, target.data, &text, err);
	if (rc == 0)
		rc = http_json_object(text.data ? text.data : "", text.len, &limits,
				      &answer, err);
	rc = rc < 0 ? err_prefix(err, rc, "profiles") : flame_take(answer, ret, err);
	if (rc == 0)
		ret->off_cpu = off_cpu;
	return rc;
}
