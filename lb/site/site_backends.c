/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters, their servers, and the labels with their units: the section "backends", and
 * access settings for all clusters or for one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lb/site/site_impl.h"
#include "lib/buf.h"
#include "lib/rfc3339.h"

#define SERVER struct server_draft
#define CLUSTER struct cluster_draft
#define FAMILY struct family_draft

/* ---- access ---------------------------------------------------------------------- */

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static bool is_label(const char *s)
{
	size_t n = strspn(s, NAME_CHARS);

	return n && !s[n] && !(s[0] >= '0' && s[0] <= '9');
}

/* Any name that Prometheus 3 takes; a prefix has plain letters, since "node_.*" would
 * be a mistake. */
static bool is_metric(const char *s)
{
	size_t n = strspn(s, NAME_CHARS ":");

	if (strchr(s, '*'))
		return n && strcmp(s + n, "*") == 0;
	return *s && utf8_is_text(s, strlen(s));
}

int site_check_label(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	return is_label(*(const char **)at)
		       ? 0
		       : yaml_walk_fail(
				 &r->w, v, key,
				 "not the name of a label (letters, digits and _)");
}

/* "" has a meaning: profiles have no such label. */
int site_check_label_or_none(struct yaml_reader *r, const char *key, yaml_node_t *v,
			     void *at)
{
	return **(const char **)at ? site_check_label(r, key, v, at) : 0;
}

static int check_metric(struct yaml_reader *r, const char *key, yaml_node_t *v,
			void *at)
{
	return is_metric(*(const char **)at)
		       ? 0
		       : yaml_walk_fail(&r->w, v, key,
					"not the name of a metric, or a prefix with * "
					"at its end");
}

static int check_family(struct yaml_reader *r, const char *key, yaml_node_t *v,
			void *at)
{
	const FAMILY *f = at;

	if (!f->family.metric)
		return yaml_walk_fail(&r->w, v, key, "a family needs a metric");
	/* a forgotten label must not open anything */
	if ((f->family.label != NULL) + f->is_public + f->family.operators != 1)
		return yaml_walk_fail(&r->w, v, key,
				      "one of: the label that keeps the unit; "
				      "public: true for metrics that tell of nobody; "
				      "operators: true for those of whole nodes");
	return 0;
}

static const struct yaml_row family_rows[] = {
	YAML_TEXT("metric", FAMILY, family.metric, .check = check_metric),
	YAML_TEXT("label", FAMILY, family.label, .check = site_check_label),
	YAML_BOOL("public", FAMILY, is_public),
	YAML_BOOL("operators", FAMILY, family.operators),
	YAML_END,
};
const struct yaml_row site_family_item = {
	.read = yaml_read_map, .rows = family_rows, .check = check_family};

/* ---- servers --------------------------------------------------------------------- */

/* Normalises the URL, so that servers can be compared. */
static int name_server(struct yaml_reader *r, struct server_draft *s, yaml_node_t *v)
{
	struct http_url_parts *u = &s->url;
	bool v6;
	char name[1024];
	struct err err = {""};

	if (http_url_split(s->client.urls[0], u, &err) < 0)
		return yaml_walk_fail(&r->w, v, "url", err.text);
	for (char *c = u->host; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	}
	v6 = strchr(u->host, ':') != NULL;
	snprintf(name, sizeof(name), "%s://%s%s%s:%u%s", u->tls ? "https" : "http",
		 v6 ? "[" : "", u->host, v6 ? "]" : "", u->port, u->path);
	s->params.name = arena_text(r->arena, name);
	return s->params.name ? 0 : yaml_reader_no_memory(r);
}

static int check_server_client(struct yaml_reader *r, const char *key, yaml_node_t *v,
			       void *at)
{
	SERVER *s = at; /* which begins with it */
	int rc = site_check_client(r, key, v, at);

	if (rc == 0 && s->client.url_count != 1)
		rc = yaml_walk_fail(&r->w, v, key, "one url for each server");
	return rc < 0 ? rc : name_server(r, s, v);
}

