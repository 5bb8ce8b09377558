/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_GRPC_UNIX_H
#define CEEMS_CONTRIB_K8S_GRPC_UNIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/loop.h"

/*
 * One call of gRPC (grpc.github.io/grpc/core/md_doc__p_r_o_t_o_c_o_l-_h_t_t_p2.html)
 * over a unix socket, with HTTP/2 by nghttp2: a request, and one or many messages in
 * answer. Runs on a loop; never waits. One thread.
 */

enum { GRPC_OK = 0, GRPC_UNKNOWN = 2, GRPC_UNIMPLEMENTED = 12, GRPC_UNAVAILABLE = 14 };

struct grpc_call {
	const char *socket; /* path */
	const char *method; /* "/v1.PodResourcesLister/List" */
	size_t message_max; /* bytes of a message: a longer one ends the call */
	/* Each message, borrowed. False: ends the call. */
	bool (*message)(void *arg, const unsigned char *data, size_t len);
	/* The end, once, never from within grpc_unix_start(): the grpc-status, or
	 * negative errno with a text. The call must not be used any more. */
	void (*end)(void *arg, int status, const struct err *err);
	void *arg;
};

struct grpc_unix;

/* The request's message is empty. call is copied, its strings are borrowed. 0;
 * -ENOENT, -ECONNREFUSED and the like, with a text: end() is not called then. */
int grpc_unix_start(struct loop *l, const struct grpc_call *call,
		    struct grpc_unix **ret, struct err *err);
/* Without a call of end(). Accepts NULL. */
void grpc_unix_free(struct grpc_unix *g);

/* Takes bytes of an answer's body for tests and fuzzing: any bytes. */
struct grpc_body {
	unsigned char head[5];
	size_t head_len;
	unsigned char *data; /* of the message that is coming */
	size_t len, want;
};
/* 0; -EFBIG; -EPROTO: compressed, which we did not ask for; -ENOMEM; -ECANCELED: by
 * message(). */
int grpc_body_take(struct grpc_body *b, const struct grpc_call *call,
		   const unsigned char *data, size_t len);
void grpc_body_done(struct grpc_body *b);

#endif
