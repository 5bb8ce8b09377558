/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_REDFISH_CONFIG_H
#define CEEMS_COURIER_REDFISH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/conf/yaml_rows.h"
#include "lib/err.h"

/* The file of --collector.redfish.config.file: the mapping redfish_collector
 * (redfish_web_config in older files) with CEEMS' keys and a few of ours. See
 * doc/redfish.md. */

#define REDFISH_CONFIG_MAX ((size_t)64 << 10)
#define REDFISH_CONFIG_EXPANDED_MAX (4 * REDFISH_CONFIG_MAX)
#define REDFISH_HEADERS_MAX 16u
#define REDFISH_CHASSIS_NAMES_MAX 16u

struct redfish_config {
	struct arena arena; /* of its strings; NULL: not given */
	enum { REDFISH_HTTPS, REDFISH_HTTP } protocol;
	const char *hostname; /* may hold {hostname} */
	uint32_t port;        /* 0: the protocol's */
	const char *username, *password, *password_file;
	bool use_session_token;
	uint32_t timeout_ms;      /* of each request */
	const char *external_url; /* the proxy's */
	const char *munge;    /* this node's name for the proxy; may hold {hostname} */
	const char **chassis; /* Ids to use; none: choose by rule */
	size_t chassis_count;

	bool insecure, tls_insecure; /* either */
	unsigned tls_min;
	const char *ca_file, *cert_file, *key_file;
	bool follow_redirects;
	const char *proxy_url; /* of a forwarding proxy, "env" */
	bool proxy_env;
	/* for the server asked first: external_url's */
	const char *auth_user, *auth_password, *auth_password_file;
	const char *auth_scheme, *auth_credentials, *auth_credentials_file;
	const struct yaml_header *headers;
	size_t header_count;

	bool has_secret; /* the file itself contains one */
	bool old_name;   /* redfish_web_config */
};

/* courier/redfish_config_yaml.c. Parses a text; file is its name in messages. On
 * failure nothing is owned. -EINVAL with file and line; unknown keys are errors. */
int redfish_config_parse(const char *text, size_t len, const char *file,
			 struct redfish_config *ret, struct err *err);

/* Reads a file and checks its mode: writable by nobody else, nor readable if it
 * contains a secret. Then takes REDFISH_WEB_USERNAME and REDFISH_WEB_PASSWORD from the
 * environment. */
int redfish_config_load(const char *file, bool expand_env, struct redfish_config *ret,
			struct err *err);
void redfish_config_done(struct redfish_config *c);

/* Replaces "${NAME}" by the variable; -EINVAL: it is not set, or the text gets too
 * long. *ret is owned. */
int redfish_config_expand(const char *text, size_t len, char **ret, struct err *err);

/* Puts this node's name into c->munge, if given. */
int redfish_config_set_node(struct redfish_config *c, const char *hostname,
			    struct err *err);

/* "https://host:port" of the BMC. hostname: this node's. address: from IPMI, used if no
 * hostname is configured; "" unknown. Result owned. */
int redfish_config_url(const struct redfish_config *c, const char *hostname,
		       const char *address, char **ret, struct err *err);

#endif
