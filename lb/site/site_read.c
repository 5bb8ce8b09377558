/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the configuration file section by section. The peer's file is accepted as it
 * is, even if it is shared with its API server; settings without effect here are noted
 * by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/site/site_impl.h"
#include "lib/cleanup.h"
#include "lib/parse.h"
#include "lib/secret.h"

/* ---- values ---------------------------------------------------------------------- */

int site_no_memory(struct site_parser *p)
{
	return err_set(p->w.err, -ENOMEM, "%s: out of memory", p->w.file);
}

void site_note(struct site_parser *p, const char *key, const char *text)
{
	buf_printf(&p->notes, "%s: %s\n", key, text);
}

int site_text(struct site_parser *p, const char *key, yaml_node_t *v, const char **ret)
{
	char *text = NULL;
	int rc = yaml_walk_value(&p->w, p->expand, key, v, &text);

	if (rc < 0)
		return rc;
	const char *kept = arena_text(p->arena, text);
	explicit_bzero(text, strlen(text));
	free(text);
	if (!kept)
		return site_no_memory(p);
	*ret = kept;
	return 0;
}

int site_path(struct site_parser *p, const char *key, yaml_node_t *v, const char **ret)
{
	const char *slash = strrchr(p->w.file, '/'), *path = NULL;
	int rc = site_text(p, key, v, &path);

	if (rc < 0)
		return rc;
	if (!*path)
		return yaml_walk_fail(&p->w, v, key, "must name a file");
	if (*path != '/' && slash) {
		int n = (int)(slash - p->w.file);
		size_t size = (size_t)n + strlen(path) + 2;
		char *full = arena_alloc(p->arena, size, 1);

		if (!full)
			return site_no_memory(p);
		snprintf(full, size, "%.*s/%s", n, p->w.file, path);
		path = full;
	}
	buf_printf(&p->files, "%s\n", path);
	*ret = path;
	return 0;
}

int site_number(struct site_parser *p, const char *key, yaml_node_t *v, char kind,
		uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *s = NULL;
	uint64_t n = 0;
	int rc = site_text(p, key, v, &s);

	if (rc < 0)
		return rc;
	rc = kind == 'd' ? parse_duration_ms(s, &n) : parse_u64(s, &n);
	if (rc < 0)
		return yaml_walk_fail(&p->w, v, key,
				      kind == 'd' ? "not a duration, such as 10s or 30d"
						  : "not a number");
	if (n < min || n > max)
		return err_set(p->w.err, -EINVAL,
			       "%s:%zu: %s: must be from %llu to %llu%s", p->w.file,
			       yaml_walk_line(v), key, (unsigned long long)min,
			       (unsigned long long)max, kind == 'd' ? " ms" : "");
	*ret = n;
	return 0;
}

static int on_string(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc == 0 && !*s)
		rc = yaml_walk_fail(&p->w, v, key, "empty");
	if (rc == 0)
		p->list->items[p->list->count++] = s;
	return rc;
}

int site_strings(struct site_parser *p, const char *key, yaml_node_t *v,
		 struct site_list *list)
{
	list->count = 0;
	p->list = list;
	return yaml_walk_list(&p->w, p, key, v, SITE_LIST_MAX, on_string);
}

int site_unsupported(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return yaml_walk_fail(&p->w, v, "not supported", key);
}

int site_ignored(void *arg, const char *key, yaml_node_t *v)
{
	(void)v;
	site_note(arg, key, "has no effect here");
	return 0;
}

/* Keys of other programs that share the file. */
static int skip_foreign_key(void *arg, const char *key, yaml_node_t *v)
{
	(void)arg;
	(void)key;
	(void)v;
	return 0;
}

/* ---- ceems_lb -------------------------------------------------------------------- */

static int on_strategy(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc < 0)
		return rc;
	p->strategy = STRATEGY_ROUND_ROBIN;
	if (strcmp(s, "least-connection") == 0)
		p->strategy = STRATEGY_LEAST_CONNECTION;
	else if (strcmp(s, "resource-based") == 0)
		site_note(p, "strategy: resource-based",
			  "round-robin among servers that hold the time of a query: "
			  "say which by retention or range");
	else if (strcmp(s, "round-robin") != 0)
		return yaml_walk_fail(&p->w, v, key,
				      "must be round-robin or least-connection");
	return 0;
}

