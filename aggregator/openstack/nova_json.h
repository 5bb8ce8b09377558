/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_AGGREGATOR_OPENSTACK_NOVA_JSON_H
#define CEEMS_AGGREGATOR_OPENSTACK_NOVA_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Nova's answers, which are not trusted, as rows for cloud_servers() of
 * aggregator/sql/0045_cloud.sql. Pure functions. Source: OpenStack's Compute API
 * reference, servers; microversions 2.47 (the flavour is embedded) and 2.69 (servers of
 * a cell that does not answer). */

#define NOVA_BYTES_MAX ((size_t)32 << 20) /* of an answer */
#define NOVA_NAME_BYTES 1024u             /* of a server's name; longer ones are cut */
#define NOVA_ID_BYTES 40u
#define NOVA_PAGE_MAX 10000u

struct nova_page {
	size_t servers, skipped; /* rows; without a usable id, owner or time */
	size_t stubs;            /* of the rows */
	bool more;               /* there is another page, behind the server `last` */
	char last[NOVA_ID_BYTES];
};

/* GET /servers/detail. Appends "[...]". -EBADMSG: not a list of servers, or more of
 * them than NOVA_PAGE_MAX. */
int nova_page_rows(const char *text, size_t len, struct buf *ret_rows,
		   struct nova_page *ret, struct err *err);
/* GET /servers/ID: "[...]" with one row. */
int nova_server_row(const char *text, size_t len, struct buf *ret_rows,
		    struct nova_page *ret, struct err *err);
/* GET of the endpoint itself: the newest microversion 2.N. */
int nova_version(const char *text, size_t len, unsigned *ret_minor, struct err *err);

#endif
