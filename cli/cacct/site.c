/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client's configuration. The peer's contains a password shared by all users of a
 * login node, behind a setgid bit; here each user authenticates herself, so the site's
 * file can be world-readable. */
#include "cli/cacct/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/conf/yaml_walk.h"
#include "lib/fs.h"

struct walk {
	struct yaml_walk yaml;
	struct site *site;
	struct api_site *server; /* being parsed */
};

static int replace_site_text(char **at, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*at);
	*at = copy;
	return 0;
}

static int take_site_text(struct walk *w, const char *key, yaml_node_t *n, char **at)
{
	const char *text = NULL;
	int rc = yaml_walk_scalar(&w->yaml, key, n, &text);

	return rc < 0 ? rc : replace_site_text(at, text);
}

#define KEY_TEXT(name_, at_)                                                           \
	static int name_(void *arg, const char *key, yaml_node_t *n)                   \
	{                                                                              \
		struct walk *w = arg;                                                  \
		return take_site_text(w, key, n, &(at_));                              \
	}
KEY_TEXT(key_url, w->server->url)
KEY_TEXT(key_user, w->server->user)
KEY_TEXT(key_password_file, w->server->password_file)
KEY_TEXT(key_token_file, w->server->token_file)
KEY_TEXT(key_ca_file, w->server->ca_file)
KEY_TEXT(key_cert_file, w->server->cert_file)
KEY_TEXT(key_key_file, w->server->key_file)
KEY_TEXT(key_cluster, w->site->cluster)
KEY_TEXT(key_munge_socket, w->site->api.munge_socket)

static int key_insecure(void *arg, const char *key, yaml_node_t *n)
{
	struct walk *w = arg;

	return yaml_walk_bool(&w->yaml, key, n, &w->server->insecure);
}

static int key_secret(void *arg, const char *key, yaml_node_t *n)
{
	struct walk *w = arg;

	return yaml_walk_fail(
		&w->yaml, n, "secrets do not belong in this file: name a file with",
		strcmp(key, "password") == 0 ? "password_file" : "credentials_file");
}

/* "Bearer" is the only scheme that a file can provide */
static int key_scheme(void *arg, const char *key, yaml_node_t *n)
{
	struct walk *w = arg;
	const char *text;
	int rc = yaml_walk_scalar(&w->yaml, key, n, &text);

	if (rc < 0 || strcmp(text, "Bearer") == 0)
		return rc;
	return yaml_walk_fail(&w->yaml, n, "only Bearer is supported", NULL);
}

/* The server chooses the header's name, and trusts nobody because of it. */
static int key_ignored(void *arg, const char *key, yaml_node_t *n)
{
	(void)arg;
	(void)key;
	(void)n;
	return 0;
}

static int key_basic(void *arg, const char *key, yaml_node_t *n)
{
	static const struct yaml_key keys[] = {{"username", key_user},
					       {"password_file", key_password_file},
					       {"password", key_secret}};
	struct walk *w = arg;

	return yaml_walk_map(&w->yaml, w, key, n, keys, 3);
}

static int key_authorization(void *arg, const char *key, yaml_node_t *n)
{
	static const struct yaml_key keys[] = {{"type", key_scheme},
					       {"credentials_file", key_token_file},
					       {"credentials", key_secret}};
	struct walk *w = arg;

	return yaml_walk_map(&w->yaml, w, key, n, keys, 3);
}

static int key_tls(void *arg, const char *key, yaml_node_t *n)
{
	static const struct yaml_key keys[] = {{"ca_file", key_ca_file},
					       {"cert_file", key_cert_file},
					       {"key_file", key_key_file},
					       {"insecure_skip_verify", key_insecure}};
	struct walk *w = arg;

	return yaml_walk_map(&w->yaml, w, key, n, keys, 4);
}

static int key_web(void *arg, const char *key, yaml_node_t *n)
{
	static const struct yaml_key keys[] = {{"url", key_url},
					       {"basic_auth", key_basic},
					       {"authorization", key_authorization},
					       {"tls_config", key_tls}};
	struct walk *w = arg;

	return yaml_walk_map(&w->yaml, w, key, n, keys, 4);
}

