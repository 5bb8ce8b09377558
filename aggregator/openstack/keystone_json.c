/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens, and who has a role in which project. */
#include "aggregator/openstack/keystone_json.h"

#include <stdio.h>
#include <string.h>

#include "lib/http/client.h"
#include "lib/http/client_url.h"
#include "lib/http/json.h"
#include "lib/identity/identity.h"
#include "lib/rfc3339.h"

#define CATALOGUE_MAX 4096u /* services and endpoints that are looked at */
#define NAME_BYTES 1024u

/* ---- a token --------------------------------------------------------------------- */

static void put_auth_text(struct buf *b, const char *name, const char *s)
{
	if (!s)
		return;
	if (b->len && b->data[b->len - 1] != '{')
		buf_putc(b, ',');
	buf_printf(b, "\"%s\":", name);
	buf_put_json(b, s, strlen(s));
}

static void put_auth_open(struct buf *b, const char *name)
{
	if (b->len && b->data[b->len - 1] != '{')
		buf_putc(b, ',');
	buf_printf(b, "\"%s\":{", name);
}

static void put_auth_domain(struct buf *b, const struct cloud_domain *d)
{
	if (!d->id && !d->name)
		return;
	put_auth_open(b, "domain");
	put_auth_text(b, "id", d->id);
	put_auth_text(b, "name", d->name);
	buf_putc(b, '}');
}

static int put_auth_secret(struct buf *b, const char *name, const char *text,
			   const char *file, struct err *err)
{
	struct buf secret = BUF_INIT;
	int rc = file ? http_secret_read(file, &secret, err) : 0;

	if (rc == 0)
		put_auth_text(b, name, file ? secret.data : text);
	if (secret.data)
		explicit_bzero(secret.data, secret.len);
	buf_done(&secret);
	return rc;
}

static int put_application(const struct cloud_auth *a, struct buf *b, struct err *err)
{
	buf_puts(b, "\"methods\":[\"application_credential\"]");
	put_auth_open(b, "application_credential");
	put_auth_text(b, "id", a->application.id);
	put_auth_text(b, "name", a->application.name);
	int rc = put_auth_secret(b, "secret", a->application.secret,
				 a->application.secret_file, err);
	if (a->application.user_id || a->application.user_name) {
		put_auth_open(b, "user");
		put_auth_text(b, "id", a->application.user_id);
		put_auth_text(b, "name", a->application.user_name);
		put_auth_domain(b, &a->application.user_domain);
		buf_putc(b, '}');
	}
	buf_puts(b, "}}");
	return rc;
}

static int put_password(const struct cloud_auth *a, struct buf *b, struct err *err)
{
	buf_puts(b, "\"methods\":[\"password\"]");
	put_auth_open(b, "password");
	put_auth_open(b, "user");
	put_auth_text(b, "id", a->user.id);
	put_auth_text(b, "name", a->user.name);
	put_auth_domain(b, &a->user.domain);
	int rc = put_auth_secret(b, "password", a->user.password, a->user.password_file,
				 err);
	buf_puts(b, "}}}");
	put_auth_open(b, "scope");
	put_auth_open(b, "project");
	put_auth_text(b, "id", a->scope.project_id);
	put_auth_text(b, "name", a->scope.project_name);
	put_auth_domain(b, &a->scope.project_domain);
	buf_puts(b, "}}");
	return rc;
}

int keystone_auth_body(const struct cloud_auth *a, struct buf *ret, struct err *err)
{
	buf_puts(ret, "{\"auth\":{\"identity\":{");
	int rc = a->application_line ? put_application(a, ret, err)
				     : put_password(a, ret, err);
	buf_puts(ret, "}}");
	if (rc == 0 && buf_error(ret))
		rc = err_set(err, -ENOMEM, "out of memory");
	return rc;
}

static void take_endpoint(struct json_object *service, const struct cloud *cloud,
			  struct keystone_token *ret)
{
	static const char *const interfaces[] = {"public", "internal", "admin"};
	struct json_object *list = http_json_get(service, "endpoints", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	struct http_url_parts parts;

	for (size_t i = 0; i < n && i < CATALOGUE_MAX && !*ret->compute; i++) {
		struct json_object *e = json_object_array_get_idx(list, i);
		const char *interface = http_json_text(e, "interface"),
			   *region = http_json_text(e, "region_id"),
			   *url = http_json_text(e, "url");
		if (interface && url && strlen(url) < sizeof(ret->compute) &&
		    strcmp(interface, interfaces[cloud->interface]) == 0 &&
		    (!cloud->region ||
		     (region && strcmp(region, cloud->region) == 0)) &&
		    http_url_split(url, &parts, NULL) == 0)
			(void)snprintf(ret->compute, sizeof(ret->compute), "%s", url);
	}
}

int keystone_token(const char *text, size_t len, const struct cloud *cloud,
		   struct keystone_token *ret, struct err *err)
{
	static const struct http_json_limits limits = {
		.bytes_max = 8u << 20, .depth_max = 16, .strict = true};
	auto_json struct json_object *o = NULL;
	struct keystone_token t = {.lifetime_s = 0};
	uint64_t issued, expires;
	int rc = http_json_object(text, len, &limits, &o, err);

