/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PYROSCOPE_PYRO_BODY_H
#define CEEMS_LB_PYROSCOPE_PYRO_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "lb/gate/protocol.h"
#include "lib/buf.h"
#include "lib/err.h"

/*
 * How a message travels: the unary calls of the Connect protocol (connectrpc.com,
 * "Connect Protocol Reference"; POST, and GET with the message in the URL) and gRPC-web
 * (grpc/grpc, doc/PROTOCOL-WEB.md), both with protobuf or JSON, plain or by gzip. What
 * is sent on is a POST in the form of the client, without compression, so that the
 * answer is in the form that the client waits for.
 */

struct pyro_form {
	const char *content_type; /* as it is sent on; static */
	bool json;                /* else protobuf */
	bool framed;              /* gRPC-web: in a frame, the answer's trailers too */
};

/* The one message of a call, out of its frame and compression. -EINVAL; -E2BIG: more
 * than PYRO_BODY_MAX bytes, before or after; -EOPNOTSUPP: a media type or compression
 * that is not known here; -ENOMEM. */
int pyro_body_read(const struct protocol_input *in, struct pyro_form *ret,
		   struct buf *ret_message, struct err *err)
	__attribute__((warn_unused_result));

/* The body of what is sent on. Errors are the buffer's. */
void pyro_body_write(const struct pyro_form *f, const struct buf *message,
		     struct buf *out);
/* The same of an answer. */
void pyro_body_answer(const struct pyro_form *f, const struct buf *message,
		      struct buf *out);
/* An error. in decides the form; NULL: Connect's. */
void pyro_body_refuse(const struct protocol_input *in, unsigned status,
		      const char *text, struct buf *out, const char **type);

#endif
