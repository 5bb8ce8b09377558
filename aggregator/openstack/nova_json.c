/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Nova says of servers. One server that makes no sense is left out and counted;
 * an answer that makes none is refused as a whole. */
#include "aggregator/openstack/nova_json.h"

#include <stdio.h>
#include <string.h>

#include "lib/http/json.h"
#include "lib/parse.h"
#include "lib/rfc3339.h"

static const struct http_json_limits limits = {
	.bytes_max = NOVA_BYTES_MAX, .depth_max = 16, .strict = true};

/* As UUIDs are written: 8-4-4-4-12 hexadecimal digits. */
static bool is_server_id(const char *s)
{
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : parse_hex_digit(s[i]) < 0)
			return false;
	}
	return !s[36];
}

/* Keystone's ids are opaque: hexadecimal digits, or what LDAP has. */
static bool is_owner_id(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)s[i] <= ' ' || (unsigned char)s[i] >= 0x7f)
			return false;
	}
	return n > 0 && n <= 255;
}

/* Nova writes some times with a zone and some without: all are UTC. */
static int read_nova_time(struct json_object *o, const char *name, uint64_t *ret)
{
	const char *s = http_json_text(o, name);
	char text[64];

	if (!s || strlen(s) > 40)
		return -EINVAL;
	bool zone = strpbrk(s, "Zz+") || (strlen(s) > 10 && strchr(s + 10, '-'));
	(void)snprintf(text, sizeof(text), "%s%s", s, zone ? "" : "Z");
	return rfc3339_parse(text, ret);
}

static void put_server_text(struct buf *b, const char *name, const char *s, size_t len)
{
	buf_printf(b, ",\"%s\":", name);
	buf_put_json(b, s, len);
}

static void put_server_number(struct buf *b, const char *name, uint64_t v)
{
	buf_printf(b, ",\"%s\":", name);
	buf_put_u64(b, v);
}

static void put_server_time(struct buf *b, struct json_object *o, const char *member,
			    const char *name)
{
	uint64_t t;

	if (read_nova_time(o, member, &t) == 0)
		put_server_number(b, name, t);
}

static void put_server_name(struct buf *b, struct json_object *o, const char *member,
			    const char *name)
{
	const char *s = http_json_text(o, member);
	size_t n = 0, len = s ? strlen(s) : 0, step;

	while (n < len && (step = utf8_len(s + n, len - n)) > 0 &&
	       n + step <= NOVA_NAME_BYTES)
		n += step;
	put_server_text(b, name, s ? s : "", n);
}

/* Its name and sizes; virtual GPUs that it asks for: "resources:VGPU": "1" */
static void put_flavour(struct buf *b, struct json_object *o)
{
	struct json_object *f = http_json_get(o, "flavor", json_type_object);
	uint64_t n;

	if (http_json_text(f, "original_name"))
		put_server_name(b, f, "original_name", "flavour");
	if (http_json_u64(f, "vcpus", INT32_MAX, &n) == 0)
		put_server_number(b, "cpus", n);
	if (http_json_u64(f, "ram", 1ull << 40, &n) == 0)
		put_server_number(b, "memory", n);
	const char *vgpu = http_json_text(
		http_json_get(f, "extra_specs", json_type_object), "resources:VGPU");
	if (vgpu && parse_u64(vgpu, &n) == 0 && n <= INT32_MAX)
		put_server_number(b, "gpus", n);
}

/* A word of Nova's: capitals and underscores. */
static const char *status_of(struct json_object *o)
{
	const char *s = http_json_text(o, "status");
	size_t n = s ? strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;

	return n && n < 40 && !s[n] ? s : "UNKNOWN";
}

static void put_server_end(struct buf *b, struct json_object *o, const char *status)
{
	uint64_t t;

	if (strcmp(status, "DELETED") != 0)
		return;
	if (read_nova_time(o, "OS-SRV-USG:terminated_at", &t) == 0 ||
	    read_nova_time(o, "updated", &t) == 0 ||
	    read_nova_time(o, "created", &t) == 0)
		put_server_number(b, "ended", t);
}

