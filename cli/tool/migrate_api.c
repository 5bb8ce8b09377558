/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration file of the peer's API server (reference: the comments of its
 * sample, build/config/ceems_api_server), key by key: ours, or why there is none. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/migrate.h"
#include "lib/cleanup.h"
#include "lib/conf/yaml_walk.h"

#define ITEMS_MAX 256

struct api_config {
	struct yaml_walk w;
	struct migrated *m;
	const char *path;
	const char *manager, *cluster, *bindir; /* of the cluster in hand */
	bool slurm, others;
	struct conf_list *list; /* being read */
};

/* A key without a counterpart, whatever its value; an empty one says nothing. */
static int name_unmatched(struct api_config *c, const char *key, yaml_node_t *v,
			  const char *why)
{
	bool empty = !v || (v->type == YAML_SCALAR_NODE && !v->data.scalar.length) ||
		     (v->type == YAML_SEQUENCE_NODE &&
		      v->data.sequence.items.start == v->data.sequence.items.top) ||
		     (v->type == YAML_MAPPING_NODE &&
		      v->data.mapping.pairs.start == v->data.mapping.pairs.top);

	if (!empty)
		finding(c->m->f, LEVEL_WARN, why, "%s:%zu: no counterpart: %s", c->path,
			yaml_walk_line(v), key);
	return 0;
}

static int name_data_key(void *arg, const char *key, yaml_node_t *v)
{
	return name_unmatched(
		arg, key, v,
		"nodes send reports and Postgres keeps them: doc/aggregator.md, "
		"--db.url, --data.path and --retention.*");
}

static int name_web_key(void *arg, const char *key, yaml_node_t *v)
{
	return name_unmatched(arg, key, v,
			      "it is the load balancer's way to the API: lb.yaml");
}

static int name_updaters(void *arg, const char *key, yaml_node_t *v)
{
	return name_unmatched(
		arg, key, v,
		"reports of nodes have the measured energy; no time-series "
		"database is asked");
}

static int name_cluster_key(void *arg, const char *key, yaml_node_t *v)
{
	return name_unmatched(arg, key, v,
			      "no counterpart is needed for a Slurm cluster");
}

static int name_secret(void *arg, const char *key, yaml_node_t *v)
{
	return name_unmatched(
		arg, key, v,
		"put a token of Grafana into a file of mode 0600 and name it "
		"by admin.grafana.token-file");
}

static int name_client_key(void *arg, const char *key, yaml_node_t *v)
{
	return name_unmatched(arg, key, v, "set what is needed of it by hand");
}

static int skip_key(void *arg, const char *key, yaml_node_t *v)
{
	(void)arg;
	(void)key;
	(void)v;
	return 0;
}

static int read_item(void *arg, const char *key, yaml_node_t *v)
{
	struct api_config *c = arg;
	const char *s;
	int rc = yaml_walk_scalar(&c->w, key, v, &s);

	if (rc == 0 && conf_list_add(c->list, s) < 0)
		rc = err_set(c->w.err, -ENOMEM, "out of memory");
	return rc;
}

static int add_list(struct api_config *c, const char *name, const char *key,
		    yaml_node_t *v)
{
	struct conf_list list = {NULL, 0};

	c->list = &list;
	int rc = yaml_walk_list(&c->w, c, key, v, ITEMS_MAX, read_item);
	if (rc == 0 && list.count)
		rc = migrated_add(c->m, name, &list, c->w.err);
	conf_list_done(&list);
	return rc;
}

static int add_scalar(struct api_config *c, const char *name, const char *key,
		      yaml_node_t *v)
{
	const char *s;
	int rc = yaml_walk_scalar(&c->w, key, v, &s);

	return rc == 0 && *s ? migrated_add_one(c->m, name, s, c->w.err) : rc;
}

static int read_admin_users(void *arg, const char *key, yaml_node_t *v)
{
	return add_list(arg, "admin.users", key, v);
}

static int read_grafana_url(void *arg, const char *key, yaml_node_t *v)
{
	return add_scalar(arg, "admin.grafana.url", key, v);
}

static int read_grafana_teams(void *arg, const char *key, yaml_node_t *v)
{
	return add_list(arg, "admin.grafana.teams-ids", key, v);
}

static int read_token_file(void *arg, const char *key, yaml_node_t *v)
{
	return add_scalar(arg, "admin.grafana.token-file", key, v);
}

static int read_ca_file(void *arg, const char *key, yaml_node_t *v)
{
	return add_scalar(arg, "admin.grafana.ca-file", key, v);
}

