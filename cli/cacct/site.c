/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client's configuration. The peer's contains a password shared by all users of a
 * login node, behind a setgid bit; here each user authenticates herself, so the site's
 * file can be world-readable. */
#include "cli/cacct/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/conf/dropins.h"
#include "lib/conf/yaml_rows.h"
#include "lib/fs.h"

static int refuse_site_secret(struct yaml_reader *r, const struct yaml_row *row,
			      const char *key, yaml_node_t *v, void *at)
{
	(void)row;
	(void)at;
	return yaml_walk_fail(
		&r->w, v, "secrets do not belong in this file: name a file with",
		strcmp(key, "password") == 0 ? "password_file" : "credentials_file");
}

/* "Bearer" is the only scheme that a file can provide */
static int check_scheme(struct yaml_reader *r, const struct yaml_row *row,
			const char *key, yaml_node_t *v, void *at)
{
	const char *text = "";
	int rc = yaml_reader_text(r, key, v, &text);

	(void)row;
	(void)at;
	if (rc < 0 || strcmp(text, "Bearer") == 0)
		return rc;
	return yaml_walk_fail(&r->w, v, "only Bearer is supported", NULL);
}

static int read_query(void *arg, const char *name, yaml_node_t *k, yaml_node_t *v)
{
	struct yaml_reader *r = arg;
	struct site *s = r->config;
	const char *promql = NULL;
	int rc = yaml_walk_scalar(&r->w, name, v, &promql);

	(void)k;
	if (rc < 0)
		return rc;
	if (s->query_count == SITE_QUERIES_MAX)
		return yaml_walk_fail(&r->w, v, "too many queries", NULL);
	struct site_query *q = &s->queries[s->query_count];
	q->name = arena_text(r->arena, name);
	q->promql = arena_text(r->arena, promql);
	if (!q->name || !q->promql)
		return yaml_reader_no_memory(r);
	s->query_count++;
	return 0;
}

/* Names are chosen by the site. Those of an earlier file are replaced. */
static int read_queries(struct yaml_reader *r, const struct yaml_row *row,
			const char *key, yaml_node_t *v, void *at)
{
	(void)row;
	(void)at;
	if (v->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(
			&r->w, v, "must be names, each with a query in PromQL", key);
	((struct site *)r->config)->query_count = 0;
	return yaml_walk_pairs(&r->w, r, key, v, read_query);
}

#define WEB struct api_site

static const struct yaml_row basic_rows[] = {
	YAML_TEXT("username", WEB, user),
	YAML_PATH("password_file", WEB, password_file),
	{.key = "password", .read = refuse_site_secret},
	YAML_END,
};

static const struct yaml_row authorization_rows[] = {
	{.key = "type", .read = check_scheme},
	YAML_PATH("credentials_file", WEB, token_file),
	{.key = "credentials", .read = refuse_site_secret},
	YAML_END,
};

static const struct yaml_row tls_rows[] = {
	YAML_PATH("ca_file", WEB, ca_file),
	YAML_PATH("cert_file", WEB, cert_file),
	YAML_PATH("key_file", WEB, key_file),
	YAML_BOOL("insecure_skip_verify", WEB, insecure),
	YAML_END,
};

static const struct yaml_row web_rows[] = {
	YAML_TEXT("url", WEB, url),
	YAML_SAME("basic_auth", basic_rows),
	YAML_SAME("authorization", authorization_rows),
	YAML_SAME("tls_config", tls_rows),
	YAML_END,
};

static const struct yaml_row server_rows[] = {
	YAML_TEXT("cluster_id", struct site, cluster),
	/* The server chooses the header's name, and trusts nobody because of it. */
	YAML_SKIPPED("user_header_name"),
	YAML_TEXT("munge_socket", struct site, api.munge_socket),
	YAML_MAP("web", web_rows, struct site, api),
	YAML_END,
};

static const struct yaml_row tsdb_rows[] = {
	YAML_MAP("web", web_rows, struct site, tsdb),
	{.key = "queries", .read = read_queries},
	YAML_END,
};

static const struct yaml_row profiles_rows[] = {
	YAML_MAP("web", web_rows, struct site, profiles),
	YAML_END,
};

static const struct yaml_row root_rows[] = {
	YAML_SAME("ceems_api_server", server_rows),
	YAML_SAME("tsdb", tsdb_rows),
	YAML_SAME("pyroscope", profiles_rows),
	YAML_END,
};

static int parse_site(const char *text, size_t len, const char *file,
		      const struct dropins *more, struct site *ret, struct err *err)
{
	struct yaml_reader r = {.w = {.file = file, .err = err, .more = more},
				.arena = &ret->arena,
				.config = ret};

	return yaml_rows_read(&r, text, len, SITE_FILE_MAX, "the file", root_rows, ret);
}

int site_parse(const char *text, size_t len, const char *file, struct site *ret,
	       struct err *err)
{
	return parse_site(text, len, file, NULL, ret, err);
}

static int load_file(const char *path, bool must, struct site *ret, struct err *err)
{
	auto_buf struct buf text = BUF_INIT;
	auto_dropins struct dropins more = {.count = 0};
	int rc = fs_read_buf_at(AT_FDCWD, path, SITE_FILE_MAX, &text, err);

	if (rc == -ENOENT && !must)
		return rc;
	if (rc == 0)
		rc = dropins_read(path, &more, err);
	if (rc < 0)
		return rc;
	return parse_site(text.data ? text.data : "", text.len, path, &more, ret, err);
}

/* DIR/ceems/cacct.yaml, else .yml as in the peer */
static int load_folder(const char *folder, const char *below, struct site *ret,
		       struct err *err)
{
	static const char *const names[] = {"cacct.yaml", "cacct.yml"};
	char path[4096];

	for (size_t i = 0; i < 2; i++) {
		int n = snprintf(path, sizeof(path), "%s%s/%s", folder, below,
				 names[i]);
		if (n < 0 || (size_t)n >= sizeof(path))
			continue;
		int rc = load_file(path, false, ret, err);
		/* a site folder that is closed to users has nothing for them */
		if (rc != -ENOENT && rc != -ENOTDIR && rc != -EACCES)
			return rc;
	}
	return 0;
}

static void read_site_environment(struct site *ret)
{
	const struct {
		const char *name, **at;
	} vars[] = {{"API_URL", &ret->api.url},
		    {"CEEMS_API_URL", &ret->api.url},
		    {"CEEMS_TOKEN_FILE", &ret->api.token_file},
		    {"CEEMS_CA_FILE", &ret->api.ca_file},
		    {"CEEMS_MUNGE_SOCKET", &ret->api.munge_socket},
		    {"CEEMS_CLUSTER", &ret->cluster},
		    {"CEEMS_TSDB_URL", &ret->tsdb.url},
		    {"CEEMS_PROFILES_URL", &ret->profiles.url}};

	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++) {
		const char *v = getenv(vars[i].name);
		if (v && *v)
			*vars[i].at = v;
	}
}

int site_load(const char *file, struct site *ret, struct err *err)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int rc;

	if (file) {
		rc = load_file(file, true, ret, err);
	} else {
		rc = load_folder("/etc", "/ceems", ret, err);
		if (rc == 0 && xdg && *xdg == '/')
			rc = load_folder(xdg, "/ceems", ret, err);
		else if (rc == 0 && home && *home == '/')
			rc = load_folder(home, "/.config/ceems", ret, err);
	}
	if (rc == 0)
		read_site_environment(ret);
	return rc;
}

void site_done(struct site *s)
{
	arena_done(&s->arena);
	*s = (struct site){.cluster = NULL};
}
