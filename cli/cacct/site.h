/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_SITE_H
#define CEEMS_CLI_CACCT_SITE_H

#include <stddef.h>

#include "cli/cacct/api.h"
#include "lib/arena.h"
#include "lib/err.h"

/* The addresses of a site's servers: cacct.yaml, in the peer's format. It contains no
 * secrets, only names of files with them. */

#define SITE_QUERIES_MAX 64
#define SITE_FILE_MAX ((size_t)64 << 10)

struct site_query {
	const char *name, *promql; /* %s: the job id */
};

/* Its texts live in the arena, the environment and the command line. */
struct site {
	struct api_site api, tsdb, profiles;
	const char *cluster;
	struct site_query queries[SITE_QUERIES_MAX];
	size_t query_count;
	struct arena arena;
};

/* Parses a text and overrides ret with it. Errors read "FILE:LINE: what". */
int site_parse(const char *text, size_t len, const char *file, struct site *ret,
	       struct err *err);

/* file when it is not NULL, else /etc/ceems/cacct.yaml (or .yml), then the user's own
 * below $XDG_CONFIG_HOME or ~/.config, then the environment: CEEMS_API_URL or API_URL,
 * CEEMS_TOKEN_FILE, CEEMS_CA_FILE, CEEMS_MUNGE_SOCKET, CEEMS_CLUSTER, CEEMS_TSDB_URL,
 * CEEMS_PROFILES_URL. */
int site_load(const char *file, struct site *ret, struct err *err);

void site_done(struct site *s);
#define auto_site __attribute__((cleanup(site_done)))

#endif
