/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_CONFIG_IMPL_H
#define CEEMS_REDFISH_PROXY_CONFIG_IMPL_H

#include "lib/conf/yaml_walk.h"
#include "redfish_proxy/config.h"

/* Shared by config.c and config_client.c (HTTP clients) only. */

struct config_parser {
	struct yaml_walk w;
	struct config *c;
	bool expand, section, allow_given;
	struct config_target *target; /* the one being parsed */
	size_t target_room;
	struct config_login *login; /* the same */
	struct config_tls *tls;
};

/* A value with its variables expanded; the caller frees. */
int config_value(struct config_parser *p, const char *key, yaml_node_t *n, char **ret);
int config_no_memory(struct config_parser *p);

int config_on_login(struct config_parser *p, struct config_login *login,
		    const char *key, yaml_node_t *v);
int config_on_tls(struct config_parser *p, struct config_tls *tls, const char *key,
		  yaml_node_t *v);
int config_on_limits(void *arg, const char *key, yaml_node_t *v);
int config_on_redirects(void *arg, const char *key, yaml_node_t *v);
int config_on_http2(void *arg, const char *key, yaml_node_t *v);
int config_unsupported(void *arg, const char *key, yaml_node_t *v);
void config_default_limits(struct config_limits *l);

/* Checks across keys, and fills in what follows from others. */
int config_check(struct config_parser *p);

void config_login_done(struct config_login *l);
void config_tls_done(struct config_tls *t);

#endif
