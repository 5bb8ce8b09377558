/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of rows for clouds. */
#include "aggregator/openstack/cloud_config.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/conf/yaml_clusters.h"
#include "lib/http/client_url.h"
#include "lib/secret.h"

#define AUTH struct cloud_auth
#define CLOUD struct cloud
#define LIST_MAX 64u
#define DAY_MS 86400000ull

struct draft {
	struct cloud *items;
	size_t count;
};

/* ---- auth ------------------------------------------------------------------------ */

static const struct yaml_row user_domain_rows[] = {
	YAML_TEXT("id", AUTH, user.domain.id),
	YAML_TEXT("name", AUTH, user.domain.name),
	YAML_END,
};
static const struct yaml_row user_rows[] = {
	YAML_TEXT("id", AUTH, user.id),
	YAML_TEXT("name", AUTH, user.name),
	YAML_SECRET("password", AUTH, user.password),
	YAML_PATH("password_file", AUTH, user.password_file),
	YAML_SAME("domain", user_domain_rows),
	YAML_END,
};
static const struct yaml_row password_rows[] = {
	YAML_SAME("user", user_rows),
	YAML_END,
};
static const struct yaml_row application_domain_rows[] = {
	YAML_TEXT("id", AUTH, application.user_domain.id),
	YAML_TEXT("name", AUTH, application.user_domain.name),
	YAML_END,
};
static const struct yaml_row application_user_rows[] = {
	YAML_TEXT("id", AUTH, application.user_id),
	YAML_TEXT("name", AUTH, application.user_name),
	YAML_SAME("domain", application_domain_rows),
	YAML_END,
};
static const struct yaml_row application_rows[] = {
	YAML_TEXT("id", AUTH, application.id),
	YAML_TEXT("name", AUTH, application.name),
	YAML_SECRET("secret", AUTH, application.secret),
	YAML_PATH("secret_file", AUTH, application.secret_file),
	YAML_SAME("user", application_user_rows),
	YAML_END,
};
static const struct yaml_row identity_rows[] = {
	YAML_LIST("methods", &yaml_item_name, AUTH, methods, method_count, 1),
	YAML_SAME("password", password_rows),
	YAML_SAME("application_credential", application_rows,
		  .given = offsetof(AUTH, application_line)),
	YAML_END,
};
static const struct yaml_row project_domain_rows[] = {
	YAML_TEXT("id", AUTH, scope.project_domain.id),
	YAML_TEXT("name", AUTH, scope.project_domain.name),
	YAML_END,
};
static const struct yaml_row project_rows[] = {
	YAML_TEXT("id", AUTH, scope.project_id),
	YAML_TEXT("name", AUTH, scope.project_name),
	YAML_SAME("domain", project_domain_rows),
	YAML_END,
};
static const struct yaml_row scope_domain_rows[] = {
	YAML_TEXT("id", AUTH, scope.domain.id),
	YAML_TEXT("name", AUTH, scope.domain.name),
	YAML_END,
};
static const struct yaml_row scope_rows[] = {
	YAML_SAME("project", project_rows),
	YAML_SAME("domain", scope_domain_rows),
	YAML_END,
};

static int check_auth(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	const AUTH *a = at;
	bool by_password = a->user.password || a->user.password_file;
	const char *wrong = NULL;

	(void)key;
	if (a->application_line && by_password)
		wrong = "password and application_credential exclude each other";
	else if (a->application_line && !a->application.secret &&
		 !a->application.secret_file)
		wrong = "application_credential needs a secret or a secret_file";
	else if (a->application_line && !a->application.id &&
		 !(a->application.name &&
		   (a->application.user_id || a->application.user_name)))
		wrong = "application_credential needs an id, or a name and its user";
	else if (a->application_line && a->scope_line)
		wrong = "an application credential has a scope of its own: remove "
			"scope";
	else if (!a->application_line && !by_password)
		wrong = "auth needs a password, a password_file or an "
			"application_credential";
	else if (!a->application_line && !a->user.id && !a->user.name)
		wrong = "password needs a user with an id or a name";
	else if (!a->application_line && !a->scope.project_id && !a->scope.project_name)
		wrong = "auth needs the scope of a project: servers are asked for "
			"there";
	else if ((a->user.password && a->user.password_file) ||
		 (a->application.secret && a->application.secret_file))
		wrong = "a secret and the file of a secret exclude each other";
	return wrong ? yaml_walk_fail(&r->w, v, wrong, NULL) : 0;
}

static const struct yaml_row auth_rows[] = {
	YAML_SAME("identity", identity_rows),
	YAML_SAME("scope", scope_rows, .given = offsetof(AUTH, scope_line)),
	YAML_END,
};
/* The peer's example has Keystone's whole body, which begins with "auth". */
static const struct yaml_row outer_auth_rows[] = {
	YAML_SAME("identity", identity_rows),
	YAML_SAME("scope", scope_rows, .given = offsetof(AUTH, scope_line)),
	YAML_SAME("auth", auth_rows),
	YAML_END,
};

/* ---- a cluster ------------------------------------------------------------------- */

static int check_url(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	struct http_url_parts u;
	struct err err = {""};

	return http_url_split(*(const char **)at, &u, &err) < 0
		       ? yaml_walk_fail(&r->w, v, key, err.text)
		       : 0;
}

