/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of rows for clusters of Kubernetes. */
#include "aggregator/kubernetes/kube_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/conf/yaml_clusters.h"
#include "lib/fs.h"
#include "lib/http/client_url.h"

#define KUBE struct kube
#define DAY_MS 86400000ull
#define IN_CLUSTER "/var/run/secrets/kubernetes.io/serviceaccount/"
#define USERS_MAX 100000u

struct kube_draft {
	struct kube *items;
	size_t count;
};

static int check_server(struct yaml_reader *r, const char *key, yaml_node_t *v,
			void *at)
{
	struct http_url_parts u;
	struct err err = {""};

	return http_url_split(*(const char **)at, &u, &err) < 0
		       ? yaml_walk_fail(&r->w, v, key, err.text)
		       : 0;
}

static const struct yaml_row kube_extra_rows[] = {
	YAML_ROW("server", yaml_read_name, KUBE, server, .check = check_server),
	YAML_PATH("token_file", KUBE, token_file),
	YAML_TEXT("username_prefix", KUBE, prefix),
	YAML_TEXT("username_suffix", KUBE, suffix),
	YAML_LIST("groups", &yaml_item_name, KUBE, groups, group_count, KUBE_NAMES_MAX),
	YAML_PATH("ns_users_list_file", KUBE, users_file),
	YAML_PATH("groups_file", KUBE, groups_file),
	YAML_LIST("gpu_resource_names", &yaml_item_name, KUBE, gpu_names, gpu_count,
		  KUBE_NAMES_MAX),
	YAML_LIST("username_annotations", &yaml_item_name, KUBE, owner_annotations,
		  owner_annotation_count, KUBE_NAMES_MAX),
	YAML_LIST("project_annotations", &yaml_item_name, KUBE, project_annotations,
		  project_annotation_count, KUBE_NAMES_MAX),
	YAML_RANGE("people_interval", ms, KUBE, people_ms, 30000, 1000, DAY_MS),
	YAML_RANGE("list_interval", ms, KUBE, whole_ms, 3600000, 10000, 7 * DAY_MS),
	YAML_RANGE("watch", ms, KUBE, watch_ms, 2000, 1000, 60000),
	YAML_RANGE("rights_interval", ms, KUBE, rights_ms, 30000, 1000, 600000),
	YAML_RANGE("timeout", ms, KUBE, timeout_ms, 30000, 100, 600000),
	YAML_RANGE("page", number, KUBE, page, 500, 1, 5000),
	YAML_PATH("kubeconfig_file", KUBE, kubeconfig_file),
	YAML_END,
};
static const struct yaml_row kube_tls_rows[] = {
	YAML_PATH("ca_file", KUBE, ca_file),
	YAML_PATH("cert_file", KUBE, cert_file),
	YAML_PATH("key_file", KUBE, key_file),
	YAML_BOOL("insecure_skip_verify", KUBE, insecure),
	YAML_END,
};
static const struct yaml_row kube_web_rows[] = {
	YAML_SAME("tls_config", kube_tls_rows),
	YAML_SKIPPED("url", .note = "has no effect for Kubernetes: it is extra_config."
				    "server"),
	YAML_SKIPPED("http_headers", .note = "has no effect"),
	YAML_SKIPPED("follow_redirects", .note = "has no effect: none is followed"),
	YAML_SKIPPED("enable_http2", ),
	YAML_END,
};
static const struct yaml_row kube_rows[] = {
	YAML_ROW("id", yaml_read_name, KUBE, id, ),
	YAML_ROW("manager", yaml_read_name, KUBE, manager, ),
	YAML_SKIPPED("updaters", ),
	YAML_SKIPPED("cli", ),
	YAML_SAME("web", kube_web_rows),
	YAML_SAME("extra_config", kube_extra_rows),
	YAML_END,
};

static int check_kube(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	const KUBE *k = at;
	const char *wrong = NULL;

	(void)key;
	if (!k->id)
		wrong = "a cluster needs an id";
	else if (!k->cert_file != !k->key_file)
		wrong = "tls_config: cert_file and key_file go together";
	else if (k->kubeconfig_file && (k->server || k->token_file || k->ca_file ||
					k->cert_file || k->insecure))
		wrong = "a kubeconfig_file says it all: server, token_file and "
			"tls_config do not go with it";
	else if ((k->server || k->kubeconfig_file) && k->users_file)
		wrong = "ns_users_list_file is for clusters without a server: rights "
			"come from the API server";
	else if (k->users_file && k->groups_file)
		wrong = "groups_file is for clusters with a server, which is asked "
			"what "
			"a group may";
	return wrong ? yaml_walk_fail(&r->w, v, wrong, NULL) : 0;
}

static const struct yaml_row kube_item = {.read = yaml_read_cluster,
					  .rows = kube_rows,
					  .words = "k8s",
					  .check = check_kube};
static const struct yaml_row kube_root_rows[] = {
	YAML_LIST("clusters", &kube_item, struct kube_draft, items, count, KUBES_MAX),
	YAML_OTHER_SECTIONS,
	YAML_END,
};

/* In a pod the cluster's own API server is meant where no other is named. */
static void find_own_server(struct kube *k, struct arena *arena)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	char url[300];

	if (k->server || k->users_file || k->kubeconfig_file || !host || !port)
		return;
	snprintf(url, sizeof(url),
		 strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	k->server = arena_text(arena, url);
	if (!k->token_file)
		k->token_file = IN_CLUSTER "token";
	if (!k->ca_file)
		k->ca_file = IN_CLUSTER "ca.crt";
}

