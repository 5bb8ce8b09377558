/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clusters, their servers, and the labels with their units: the section "backends", and
 * access settings for all clusters or for one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lb/site/site_impl.h"
#include "lib/rfc3339.h"

#define DAY_MS (86400ull * 1000)

/* ---- access ---------------------------------------------------------------------- */

void access_draft_init(struct access_draft *a)
{
	a->inject = -1;
}

/* A Prometheus name; a metric may end with "*". */
static bool is_name(const char *s, bool metric)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789_:");

	if (!metric)
		return n && !s[n] && !strchr(s, ':') && !(s[0] >= '0' && s[0] <= '9');
	if (s[n] == '*')
		n++;
	return n && !s[n];
}

static int on_name(struct site_parser *p, const char *key, yaml_node_t *v, bool metric,
		   const char **ret)
{
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc == 0 && !is_name(s, metric))
		rc = yaml_walk_fail(&p->w, v, key,
				    metric ? "not the name of a metric, or a prefix "
					     "with * at its end"
					   : "not the name of a label (letters, digits "
					     "and _)");
	if (rc == 0)
		*ret = s;
	return rc;
}

static int on_metric(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return on_name(p, key, v, true,
		       &p->draft->families[p->draft->family_count - 1].metric);
}

static int on_label(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return on_name(p, key, v, false,
		       &p->draft->families[p->draft->family_count - 1].label);
}

static int on_tells_nothing(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	bool on = false;
	int rc = yaml_walk_bool(&p->w, key, v, &on);

	p->public_family = on;
	return rc;
}

static int on_operators(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return yaml_walk_bool(
		&p->w, key, v,
		&p->draft->families[p->draft->family_count - 1].operators);
}

static int on_family(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"metric", on_metric},
					       {"label", on_label},
					       {"public", on_tells_nothing},
					       {"operators", on_operators}};
	struct site_parser *p = arg;
	struct access_draft *a = p->draft;
	struct access_family *f = &a->families[a->family_count++];

	p->public_family = false;
	*f = (struct access_family){.metric = NULL};
	int rc = yaml_walk_map(&p->w, p, key, v, keys, 4);
	if (rc < 0)
		return rc;
	if (!f->metric)
		return yaml_walk_fail(&p->w, v, key, "a family needs a metric");
	/* a forgotten label must not open anything */
	if ((f->label != NULL) + p->public_family + f->operators != 1)
		return yaml_walk_fail(&p->w, v, key,
				      "one of: the label that keeps the unit; "
				      "public: true for metrics that tell of nobody; "
				      "operators: true for those of whole nodes");
	return 0;
}

/* "" has a meaning: profiles have no such label. */
static int on_label_or_none(struct site_parser *p, const char *key, yaml_node_t *v,
			    const char **ret)
{
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc == 0 && !*s) {
		*ret = s;
		return 0;
	}
	return rc < 0 ? rc : on_name(p, key, v, false, ret);
}

static int on_enforce(struct site_parser *p, const char *key, yaml_node_t *v)
{
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc < 0)
		return rc;
	p->draft->inject = strcmp(s, "inject") == 0;
	if (!p->draft->inject && strcmp(s, "refuse") != 0)
		return yaml_walk_fail(&p->w, v, key, "must be refuse or inject");
	return 0;
}

int site_on_access(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct access_draft *a = p->cluster ? p->cluster->access : p->access;

	p->draft = a;
	if (strcmp(key, "cluster_label") == 0)
		return on_name(p, key, v, false, &a->cluster_label);
	if (strcmp(key, "profile_label") == 0)
		return on_name(p, key, v, false, &a->profile_label);
	if (strcmp(key, "profile_cluster_label") == 0)
		return on_label_or_none(p, key, v, &a->profile_cluster_label);
	if (strcmp(key, "enforce") == 0)
		return on_enforce(p, key, v);
	if (strcmp(key, "families") == 0) {
		a->family_count = 0;
		return yaml_walk_list(&p->w, p, key, v, SITE_FAMILIES_MAX, on_family);
	}
	if (strcmp(key, "lookback") == 0) {
		a->lookback_given = true;
		return site_number(p, key, v, 'd', 1000, DAY_MS, &a->lookback_ms);
	}
	if (strcmp(key, "inject_max") == 0) {
		a->inject_max_given = true;
		return site_number(p, key, v, 'n', 0, ACCESS_CLAIMS_MAX,
				   &a->inject_max);
	}
	a->narrow_max_given = true;
	return site_number(p, key, v, 'n', 0, ACCESS_CLAIMS_MAX, &a->narrow_max);
}

/* ---- servers --------------------------------------------------------------------- */

