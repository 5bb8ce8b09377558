/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool check api|lb: whether the server answers, knows who asks, and refuses whom
 * it must refuse. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cacct/api.h"
#include "cli/cacct/site.h"
#include "cli/cacct/unit.h"
#include "cli/tool/tool.h"
#include "lib/clock.h"
#include "lib/finding.h"
#include "lib/http/json.h"
#include "lib/rfc3339.h"

enum { OPT_URL = 256, OPT_CONFIG, OPT_AROUND };

#define AROUND_MAX 16u

#define STALE_S 900u

/* Servers that only the load balancer should be able to reach. */
struct around {
	const char *urls[AROUND_MAX];
	size_t count;
};

/* around: NULL if there is no such option */
static int read_site(int argc, char **argv, struct site *site, const char **ret_url,
		     struct around *around)
{
	static const struct option longs[] = {
		{"url", required_argument, NULL, OPT_URL},
		{"config.file", required_argument, NULL, OPT_CONFIG},
		{"around", required_argument, NULL, OPT_AROUND},
		{NULL, 0, NULL, 0}};
	const char *file = NULL;
	struct err err;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		if (c == OPT_URL)
			*ret_url = optarg;
		else if (c == OPT_CONFIG)
			file = optarg;
		else if (c == OPT_AROUND && around && around->count < AROUND_MAX)
			around->urls[around->count++] = optarg;
		else
			return tool_usage_error(c == ':' ? "needs a value: "
							 : "unknown option: ",
						argv[optind - 1]);
	}
	if (optind < argc)
		return tool_usage_error("unexpected argument: ", argv[optind]);
	if (site_load(file, site, &err) < 0)
		return tool_usage_error(err.text, "");
	return 0;
}

/* The same server without credentials. */
static struct api_site site_without_proof(const struct api_site *server)
{
	return (struct api_site){.url = server->url,
				 .ca_file = server->ca_file,
				 .insecure = server->insecure,
				 .nobody = true};
}

/* /health is open: probes use it. */
static void check_health(const struct api_site *server, struct findings *f)
{
	const struct api_site nobody = site_without_proof(server);
	const char *url = server->url;
	auto_api struct api *api = NULL;
	auto_buf struct buf text = {.max = 64 << 10};
	struct err err;
	uint64_t t0 = clock_boottime_ns();

	if (api_new(&nobody, &api, &err) < 0 ||
	    api_get_text(api, "/health", &text, &err) < 0)
		finding(f, LEVEL_FAIL, "is it running, and is this its address?",
			"%s/health: %s", url, err.text);
	else
		finding(f, LEVEL_OK, NULL, "%s/health answers in %llu ms", url,
			(clock_boottime_ns() - t0) / NSEC_PER_MSEC);
}

/* The same request without credentials must be refused. */
static void check_stranger(const struct api_site *server, const char *target,
			   struct findings *f)
{
	const struct api_site nobody = site_without_proof(server);
	auto_api struct api *api = NULL;
	auto_json struct json_object *o = NULL;
	struct err err;

	if (api_new(&nobody, &api, &err) < 0)
		return;
	int rc = api_get(api, target, &o, &err);
	if (rc == -EACCES)
		finding(f, LEVEL_OK, NULL, "a request without credentials is refused");
	else if (rc == 0)
		finding(f, LEVEL_FAIL,
			"it has no access control, or something before it gives every "
			"client a name",
			"%s answers requests without credentials", server->url);
	else
		finding(f, LEVEL_WARN, "look at its log",
			"asked without credentials: %s", err.text);
}

static void check_as_of(struct json_object *o, struct findings *f)
{
	const char *as_of = unit_json_text(o, "as_of");
	uint64_t at, now = (uint64_t)time(NULL);

	if (!as_of || rfc3339_parse(as_of, &at) < 0)
		return;
	if (at + STALE_S < now)
		finding(f, LEVEL_WARN, "look at its log and its database",
			"its sums are as of %s, %" PRIu64 " minutes ago", as_of,
			(now - at) / 60);
	else
		finding(f, LEVEL_OK, NULL, "its sums are as of %s", as_of);
}