static int on_open(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return yaml_walk_bool(&p->w, key, v, &p->site->open);
}

struct number {
	const char *name;
	size_t off;
	char kind;
	uint64_t def, min, max;
};

#define NUMBER(name_, member_, ...)                                                    \
	{                                                                              \
		name_, offsetof(struct site_numbers, member_), __VA_ARGS__             \
	}

static const struct number limits[] = {
	NUMBER("user_requests", user_requests, 'n', 20, 0, 65536),
	NUMBER("user_rate", user_rate, 'n', 0, 0, 1000000),
	NUMBER("user_burst", user_burst, 'n', 0, 0, 1000000),
	NUMBER("owned", ownership_ms, 'd', 60000, 1000, 86400000),
	NUMBER("unknown", unknown_ms, 'd', 3000, 1000, 60000),
	NUMBER("linger", linger_ms, 'd', 300000, 0, 86400000),
	NUMBER("cache_entries", cache_entries, 'n', 65536, 1024, 1 << 24),
};
static const struct number health[] = {
	NUMBER("interval", interval_ms, 'd', 5000, 100, 3600000),
	NUMBER("timeout", timeout_ms, 'd', 2000, 50, 60000),
	NUMBER("fall", fall, 'n', 2, 1, 100),
	NUMBER("fail_after", fail_after, 'n', 3, 1, 1000),
	NUMBER("eject", eject_ms, 'd', 1000, 10, 3600000),
	NUMBER("eject_max", eject_max_ms, 'd', 60000, 10, 3600000),
	NUMBER("slow_start", slow_start_ms, 'd', 10000, 0, 3600000),
};
#define LIMITS (sizeof(limits) / sizeof(limits[0]))
#define HEALTH (sizeof(health) / sizeof(health[0]))

static uint64_t *number_at(struct site_parser *p, const struct number *n)
{
	return (uint64_t *)(void *)((char *)&p->numbers + n->off);
}

static void default_numbers(struct site_parser *p)
{
	for (size_t i = 0; i < LIMITS; i++)
		*number_at(p, &limits[i]) = limits[i].def;
	for (size_t i = 0; i < HEALTH; i++)
		*number_at(p, &health[i]) = health[i].def;
}

static int on_number(struct site_parser *p, const struct number *n, const char *key,
		     yaml_node_t *v)
{
	while (strcmp(n->name, key) != 0)
		n++;
	return site_number(p, key, v, n->kind, n->min, n->max, number_at(p, n));
}

static int on_limit(void *arg, const char *key, yaml_node_t *v)
{
	return on_number(arg, limits, key, v);
}

static int on_health_number(void *arg, const char *key, yaml_node_t *v)
{
	return on_number(arg, health, key, v);
}

static int on_numbers(struct site_parser *p, const char *key, yaml_node_t *v,
		      const struct number *numbers, size_t n, yaml_key_f f)
{
	struct yaml_key keys[LIMITS + HEALTH];

	for (size_t i = 0; i < n; i++)
		keys[i] = (struct yaml_key){numbers[i].name, f};
	return yaml_walk_map(&p->w, p, key, v, keys, n);
}

static int on_limits(void *arg, const char *key, yaml_node_t *v)
{
	return on_numbers(arg, key, v, limits, LIMITS, on_limit);
}

static int on_health(void *arg, const char *key, yaml_node_t *v)
{
	return on_numbers(arg, key, v, health, HEALTH, on_health_number);
}

static int on_role(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;

	if (strcmp(key, "operators_read_all") == 0)
		return yaml_walk_bool(&p->w, key, v, &p->site->operators_read_all);
	return site_strings(p, key, v,
			    strcmp(key, "admins") == 0 ? &p->admins : &p->operators);
}

static int on_roles(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"admins", on_role},
					       {"operators", on_role},
					       {"operators_read_all", on_role}};
	struct site_parser *p = arg;

	p->roles_line = yaml_walk_line(v);
	return yaml_walk_map(&p->w, p, key, v, keys, 3);
}