static int read_authorization(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"type", skip_key},
					       {"credentials", name_secret},
					       {"credentials_file", read_token_file}};
	struct api_config *c = arg;

	return yaml_walk_map(&c->w, c, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int read_tls(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"ca", name_client_key},
		{"ca_file", read_ca_file},
		{"cert", name_client_key},
		{"cert_file", name_client_key},
		{"key", name_client_key},
		{"key_file", name_client_key},
		{"server_name", name_client_key},
		{"insecure_skip_verify", name_client_key},
		{"min_version", name_client_key},
		{"max_version", name_client_key}};
	struct api_config *c = arg;

	return yaml_walk_map(&c->w, c, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int read_grafana(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"url", read_grafana_url},
		{"teams_ids", read_grafana_teams},
		{"basic_auth", name_secret},
		{"authorization", read_authorization},
		{"oauth2", name_secret},
		{"tls_config", read_tls},
		{"follow_redirects", skip_key},
		{"enable_http2", skip_key},
		{"proxy_url", name_client_key},
		{"no_proxy", name_client_key},
		{"proxy_from_environment", name_client_key},
		{"http_headers", name_secret},
	};
	struct api_config *c = arg;

	return yaml_walk_map(&c->w, c, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int read_admin(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"users", read_admin_users},
					       {"grafana", read_grafana}};
	struct api_config *c = arg;

	return yaml_walk_map(&c->w, c, key, v, keys, 2);
}

static int read_data(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"path", name_data_key},
					       {"retention_period", name_data_key},
					       {"update_interval", name_data_key},
					       {"max_update_interval", name_data_key},
					       {"update_from", name_data_key},
					       {"time_zone", name_data_key},
					       {"backup_path", name_data_key},
					       {"backup_interval", name_data_key}};
	struct api_config *c = arg;

	return yaml_walk_map(&c->w, c, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int read_server(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"data", read_data}, {"admin", read_admin}, {"web", name_web_key}};
	struct api_config *c = arg;

	return yaml_walk_map(&c->w, c, key, v, keys, 3);
}

/* ---- clusters -------------------------------------------------------------------- */

static int read_cluster_text(void *arg, const char *key, yaml_node_t *v)
{
	struct api_config *c = arg;

	return yaml_walk_scalar(&c->w, key, v,
				strcmp(key, "id") == 0        ? &c->cluster
				: strcmp(key, "manager") == 0 ? &c->manager
							      : &c->bindir);
}

static int read_cli(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"path", read_cluster_text},
		{"environment_variables", name_cluster_key}};
	struct api_config *c = arg;

	return yaml_walk_map(&c->w, c, key, v, keys, 2);
}

static int read_cluster(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"id", read_cluster_text}, {"manager", read_cluster_text},
		{"updaters", skip_key},    {"cli", read_cli},
		{"web", skip_key},         {"extra_config", skip_key}};
	struct api_config *c = arg;

	c->cluster = c->manager = c->bindir = "";
	int rc = yaml_walk_map(&c->w, c, key, v, keys, sizeof(keys) / sizeof(keys[0]));
	if (rc < 0)
		return rc;
	if (strcmp(c->manager, "slurm") == 0) {
		if (!c->slurm && *c->bindir)
			rc = migrated_add_one(c->m, "slurm.bindir", c->bindir,
					      c->w.err);
		finding(c->m->f, LEVEL_OK, NULL,
			"%s:%zu: cluster %s: it is known by its reports, if its "
			"ClusterName is that",
			c->path, yaml_walk_line(v), c->cluster);
		c->slurm = true;
	} else if (strcmp(c->manager, "openstack") == 0 ||
		   strcmp(c->manager, "k8s") == 0) {
		c->others = true;
	} else {
		name_unmatched(c, "this manager of a cluster", v,
			       "slurm, openstack and k8s are known");
	}
	return rc;
}

static int read_clusters(void *arg, const char *key, yaml_node_t *v)
{
	struct api_config *c = arg;
	int rc = yaml_walk_list(&c->w, c, key, v, ITEMS_MAX, read_cluster);

	if (rc == 0 && c->slurm)
		rc = migrated_add_one(c->m, "people.associations", "sacctmgr",
				      c->w.err);
	/* its spelling is read as it is: doc/openstack.md, doc/k8s_aggregator.md */
	if (rc == 0 && c->others)
		rc = migrated_add_one(c->m, "clusters.file", c->path, c->w.err);
	return rc;
}

static int read_api_root(void *arg, yaml_node_t *root)
{
	static const struct yaml_key keys[] = {{"ceems_api_server", read_server},
					       {"clusters", read_clusters},
					       {"updaters", name_updaters},
					       /* a file that both servers read */
					       {"ceems_lb", skip_key}};
	struct api_config *c = arg;

	return root ? yaml_walk_map(&c->w, c, "the file", root, keys, 4) : 0;
}

int migrate_api_config(const char *path, const char *text, size_t len,
		       struct migrated *m, struct err *err)
{
	struct api_config c = {.w = {.file = path, .err = err}, .m = m, .path = path};

	return yaml_walk_text(&c.w, text, len, MIGRATE_BYTES_MAX, read_api_root, &c);
}