static int read_time(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at)
{
	const char *s = "";
	char day[40];
	uint64_t t = 0;
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc < 0)
		return rc;
	snprintf(day, sizeof(day), "%.20sT00:00:00Z", s);
	if (rfc3339_parse(s, &t) < 0 && rfc3339_parse(day, &t) < 0)
		return yaml_walk_fail(&r->w, v, key,
				      "neither a day (2025-01-31, of UTC) nor a time "
				      "with its zone (2025-01-31T12:00:00Z)");
	*(int64_t *)at = (int64_t)t * 1000;
	return 0;
}

static int check_time_range(struct yaml_reader *r, const char *key, yaml_node_t *v,
			    void *at)
{
	const SERVER *s = at;

	return s->params.from_ms >= s->params.to_ms
		       ? yaml_walk_fail(&r->w, v, key, "ends before it begins")
		       : 0;
}

static int read_dialect_key(struct yaml_reader *r, const struct yaml_row *row,
			    const char *key, yaml_node_t *v, void *at)
{
	const char *s = "";
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc < 0 || strcmp(s, "auto") == 0)
		return rc;
	int d = strcmp(s, "2") == 0   ? PROMQL_VERSION(2, 42)
		: strcmp(s, "3") == 0 ? PROMQL_VERSION(3, 5)
		: strchr(s, '.')      ? promql_dialect_of(s)
				      : -1;
	if (d < PROMQL_VERSION(2, 42))
		return yaml_walk_fail(&r->w, v, key,
				      "must be auto, 2, 3 or a version from 2.42 on");
	*(int *)at = d;
	return 0;
}

static int read_feature(struct yaml_reader *r, const struct yaml_row *row,
			const char *key, yaml_node_t *v, void *at)
{
	const char *s = "";
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc == 0 && !promql_flag(s, at))
		rc = yaml_walk_fail(&r->w, v, key,
				    "no flag of Prometheus' --enable-feature that "
				    "changes PromQL here");
	return rc;
}
static const struct yaml_row feature_item = {.read = read_feature};

static const struct yaml_row range_rows[] = {
	YAML_ROW("from", read_time, SERVER, params.from_ms, .def = (uint64_t)INT64_MIN),
	YAML_ROW("to", read_time, SERVER, params.to_ms, .def = INT64_MAX),
	YAML_END,
};

#define NUMBER(key_, kind_, member_, ...)                                              \
	YAML_RANGE(key_, kind_, SERVER, params.member_, __VA_ARGS__)
static const struct yaml_row server_rows[] = {
	YAML_MAP("web", site_client_rows, SERVER, client,
		 .given = offsetof(SERVER, client.line), .check = check_server_client),
	YAML_LIST("filter_labels", &yaml_item_name, SERVER, params.filter_labels,
		  params.filter_label_count, SITE_LIST_MAX),
	NUMBER("retention", ms, retention_ms, 0, 1000, 100 * 366 * SITE_DAY_MS),
	YAML_SAME("range", range_rows, .check = check_time_range),
	NUMBER("max_requests", number, max_requests, 0, 0, 65536),
	NUMBER("timeout", ms, timeout_ms, 120000, 100, 3600000),
	NUMBER("connect_timeout", ms, connect_timeout_ms, 3000, 10, 60000),
	NUMBER("first_byte_timeout", ms, first_byte_timeout_ms, 0, 100, SITE_DAY_MS),
	YAML_ROW("dialect", read_dialect_key, SERVER, params.dialect,
		 .def = UINT64_MAX),
	YAML_LIST("promql_features", &feature_item, SERVER, features, feature_count,
		  SITE_LIST_MAX, .given = offsetof(SERVER, features_line)),
	YAML_END,
};

