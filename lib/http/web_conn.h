/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_CONN_H
#define CEEMS_LIB_HTTP_WEB_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/http/web_auth.h"
#include "lib/http/web_order.h"

/* Deadlines of connections, and how many there may be. The HTTP library ends
 * connections that are silent; one that sends or takes a byte now and then would live
 * for ever, so every phase of a connection also has a fixed end, which a thread
 * enforces.
 *
 * Who has proved nothing has three quarters of a place (an address that is listened on)
 * at most for each client. When a place is full, one of those who prove nothing and ask
 * for nothing ends for the next: of the network that has most of them, the oldest
 * (lib/http/web_order.h).
 * Proof makes a connection one of whoever was proved, who may have as many. Where
 * front ends are listed a quarter of each place is kept free of strangers, of whom one
 * has half then, and an idle connection from there ends as late as one that is proved.
 * Thread safe. */

struct web_conns;
struct web_conn;

/* look_ms: how long a connection rests before its client may be found gone; most: of
 * connections of each place; reserve: a quarter is kept for front ends. */
int web_conns_new(uint64_t look_ms, size_t most, bool reserve, struct web_conns **ret,
		  struct err *err);
void web_conns_free(struct web_conns *c); /* no connection may be left; accepts NULL */

/* Whether a client may have one more connection, for which another may have to end. */
bool web_conns_admit(struct web_conns *c, const struct web_conn_from *from);
/* How many ended for others, and how many clients got none. */
void web_conns_counts(struct web_conns *c, uint64_t *ret_ended, uint64_t *ret_refused);
/* A connection that must reach its next phase within ms; NULL without memory. data is
 * the caller's, returned by web_conn_data(). */
struct web_conn *web_conn_add(struct web_conns *c, int fd, uint64_t ms, void *data,
			      const struct web_conn_from *from);
/* A request's head is there: it is under way until web_conn_rest(). */
void web_conn_begin(struct web_conns *c, struct web_conn *conn, uint64_t ms);
/* It was refused, what comes of it still is not of interest. */
void web_conn_refused(struct web_conns *c, struct web_conn *conn);
/* Whoever it is has proved it, a number other than 0; 0: no longer. */
void web_conn_prove(struct web_conns *c, struct web_conn *conn, uint64_t who);
/* Who that is; 0: nothing is proved. On the connection's own thread. */
uint64_t web_conn_who(const struct web_conn *conn);
const struct web_conn_from *web_conn_from(const struct web_conn *conn);
void web_conn_deadline(struct web_conns *c, struct web_conn *conn, uint64_t ms);
/* The same, between two requests: it ends before its time if its client has closed its
 * side. */
void web_conn_rest(struct web_conns *c, struct web_conn *conn, uint64_t ms);
void *web_conn_data(const struct web_conn *conn);
/* What it proved last; its own. */
struct auth_known *web_conn_known(struct web_conn *conn);
/* Before its fd is closed. */
void web_conn_remove(struct web_conns *c, struct web_conn *conn);

#endif