/* Normalises the URL, so that servers can be compared. */
static int name_server(struct site_parser *p, struct server_draft *s, yaml_node_t *v)
{
	struct http_url_parts *u = &s->url;
	bool v6;
	char name[1024];
	struct err err = {""};

	if (http_url_split(s->client.urls[0], u, &err) < 0)
		return yaml_walk_fail(&p->w, v, "url", err.text);
	for (char *c = u->host; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	}
	v6 = strchr(u->host, ':') != NULL;
	snprintf(name, sizeof(name), "%s://%s%s%s:%u%s", u->tls ? "https" : "http",
		 v6 ? "[" : "", u->host, v6 ? "]" : "", u->port, u->path);
	s->name = arena_text(p->arena, name);
	return s->name ? 0 : site_no_memory(p);
}

static int on_web(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct client_draft *c = &p->server->client;
	int rc = site_client(p, c, key, v);

	if (rc == 0 && c->url_count != 1)
		rc = yaml_walk_fail(&p->w, v, key, "one url for each server");
	return rc < 0 ? rc : name_server(p, p->server, v);
}

static int on_filter_labels(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return site_strings(p, key, v, &p->server->filter_labels);
}

static int on_server_number(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct server_draft *s = p->server;

	if (strcmp(key, "retention") == 0)
		return site_number(p, key, v, 'd', 1000, 100 * 366 * DAY_MS,
				   &s->retention_ms);
	if (strcmp(key, "max_requests") == 0)
		return site_number(p, key, v, 'n', 0, 65536, &s->max_requests);
	if (strcmp(key, "first_byte_timeout") == 0)
		return site_number(p, key, v, 'd', 100, DAY_MS,
				   &s->first_byte_timeout_ms);
	if (strcmp(key, "connect_timeout") == 0)
		return site_number(p, key, v, 'd', 10, 60000, &s->connect_timeout_ms);
	return site_number(p, key, v, 'd', 100, 3600000, &s->timeout_ms);
}

static int on_time(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	const char *s = NULL;
	char day[40];
	uint64_t t = 0;
	int rc = site_text(p, key, v, &s);

	if (rc < 0)
		return rc;
	snprintf(day, sizeof(day), "%.20sT00:00:00Z", s);
	if (rfc3339_parse(s, &t) < 0 && rfc3339_parse(day, &t) < 0)
		return yaml_walk_fail(&p->w, v, key,
				      "neither a day (2025-01-31, of UTC) nor a time "
				      "with its zone (2025-01-31T12:00:00Z)");
	if (strcmp(key, "from") == 0)
		p->server->from_ms = (int64_t)t * 1000;
	else
		p->server->to_ms = (int64_t)t * 1000;
	return 0;
}

static int on_range(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"from", on_time}, {"to", on_time}};
	struct site_parser *p = arg;
	int rc = yaml_walk_map(&p->w, p, key, v, keys, 2);

	if (rc == 0 && p->server->from_ms >= p->server->to_ms)
		rc = yaml_walk_fail(&p->w, v, key, "ends before it begins");
	return rc;
}

static int on_dialect(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc < 0)
		return rc;
	if (strcmp(s, "auto") == 0)
		return 0;
	int d = strcmp(s, "2") == 0   ? PROMQL_VERSION(2, 42)
		: strcmp(s, "3") == 0 ? PROMQL_VERSION(3, 5)
		: strchr(s, '.')      ? promql_dialect_of(s)
				      : -1;
	if (d < PROMQL_VERSION(2, 42))
		return yaml_walk_fail(&p->w, v, key,
				      "must be auto, 2, 3 or a version from 2.42 on");
	p->server->dialect = d;
	return 0;
}

static int on_promql_flags(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct site_list names = {.count = 0};
	int rc = site_strings(p, key, v, &names);

	p->server->promql_flags = 0;
	for (size_t i = 0; rc == 0 && i < names.count; i++) {
		unsigned bit;

		if (!promql_flag(names.items[i], &bit))
			return yaml_walk_fail(
				&p->w, v, key,
				"no flag of Prometheus' "
				"--enable-feature that changes PromQL here");
		p->server->promql_flags |= bit;
	}
	return rc;
}

/* The next server of a cluster's list. */
static struct server_draft *new_server(struct site_parser *p, enum site_protocol kind)
{
	struct cluster_draft *c = p->cluster;
	struct server_draft *s = arena_alloc(&p->drafts, 1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct server_draft){.from_ms = INT64_MIN,
				   .to_ms = INT64_MAX,
				   .timeout_ms = 120000,
				   .connect_timeout_ms = 3000,
				   .dialect = -1,
				   .promql_flags = PROMQL_FLAGS};
	c->servers[kind][c->server_count[kind]++] = s;
	p->server = s;
	return s;
}

