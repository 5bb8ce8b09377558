/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPENSTACK_KEYSTONE_JSON_H
#define CEEMS_AGGREGATOR_OPENSTACK_KEYSTONE_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "aggregator/openstack/cloud_config.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/http/json_list.h"

/* Keystone's answers, which are not trusted, and what it is asked. Pure functions, but
 * that secrets are read from their files. Source: OpenStack's Identity API v3. */

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

#define KEYSTONE_ROLE_BYTES_MAX ((size_t)1 << 20) /* of one assignment */
#define KEYSTONE_ROWS_BYTES ((size_t)1 << 20)     /* when rows are stored */

/* GET /v3/role_assignments?effective&include_names, which Keystone does not page, as
 * rows for cloud_roles(): who has a role of the site's choice in which project. */
struct keystone_roles {
	const struct cloud *cloud;
	/* Takes rows, a JSON list, for the time being: they count when
	 * keystone_roles_end() has found the whole answer right. */
	int (*store)(void *arg, const struct buf *rows, struct err *err);
	void *arg;

	/* zero at first */
	size_t count;    /* rows so far */
	struct buf rows; /* those that are not stored yet */
	struct http_json_list list;
};

/* The next bytes of the answer: see http_json_list_feed(); or what store() returned. */
int keystone_roles_feed(struct keystone_roles *r, const char *data, size_t len,
			struct err *err);
/* The answer is there. 0: r->rows is the list of the last rows. -EBADMSG: not such an
 * answer, or nobody is in it, which would take everybody's access away. */
int keystone_roles_end(struct keystone_roles *r, struct err *err);
void keystone_roles_done(struct keystone_roles *r);

#endif
