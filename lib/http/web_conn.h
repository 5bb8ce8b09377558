/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_CONN_H
#define CEEMS_LIB_HTTP_WEB_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/http/web_auth.h"
#include "lib/http/web_order.h"

/* Deadlines of connections, and how many there may be. The HTTP library closes silent
 * connections only; one that moves a byte now and then would live for ever, so a thread
 * enforces a fixed deadline for each phase of a connection.
 *
 * A place is an address that is listened on. A client without proof has at most three
 * quarters of a place. When a place is full, an idle connection without proof is closed
 * for the next one: the oldest of the network that has most of them
 * (lib/http/web_order.h). Once proved, a connection counts for the proved user, with
 * the same limit. If front ends are configured, a quarter of each place is reserved for
 * them; a stranger then has at most half, and idle connections from front ends are
 * closed as late as proved ones. Thread safe. */

struct web_conns;
struct web_conn;

/* look_ms: how long a connection is idle before it is checked for a client that left;
 * most: connections per place; reserve: keep a quarter for front ends. */
int web_conns_new(uint64_t look_ms, size_t most, bool reserve, struct web_conns **ret,
		  struct err *err);
void web_conns_free(struct web_conns *c); /* no connection may be left; accepts NULL */

/* Whether a client may open one more connection, possibly at the cost of another. */
bool web_conns_admit(struct web_conns *c, const struct web_conn_from *from);
/* How many were closed for others, and how many clients were refused. */
void web_conns_counts(struct web_conns *c, uint64_t *ret_ended, uint64_t *ret_refused);
/* Adds a connection that must reach its next phase within ms; NULL: no memory. data is
 * the caller's, returned by web_conn_data(). */
struct web_conn *web_conn_add(struct web_conns *c, int fd, uint64_t ms, void *data,
			      const struct web_conn_from *from);
/* A request's head has arrived: the request runs until web_conn_rest(). */
void web_conn_begin(struct web_conns *c, struct web_conn *conn, uint64_t ms);
/* The request was refused; the rest of it is ignored. */
void web_conn_refused(struct web_conns *c, struct web_conn *conn);
/* Sets who the connection is proved to be: a number other than 0; 0: nobody any
 * more. */
void web_conn_prove(struct web_conns *c, struct web_conn *conn, uint64_t who);
/* Who that is; 0: nothing is proved. On the connection's own thread. */
uint64_t web_conn_who(const struct web_conn *conn);
const struct web_conn_from *web_conn_from(const struct web_conn *conn);
void web_conn_deadline(struct web_conns *c, struct web_conn *conn, uint64_t ms);
/* The same between two requests: the connection ends earlier if its client has closed
 * its side. */
void web_conn_rest(struct web_conns *c, struct web_conn *conn, uint64_t ms);
void *web_conn_data(const struct web_conn *conn);
/* The credential that it proved last. */
struct auth_known *web_conn_known(struct web_conn *conn);
/* Call before its fd is closed. */
void web_conn_remove(struct web_conns *c, struct web_conn *conn);

#endif
