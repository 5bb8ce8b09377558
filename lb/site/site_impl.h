/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_SITE_IMPL_H
#define CEEMS_LB_SITE_SITE_IMPL_H

#include <stdatomic.h>

#include "lb/site/backend_impl.h"
#include "lb/site/site.h"
#include "lib/arena.h"
#include "lib/conf/yaml_walk.h"
#include "lib/http/client_url.h"

/* Shared by the parsers of the configuration only (site_read.c: the sections;
 * site_client.c: HTTP clients; site_backends.c: clusters and their servers;
 * site_build.c: the site made of it). Drafts are the file's contents in its order; the
 * site is built from them at the end. */

#define SITE_LIST_MAX 256
#define SITE_FAMILIES_MAX 256
#define SITE_HEADERS_MAX 16

struct site_list {
	const char *items[SITE_LIST_MAX];
	size_t count;
};

/* Prometheus' HTTP client configuration, as far as it applies here. */
struct client_draft {
	size_t line;
	const char *urls[8];
	size_t url_count;
	const char *user, *password, *password_file;
	const char *scheme, *credentials, *credentials_file;
	const char *ca_file, *cert_file, *key_file, *server_name;
	bool insecure, basic, authorization;
	int munge; /* -1: not given */
	struct http_header headers[SITE_HEADERS_MAX];
	size_t header_count;
	uint64_t timeout_ms;
};

struct server_draft {
	struct client_draft client;
	struct http_url_parts url;
	const char *name; /* normalised url, with its port */
	struct site_list filter_labels;
	uint64_t retention_ms, max_requests, timeout_ms, connect_timeout_ms,
		first_byte_timeout_ms;
	int64_t from_ms, to_ms;
	int dialect;
	unsigned promql_flags;
};

/* Settings that can be made for all clusters and for one. */
struct access_draft {
	struct access_family families[SITE_FAMILIES_MAX];
	size_t family_count;
	const char *cluster_label, *profile_label;
	const char *profile_cluster_label; /* "": none; NULL: cluster_label */
	int inject;                        /* -1: not given */
	bool lookback_given, inject_max_given, narrow_max_given;
	uint64_t lookback_ms, inject_max, narrow_max;
};

struct cluster_draft {
	const char *id;
	size_t line;
	struct access_draft *access;
	struct server_draft *servers[SITE_PROTOCOLS][BACKENDS_MAX];
	size_t server_count[SITE_PROTOCOLS];
};

struct site_numbers { /* of ceems_lb.limits and ceems_lb.health, see site_read.c */
	uint64_t user_requests, user_rate, user_burst, ownership_ms, unknown_ms,
		linger_ms, cache_entries;
	uint64_t interval_ms, timeout_ms, fall, fail_after, eject_ms, eject_max_ms,
		slow_start_ms;
};

struct site_parser {
	struct yaml_walk w;
	struct arena *arena; /* of the site */
	struct arena drafts; /* until the site is built */
	bool expand, secrets;
	struct buf notes;
	struct buf files; /* one path per line */
	enum backend_strategy strategy;
	struct access_draft *access; /* for all */
	struct cluster_draft *clusters[SITE_CLUSTERS_MAX];
	size_t cluster_count;
	struct site_list known; /* ids of the section clusters */
	struct site_numbers numbers;
	struct client_draft api;
	bool has_api;
	struct site_list admins, api_admins, operators;
	size_t roles_line, identity_line; /* lines of these sections */
	struct site_list front_ends, front_end_addresses, metrics, munge_hosts,
		user_headers, token_issuers, token_audiences;
	struct site *site; /* its simple members are set while parsing */
	/* being parsed */
	struct client_draft *client;
	const char *header; /* its header */
	struct server_draft *server;
	struct cluster_draft *cluster;
	struct access_draft *draft;
	bool public_family;
	struct site_list *list;
};

/* A value as a text in p->keep. */
int site_text(struct site_parser *p, const char *key, yaml_node_t *v, const char **ret);
/* The same for a path, made absolute by the file's folder. */
int site_path(struct site_parser *p, const char *key, yaml_node_t *v, const char **ret);
int site_no_memory(struct site_parser *p);
/* "key: text" for the log. */
void site_note(struct site_parser *p, const char *key, const char *text);
/* A number of kind 'd'uration in ms or 'n'umber, from min to max. */
int site_number(struct site_parser *p, const char *key, yaml_node_t *v, char kind,
		uint64_t min, uint64_t max, uint64_t *ret);
int site_strings(struct site_parser *p, const char *key, yaml_node_t *v,
		 struct site_list *list);
int site_unsupported(void *arg, const char *key, yaml_node_t *v);
int site_ignored(void *arg, const char *key, yaml_node_t *v);

/* Parses the keys of an HTTP client's configuration into c. */
int site_client(struct site_parser *p, struct client_draft *c, const char *key,
		yaml_node_t *v);
/* Its Authorization header: *ret is in p->keep, NULL: none. Reads files. */
int site_authorization(struct site_parser *p, const struct client_draft *c,
		       const char **ret);

void access_draft_init(struct access_draft *a);
int site_on_access(void *arg, const char *key, yaml_node_t *v);
#define SITE_ACCESS_KEYS                                                               \
	{"cluster_label", site_on_access}, {"profile_label", site_on_access},          \
		{"profile_cluster_label", site_on_access},                             \
		{"lookback", site_on_access}, {"families", site_on_access},            \
		{"enforce", site_on_access}, {"inject_max", site_on_access},           \
	{                                                                              \
		"narrow_max", site_on_access                                           \
	}
int site_on_backends(void *arg, const char *key, yaml_node_t *v);

/* Builds p->site from what was parsed. */
int site_build(struct site_parser *p, const struct site *before);

struct site_store {
	struct site pub; /* first */
	atomic_uint refs;
	struct arena arena;
};

#endif
