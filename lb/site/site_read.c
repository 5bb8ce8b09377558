/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sections of the configuration file by their keys. The peer's file is accepted as
 * it is, even if it is shared with its API server; settings without effect here are
 * noted by name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lb/site/site_impl.h"
#include "lib/cleanup.h"
#include "lib/conf/dropins.h"
#include "lib/secret.h"

#define SITE struct site_parser

int site_fail(struct site_parser *p, size_t line, const char *what, const char *detail)
{
	return err_set(p->r.w.err, -EINVAL, "%s:%zu: %s%s%s", p->r.w.file, line, what,
		       detail ? ": " : "", detail ? detail : "");
}

/* ---- ceems_lb -------------------------------------------------------------------- */

static int read_strategy(struct yaml_reader *r, const struct yaml_row *row,
			 const char *key, yaml_node_t *v, void *at)
{
	const char *s = "";
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc < 0 || strcmp(s, "resource-based") != 0)
		return rc < 0 ? rc : yaml_read_word(r, row, key, v, at);
	*(enum backend_strategy *)at = STRATEGY_ROUND_ROBIN;
	yaml_reader_note(r, "strategy: resource-based",
			 "round-robin among servers that hold the time of a query: "
			 "say which by retention or range");
	return 0;
}

#define LIMIT(key_, kind_, member_, ...)                                               \
	YAML_RANGE(key_, kind_, struct site_limits, member_, __VA_ARGS__)
static const struct yaml_row limit_rows[] = {
	LIMIT("user_requests", number, user_requests, 20, 0, 65536),
	LIMIT("user_rate", number, user_rate, 0, 0, 1000000),
	LIMIT("user_burst", number, user_burst, 0, 0, 1000000),
	LIMIT("owned", seconds, ownership_s, 60, 1000, 86400000),
	LIMIT("unknown", seconds, unknown_s, 3, 1000, 60000),
	LIMIT("linger", seconds, linger_s, 300, 0, 86400000),
	LIMIT("cache_entries", number, cache_entries, 65536, 1024, 1 << 24),
	YAML_END,
};

#define CARE(key_, kind_, member_, ...)                                                \
	YAML_RANGE(key_, kind_, struct backend_care, member_, __VA_ARGS__)
static const struct yaml_row health_rows[] = {
	CARE("interval", ms, interval_ms, 5000, 100, 3600000),
	CARE("timeout", ms, timeout_ms, 2000, 50, 60000),
	CARE("fall", number, fall, 2, 1, 100),
	CARE("fail_after", number, fail_after, 3, 1, 1000),
	CARE("eject", ms, eject_ms, 1000, 10, 3600000),
	CARE("eject_max", ms, eject_max_ms, 60000, 10, 3600000),
	CARE("slow_start", ms, slow_start_ms, 10000, 0, 3600000),
	YAML_END,
};

static const struct yaml_row role_rows[] = {
	YAML_LIST("admins", &yaml_item_name, struct site, admins, admin_count,
		  SITE_LIST_MAX),
	YAML_LIST("operators", &yaml_item_name, struct site, operators, operator_count,
		  SITE_LIST_MAX),
	YAML_BOOL("operators_read_all", struct site, operators_read_all),
	YAML_END,
};

static const struct yaml_row audit_rows[] = {
	YAML_BOOL("decisions", struct site, audit),
	YAML_BOOL("query_text", struct site, audit_query),
	YAML_END,
};

static int check_audit(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	const struct site *s = at;

	return s->audit_query && !s->audit
		       ? yaml_walk_fail(&r->w, v, key, "query_text needs decisions")
		       : 0;
}

/* A URL or a file */
static int check_token_keys(struct yaml_reader *r, const char *key, yaml_node_t *v,
			    void *at)
{
	const char *s = *(const char **)at;

	(void)key;
	(void)v;
	if (!strstr(s, "://"))
		buf_printf(r->files, "%s\n", s);
	return 0;
}

#define IDENTITY struct identity_params
static int check_user_headers(struct yaml_reader *r, const char *key, yaml_node_t *v,
			      void *at)
{
	const IDENTITY *i =
		(const void *)((char *)at - offsetof(IDENTITY, user_headers));

	return i->user_header_count
		       ? 0
		       : yaml_walk_fail(&r->w, v, key,
					"names no header (without this key it is "
					"X-Grafana-User)");
}

#define NAMES(key_, items_, count_, ...)                                               \
	YAML_LIST(key_, &yaml_item_name, IDENTITY, items_, count_, SITE_LIST_MAX,      \
		  __VA_ARGS__)
static const struct yaml_row identity_rows[] = {
	YAML_BOOL("munge", IDENTITY, munge),
	YAML_TEXT("munge_socket", IDENTITY, munge_socket),
	NAMES("munge_hosts", munge_hosts, munge_host_count, ),
	YAML_BOOL("munge_unbound", IDENTITY, munge_unbound),
	YAML_ROW("certificate", yaml_read_word, IDENTITY, certificate,
		 .words = "off cn email dns"),
	YAML_TEXT("certificate_suffix", IDENTITY, certificate_suffix),
	NAMES("front_ends", front_ends, front_end_count, ),
	NAMES("front_end_addresses", front_end_addresses, front_end_address_count, ),
	YAML_BOOL("front_end_roles", IDENTITY, front_end_roles),
	NAMES("metrics", metrics, metrics_count, ),
	NAMES("user_headers", user_headers, user_header_count,
	      .check = check_user_headers),
	YAML_TEXT("token_keys", IDENTITY, token_keys, .check = check_token_keys),
	YAML_PATH("token_ca_file", IDENTITY, token_ca_file),
	NAMES("token_issuers", token_issuers, token_issuer_count, ),
	NAMES("token_audiences", token_audiences, token_audience_count, ),
	YAML_END,
};

