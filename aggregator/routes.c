/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of routes, one row each. `open` rows need no password of the web
 * configuration; those below /api/ prove the caller themselves. */
#include "aggregator/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/api.h"
#include "aggregator/app.h"
#include "aggregator/ingest/ingest.h"
#include "aggregator/profiles/profiles.h"
#include "lib/records/batch.h"
#include "lib/records/profile_record.h"

#define API "/api/"
#define VERIFY_BYTES_MAX ((size_t)10000 * 129)

static const struct web_route routes[] = {
	{.path = "/", .open = true, .handle = serve_landing},
	{.path = "/health", .open = true, .handle = serve_health},
	{.path = "/metrics", .handle = serve_metrics},
	{.path = BATCH_PATH,
	 .own_proof = true,
	 .methods = WEB_POST,
	 .body_bytes_max = BATCH_PLAIN_MAX,
	 .body_type = BATCH_TYPE,
	 .admit = ingest_admit,
	 .handle = ingest_handle,
	 .end = ingest_end},
	{.path = PROFILE_PATH,
	 .own_proof = true,
	 .methods = WEB_POST,
	 .body_bytes_max = SPOOL_RECORD_MAX,
	 .body_type = PROFILE_TYPE,
	 .admit = profiles_admit,
	 .handle = profiles_handle,
	 .end = profiles_end},
	/* many ids, see doc/api.md */
	{.path = API "v1/units/verify",
	 .own_proof = true,
	 .methods = WEB_GET | WEB_HEAD | WEB_POST,
	 .body_bytes_max = VERIFY_BYTES_MAX,
	 .body_type = "text/plain",
	 .admit = api_admit,
	 .handle = api_serve,
	 .end = api_end},
	/* the endpoints of access.c and everything else: the last row, like the
	 * previous one for pages of other origins */
	{.path = NULL,
	 .own_proof = true,
	 .admit = api_admit,
	 .handle = api_serve,
	 .end = api_end},
};
#define ROUTES (sizeof(routes) / sizeof(routes[0]))

static void refuse_on_standby(void *arg, struct web_request *r)
{
	(void)arg;
	web_answer_text(r, 503,
			"this aggregator only answers (db.standby): send reports to "
			"one that has the primary database");
}

/* "/x/" and "x" are "/x"; "/" and "" are nothing. */
int routes_prefix(const struct options *o, char ret[ROUTES_PREFIX_MAX], struct err *err)
{
	const char *p = o->route_prefix;
	size_t n = strlen(p);

	while (*p == '/') {
		p++;
		n--;
	}
	while (n && p[n - 1] == '/')
		n--;
	if (n + 2 > ROUTES_PREFIX_MAX)
		return err_set(err, -EINVAL, "--web.route-prefix is too long");
	snprintf(ret, ROUTES_PREFIX_MAX, "%s%.*s", n ? "/" : "", (int)n, p);
	if (strpbrk(ret, "?#% "))
		return err_set(err, -EINVAL, "--web.route-prefix=%s is not a path",
			       o->route_prefix);
	return 0;
}

/* The array and its paths are one allocation for free(). */
int app_routes(const struct options *o, struct web_route **ret, size_t *ret_count,
	       struct err *err)
{
	char prefix[ROUTES_PREFIX_MAX];
	size_t bytes = sizeof(routes);
	int rc = routes_prefix(o, prefix, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ROUTES; i++)
		bytes += strlen(routes[i].path ? routes[i].path : "") +
			 ROUTES_PREFIX_MAX;
	struct web_route *copy = malloc(bytes);
	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	memcpy(copy, routes, sizeof(routes));
	char *text = (char *)(copy + ROUTES);
	for (size_t i = 0; o->db_standby && i < ROUTES; i++) {
		if (copy[i].admit != ingest_admit && copy[i].admit != profiles_admit)
			continue;
		copy[i].admit = copy[i].handle = refuse_on_standby;
		copy[i].end = NULL;
	}
	/* browsers ask first; without configured origins there is no answer */
	if (*o->cors_origin)
		for (size_t i = ROUTES - 2; i < ROUTES; i++)
			copy[i].methods |= WEB_GET | WEB_HEAD | WEB_OPTIONS;
	for (size_t i = 0; i < ROUTES; i++) {
		const char *path = routes[i].path;
		if (!path || !*prefix || strncmp(path, API, strlen(API)) != 0)
			continue;
		copy[i].path = text;
		size_t n = strlen(prefix) + strlen(path) + 1;
		snprintf(text, n, "%s%s", prefix, path);
		text += n;
	}
	*ret = copy;
	*ret_count = ROUTES;
	return 0;
}

const char *app_path(const struct app *app, const struct web_request *r)
{
	const char *path = web_path(r);
	char prefix[ROUTES_PREFIX_MAX];

	if (routes_prefix(&app->options, prefix, NULL) < 0 || !*prefix)
		return path;
	size_t n = strlen(prefix);
	return strncmp(path, prefix, n) == 0 && path[n] == '/' ? path + n : path;
}
