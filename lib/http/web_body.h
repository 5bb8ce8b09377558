/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_BODY_H
#define CEEMS_LIB_HTTP_WEB_BODY_H

/* Request bodies, for web.c: what the head announces, and collecting them. */
#include "lib/http/web_impl.h"

/* Checks a request by its head alone: the status to refuse it with and why, or 0. Sets
 * r->method and r->body's announcement; r->route is set or NULL. */
unsigned web_head_check(struct web_request *r, const char *method, const char *version,
			const char **ret_text);

/* Takes the next bytes. A body that is too long, or for which there is no memory, is
 * read to its end without being kept, so that the client sees the answer:
 * r->body.refused. False: even that is too much, close the connection. */
bool web_body_add(struct web_request *r, const void *data, size_t len);

int web_bodies_init(struct web *w, struct err *err);
/* Whether there is room for a body of the announced length, for whoever has been proved
 * by now. */
bool web_body_fits(struct web_request *r);

/* Frees its memory. */
void web_body_free(struct web_request *r);

/* Methods in the form of the Allow header. */
void web_methods_text(unsigned methods, char *ret, size_t size);

#endif
