/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_API_H
#define CEEMS_CLI_CACCT_API_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/http/client.h"

/* Requests to a JSON API: the aggregator's, or that of Prometheus or a proxy before it.
 * Authenticated by a MUNGE credential for the request, a token, a password, or a client
 * certificate. Not thread safe. */

struct api_site {               /* borrowed texts */
	const char *url;        /* "http://host:9020", optionally with a path prefix */
	const char *token_file; /* Bearer */
	const char *user, *password_file;
	const char *ca_file, *cert_file, *key_file;
	bool insecure;
	const char *munge_socket; /* of munged, NULL: MUNGE's own */
	bool nobody;              /* send no proof of identity */
	bool anonymous;           /* go without MUNGE where it does not run */
};

struct api;

int api_new(const struct api_site *site, struct api **ret, struct err *err);
void api_free(struct api *a); /* accepts NULL */

/* GET of a target ("/api/v1/units?uuid=1"): the whole answer, an object whose "status"
 * is "success"; free with json_object_put(). Errors are worded for users: -EACCES: not
 * authenticated or refused; -ENOENT: no such thing; -EINVAL: the server does not
 * understand the question; -EHOSTUNREACH, -ECONNREFUSED, -ETIMEDOUT...: no answer;
 * -EPROTO: not the API; -EBUSY: try later. */
int api_get(struct api *a, const char *target, struct json_object **ret,
	    struct err *err);

/* The same for plain text, unchecked: /health. Appends to ret. */
int api_get_text(struct api *a, const char *target, struct buf *ret, struct err *err);

/* Called for a row of the answer's "data"; a negative result ends the walk. */
typedef int (*api_row_f)(void *arg, struct json_object *row, struct err *err);

/* All rows of a target, page after page. meta, when not NULL, gets the last page
 * without its rows. Returns 0 or what f returned. */
int api_rows(struct api *a, const char *target, api_row_f f, void *arg,
	     struct json_object **ret_meta, struct err *err);

/* Appends "name=value" with a '?' or '&' before it, escaped. */
void api_put_param(struct buf *target, const char *name, const char *value);

static inline void cleanup_api(struct api **a)
{
	api_free(*a);
}
#define auto_api __attribute__((cleanup(cleanup_api)))

#endif