static const struct yaml_row endpoint_rows[] = {
	YAML_ROW("compute", yaml_read_name, CLOUD, compute, .check = check_url),
	YAML_ROW("identity", yaml_read_name, CLOUD, identity, .check = check_url),
	YAML_END,
};
static const struct yaml_row extra_rows[] = {
	YAML_SAME("api_service_endpoints", endpoint_rows),
	YAML_MAP("auth", outer_auth_rows, CLOUD, auth, .check = check_auth),
	YAML_TEXT("region", CLOUD, region),
	YAML_ROW("interface", yaml_read_word, CLOUD, interface,
		 .words = "public internal admin"),
	YAML_LIST("login_domains", &yaml_item_name, CLOUD, login_domains,
		  login_domain_count, LIST_MAX),
	YAML_LIST("admin_roles", &yaml_item_name, CLOUD, admin_roles, admin_role_count,
		  LIST_MAX),
	YAML_LIST("member_roles", &yaml_item_name, CLOUD, member_roles,
		  member_role_count, LIST_MAX),
	YAML_RANGE("refresh_interval", ms, CLOUD, refresh_ms, 60000, 1000, DAY_MS),
	YAML_RANGE("people_interval", ms, CLOUD, people_ms, 900000, 1000, DAY_MS),
	YAML_RANGE("list_interval", ms, CLOUD, whole_ms, DAY_MS, 1000, 7 * DAY_MS),
	YAML_RANGE("changes_overlap", ms, CLOUD, overlap_ms, 300000, 0, DAY_MS),
	YAML_RANGE("timeout", ms, CLOUD, timeout_ms, 60000, 100, 600000),
	YAML_RANGE("page", number, CLOUD, page, 1000, 1, 10000),
	YAML_END,
};
static const struct yaml_row tls_rows[] = {
	YAML_PATH("ca_file", CLOUD, ca_file),
	YAML_PATH("cert_file", CLOUD, cert_file),
	YAML_PATH("key_file", CLOUD, key_file),
	YAML_BOOL("insecure_skip_verify", CLOUD, insecure),
	YAML_ROW("min_version", yaml_read_tls_version, CLOUD, tls_min, ),
	YAML_END,
};
static const struct yaml_row web_rows[] = {
	YAML_SAME("tls_config", tls_rows),
	YAML_TEXT("proxy_url", CLOUD, proxy),
	YAML_SKIPPED("url", .note = "has no effect for OpenStack: its services are in "
				    "api_service_endpoints"),
	YAML_SKIPPED("http_headers",
		     .note = "has no effect: the microversion is 2.69, or the newest "
			     "that Nova has"),
	YAML_SKIPPED("follow_redirects", .note = "has no effect: none is followed"),
	YAML_SKIPPED("enable_http2", ),
	YAML_END,
};
static const struct yaml_row cloud_rows[] = {
	YAML_ROW("id", yaml_read_name, CLOUD, id, ),
	YAML_ROW("manager", yaml_read_name, CLOUD, manager, ),
	YAML_SKIPPED("updaters", ),
	YAML_SKIPPED("cli", ),
	YAML_SAME("web", web_rows),
	YAML_SAME("extra_config", extra_rows),
	YAML_END,
};

static int check_cloud(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	const CLOUD *c = at;
	const char *wrong = NULL;

	(void)key;
	if (!c->id)
		wrong = "a cluster needs an id";
	else if (!c->identity)
		wrong = "a cluster of OpenStack needs "
			"extra_config.api_service_endpoints.identity";
	else if (!c->auth.application_line && !c->auth.user.password &&
		 !c->auth.user.password_file)
		wrong = "a cluster of OpenStack needs extra_config.auth";
	else if (!c->cert_file != !c->key_file)
		wrong = "tls_config: cert_file and key_file go together";
	return wrong ? yaml_walk_fail(&r->w, v, wrong, NULL) : 0;
}

static const struct yaml_row cloud_item = {.read = yaml_read_cluster,
					   .rows = cloud_rows,
					   .words = "openstack",
					   .check = check_cloud};
static const struct yaml_row root_rows[] = {
	YAML_LIST("clusters", &cloud_item, struct draft, items, count, CLOUDS_MAX),
	YAML_OTHER_SECTIONS,
	YAML_END,
};

int clouds_parse(const char *text, size_t len, const char *file, struct clouds *ret,
		 struct buf *notes, bool *ret_secrets, struct err *err)
{
	struct clouds made = {.count = 0};
	struct draft d = {.count = 0};
	struct yaml_reader r = {.w = {.file = file, .err = err},
				.arena = &made.arena,
				.expand = true,
				.notes = notes};

	int rc = yaml_rows_read(&r, text, len, CLOUD_CONFIG_BYTES_MAX, "configuration",
				root_rows, &d);
	if (rc == 0)
		rc = yaml_clusters_unique(d.items, d.count, sizeof(*d.items), file,
					  err);
	if (rc < 0) {
		clouds_done(&made);
		return rc;
	}
	made.items = d.items;
	made.count = d.count;
	*ret_secrets = r.has_secret;
	*ret = made;
	return 0;
}

int clouds_read(const char *path, struct clouds *ret, struct buf *notes,
		struct err *err)
{
	auto_secret struct buf text = BUF_INIT;
	struct clouds made = {.count = 0};
	struct stat st = {0};
	bool secrets = false;
	int rc = secret_read(path, CLOUD_CONFIG_BYTES_MAX, &text, &st, err);

	if (rc == 0)
		rc = clouds_parse(text.data ? text.data : "", text.len, path, &made,
				  notes, &secrets, err);
	if (rc == 0)
		rc = yaml_clusters_mode(path, &st, err);
	if (rc == 0 && secrets)
		rc = secret_check(path, &st, err);
	if (rc < 0) {
		clouds_done(&made);
		return rc;
	}
	*ret = made;
	return 0;
}

void clouds_done(struct clouds *c)
{
	arena_done(&c->arena);
	*c = (struct clouds){.count = 0};
}
