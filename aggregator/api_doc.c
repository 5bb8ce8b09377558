/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The API's description: its OpenAPI document, made from the table of endpoints, and
 * demo rows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/api.h"

#define DEMO_UNITS 100
#define DEMO_USAGES 50

static const char *type_of(enum param_kind kind)
{
	return kind == PARAM_COUNT  ? "integer"
	       : kind == PARAM_FLAG ? "boolean"
				    : "string";
}

static void put_param(struct buf *b, const struct param_spec *p)
{
	buf_printf(b, "{\"name\":\"%s\",\"in\":\"query\",\"description\":", p->name);
	buf_put_json(b, p->what, strlen(p->what));
	if (p->repeats)
		buf_printf(b,
			   ",\"explode\":true,\"schema\":{\"type\":\"array\",\"items\":"
			   "{\"type\":\"%s\"}}}",
			   type_of(p->kind));
	else
		buf_printf(b, ",\"schema\":{\"type\":\"%s\"}}", type_of(p->kind));
}

static const char *who_may(const struct endpoint *e)
{
	switch (e->scopes[ROLE_USER]) {
	case SCOPE_NONE:
		return " Operators and admins.";
	case SCOPE_PUBLIC:
		return " Everybody, without proof of identity.";
	default:
		return "";
	}
}

/* The variable parts of a path: "*" is the id of a row. Returns how many. */
static size_t put_path_params(struct buf *b, const char *path)
{
	size_t count = 0;

	while (*path == '/') {
		size_t n = strcspn(++path, "/");
		bool number = n == 1 && *path == '*';
		bool run = n == 5 && memcmp(path, "{run}", n) == 0;
		if (number || *path == '{')
			buf_printf(b,
				   "%s{\"name\":\"%.*s\",\"in\":\"path\","
				   "\"required\":true,\"schema\":{\"type\":\"%s\"}}",
				   count++ ? "," : "", number ? 2 : (int)n - 2,
				   number ? "id" : path + 1,
				   number || run ? "integer" : "string");
		path += n;
	}
	return count;
}

static void put_endpoint(struct buf *b, const struct endpoint *e)
{
	size_t n = strlen(e->path);
	bool numbered = e->path[n - 1] == '*';

	buf_printf(b, "\"%.*s%s\":{\"get\":{\"summary\":", (int)(numbered ? n - 1 : n),
		   e->path, numbered ? "{id}" : "");
	auto_buf struct buf text = BUF_INIT;
	buf_printf(&text, "%s%s", e->what, who_may(e));
	buf_put_json(b, text.data ? text.data : "", text.len);
	buf_puts(b, ",\"parameters\":[");
	size_t in_path = put_path_params(b, e->path);
	for (size_t i = 0; e->params[i]; i++) {
		buf_puts(b, i || in_path ? "," : "");
		put_param(b, e->params[i]);
	}
	buf_puts(
		b,
		"],\"responses\":{\"200\":{\"description\":\"The rows in `data`\","
		"\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
		"\"#/components/schemas/Answer\"}}}},\"default\":{\"description\":"
		"\"Why not, in `error`\",\"content\":{\"application/json\":{\"schema\":"
		"{\"$ref\":\"#/components/schemas/Answer\"}}}}}}}");
}

int api_openapi(struct ask *a, struct err *err)
{
	struct buf *b = &a->data;

	(void)err;
	a->raw = true;
	buf_puts(b, "{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"CEEMS records\","
		    "\"version\":\"" CEEMS_VERSION "\",\"license\":{\"name\":"
		    "\"GPL-2.0-or-later\"}},\"servers\":[{\"url\":\"/api/"
		    "v1\"}],\"paths\":{");
	for (size_t i = 0; i < endpoint_count; i++) {
		buf_puts(b, i ? "," : "");
		put_endpoint(b, &endpoints[i]);
	}
	buf_puts(
		b,
		"},\"components\":{\"schemas\":{\"Answer\":{\"type\":\"object\","
		"\"properties\":{\"status\":{\"type\":\"string\",\"enum\":[\"success\","
		"\"error\"]},\"data\":{\"type\":\"array\",\"nullable\":true,\"items\":"
		"{\"type\":\"object\"}},\"errorType\":{\"type\":\"string\"},\"error\":"
		"{\"type\":\"string\"},\"warnings\":{\"type\":\"array\",\"items\":"
		"{\"type\":\"string\"}},\"from\":{\"type\":\"string\"},\"to\":{"
		"\"type\":"
		"\"string\"},\"as_of\":{\"type\":\"string\"},\"coverage\":{\"type\":"
		"\"number\",\"nullable\":true},\"cursor\":{\"type\":\"string\"}}}}}}"
		"\n");
	return buf_error(b);
}

/* The same each time, as authors of dashboards expect. */
int api_demo(struct ask *a, struct err *err)
{
	bool units = strcmp(a->endpoint->path, "/demo/units") == 0;
	struct buf *b = &a->data;

	(void)err;
	for (unsigned i = 0; i < (units ? DEMO_UNITS : DEMO_USAGES); i++) {
		unsigned h = (i + 1) * 2654435761u >> 8; /* pseudo-random */
		buf_puts(b, i ? "," : "");
		buf_printf(b,
			   "{\"cluster_id\":\"demo\",\"resource_manager\":\"slurm\","
			   "\"project\":\"project%u\",\"username\":\"user%u\",",
			   h % 5, h % 13);
		if (units)
			buf_printf(b,
				   "\"uuid\":\"%u\",\"name\":\"job%u\",\"state\":"
				   "\"COMPLETED\",\"elapsed\":\"%02u:%02u:00\",",
				   1000 + i, i, h % 24, h % 60);
		else
			buf_printf(b, "\"num_units\":%u,", h % 500);
		buf_printf(b,
			   "\"avg_cpu_usage\":{\"global\":%u.%u},"
			   "\"avg_cpu_mem_usage\":{\"global\":%u.%u},"
			   "\"total_cpu_energy_usage_kwh\":{\"total\":%u.%02u},"
			   "\"total_cpu_emissions_gms\":{\"owid_total\":%u.%u}}",
			   h % 100, h % 10, h / 7 % 100, h / 7 % 10, h % 30, h % 100,
			   h % 2000, h % 10);
	}
	return buf_error(b);
}