static const struct yaml_row lb_rows[] = {
	YAML_ROW("strategy", read_strategy, SITE, strategy,
		 .words = "round-robin least-connection"),
	YAML_LIST("backends", &site_cluster_item, SITE, clusters, cluster_count,
		  SITE_CLUSTERS_MAX),
	YAML_BOOL("open", SITE, draft.open),
	YAML_MAP("limits", limit_rows, SITE, draft.limits),
	YAML_MAP("health", health_rows, SITE, care),
	YAML_MAP("roles", role_rows, SITE, draft, .given = offsetof(SITE, roles_line)),
	YAML_MAP("audit", audit_rows, SITE, draft, .check = check_audit),
	YAML_MAP("identity", identity_rows, SITE, draft.identity,
		 .given = offsetof(SITE, identity_line)),
	SITE_ACCESS_ROWS(SITE, access),
	YAML_END,
};

/* ---- ceems_api_server, clusters -------------------------------------------------- */

static const struct yaml_row api_admin_rows[] = {
	YAML_LIST("users", &yaml_item_name, SITE, api_admins, api_admin_count,
		  SITE_LIST_MAX),
	YAML_SKIPPED("grafana", .note = "has no effect here"),
	YAML_END,
};

static const struct yaml_row api_rows[] = {
	YAML_SKIPPED("data",
		     .note = "ignored: no database file is read, ownership comes "
			     "from ceems_api_server.web.url"),
	YAML_SAME("admin", api_admin_rows),
	YAML_MAP("web", site_client_rows, SITE, api, .given = offsetof(SITE, api.line),
		 .check = site_check_client),
	YAML_END,
};

/* Of other programs that share the file are all keys but id. */
static const struct yaml_row known_rows[] = {
	YAML_ROW("id", yaml_read_name, struct known_cluster, id, ),
	YAML_SKIPPED("manager", ),
	YAML_SKIPPED("updaters", ),
	YAML_SKIPPED("cli", ),
	YAML_SKIPPED("web", ),
	YAML_SKIPPED("extra_config", ),
	YAML_END,
};
static const struct yaml_row known_item = {.read = yaml_read_map, .rows = known_rows};

static const struct yaml_row root_rows[] = {
	YAML_SAME("ceems_lb", lb_rows),
	YAML_SAME("ceems_api_server", api_rows),
	YAML_LIST("clusters", &known_item, SITE, known, known_count, SITE_LIST_MAX),
	YAML_SKIPPED("updaters", ),
	YAML_END,
};

static int parse_site(const char *text, size_t len, const char *file,
		      const struct dropins *more, bool expand,
		      const struct site *before, struct site **ret, bool *ret_secrets,
		      struct err *err)
{
	struct site_store *s = calloc(1, sizeof(*s));
	struct site_parser p = {
		.r = {.w = {.file = file, .err = err, .more = more},
		      .expand = expand,
		      .notes = &p.notes,
		      .files = &p.files,
		      .config = &p},
		.draft.identity = {.munge = true, .munge_unbound = true}};

	if (!s)
		return err_set(err, -ENOMEM, "%s: out of memory", file);
	atomic_init(&s->refs, 1);
	p.r.arena = &s->arena;
	p.site = &s->pub;
	yaml_rows_default(root_rows, &p);
	int rc = yaml_rows_read(&p.r, text, len, SITE_BYTES_MAX, "configuration",
				root_rows, &p);
	s->pub = p.draft;
	if (rc == 0)
		rc = site_build(&p, before);
	buf_done(&p.notes);
	buf_done(&p.files);
	if (rc < 0) {
		site_unref(&s->pub);
		return rc;
	}
	if (ret_secrets)
		*ret_secrets = p.r.has_secret;
	*ret = &s->pub;
	return 0;
}

int site_parse(const char *text, size_t len, const char *file, bool expand,
	       const struct site *before, struct site **ret, bool *ret_secrets,
	       struct err *err)
{
	return parse_site(text, len, file, NULL, expand, before, ret, ret_secrets, err);
}

int site_read(const char *path, bool expand, const struct site *before,
	      struct site **ret, struct err *err)
{
	auto_secret struct buf text = BUF_INIT;
	auto_dropins struct dropins more = {.count = 0};
	struct site *site = NULL;
	struct stat st = {0};
	bool secrets = false;
	int rc = secret_read(path, SITE_BYTES_MAX, &text, &st, err);

	if (rc == 0)
		rc = dropins_read(path, &more, err);
	if (rc == 0)
		rc = parse_site(text.data ? text.data : "", text.len, path, &more,
				expand, before, &site, &secrets, err);
	if (rc < 0)
		return rc;
	/* whoever can write it decides who may read what, even without secrets */
	if (st.st_mode & 0022)
		rc = err_set(err, -EPERM,
			     "%s: can be written by others than its owner (mode %04o), "
			     "refused (chmod go-w)",
			     path, st.st_mode & 07777);
	if (rc == 0)
		rc = dropins_check_writers(&more, err);
	if (rc == 0 && secrets)
		rc = secret_check(path, &st, err);
	if (rc == 0 && secrets)
		rc = dropins_check_secret(&more, err);
	if (rc < 0) {
		site_unref(site);
		return rc;
	}
	*ret = site;
	return 0;
}