static void check_identity(struct api *api, const char *target, const char *what,
			   struct findings *f)
{
	auto_json struct json_object *o = NULL;
	struct err err;
	int rc = api_get(api, target, &o, &err);

	if (rc < 0) {
		finding(f, LEVEL_FAIL,
			rc == -EACCES ? "does this host have the server's MUNGE key, "
					"or is the token valid?"
				      : "look at its log",
			"%s: %s", what, err.text);
		return;
	}
	finding(f, LEVEL_OK, NULL, "%s", what);
	check_as_of(o, f);
}

/* From here: a server that answers us answers every user of this host. */
static void check_around(const char *url, struct findings *f)
{
	static const char *const targets[] = {"/api/v1/labels", "/ready"};
	const struct api_site nobody = {.url = url, .nobody = true};
	auto_api struct api *api = NULL;
	auto_buf struct buf text = {.max = 1 << 20};
	struct err err;

	if (api_new(&nobody, &api, &err) < 0) {
		finding(f, LEVEL_FAIL, NULL, "%s: %s", url, err.text);
		return;
	}
	for (size_t i = 0; i < 2; i++) {
		if (api_get_text(api, targets[i], &text, &err) < 0)
			continue;
		finding(f, LEVEL_FAIL,
			"close its port to all but the load balancer (doc/lb.md)",
			"%s can be read from here, around the load balancer", url);
		return;
	}
	finding(f, LEVEL_OK, NULL, "%s cannot be read from here", url);
}

static int check_server(int argc, char **argv, const char *name, bool lb)
{
	auto_site struct site site = {.cluster = NULL};
	auto_api struct api *api = NULL;
	struct findings f = {.out = stdout};
	struct around around = {.count = 0};
	const char *url = NULL;
	struct err err;
	const char *target =
		lb ? "/api/v1/query?query=vector%281%29" : "/api/v1/units?limit=1";
	int rc = read_site(argc, argv, &site, &url, lb ? &around : NULL);

	if (rc)
		return rc;
	struct api_site server = lb ? site.tsdb : site.api;
	if (lb && !server.munge_socket)
		server.munge_socket = site.api.munge_socket;
	if (url)
		server.url = url;
	if (!server.url)
		return tool_usage_error(name, ": name it by --url or cacct.yaml");
	if (api_new(&server, &api, &err) < 0)
		return tool_usage_error(err.text, "");
	check_health(&server, &f);
	if (!f.count[LEVEL_FAIL]) {
		check_identity(api, target, "it accepts our credentials and answers",
			       &f);
		check_stranger(&server, target, &f);
	}
	for (size_t i = 0; i < around.count; i++)
		check_around(around.urls[i], &f);
	return findings_end(&f);
}

/* For health checks of containers, which have no curl. A password is asked for by a
 * server that is well. */
int tool_check_health(int argc, char **argv)
{
	struct findings f = {.out = stdout};
	auto_api struct api *api = NULL;
	auto_buf struct buf text = {.max = 64 << 10};
	struct err err = {""};

	if (argc != 2 || argv[1][0] == '-')
		return tool_usage_error("check health: name one URL", "");
	const struct api_site nobody = {.url = argv[1], .nobody = true};
	int rc = api_new(&nobody, &api, &err);
	if (rc == 0)
		rc = api_get_text(api, "/health", &text, &err);
	if (rc == 0 || rc == -EACCES)
		finding(&f, LEVEL_OK, NULL, "%s/health answers", argv[1]);
	else
		finding(&f, LEVEL_FAIL, "look at its log", "%s/health: %s", argv[1],
			err.text);
	return findings_end(&f);
}

int tool_check_api(int argc, char **argv)
{
	return check_server(argc, argv, "check api", false);
}

int tool_check_lb(int argc, char **argv)
{
	return check_server(argc, argv, "check lb", true);
}
