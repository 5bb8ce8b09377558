/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Only what we use is read of a kubeconfig, and other keys are nobody's mistake: it is
 * written for many programs. */
#include "lib/conf/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <yaml.h>

#include "lib/base64.h"
#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/secret.h"

#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define CONFIG_MAX ((size_t)1 << 20)
#define PATH_SIZE 512
#define ITEMS_MAX 1000

struct reading {
	yaml_document_t doc;
	const char *name; /* of the file, in messages and for relative paths */
	struct kubeconfig *to;
	struct err *err;
};

void kubeconfig_done(struct kubeconfig *c)
{
	free(c->url);
	free(c->ca_file);
	free(c->cert_file);
	free(c->key_file);
	free(c->token_file);
	if (c->token)
		explicit_bzero(c->token, strlen(c->token));
	free(c->token);
	for (unsigned i = 0; i < c->fd_count; i++)
		close(c->fds[i]);
	*c = (struct kubeconfig){0};
}

static yaml_node_t *find_member(struct reading *r, yaml_node_t *map, const char *key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *p = map->data.mapping.pairs.start;
	     p < map->data.mapping.pairs.top; p++) {
		yaml_node_t *k = yaml_document_get_node(&r->doc, p->key);
		if (k && k->type == YAML_SCALAR_NODE &&
		    strcmp((const char *)k->data.scalar.value, key) == 0)
			return yaml_document_get_node(&r->doc, p->value);
	}
	return NULL;
}

/* A text without NULs, NULL: there is none. */
static const char *member_text(struct reading *r, yaml_node_t *map, const char *key)
{
	yaml_node_t *v = find_member(r, map, key);

	if (!v || v->type != YAML_SCALAR_NODE || !v->data.scalar.length ||
	    strlen((const char *)v->data.scalar.value) != v->data.scalar.length)
		return NULL;
	return (const char *)v->data.scalar.value;
}

/* The item of a list that has this name, and in it the mapping of this key. */
static yaml_node_t *find_named(struct reading *r, yaml_node_t *root, const char *list,
			       const char *name, const char *key)
{
	yaml_node_t *items = find_member(r, root, list);

	if (!items || items->type != YAML_SEQUENCE_NODE || !name)
		return NULL;
	yaml_node_item_t *i = items->data.sequence.items.start;
	for (int n = 0; i < items->data.sequence.items.top && n < ITEMS_MAX; i++, n++) {
		yaml_node_t *item = yaml_document_get_node(&r->doc, *i);
		const char *s = member_text(r, item, "name");
		if (s && strcmp(s, name) == 0)
			return find_member(r, item, key);
	}
	return NULL;
}

static int copy_kube_text(struct reading *r, const char *text, char **ret)
{
	*ret = strdup(text);
	return *ret ? 0 : err_set(r->err, -ENOMEM, "out of memory");
}

/* A path by the folder of the kubeconfig, where it is relative. */
static int copy_kube_path(struct reading *r, const char *text, char **ret)
{
	const char *slash = strrchr(r->name, '/');
	char path[PATH_SIZE];

	if (text[0] == '/' || !slash)
		return copy_kube_text(r, text, ret);
	int n = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - r->name), r->name,
			 text);
	if (n < 0 || n >= PATH_SIZE)
		return err_set(r->err, -EINVAL, "%s: a path is too long", r->name);
	return copy_kube_text(r, path, ret);
}

/* What stands there as base64 becomes a file, for libcurl wants files: in memory, so
 * that a key is on no disk. */
static int write_text(struct reading *r, const char *key, const char *base64,
		      char **ret)
{
	auto_secret struct buf b = {.max = CONFIG_MAX};
	size_t len = strlen(base64);
	char path[FS_FD_PATH_BYTES];
	char *to = buf_reserve(&b, BASE64_BYTES(len));
	ssize_t n =
		to ? base64_decode(base64, len, BASE64_PADDED, to, BASE64_BYTES(len))
		   : -ENOMEM;

	if (n < 0)
		return err_set(r->err, -EINVAL, "%s: %s: not base64", r->name, key);
	int fd = memfd_create(key, MFD_CLOEXEC);
	bool whole = fd >= 0 && write(fd, to, (size_t)n) == n;
	explicit_bzero(to, (size_t)n);
	if (fd >= 0)
		r->to->fds[r->to->fd_count++] = fd;
	if (!whole)
		return err_set(r->err, -ENOMEM, "%s: %s: no memory for it", r->name,
			       key);
	fs_fd_path(fd, path);
	return copy_kube_text(r, path, ret);
}

/* "KEY" as a path, or "KEY-data" as base64, which wins as in kubectl. */
static int read_file_key(struct reading *r, yaml_node_t *map, const char *key,
			 char **ret)
{
	char data_key[64];

	(void)snprintf(data_key, sizeof(data_key), "%s-data", key);
	const char *data = member_text(r, map, data_key);
	const char *path = member_text(r, map, key);
	return data   ? write_text(r, key, data, ret)
	       : path ? copy_kube_path(r, path, ret)
		      : 0;
}

