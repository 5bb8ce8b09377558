/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PYROSCOPE_PYRO_BODY_H
#define CEEMS_LB_PYROSCOPE_PYRO_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "lb/gate/protocol.h"
#include "lib/buf.h"
#include "lib/err.h"

/*
 * The encodings of a message: unary calls of the Connect protocol (connectrpc.com,
 * "Connect Protocol Reference"; POST, and GET with the message in the URL) and gRPC-web
 * (grpc/grpc, doc/PROTOCOL-WEB.md), both with protobuf or JSON, plain or gzip. It is
 * sent on as a POST in the client's encoding without compression, so that the answer
 * has the encoding the client expects.
 */

struct pyro_form {
	const char *content_type; /* for the call; static */
	bool json;                /* else protobuf */
	bool framed; /* gRPC-web: in a frame, and the answer's trailers too */
};

/* The single message of a call, unframed and decompressed. -EINVAL; -E2BIG: more than
 * PYRO_BODY_MAX bytes before or after; -EOPNOTSUPP: unknown media type or compression;
 * -ENOMEM. */
int pyro_body_read(const struct protocol_input *in, struct pyro_form *ret,
		   struct buf *ret_message, struct err *err)
	__attribute__((warn_unused_result));

/* The body to send. Errors are the buffer's. */
void pyro_body_write(const struct pyro_form *f, const struct buf *message,
		     struct buf *out);
/* The same for an answer. */
void pyro_body_answer(const struct pyro_form *f, const struct buf *message,
		      struct buf *out);
/* An error. in determines the form; NULL: Connect's. */
void pyro_body_refuse(const struct protocol_input *in, unsigned status,
		      const char *text, struct buf *out, const char **type);

#endif