static int on_audit_key(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return yaml_walk_bool(&p->w, key, v,
			      strcmp(key, "decisions") == 0 ? &p->site->audit
							    : &p->site->audit_query);
}

static int on_audit(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"decisions", on_audit_key},
					       {"query_text", on_audit_key}};
	struct site_parser *p = arg;
	int rc = yaml_walk_map(&p->w, p, key, v, keys, 2);

	if (rc == 0 && p->site->audit_query && !p->site->audit)
		rc = yaml_walk_fail(&p->w, v, key, "query_text needs decisions");
	return rc;
}

/* ---- identity -------------------------------------------------------------------- */

static int on_identity_flag(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct identity_params *i = &p->site->identity;
	bool *flag = &i->munge;

	if (strcmp(key, "munge_unbound") == 0)
		flag = &i->munge_unbound;
	else if (strcmp(key, "front_end_roles") == 0)
		flag = &i->front_end_roles;
	return yaml_walk_bool(&p->w, key, v, flag);
}

static int on_identity_text(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct identity_params *i = &p->site->identity;

	if (strcmp(key, "munge_socket") == 0)
		return site_text(p, key, v, &i->munge_socket);
	if (strcmp(key, "certificate_suffix") == 0)
		return site_text(p, key, v, &i->certificate_suffix);
	if (strcmp(key, "token_keys") == 0) { /* a URL or a file */
		int rc = site_text(p, key, v, &i->token_keys);
		if (rc == 0 && !strstr(i->token_keys, "://"))
			buf_printf(&p->files, "%s\n", i->token_keys);
		return rc;
	}
	return site_path(p, key, v, &i->token_ca_file);
}

static int on_certificate(void *arg, const char *key, yaml_node_t *v)
{
	static const char *const names[] = {"off", "cn", "email", "dns"};
	struct site_parser *p = arg;
	const char *s = NULL;
	int rc = site_text(p, key, v, &s);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < 4; i++) {
		if (strcmp(s, names[i]) == 0) {
			p->site->identity.certificate = (enum identity_certificate)i;
			return 0;
		}
	}
	return yaml_walk_fail(&p->w, v, key, "must be off, cn, email or dns");
}

static int on_identity_list(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	struct site_list *list = &p->token_audiences;

	if (strcmp(key, "front_ends") == 0)
		list = &p->front_ends;
	else if (strcmp(key, "front_end_addresses") == 0)
		list = &p->front_end_addresses;
	else if (strcmp(key, "metrics") == 0)
		list = &p->metrics;
	else if (strcmp(key, "munge_hosts") == 0)
		list = &p->munge_hosts;
	else if (strcmp(key, "user_headers") == 0)
		list = &p->user_headers;
	else if (strcmp(key, "token_issuers") == 0)
		list = &p->token_issuers;
	int rc = site_strings(p, key, v, list);

	if (rc == 0 && list == &p->user_headers && !list->count)
		rc = yaml_walk_fail(&p->w, v, key,
				    "names no header (without this key it is "
				    "X-Grafana-User)");
	return rc;
}

static int on_identity(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"munge", on_identity_flag},
		{"munge_socket", on_identity_text},
		{"munge_hosts", on_identity_list},
		{"munge_unbound", on_identity_flag},
		{"certificate", on_certificate},
		{"certificate_suffix", on_identity_text},
		{"front_ends", on_identity_list},
		{"front_end_addresses", on_identity_list},
		{"front_end_roles", on_identity_flag},
		{"metrics", on_identity_list},
		{"user_headers", on_identity_list},
		{"token_keys", on_identity_text},
		{"token_ca_file", on_identity_text},
		{"token_issuers", on_identity_list},
		{"token_audiences", on_identity_list},
	};
	struct site_parser *p = arg;

	p->identity_line = yaml_walk_line(v);
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int on_lb(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"strategy", on_strategy}, {"backends", site_on_backends},
		{"open", on_open},         {"limits", on_limits},
		{"health", on_health},     {"roles", on_roles},
		{"audit", on_audit},       {"identity", on_identity},
		SITE_ACCESS_KEYS,
	};
	struct site_parser *p = arg;
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

