/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPENSTACK_KEYSTONE_JSON_H
#define CEEMS_AGGREGATOR_OPENSTACK_KEYSTONE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/openstack/cloud_config.h"
#include "lib/buf.h"
#include "lib/err.h"

/* Keystone's answers, which are not trusted, and what it is asked. Pure functions, but
 * that secrets are read from their files. Source: OpenStack's Identity API v3. */

#define KEYSTONE_BYTES_MAX ((size_t)64 << 20) /* of a list of role assignments */

/* The body of POST /v3/auth/tokens. -EPERM and the like: the file of a secret. The
 * caller wipes it, also after a failure. */
int keystone_auth_body(const struct cloud_auth *a, struct buf *ret, struct err *err);

struct keystone_token {
	uint64_t lifetime_s; /* by Keystone's clock, as it was issued */
	char compute[1024];  /* endpoint of the catalogue, "": none that fits */
};
/* The answer's body. -EBADMSG: not a token. */
int keystone_token(const char *text, size_t len, const struct cloud *cloud,
		   struct keystone_token *ret, struct err *err);

/* GET /v3/role_assignments?effective&include_names as rows for cloud_people(): who has
 * a role of the site's choice in which project. -EBADMSG: not such a list, or nobody is
 * in it, which would take everybody's access away. */
int keystone_roles(const char *text, size_t len, const struct cloud *cloud,
		   struct buf *ret_rows, size_t *ret_count, struct err *err);

#endif