/* Without these we would be, or talk to, somebody else than is meant. */
static int refuse_kube_keys(struct reading *r, yaml_node_t *map)
{
	static const char *const keys[] = {"exec", "auth-provider",   "username",
					   "as",   "tls-server-name", "proxy-url"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (find_member(r, map, keys[i]))
			return err_set(r->err, -EINVAL,
				       "%s: %s is not supported: give server, and a "
				       "token, tokenFile or client certificate",
				       r->name, keys[i]);
	return 0;
}

static int take_kube_cluster(struct reading *r, yaml_node_t *cluster)
{
	const char *server = member_text(r, cluster, "server");
	const char *insecure = member_text(r, cluster, "insecure-skip-tls-verify");

	if (!server)
		return err_set(r->err, -EINVAL, "%s: the cluster has no server",
			       r->name);
	r->to->insecure = insecure && strcmp(insecure, "true") == 0;
	int rc = copy_kube_text(r, server, &r->to->url);
	size_t len = rc == 0 ? strlen(r->to->url) : 0;
	while (len && r->to->url[len - 1] == '/')
		r->to->url[--len] = '\0';
	if (rc == 0)
		rc = read_file_key(r, cluster, "certificate-authority",
				   &r->to->ca_file);
	return rc < 0 ? rc : refuse_kube_keys(r, cluster);
}

static int take_kube_user(struct reading *r, yaml_node_t *user)
{
	const char *token = member_text(r, user, "token");
	const char *file = member_text(r, user, "tokenFile");
	int rc = read_file_key(r, user, "client-certificate", &r->to->cert_file);

	if (rc == 0)
		rc = read_file_key(r, user, "client-key", &r->to->key_file);
	if (rc == 0 && file)
		rc = copy_kube_path(r, file, &r->to->token_file);
	else if (rc == 0 && token)
		rc = copy_kube_text(r, token, &r->to->token);
	return rc < 0 ? rc : refuse_kube_keys(r, user);
}

static int take_kube_context(struct reading *r)
{
	yaml_node_t *root = yaml_document_get_root_node(&r->doc);
	yaml_node_t *context =
		find_named(r, root, "contexts", member_text(r, root, "current-context"),
			   "context");
	yaml_node_t *cluster = find_named(
		r, root, "clusters", member_text(r, context, "cluster"), "cluster");
	const char *who = member_text(r, context, "user");
	yaml_node_t *user = find_named(r, root, "users", who, "user");

	if (!context || !cluster)
		return err_set(r->err, -EINVAL,
			       "%s: current-context names no context with a cluster",
			       r->name);
	int rc = take_kube_cluster(r, cluster);
	if (rc < 0 || !who)
		return rc;
	return user ? take_kube_user(r, user)
		    : err_set(r->err, -EINVAL, "%s: user %.64s is not in users",
			      r->name, who);
}

int kubeconfig_parse(const char *text, size_t len, const char *name,
		     struct kubeconfig *ret, struct err *err)
{
	struct kubeconfig c = {0};
	struct reading r = {.name = name, .to = &c, .err = err};
	yaml_parser_t parser;

	if (!yaml_parser_initialize(&parser))
		return err_set(err, -ENOMEM, "out of memory");
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	int rc = yaml_parser_load(&parser, &r.doc)
			 ? 0
			 : err_set(err, -EINVAL, "%s:%zu: not YAML", name,
				   parser.problem_mark.line + 1);
	yaml_parser_delete(&parser);
	if (rc == 0) {
		rc = take_kube_context(&r);
		yaml_document_delete(&r.doc);
	}
	if (rc < 0)
		kubeconfig_done(&c);
	else
		*ret = c;
	return rc;
}

/* In a pod: kubernetes.io/docs/tasks/run-application/access-api-from-pod */
static int read_account(struct kubeconfig *ret, struct err *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	struct kubeconfig c = {0};
	char url[300];

	if (!host || !*host || !port || !*port)
		return err_set(err, -ENOENT,
			       "neither a kubeconfig nor a service account");
	(void)snprintf(url, sizeof(url),
		       strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host,
		       port);
	c.url = strdup(url);
	c.ca_file = strdup(ACCOUNT "/ca.crt");
	c.token_file = strdup(ACCOUNT "/token");
	if (!c.url || !c.ca_file || !c.token_file) {
		kubeconfig_done(&c);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = c;
	return 0;
}

int kubeconfig_read(const char *path, struct kubeconfig *ret, struct err *err)
{
	auto_secret struct buf text = {.max = CONFIG_MAX};

	if (!*path)
		return read_account(ret, err);
	int rc = secret_load(path, CONFIG_MAX, &text, err);
	return rc < 0 ? rc
		      : kubeconfig_parse(text.data ? text.data : "", text.len, path,
					 ret, err);
}