static void put_server(struct json_object *o, struct buf *b, struct nova_page *ret)
{
	const char *id = http_json_text(o, "id"), *user = http_json_text(o, "user_id"),
		   *project = http_json_text(o, "tenant_id"), *status = status_of(o);
	/* of a cell that does not answer there are the id and little else */
	bool stub = http_json_get_any(o, "status") && strcmp(status, "UNKNOWN") == 0 &&
		    !http_json_get_any(o, "name");
	uint64_t created = 0;

	if (!id || !is_server_id(id) ||
	    (!stub && (!is_owner_id(user) || !is_owner_id(project) ||
		       read_nova_time(o, "created", &created) < 0))) {
		ret->skipped++;
		return;
	}
	buf_puts(b, ret->servers++ ? ",{\"id\":" : "{\"id\":");
	buf_put_json(b, id, strlen(id));
	buf_printf(b, ",\"stub\":%s", stub ? "true" : "false");
	ret->stubs += stub;
	if (!stub) {
		put_server_text(b, "user", user, strlen(user));
		put_server_text(b, "project", project, strlen(project));
		put_server_text(b, "state", status, strlen(status));
		put_server_name(b, o, "name", "name");
		put_server_number(b, "created", created);
		put_server_time(b, o, "OS-SRV-USG:launched_at", "launched");
		put_server_end(b, o, status);
		put_flavour(b, o);
	}
	buf_putc(b, '}');
}

int nova_page_rows(const char *text, size_t len, struct buf *ret_rows,
		   struct nova_page *ret, struct err *err)
{
	auto_json struct json_object *o = NULL;
	struct nova_page p = {.servers = 0};
	int rc = http_json_object(text, len, &limits, &o, err);

	if (rc < 0)
		return rc;
	struct json_object *list = http_json_get(o, "servers", json_type_array);
	size_t n = list ? json_object_array_length(list) : 0;
	if (!list || n > NOVA_PAGE_MAX)
		return err_set(err, -EBADMSG,
			       list ? "%zu servers are too many for a page"
				    : "not a list of servers",
			       n);
	buf_putc(ret_rows, '[');
	for (size_t i = 0; i < n; i++)
		put_server(json_object_array_get_idx(list, i), ret_rows, &p);
	buf_putc(ret_rows, ']');
	/* the next page begins behind the last server, whatever is wrong with it */
	const char *last =
		n ? http_json_text(json_object_array_get_idx(list, n - 1), "id") : NULL;
	struct json_object *links = http_json_get(o, "servers_links", json_type_array);
	p.more = n > 0 && links && json_object_array_length(links) > 0;
	if (p.more && (!last || !is_server_id(last)))
		return err_set(err, -EBADMSG, "the last server of a page has no id");
	if (last && is_server_id(last))
		(void)snprintf(p.last, sizeof(p.last), "%s", last);
	*ret = p;
	return buf_error(ret_rows);
}

int nova_server_row(const char *text, size_t len, struct buf *ret_rows,
		    struct nova_page *ret, struct err *err)
{
	auto_json struct json_object *o = NULL;
	struct nova_page p = {.servers = 0};
	int rc = http_json_object(text, len, &limits, &o, err);

	if (rc < 0)
		return rc;
	buf_putc(ret_rows, '[');
	put_server(http_json_get(o, "server", json_type_object), ret_rows, &p);
	buf_putc(ret_rows, ']');
	if (!p.servers)
		return err_set(err, -EBADMSG, "not a server");
	*ret = p;
	return buf_error(ret_rows);
}

int nova_version(const char *text, size_t len, unsigned *ret_minor, struct err *err)
{
	auto_json struct json_object *o = NULL;
	uint32_t minor = 0;
	int rc = http_json_object(text, len, &limits, &o, err);

	if (rc < 0)
		return rc;
	const char *v = http_json_text(http_json_get(o, "version", json_type_object),
				       "version");
	if (!v || strncmp(v, "2.", 2) != 0 || parse_u32(v + 2, &minor) < 0)
		return err_set(err, -EBADMSG,
			       "not the endpoint of a Nova 2.1 or newer");
	*ret_minor = minor;
	return 0;
}
