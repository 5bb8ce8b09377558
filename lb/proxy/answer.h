/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_ANSWER_H
#define CEEMS_LB_PROXY_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Parses a backend's HTTP/1.1 answer (RFC 9112) strictly: anything ambiguous is
 * refused. Works on bytes, touches no socket.
 */

#define ANSWER_HEAD_MAX ((size_t)64 << 10)
#define ANSWER_TYPE_BYTES 128
#define ANSWER_ENCODING_BYTES 32
#define ANSWER_GRPC_STATUS_BYTES 4
#define ANSWER_GRPC_MESSAGE_BYTES 512

enum answer_framing {
	ANSWER_EMPTY,   /* no body: HEAD, 204, 304 */
	ANSWER_LENGTH,  /* by Content-Length */
	ANSWER_CHUNKED, /* ends by itself */
	ANSWER_CLOSE,   /* ends when the connection does */
};

struct answer_head {
	unsigned status; /* 100-599, 101 excepted */
	enum answer_framing framing;
	uint64_t length; /* of the body, ANSWER_LENGTH alone */
	bool keeps;      /* the connection can be reused */
	/* Headers passed on to the client; "": missing */
	char type[ANSWER_TYPE_BYTES];
	char encoding[ANSWER_ENCODING_BYTES];
	/* gRPC-web may report an error in headers instead of a message; a longer text
	 * is left out */
	char grpc_status[ANSWER_GRPC_STATUS_BYTES];
	char grpc_message[ANSWER_GRPC_MESSAGE_BYTES];
};

/* Parses the head at the beginning of len bytes, of which the first `seen` were
 * already searched for its end. Returns its length; 0: more bytes are needed;
 * -EBADMSG: malformed; -EFBIG: longer than ANSWER_HEAD_MAX. *ret_why (static) says
 * what is wrong. */
ssize_t answer_head_read(const char *data, size_t len, size_t seen,
			 struct answer_head *ret, const char **ret_why);

/* State of a body. */
struct answer_body {
	enum answer_framing framing;
	bool over;
	uint64_t left;   /* bytes left of the body, or of a chunk */
	unsigned part;   /* of a chunk */
	unsigned digits; /* digits, or other bytes, of this part so far */
};

/* head: the request was HEAD, so there is no body, whatever the head says. */
void answer_body_begin(struct answer_body *b, const struct answer_head *h, bool head);

/* Decodes the next len bytes in place and returns the length of the result. *ret_used:
 * bytes consumed, which is all of them unless the body ends before; the rest belongs to
 * something else. -EBADMSG: malformed. */
ssize_t answer_body_take(struct answer_body *b, char *data, size_t len,
			 size_t *ret_used);

/* The connection was closed: 0, or -ECONNRESET: too early. */
int answer_body_end(struct answer_body *b);

#endif
