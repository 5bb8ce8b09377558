/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPENSTACK_CLOUD_CONFIG_H
#define CEEMS_AGGREGATOR_OPENSTACK_CLOUD_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"

/* The clusters of OpenStack in the file --clusters.file, spelt as the peer spells
 * them: `clusters:` with id, manager, web and extra_config. Clusters of other managers,
 * and sections of other programs, are skipped. doc/openstack.md has the keys. */

#define CLOUDS_MAX 16u
#define CLOUD_CONFIG_BYTES_MAX (1u << 20)

enum cloud_interface { CLOUD_PUBLIC, CLOUD_INTERNAL, CLOUD_ADMIN };

struct cloud_domain {
	const char *id, *name; /* one of them, or neither */
};

/* Keystone's words for who asks, as in the body of POST /v3/auth/tokens. A secret is
 * in the file itself or in one of its own. */
struct cloud_auth {
	const char **methods;
	size_t method_count;
	struct {
		const char *id, *name, *password, *password_file;
		struct cloud_domain domain;
	} user;
	struct {
		const char *id, *name, *secret, *secret_file;
		const char *user_id, *user_name;
		struct cloud_domain user_domain;
	} application;
	struct {
		const char *project_id, *project_name;
		struct cloud_domain project_domain, domain;
	} scope;
	size_t application_line, scope_line;
};

struct cloud {
	const char *id; /* the cluster, as nodes report it */
	const char *manager;
	const char *compute, *identity; /* URLs; compute "": as the catalogue has it */
	const char *region;             /* of the catalogue; NULL: any */
	unsigned interface;             /* enum cloud_interface, of the catalogue */
	struct cloud_auth auth;
	const char *ca_file, *cert_file, *key_file, *proxy;
	bool insecure;
	unsigned tls_min;
	const char **login_domains, **admin_roles, **member_roles;
	size_t login_domain_count, admin_role_count, member_role_count;
	uint64_t refresh_ms, people_ms, whole_ms, overlap_ms, timeout_ms;
	uint32_t page; /* servers of an answer */
};

struct clouds {
	struct cloud *items;
	size_t count;
	struct arena arena; /* holds everything */
};

/* Reads the file, whose mode must be that of a secret if it has one. notes: lines of
 * what has no effect, or NULL. -EINVAL with file and line; -EPERM. */
int clouds_read(const char *path, struct clouds *ret, struct buf *notes,
		struct err *err);
/* The same from a text. *ret_secrets: it has secrets. */
int clouds_parse(const char *text, size_t len, const char *file, struct clouds *ret,
		 struct buf *notes, bool *ret_secrets, struct err *err);
void clouds_done(struct clouds *c); /* accepts a zeroed one */

#endif