static int on_server(struct site_parser *p, const char *key, yaml_node_t *v,
		     enum site_protocol kind)
{
	static const struct yaml_key keys[] = {
		{"web", on_web},
		{"filter_labels", on_filter_labels},
		{"retention", on_server_number},
		{"range", on_range},
		{"max_requests", on_server_number},
		{"timeout", on_server_number},
		{"connect_timeout", on_server_number},
		{"first_byte_timeout", on_server_number},
		{"dialect", on_dialect},
		{"promql_features", on_promql_flags},
	};

	if (!new_server(p, kind))
		return site_no_memory(p);
	int rc = yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
	if (rc == 0 && !p->server->client.url_count)
		rc = yaml_walk_fail(&p->w, v, key, "a server needs web with a url");
	if (rc == 0 && p->server->first_byte_timeout_ms > p->server->timeout_ms)
		rc = yaml_walk_fail(&p->w, v, "first_byte_timeout",
				    "longer than timeout, which ends the whole answer");
	if (rc == 0 && kind == SITE_PYROSCOPE && p->server->filter_labels.count)
		rc = yaml_walk_fail(&p->w, v, "filter_labels",
				    "for servers of tsdb alone");
	return rc;
}

static int on_tsdb(void *arg, const char *key, yaml_node_t *v)
{
	return on_server(arg, key, v, SITE_PROMETHEUS);
}

static int on_pyroscope(void *arg, const char *key, yaml_node_t *v)
{
	return on_server(arg, key, v, SITE_PYROSCOPE);
}

/* For releases before 0.5: only URLs. */
static int on_tsdb_url(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct server_draft *s = new_server(p, SITE_PROMETHEUS);

	if (!s)
		return site_no_memory(p);
	s->client.line = yaml_walk_line(v);
	int rc = site_text(p, key, v, &s->client.urls[0]);
	s->client.url_count = 1;
	return rc < 0 ? rc : name_server(p, s, v);
}

static int on_servers(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	size_t have = p->cluster->server_count[SITE_PROMETHEUS];

	if (strcmp(key, "pyroscope") == 0)
		return yaml_walk_list(&p->w, p, key, v, BACKENDS_MAX, on_pyroscope);
	if (have)
		return yaml_walk_fail(&p->w, v, key, "both tsdb and tsdb_urls");
	if (strcmp(key, "tsdb") == 0)
		return yaml_walk_list(&p->w, p, key, v, BACKENDS_MAX, on_tsdb);
	site_note(p, key, "an old name, use tsdb");
	return yaml_walk_list(&p->w, p, key, v, BACKENDS_MAX, on_tsdb_url);
}

/* ---- clusters -------------------------------------------------------------------- */

static int on_id(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	const char *id = NULL;
	int rc = site_text(p, key, v, &id);

	if (rc < 0)
		return rc;
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_.-");
	if (!n || id[n] || n > 128)
		return yaml_walk_fail(&p->w, v, key,
				      "an id has only letters, digits and _ . -");
	for (size_t i = 0; i + 1 < p->cluster_count; i++) {
		if (strcmp(p->clusters[i]->id, id) == 0)
			return yaml_walk_fail(&p->w, v, "this id appears twice", id);
	}
	p->cluster->id = id;
	return 0;
}

static int on_backend(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"id", on_id},
		{"tsdb", on_servers},
		{"tsdb_urls", on_servers},
		{"pyroscope", on_servers},
		SITE_ACCESS_KEYS,
	};
	struct site_parser *p = arg;
	struct cluster_draft *c = arena_alloc(&p->drafts, 1, sizeof(*c));

	if (c)
		c->access = arena_alloc(&p->drafts, 1, sizeof(*c->access));
	if (!c || !c->access)
		return site_no_memory(p);
	access_draft_init(c->access);
	c->line = yaml_walk_line(v);
	p->clusters[p->cluster_count++] = p->cluster = c;
	int rc = yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
	p->cluster = NULL;
	if (rc == 0 && !c->id)
		rc = yaml_walk_fail(&p->w, v, key, "a cluster needs an id");
	if (rc == 0 && !c->server_count[SITE_PROMETHEUS] &&
	    !c->server_count[SITE_PYROSCOPE])
		rc = yaml_walk_fail(&p->w, v, key,
				    "a cluster needs servers: tsdb or pyroscope");
	return rc;
}

int site_on_backends(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, SITE_CLUSTERS_MAX, on_backend);
}
