/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_COURIER_REDFISH_CONFIG_H
#define CEEMS_COURIER_REDFISH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* The file of --collector.redfish.config.file: the mapping redfish_collector (or, as
 * older files have it, redfish_web_config) with the keys of CEEMS and few of ours. See
 * doc/redfish.md. */

#define REDFISH_CONFIG_MAX ((size_t)64 << 10)
#define REDFISH_CONFIG_EXPANDED_MAX (4 * REDFISH_CONFIG_MAX)
#define REDFISH_HEADERS_MAX 16u
#define REDFISH_CHASSIS_NAMES_MAX 16u

struct redfish_config {
	/* strings owned, NULL: not given */
	char *protocol; /* http or https */
	char *hostname; /* may hold {hostname} */
	uint32_t port;  /* 0: the protocol's */
	char *username, *password, *password_file;
	bool use_session_token;
	uint32_t timeout_ms; /* of each request */
	char *external_url;  /* the proxy's */
	char *munge;         /* this node's name for the proxy; may hold {hostname} */
	char *chassis[REDFISH_CHASSIS_NAMES_MAX]; /* Ids that count; none: by rule */
	size_t chassis_count;

	bool insecure;
	unsigned tls_min;
	char *ca_file, *cert_file, *key_file;
	bool follow_redirects;
	char *proxy_url; /* of a forwarding proxy, "env" */
	/* towards whatever is asked first: external_url's server */
	char *auth_user, *auth_password, *auth_password_file;
	char *auth_scheme, *auth_credentials, *auth_credentials_file;
	struct {
		char *name, *value, *file;
	} headers[REDFISH_HEADERS_MAX];
	size_t header_count;

	bool has_secret; /* one stands in the file itself */
	bool old_name;   /* redfish_web_config */
};

/* courier/redfish_config_yaml.c. From a text; file is its name in messages. On failure
 * nothing is owned. -EINVAL with file and line; unknown keys are errors. */
int redfish_config_parse(const char *text, size_t len, const char *file,
			 struct redfish_config *ret, struct err *err);

/* From a file, whose mode is checked: nobody else may write it, nor read it where a
 * secret stands in it. Then REDFISH_WEB_USERNAME and REDFISH_WEB_PASSWORD are taken
 * from the environment. */
int redfish_config_load(const char *file, bool expand_env, struct redfish_config *ret,
			struct err *err);
void redfish_config_done(struct redfish_config *c);

/* "${NAME}" replaced by the variable; -EINVAL: it is not set, or the text gets too
 * long. *ret is owned. */
int redfish_config_expand(const char *text, size_t len, char **ret, struct err *err);

/* Puts this node's name into c->munge, where it is given. */
int redfish_config_set_node(struct redfish_config *c, const char *hostname,
			    struct err *err);

/* "https://host:port" of the BMC. hostname: of this node. address: what IPMI says, used
 * where no hostname is configured; "" unknown. Result owned. */
int redfish_config_url(const struct redfish_config *c, const char *hostname,
		       const char *address, char **ret, struct err *err);

#endif
