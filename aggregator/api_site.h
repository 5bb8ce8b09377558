/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_API_SITE_H
#define CEEMS_AGGREGATOR_API_SITE_H

#include "aggregator/access.h"
#include "aggregator/options.h"
#include "lib/identity/identity.h"

/*
 * The site's settings about users: roles, privacy, and proof of identity. SIGHUP
 * replaces those in force; a running request keeps the ones it started with. Thread
 * safe.
 */

struct api_site;
struct api_sites;

/* -EINVAL: inconsistent options; fetches nothing. */
int api_site_check(const struct options *o, struct err *err);

/* o must stay valid. */
int api_sites_new(const struct options *o, struct api_sites **ret, struct err *err);
void api_sites_free(struct api_sites *s); /* accepts NULL; no request is left */
/* Reads command line, file and environment again and takes roles, privacy and identity
 * from them. On failure nothing changes. */
int api_sites_reload(struct api_sites *s, int argc, char *argv[], struct err *err);

struct api_site *api_site_take(struct api_sites *s);
void api_site_release(struct api_sites *s, struct api_site *site); /* accepts NULL */

struct identity *api_site_identity(const struct api_site *site);
const struct options *api_site_options(const struct api_site *site);
struct access_site api_site_access(const struct api_site *site);

#endif
