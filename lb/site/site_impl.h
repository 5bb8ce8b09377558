/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_SITE_SITE_IMPL_H
#define CEEMS_LB_SITE_SITE_IMPL_H

#include <stdatomic.h>

#include "lb/site/backend_impl.h"
#include "lb/site/site.h"
#include "lib/arena.h"
#include "lib/conf/yaml_rows.h"
#include "lib/http/client_url.h"

/* Shared by the parsers of the configuration only (site_read.c: the sections;
 * site_client.c: HTTP clients; site_backends.c: clusters and their servers;
 * site_build.c: the site made of it). Drafts are the file's contents in its order; the
 * site is built from them at the end. */

#define SITE_LIST_MAX 256
#define SITE_FAMILIES_MAX 256
#define SITE_HEADERS_MAX 16
#define SITE_URLS_MAX 8
#define SITE_DAY_MS (86400ull * 1000)
#define SITE_NOT_GIVEN UINT64_MAX

/* Prometheus' HTTP client configuration, as far as it applies here. Lines: 0 without
 * the key. */
struct client_draft {
	const char *url;
	const char **urls; /* url is the first of them in the end */
	size_t url_count, line, basic_line, authorization_line, munge_line;
	struct http_auth auth;
	const char *ca_file, *cert_file, *key_file, *server_name;
	bool insecure, munge;
	struct yaml_header *given_headers;
	struct http_header *headers; /* of them */
	size_t header_count;
	uint32_t timeout_ms;
};

struct server_draft {
	struct client_draft client; /* first */
	struct http_url_parts url;
	struct backend_params params; /* its name is the URL with its port */
	unsigned *features;           /* of enum promql_flag */
	size_t feature_count, features_line;
};

struct family_draft {
	struct access_family family;
	bool is_public;
};

/* Settings that can be made for all clusters and for one. */
struct access_draft {
	struct family_draft *families;
	size_t family_count;
	const char *cluster_label, *profile_label;
	const char *profile_cluster_label; /* "": none; NULL: cluster_label */
	int inject;                        /* -1: not given */
	uint64_t lookback_ms, inject_max, narrow_max; /* or SITE_NOT_GIVEN */
};

struct cluster_draft {
	const char *id;
	size_t line;
	struct access_draft access;
	struct server_draft *servers[SITE_PROTOCOLS];
	size_t server_count[SITE_PROTOCOLS];
	struct server_draft *old_servers; /* tsdb_urls */
	size_t old_count;
};

struct known_cluster { /* of the section clusters */
	const char *id;
};

struct site_parser {
	struct yaml_reader r;
	struct buf notes, files;
	struct site *site; /* as far as it is read, simple members only */
	struct site draft;
	enum backend_strategy strategy;
	struct backend_care care;
	struct access_draft access; /* for all */
	struct cluster_draft *clusters;
	size_t cluster_count;
	struct known_cluster *known;
	size_t known_count;
	struct client_draft api;
	const char **api_admins;
	size_t api_admin_count;
	size_t roles_line, identity_line; /* lines of these sections */
};

/* "FILE:LINE: what: detail" as the error: -EINVAL. */
int site_fail(struct site_parser *p, size_t line, const char *what, const char *detail);

/* The keys of an HTTP client's configuration, for a struct client_draft, and its check
 * as a whole. */
extern const struct yaml_row site_client_rows[];
int site_check_client(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at);
/* Its Authorization header: *ret is in the arena, NULL: none. Reads files. */
int site_authorization(struct site_parser *p, const struct client_draft *c,
		       const char **ret);

/* An item of backends, a struct cluster_draft; of families, a struct family_draft. */
extern const struct yaml_row site_cluster_item, site_family_item;
int site_check_label(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at);
int site_check_label_or_none(struct yaml_reader *r, const char *key, yaml_node_t *v,
			     void *at);

#define SITE_ACCESS_ROWS(type_, member_)                                               \
	YAML_TEXT("cluster_label", type_, member_.cluster_label,                       \
		  .check = site_check_label),                                          \
		YAML_TEXT("profile_label", type_, member_.profile_label,               \
			  .check = site_check_label),                                  \
		YAML_TEXT("profile_cluster_label", type_,                              \
			  member_.profile_cluster_label,                               \
			  .check = site_check_label_or_none),                          \
		YAML_RANGE("lookback", ms, type_, member_.lookback_ms, SITE_NOT_GIVEN, \
			   1000, SITE_DAY_MS),                                         \
		YAML_LIST("families", &site_family_item, type_, member_.families,      \
			  member_.family_count, SITE_FAMILIES_MAX),                    \
		YAML_ROW("enforce", yaml_read_word, type_, member_.inject,             \
			 .words = "refuse inject", .def = SITE_NOT_GIVEN),             \
		YAML_RANGE("inject_max", number, type_, member_.inject_max,            \
			   SITE_NOT_GIVEN, 0, ACCESS_CLAIMS_MAX),                      \
		YAML_RANGE("narrow_max", number, type_, member_.narrow_max,            \
			   SITE_NOT_GIVEN, 0, ACCESS_CLAIMS_MAX)

/* Builds p->site from what was parsed. */
int site_build(struct site_parser *p, const struct site *before);

struct site_store {
	struct site pub; /* first */
	atomic_uint refs;
	struct arena arena;
};

#endif
