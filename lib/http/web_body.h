/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_BODY_H
#define CEEMS_LIB_HTTP_WEB_BODY_H

/* Bodies of requests, for web.c: what the head says of one, and collecting it. */
#include "lib/http/web_impl.h"

/* What is wrong with a request by its head alone: the status to refuse it with and why,
 * or 0. Fills r->method and r->body's announcement; r->route is set or NULL. */
unsigned web_head_check(struct web_request *r, const char *method, const char *version,
			const char **ret_text);

/* Takes the next bytes. What is too long, or finds no memory, is read to its end
 * without being kept, so that the client hears why: r->body.refused. False: even that
 * is too much, the connection is to be closed. */
bool web_body_add(struct web_request *r, const void *data, size_t len);

int web_bodies_init(struct web *w, struct err *err);
/* Whether there is room for a body as it was announced, for whoever has been proved by
 * now. */
bool web_body_fits(struct web_request *r);

/* Gives its memory back. */
void web_body_free(struct web_request *r);

/* Methods as the header Allow lists them. */
void web_methods_text(unsigned methods, char *ret, size_t size);

#endif