static int take_kubeconfig(struct kube *k, struct err *err)
{
	struct kubeconfig *c = &k->kubeconfig;

	if (!k->kubeconfig_file)
		return 0;
	struct http_url_parts u;
	int rc = kubeconfig_read(k->kubeconfig_file, c, err);
	if (rc == 0)
		rc = http_url_split(c->url, &u, err);
	if (rc < 0)
		return err_prefix(err, rc, "cluster %s: kubeconfig_file", k->id);
	k->server = c->url;
	k->token_file = c->token_file;
	k->token = c->token;
	k->ca_file = c->ca_file;
	k->cert_file = c->cert_file;
	k->key_file = c->key_file;
	k->insecure = c->insecure;
	return 0;
}

int kubes_parse(const char *text, size_t len, const char *file, struct kubes *ret,
		struct buf *notes, struct err *err)
{
	struct kubes made = {.count = 0};
	struct kube_draft d = {.count = 0};
	struct yaml_reader r = {.w = {.file = file, .err = err},
				.arena = &made.arena,
				.expand = true,
				.notes = notes};

	int rc = yaml_rows_read(&r, text, len, KUBE_CONFIG_BYTES_MAX, "configuration",
				kube_root_rows, &d);
	if (rc == 0)
		rc = yaml_clusters_unique(d.items, d.count, sizeof(*d.items), file,
					  err);
	made.items = d.items;
	made.count = d.count;
	for (size_t i = 0; rc == 0 && i < d.count; i++) {
		find_own_server(&d.items[i], &made.arena);
		rc = take_kubeconfig(&d.items[i], err);
	}
	if (rc < 0) {
		kubes_done(&made);
		return rc;
	}
	*ret = made;
	return 0;
}

int kubes_read(const char *path, struct kubes *ret, struct buf *notes, struct err *err)
{
	auto_buf struct buf text = BUF_INIT;
	struct stat st;
	int rc = fs_read_buf_at(AT_FDCWD, path, KUBE_CONFIG_BYTES_MAX, &text, err);

	if (rc == 0 && stat(path, &st) == 0)
		rc = yaml_clusters_mode(path, &st, err);
	return rc < 0 ? rc
		      : kubes_parse(text.data ? text.data : "", text.len, path, ret,
				    notes, err);
}

void kubes_done(struct kubes *k)
{
	for (size_t i = 0; i < k->count; i++)
		kubeconfig_done(&k->items[i].kubeconfig);
	arena_done(&k->arena);
	*k = (struct kubes){.count = 0};
}

int kube_user(const struct kube *k, const char *login, char ret[KUBE_USER_BYTES])
{
	if ((!k->prefix && !k->suffix) || !*login)
		return -ENOENT;
	int n = snprintf(ret, KUBE_USER_BYTES, "%s%s%s", k->prefix ? k->prefix : "",
			 login, k->suffix ? k->suffix : "");
	if (n < 0 || n >= KUBE_USER_BYTES)
		return -ENAMETOOLONG;
	/* Kubernetes' own accounts are nobody's, whatever the prefix */
	return strncmp(ret, "system:", 7) == 0 ? -ENOENT : 0;
}

/* ---- the users file -------------------------------------------------------------- */

/* of namespaces, or of groups */
struct kube_users {
	struct yaml_walk w;
	struct buf *out;
	const char *of, *name;
	size_t rows;
};

static int read_users_user(void *arg, const char *key, yaml_node_t *v)
{
	struct kube_users *u = arg;
	const char *name = NULL;
	int rc = yaml_walk_scalar(&u->w, key, v, &name);

	if (rc < 0)
		return rc;
	if (u->rows >= USERS_MAX)
		return yaml_walk_fail(&u->w, v, key, "too many users");
	buf_printf(u->out, "%s{\"%s\":", u->rows++ ? "," : "", u->of);
	buf_put_json(u->out, u->name, strlen(u->name));
	buf_puts(u->out, ",\"user\":");
	buf_put_json(u->out, name, strlen(name));
	buf_putc(u->out, '}');
	return 0;
}

static int read_users_namespace(void *arg, const char *name, yaml_node_t *key,
				yaml_node_t *value)
{
	struct kube_users *u = arg;

	(void)key;
	u->name = name;
	return yaml_walk_list(&u->w, u, name, value, USERS_MAX, read_users_user);
}

static int read_users_map(void *arg, const char *key, yaml_node_t *value)
{
	struct kube_users *u = arg;

	return yaml_walk_pairs(&u->w, u, key, value, read_users_namespace);
}

static int read_users_root(void *arg, yaml_node_t *node)
{
	static const struct yaml_key namespaces[] = {{"users", read_users_map}},
				     groups[] = {{"groups", read_users_map}};
	struct kube_users *u = arg;

	return node ? yaml_walk_map(&u->w, u, "the file", node,
				    strcmp(u->of, "group") == 0 ? groups : namespaces,
				    1)
		    : 0;
}

static int parse_users(struct kube_users *u, const char *text, size_t len)
{
	buf_putc(u->out, '[');
	int rc = yaml_walk_text(&u->w, text, len, (size_t)16 << 20, read_users_root, u);
	buf_putc(u->out, ']');
	return rc < 0 ? rc : buf_error(u->out);
}

int kube_users_parse(const char *text, size_t len, const char *file, struct buf *ret,
		     struct err *err)
{
	struct kube_users u = {
		.w = {.file = file, .err = err}, .out = ret, .of = "namespace"};

	return parse_users(&u, text, len);
}

int kube_groups_parse(const char *text, size_t len, const char *file, struct buf *ret,
		      struct err *err)
{
	struct kube_users u = {
		.w = {.file = file, .err = err}, .out = ret, .of = "group"};

	return parse_users(&u, text, len);
}
