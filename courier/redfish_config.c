/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Redfish file: its permissions, its variables, and the BMC's URL derived from
 * it. */
#include "courier/redfish_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/http/client_url.h"
#include "lib/secret.h"

#define VARIABLE_MAX 128u

static int put_variable(struct buf *b, const char *name, size_t n, struct err *err)
{
	char variable[VARIABLE_MAX];

	if (n >= sizeof(variable))
		return err_set(err, -EINVAL, "name of a variable too long");
	memcpy(variable, name, n);
	variable[n] = '\0';
	const char *value = getenv(variable);
	if (!value)
		return err_set(err, -EINVAL,
			       "${%s}: no such variable in the "
			       "environment",
			       variable);
	buf_puts(b, value);
	return 0;
}

int redfish_config_expand(const char *text, size_t len, char **ret, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	struct buf b = {.max = REDFISH_CONFIG_EXPANDED_MAX};
	int rc = 0;

	buf_puts(&b, "");
	for (size_t i = 0; i < len && rc == 0;) {
		size_t n = 0;
		if (text[i] == '$' && i + 1 < len && text[i + 1] == '{') {
			while (i + 2 + n < len && text[i + 2 + n] &&
			       strchr(letters, text[i + 2 + n]))
				n++;
		}
		if (n && i + 2 + n < len && text[i + 2 + n] == '}') {
			rc = put_variable(&b, text + i + 2, n, err);
			i += n + 3;
		} else {
			buf_putc(&b, text[i++]);
		}
	}
	if (rc == 0 && buf_error(&b))
		rc = err_set(err, -EINVAL, "too long with its variables");
	if (rc < 0) {
		secret_wipe(&b);
		return rc;
	}
	*ret = b.data;
	return 0;
}

/* From the environment, as in CEEMS, which takes precedence */
static int take_environment(struct redfish_config *c)
{
	const char *user = getenv("REDFISH_WEB_USERNAME");
	const char *password = getenv("REDFISH_WEB_PASSWORD");

	if (user && *user)
		c->username = arena_text(&c->arena, user);
	if (password && *password) {
		c->password = arena_text(&c->arena, password);
		c->password_file = NULL;
	}
	return (user && *user && !c->username) ||
			       (password && *password && !c->password)
		       ? -ENOMEM
		       : 0;
}

static int check_file(const char *file, const struct stat *st, bool has_secret,
		      struct err *err)
{
	if (has_secret)
		return secret_check(file, st, err);
	/* the file decides who gets the password */
	if ((st->st_uid != 0 && st->st_uid != geteuid()) || (st->st_mode & 0022))
		return err_set(err, -EPERM,
			       "%s: others may write it, refused (chmod %04o, owner "
			       "root)",
			       file, st->st_mode & 0755);
	return 0;
}

int redfish_config_load(const char *file, bool expand_env, struct redfish_config *ret,
			struct err *err)
{
	auto_secret struct buf text = {.max = REDFISH_CONFIG_EXPANDED_MAX};
	struct redfish_config c;
	struct stat st;
	char *expanded = NULL;
	int rc = secret_read(file, REDFISH_CONFIG_MAX, &text, &st, err);

	if (rc < 0)
		return rc;
	if (expand_env) {
		rc = redfish_config_expand(text.len ? text.data : "", text.len,
					   &expanded, err);
		if (rc < 0)
			return err_prefix(err, rc, "%s", file);
	}
	const char *use = expanded ? expanded : text.data;
	rc = redfish_config_parse(use ? use : "", use ? strlen(use) : 0, file, &c, err);
	if (expanded)
		explicit_bzero(expanded, strlen(expanded));
	free(expanded);
	if (rc < 0)
		return rc;
	rc = check_file(file, &st, c.has_secret, err);
	if (rc == 0 && take_environment(&c) < 0)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc < 0) {
		redfish_config_done(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

/* Replaces every "{hostname}" in the name */
static void put_name(struct buf *b, const char *name, const char *hostname)
{
	static const char mark[] = "{hostname}";

	while (*name) {
		const char *at = strstr(name, mark);
		buf_put(b, name, at ? (size_t)(at - name) : strlen(name));
		if (!at)
			break;
		buf_puts(b, hostname);
		name = at + sizeof(mark) - 1;
	}
}

int redfish_config_set_node(struct redfish_config *c, const char *hostname,
			    struct err *err)
{
	struct buf b = {.max = 512};

	if (!c->munge)
		return 0;
	put_name(&b, c->munge, hostname);
	int rc = buf_error(&b);
	if (rc < 0) {
		buf_done(&b);
		return err_set(err, rc, "munge: name too long");
	}
	c->munge = arena_text(&c->arena, b.data);
	buf_done(&b);
	return c->munge ? 0 : err_set(err, -ENOMEM, "munge: out of memory");
}

int redfish_config_url(const struct redfish_config *c, const char *hostname,
		       const char *address, char **ret, struct err *err)
{
	struct buf b = {.max = 1024}, name = {.max = 512};

	if (c->hostname)
		put_name(&name, c->hostname, hostname);
	else
		buf_puts(&name, address);
	if (!buf_error(&name) && !name.len) {
		buf_done(&name);
		return err_set(
			err, -EINVAL,
			"no hostname of the BMC is configured, and IPMI does not "
			"tell its address");
	}
	bool v6 = name.data && strchr(name.data, ':') && name.data[0] != '[';
	buf_printf(&b, "%s://%s%s%s", c->protocol == REDFISH_HTTP ? "http" : "https",
		   v6 ? "[" : "", name.data ? name.data : "", v6 ? "]" : "");
	if (c->port)
		buf_printf(&b, ":%u", c->port);
	int rc = buf_error(&name) ? buf_error(&name) : buf_error(&b);
	buf_done(&name);
	if (rc == 0)
		rc = http_url_check(b.data, err);
	/* contains more than a name */
	if (rc == 0 && strpbrk(b.data + 8, "/?#@\\"))
		rc = err_set(err, -EINVAL, "%s: not the name of a host", c->hostname);
	if (rc < 0) {
		buf_done(&b);
		return rc;
	}
	*ret = b.data;
	return 0;
}