static int key_query(struct walk *w, const char *name, yaml_node_t *n)
{
	struct site *s = w->site;
	const char *promql;
	int rc = yaml_walk_scalar(&w->yaml, name, n, &promql);

	if (rc < 0)
		return rc;
	if (s->query_count == SITE_QUERIES_MAX)
		return yaml_walk_fail(&w->yaml, n, "too many queries", NULL);
	struct site_query *q = &s->queries[s->query_count++];
	rc = replace_site_text(&q->name, name);
	return rc < 0 ? rc : replace_site_text(&q->promql, promql);
}

static void drop_queries(struct site *s)
{
	for (size_t i = 0; i < s->query_count; i++) {
		free(s->queries[i].name);
		free(s->queries[i].promql);
	}
	memset(s->queries, 0, sizeof(s->queries));
	s->query_count = 0;
}

/* Names are chosen by the site, so this mapping is walked by hand. */
static int key_queries(void *arg, const char *key, yaml_node_t *n)
{
	struct walk *w = arg;

	if (n->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(
			&w->yaml, n, "must be names, each with a query in PromQL", key);
	drop_queries(w->site);
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start;
	     p < n->data.mapping.pairs.top; p++) {
		yaml_node_t *k = yaml_document_get_node(w->yaml.doc, p->key);
		yaml_node_t *v = yaml_document_get_node(w->yaml.doc, p->value);
		const char *name;
		int rc = k && v ? yaml_walk_scalar(&w->yaml, key, k, &name) : -EINVAL;
		if (rc == 0)
			rc = key_query(w, name, v);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int key_api(void *arg, const char *key, yaml_node_t *n)
{
	static const struct yaml_key keys[] = {{"cluster_id", key_cluster},
					       {"user_header_name", key_ignored},
					       {"munge_socket", key_munge_socket},
					       {"web", key_web}};
	struct walk *w = arg;

	w->server = &w->site->api;
	return yaml_walk_map(&w->yaml, w, key, n, keys, 4);
}

static int key_tsdb(void *arg, const char *key, yaml_node_t *n)
{
	static const struct yaml_key keys[] = {{"web", key_web},
					       {"queries", key_queries}};
	struct walk *w = arg;

	w->server = &w->site->tsdb;
	return yaml_walk_map(&w->yaml, w, key, n, keys, 2);
}

static int read_site_root(void *arg, yaml_node_t *n)
{
	static const struct yaml_key keys[] = {{"ceems_api_server", key_api},
					       {"tsdb", key_tsdb}};
	struct walk *w = arg;

	return n ? yaml_walk_map(&w->yaml, w, "the file", n, keys, 2) : 0;
}

int site_parse(const char *text, size_t len, const char *file, struct site *ret,
	       struct err *err)
{
	struct walk w = {.yaml = {.file = file, .err = err}, .site = ret};

	return yaml_walk_text(&w.yaml, text, len, SITE_FILE_MAX, read_site_root, &w);
}

static int load_file(const char *path, bool must, struct site *ret, struct err *err)
{
	auto_buf struct buf text = BUF_INIT;
	int rc = fs_read_buf_at(AT_FDCWD, path, SITE_FILE_MAX, &text, err);

	if (rc == -ENOENT && !must)
		return rc;
	if (rc < 0)
		return rc;
	return site_parse(text.data ? text.data : "", text.len, path, ret, err);
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

static int from_environment(struct site *ret)
{
	const struct {
		const char *name;
		char **at;
	} vars[] = {{"API_URL", &ret->api.url},
		    {"CEEMS_API_URL", &ret->api.url},
		    {"CEEMS_TOKEN_FILE", &ret->api.token_file},
		    {"CEEMS_CA_FILE", &ret->api.ca_file},
		    {"CEEMS_MUNGE_SOCKET", &ret->api.munge_socket},
		    {"CEEMS_CLUSTER", &ret->cluster},
		    {"CEEMS_TSDB_URL", &ret->tsdb.url}};

	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++) {
		const char *v = getenv(vars[i].name);
		if (v && *v && replace_site_text(vars[i].at, v) < 0)
			return -ENOMEM;
	}
	return 0;
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
	if (rc < 0)
		return rc;
	return from_environment(ret) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

void site_done(struct site *s)
{
	api_site_done(&s->api);
	api_site_done(&s->tsdb);
	free(s->cluster);
	s->cluster = NULL;
	drop_queries(s);
}