/* ---- ceems_api_server, clusters -------------------------------------------------- */

static int on_api_data(void *arg, const char *key, yaml_node_t *v)
{
	(void)v;
	site_note(arg, key,
		  "ignored: no database file is read, ownership comes from "
		  "ceems_api_server.web.url");
	return 0;
}

static int on_api_admins(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return site_strings(p, key, v, &p->api_admins);
}

static int on_api_admin(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"users", on_api_admins},
					       {"grafana", site_ignored}};
	struct site_parser *p = arg;
	return yaml_walk_map(&p->w, p, key, v, keys, 2);
}

static int on_api_web(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;

	p->has_api = true;
	return site_client(p, &p->api, key, v);
}

static int on_api(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"data", on_api_data}, {"admin", on_api_admin}, {"web", on_api_web}};
	struct site_parser *p = arg;
	return yaml_walk_map(&p->w, p, key, v, keys, 3);
}

static int on_known_id(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	p->list = &p->known;
	return on_string(p, key, v);
}

static int on_cluster(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {
		{"id", on_known_id},
		{"manager", skip_foreign_key},
		{"updaters", skip_foreign_key},
		{"cli", skip_foreign_key},
		{"web", skip_foreign_key},
		{"extra_config", skip_foreign_key},
	};
	struct site_parser *p = arg;
	return yaml_walk_map(&p->w, p, key, v, keys, 6);
}

static int on_clusters(void *arg, const char *key, yaml_node_t *v)
{
	struct site_parser *p = arg;
	return yaml_walk_list(&p->w, p, key, v, SITE_LIST_MAX, on_cluster);
}

static int at_root(void *arg, yaml_node_t *root)
{
	static const struct yaml_key keys[] = {{"ceems_lb", on_lb},
					       {"ceems_api_server", on_api},
					       {"clusters", on_clusters},
					       {"updaters", skip_foreign_key}};
	struct site_parser *p = arg;

	return root ? yaml_walk_map(&p->w, p, "configuration", root, keys, 4) : 0;
}

int site_parse(const char *text, size_t len, const char *file, bool expand,
	       const struct site *before, struct site **ret, bool *ret_secrets,
	       struct err *err)
{
	struct site_store *s = calloc(1, sizeof(*s));
	struct access_draft all = {.inject = -1};
	struct site_parser p = {
		.w = {.file = file, .err = err}, .expand = expand, .access = &all};

	if (!s)
		return err_set(err, -ENOMEM, "%s: out of memory", file);
	atomic_init(&s->refs, 1);
	p.arena = &s->arena;
	p.site = &s->pub;
	p.site->identity.munge = true;
	p.site->identity.munge_unbound = true;
	p.api.munge = -1;
	default_numbers(&p);
	int rc = yaml_walk_text(&p.w, text, len, SITE_BYTES_MAX, at_root, &p);
	if (rc == 0)
		rc = site_build(&p, before);
	buf_done(&p.notes);
	buf_done(&p.files);
	arena_done(&p.drafts);
	if (rc < 0) {
		site_unref(&s->pub);
		return rc;
	}
	if (ret_secrets)
		*ret_secrets = p.secrets;
	*ret = &s->pub;
	return 0;
}

int site_read(const char *path, bool expand, const struct site *before,
	      struct site **ret, struct err *err)
{
	auto_secret struct buf text = BUF_INIT;
	struct site *site = NULL;
	struct stat st = {0};
	bool secrets = false;
	int rc = secret_read(path, SITE_BYTES_MAX, &text, &st, err);

	if (rc == 0)
		rc = site_parse(text.data ? text.data : "", text.len, path, expand,
				before, &site, &secrets, err);
	if (rc < 0)
		return rc;
	/* whoever can write it decides who may read what, even without secrets */
	if (st.st_mode & 0022)
		rc = err_set(err, -EPERM,
			     "%s: can be written by others than its owner (mode %04o), "
			     "refused (chmod go-w)",
			     path, st.st_mode & 07777);
	if (rc == 0 && secrets)
		rc = secret_check(path, &st, err);
	if (rc < 0) {
		site_unref(site);
		return rc;
	}
	*ret = site;
	return 0;
}
