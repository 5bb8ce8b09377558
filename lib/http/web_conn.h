/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_CONN_H
#define CEEMS_LIB_HTTP_WEB_CONN_H

#include <stdint.h>

#include "lib/err.h"
#include "lib/http/web_auth.h"

/* Deadlines of connections. The HTTP library ends connections that are silent; one that
 * sends or takes a byte now and then would live for ever, so every phase of a
 * connection also has a fixed end, which a thread enforces. Thread safe. */

struct web_conns;
struct web_conn;

/* look_ms: how long a connection rests before its client may be found gone. */
int web_conns_new(uint64_t look_ms, struct web_conns **ret, struct err *err);
void web_conns_free(struct web_conns *c); /* no connection may be left; accepts NULL */

/* A connection that must reach its next phase within ms; NULL without memory. data is
 * the caller's, returned by web_conn_data(). */
struct web_conn *web_conn_add(struct web_conns *c, int fd, uint64_t ms, void *data);
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