	if (rc < 0)
		return rc;
	struct json_object *token = http_json_get(o, "token", json_type_object);
	const char *from = http_json_text(token, "issued_at"),
		   *to = http_json_text(token, "expires_at");
	if (!from || !to || rfc3339_parse(from, &issued) < 0 ||
	    rfc3339_parse(to, &expires) < 0 || expires <= issued)
		return err_set(err, -EBADMSG, "not a token with its times");
	t.lifetime_s = expires - issued;
	struct json_object *list = http_json_get(token, "catalog", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	for (size_t i = 0; i < n && i < CATALOGUE_MAX; i++) {
		struct json_object *service = json_object_array_get_idx(list, i);
		const char *type = http_json_text(service, "type");
		if (type && strcmp(type, "compute") == 0)
			take_endpoint(service, cloud, &t);
	}
	*ret = t;
	return 0;
}

/* ---- role assignments ------------------------------------------------------------ */

static bool is_named(const char *const *names, size_t n, const char *s)
{
	for (size_t i = 0; s && i < n; i++) {
		if (strcmp(names[i], s) == 0)
			return true;
	}
	return false;
}

/* "admin", "member", or NULL: a role of no meaning here. */
static const char *role_of(const struct cloud *c, const char *name)
{
	static const char *const admin = "admin";
	const char *const *admins =
		c->admin_role_count ? (const char *const *)c->admin_roles : &admin;

	if (is_named(admins, c->admin_role_count ? c->admin_role_count : 1, name))
		return "admin";
	if (!c->member_role_count ||
	    is_named((const char *const *)c->member_roles, c->member_role_count, name))
		return "member";
	return NULL;
}

/* Whether the names of that domain are logins here. */
static bool is_login_domain(const struct cloud *c, struct json_object *domain)
{
	const char *const *list = (const char *const *)c->login_domains;

	return is_named(list, c->login_domain_count, http_json_text(domain, "id")) ||
	       is_named(list, c->login_domain_count, http_json_text(domain, "name"));
}

static const char *text_within(struct json_object *o, const char *name)
{
	const char *s = http_json_text(o, name);

	return s && *s && strlen(s) <= NAME_BYTES ? s : NULL;
}

static void put_role_text(struct buf *b, const char *name, const char *s)
{
	if (!s)
		return;
	buf_printf(b, ",\"%s\":", name);
	buf_put_json(b, s, strlen(s));
}

/* false: not of a user in a project, or without names. */
static bool put_assignment(struct json_object *o, const struct cloud *c, struct buf *b,
			   bool first)
{
	struct json_object *user = http_json_get(o, "user", json_type_object),
			   *project = http_json_get(
				   http_json_get(o, "scope", json_type_object),
				   "project", json_type_object),
			   *domain = http_json_get(user, "domain", json_type_object);
	const char *role = role_of(
			   c, http_json_text(http_json_get(o, "role", json_type_object),
					     "name")),
		   *id = text_within(user, "id"), *name = text_within(user, "name"),
		   *of = text_within(project, "id"),
		   *of_name = text_within(project, "name");

	if (!role || !id || !name || !of || !of_name)
		return false;
	buf_printf(b, "%s{\"role\":\"%s\"", first ? "[" : ",", role);
	put_role_text(b, "user", id);
	put_role_text(b, "user_name", name);
	put_role_text(b, "user_domain", text_within(domain, "name"));
	if (is_login_domain(c, domain) && identity_is_login(name))
		put_role_text(b, "login", name);
	put_role_text(b, "project", of);
	put_role_text(b, "project_name", of_name);
	put_role_text(b, "project_domain",
		      text_within(http_json_get(project, "domain", json_type_object),
				  "name"));
	buf_putc(b, '}');
	return true;
}

static int take_assignment(void *arg, struct json_object *o, struct err *err)
{
	struct keystone_roles *r = arg;

	r->count += put_assignment(o, r->cloud, &r->rows, r->rows.len == 0);
	if (r->rows.len < KEYSTONE_ROWS_BYTES)
		return 0;
	buf_putc(&r->rows, ']');
	int rc = buf_error(&r->rows) ? err_set(err, -ENOMEM, "out of memory")
				     : r->store(r->arg, &r->rows, err);
	buf_reset(&r->rows);
	return rc;
}

int keystone_roles_feed(struct keystone_roles *r, const char *data, size_t len,
			struct err *err)
{
	r->list.name = "role_assignments";
	r->list.limits = (struct http_json_limits){
		.bytes_max = KEYSTONE_ROLE_BYTES_MAX, .depth_max = 16, .strict = true};
	r->list.take = take_assignment;
	r->list.arg = r;
	return http_json_list_feed(&r->list, data, len, err);
}

int keystone_roles_end(struct keystone_roles *r, struct err *err)
{
	auto_json struct json_object *o = NULL;
	int rc = http_json_list_end(&r->list, &o, err);

	if (rc < 0)
		return rc;
	/* Keystone marks a list that it has cut */
	struct json_object *cut = http_json_get(o, "truncated", json_type_boolean);
	if (cut && json_object_get_boolean(cut))
		return err_set(err, -EBADMSG, "the list of role assignments was cut");
	if (!r->count)
		return err_set(err, -EBADMSG,
			       "nobody has a role in a project: the list is not "
			       "believed");
	buf_puts(&r->rows, r->rows.len ? "]" : "[]");
	return buf_error(&r->rows) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

void keystone_roles_done(struct keystone_roles *r)
{
	http_json_list_done(&r->list);
	buf_done(&r->rows);
}
