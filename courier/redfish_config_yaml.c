/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Redfish file: CEEMS' keys, each accepted or refused by name. */
#include <errno.h>
#include <string.h>

#include "courier/redfish_config.h"
#include "lib/http/client_url.h"

#define TIMEOUT_MS 5000u
#define TIMEOUT_MAX_MS 60000u

#define CONFIG struct redfish_config

static const struct yaml_row chassis_id = {.read = yaml_read_text};

static const struct yaml_row tls_rows[] = {
	YAML_PATH("ca_file", CONFIG, ca_file),
	YAML_PATH("cert_file", CONFIG, cert_file),
	YAML_PATH("key_file", CONFIG, key_file),
	YAML_BOOL("insecure_skip_verify", CONFIG, tls_insecure),
	YAML_ROW("min_version", yaml_read_tls_version, CONFIG, tls_min, ),
	YAML_REFUSED("max_version"),
	YAML_REFUSED("server_name"),
	YAML_REFUSED("ca"),
	YAML_REFUSED("cert"),
	YAML_REFUSED("key"),
	YAML_REFUSED("ca_ref"),
	YAML_REFUSED("cert_ref"),
	YAML_REFUSED("key_ref"),
	YAML_END,
};

static const struct yaml_row basic_rows[] = {
	YAML_TEXT("username", CONFIG, auth_user),
	YAML_SECRET("password", CONFIG, auth_password),
	YAML_PATH("password_file", CONFIG, auth_password_file),
	YAML_REFUSED("username_file"),
	YAML_REFUSED("username_ref"),
	YAML_REFUSED("password_ref"),
	YAML_END,
};

static const struct yaml_row authorization_rows[] = {
	YAML_TEXT("type", CONFIG, auth_scheme),
	YAML_SECRET("credentials", CONFIG, auth_credentials),
	YAML_PATH("credentials_file", CONFIG, auth_credentials_file),
	YAML_REFUSED("credentials_ref"),
	YAML_END,
};

static const struct yaml_row section_rows[] = {
	YAML_ROW("protocol", yaml_read_word, CONFIG, protocol, .words = "https http"),
	YAML_TEXT("hostname", CONFIG, hostname),
	YAML_RANGE("port", number, CONFIG, port, 0, 0, 65535),
	YAML_TEXT("username", CONFIG, username),
	YAML_SECRET("password", CONFIG, password),
	YAML_PATH("password_file", CONFIG, password_file),
	YAML_BOOL("use_session_token", CONFIG, use_session_token),
	YAML_RANGE("timeout", old_ms, CONFIG, timeout_ms, TIMEOUT_MS, 1,
		   TIMEOUT_MAX_MS),
	YAML_TEXT("external_url", CONFIG, external_url),
	YAML_TEXT("munge", CONFIG, munge),
	YAML_LIST("chassis", &chassis_id, CONFIG, chassis, chassis_count,
		  REDFISH_CHASSIS_NAMES_MAX),
	YAML_BOOL("insecure_skip_verify", CONFIG, insecure),
	YAML_SAME("tls_config", tls_rows),
	YAML_SAME("basic_auth", basic_rows),
	YAML_SAME("authorization", authorization_rows),
	YAML_HEADERS("http_headers", CONFIG, headers, header_count,
		     REDFISH_HEADERS_MAX),
	YAML_BOOL("follow_redirects", CONFIG, follow_redirects),
	/* BMCs speak HTTP/1.1 */
	{.key = "enable_http2", .read = yaml_read_unused_bool},
	YAML_TEXT("proxy_url", CONFIG, proxy_url),
	YAML_BOOL("proxy_from_environment", CONFIG, proxy_env),
	YAML_REFUSED("no_proxy"),
	YAML_REFUSED("proxy_connect_header"),
	YAML_REFUSED("oauth2"),
	YAML_END,
};

struct redfish_file {
	CONFIG c; /* of either section */
	size_t line, old_line;
};

static int check_once(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	const struct redfish_file *f = r->config;

	(void)at;
	return f->line && f->old_line
		       ? yaml_walk_fail(&r->w, v, "redfish_collector given twice", key)
		       : 0;
}

static const struct yaml_row root_rows[] = {
	YAML_MAP("redfish_collector", section_rows, struct redfish_file, c,
		 .given = offsetof(struct redfish_file, line), .check = check_once),
	YAML_MAP("redfish_web_config", section_rows, struct redfish_file, c,
		 .given = offsetof(struct redfish_file, old_line), .check = check_once),
	YAML_END,
};

/* Checks across keys */
static int check_redfish_config(const struct redfish_config *c, const char *file,
				struct err *err)
{
	bool basic = c->auth_user != NULL;
	bool other = c->auth_credentials || c->auth_credentials_file;
	const char *wrong = NULL;

	if ((c->password && c->password_file) ||
	    (c->auth_password && c->auth_password_file))
		wrong = "password and password_file exclude each other";
	else if (basic && other)
		wrong = "basic_auth and authorization exclude each other";
	else if (c->username && !c->use_session_token && (basic || other))
		wrong = "without sessions the BMC's password is the only Authorization "
			"that can be sent";
	else if (c->munge && !c->external_url)
		wrong = "munge must be a node's name, and needs external_url";
	if (wrong)
		return err_set(err, -EINVAL, "%s: %s", file, wrong);
	if (c->external_url && http_url_check(c->external_url, err) < 0)
		return err_prefix(err, -EINVAL, "%s: external_url", file);
	if (c->proxy_url && strcmp(c->proxy_url, "env") != 0 &&
	    http_url_check(c->proxy_url, err) < 0)
		return err_prefix(err, -EINVAL, "%s: proxy_url", file);
	return 0;
}

int redfish_config_parse(const char *text, size_t len, const char *file,
			 struct redfish_config *ret, struct err *err)
{
	struct redfish_file f = {
		.c = {.use_session_token = true, .follow_redirects = true}};
	struct yaml_reader r = {.w = {.file = file, .err = err},
				.arena = &f.c.arena,
				.empty_is_absent = true,
				.config = &f};

	yaml_rows_default(section_rows, &f.c);
	int rc = yaml_rows_read(&r, text, len, REDFISH_CONFIG_EXPANDED_MAX, "the file",
				root_rows, &f);
	if (rc == 0 && !f.line && !f.old_line)
		rc = err_set(err, -EINVAL, "%s: no redfish_collector in it", file);
	f.c.has_secret = r.has_secret;
	f.c.old_name = f.old_line;
	f.c.insecure |= f.c.tls_insecure;
	if (f.c.proxy_env && !f.c.proxy_url)
		f.c.proxy_url = "env";
	if (rc == 0)
		rc = check_redfish_config(&f.c, file, err);
	if (rc < 0)
		redfish_config_done(&f.c);
	else
		*ret = f.c;
	return rc;
}

void redfish_config_done(struct redfish_config *c)
{
	arena_done(&c->arena);
	memset(c, 0, sizeof(*c));
}