static int check_server(struct yaml_reader *r, const char *key, yaml_node_t *v,
			void *at)
{
	SERVER *s = at;

	s->params.promql_flags = s->features_line ? 0 : PROMQL_FLAGS;
	for (size_t i = 0; i < s->feature_count; i++)
		s->params.promql_flags |= s->features[i];
	if (!s->client.url_count)
		return yaml_walk_fail(&r->w, v, key, "a server needs web with a url");
	if (s->params.first_byte_timeout_ms > s->params.timeout_ms)
		return yaml_walk_fail(&r->w, v, "first_byte_timeout",
				      "longer than timeout, which ends the whole "
				      "answer");
	return 0;
}

static int check_pyroscope(struct yaml_reader *r, const char *key, yaml_node_t *v,
			   void *at)
{
	const SERVER *s = at;
	int rc = check_server(r, key, v, at);

	if (rc == 0 && s->params.filter_label_count)
		rc = yaml_walk_fail(&r->w, v, "filter_labels",
				    "for servers of tsdb alone");
	return rc;
}

/* For releases before 0.5: only URLs. */
static int read_old_server(struct yaml_reader *r, const struct yaml_row *row,
			   const char *key, yaml_node_t *v, void *at)
{
	SERVER *s = at;
	int rc = yaml_read_text(r, row, key, v, &s->client.url);

	if (rc < 0)
		return rc;
	yaml_rows_default(server_rows, s);
	s->params.promql_flags = PROMQL_FLAGS;
	s->client.line = yaml_walk_line(v);
	s->client.urls = &s->client.url;
	s->client.url_count = 1;
	return name_server(r, s, v);
}

static const struct yaml_row tsdb_item = {
	.read = yaml_read_map, .rows = server_rows, .check = check_server};
static const struct yaml_row pyroscope_item = {
	.read = yaml_read_map, .rows = server_rows, .check = check_pyroscope};
static const struct yaml_row old_item = {.read = read_old_server};

/* ---- clusters -------------------------------------------------------------------- */

static int check_id(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	const struct site_parser *p = r->config;
	const char *id = *(const char **)at;
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_.-");

	if (!n || id[n] || n > 128)
		return yaml_walk_fail(&r->w, v, key,
				      "an id has only letters, digits and _ . -");
	for (size_t i = 0; i < p->cluster_count; i++) {
		if (strcmp(p->clusters[i].id, id) == 0)
			return yaml_walk_fail(&r->w, v, "this id appears twice", id);
	}
	return 0;
}

static int check_cluster(struct yaml_reader *r, const char *key, yaml_node_t *v,
			 void *at)
{
	CLUSTER *c = at;

	if (c->old_count && c->server_count[SITE_PROMETHEUS])
		return yaml_walk_fail(&r->w, v, key, "both tsdb and tsdb_urls");
	if (c->old_count) {
		c->servers[SITE_PROMETHEUS] = c->old_servers;
		c->server_count[SITE_PROMETHEUS] = c->old_count;
	}
	if (!c->id)
		return yaml_walk_fail(&r->w, v, key, "a cluster needs an id");
	if (!c->server_count[SITE_PROMETHEUS] && !c->server_count[SITE_PYROSCOPE])
		return yaml_walk_fail(&r->w, v, key,
				      "a cluster needs servers: tsdb or pyroscope");
	return 0;
}

static const struct yaml_row cluster_rows[] = {
	YAML_TEXT("id", CLUSTER, id, .check = check_id),
	YAML_LIST("tsdb", &tsdb_item, CLUSTER, servers[SITE_PROMETHEUS],
		  server_count[SITE_PROMETHEUS], BACKENDS_MAX),
	YAML_LIST("tsdb_urls", &old_item, CLUSTER, old_servers, old_count, BACKENDS_MAX,
		  .note = "an old name, use tsdb"),
	YAML_LIST("pyroscope", &pyroscope_item, CLUSTER, servers[SITE_PYROSCOPE],
		  server_count[SITE_PYROSCOPE], BACKENDS_MAX),
	SITE_ACCESS_ROWS(CLUSTER, access),
	YAML_END,
};
const struct yaml_row site_cluster_item = {.read = yaml_read_map,
					   .rows = cluster_rows,
					   .given = offsetof(CLUSTER, line),
					   .check = check_cluster};
