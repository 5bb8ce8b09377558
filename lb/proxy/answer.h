/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LB_PROXY_ANSWER_H
#define CEEMS_LB_PROXY_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What a backend answers, as HTTP/1.1 has it (RFC 9112), and no way wider: what two
 * readers could understand in two ways is refused. Reads bytes, touches no socket.
 */

#define ANSWER_HEAD_MAX ((size_t)64 << 10)
#define ANSWER_TYPE_BYTES 128
#define ANSWER_ENCODING_BYTES 32
#define ANSWER_GRPC_STATUS_BYTES 4
#define ANSWER_GRPC_MESSAGE_BYTES 512

enum answer_framing {
	ANSWER_EMPTY,   /* has no body: HEAD, 204, 304 */
	ANSWER_LENGTH,  /* of so many bytes */
	ANSWER_CHUNKED, /* ends by itself */
	ANSWER_CLOSE,   /* ends with the connection */
};

struct answer_head {
	unsigned status; /* 100-599, 101 excepted */
	enum answer_framing framing;
	uint64_t length; /* of the body, ANSWER_LENGTH alone */
	bool keeps;      /* another request may follow in its connection */
	/* What a client is told of it; "": was not there */
	char type[ANSWER_TYPE_BYTES];
	char encoding[ANSWER_ENCODING_BYTES];
	/* gRPC-web tells an error before a message in headers; a longer text is left
	 * out */
	char grpc_status[ANSWER_GRPC_STATUS_BYTES];
	char grpc_message[ANSWER_GRPC_MESSAGE_BYTES];
};

/* Reads the head at the begin of len bytes, of which the first seen were there before
 * (their end is not looked for again). Returns its length; 0: more is needed; -EBADMSG:
 * it is none; -EFBIG: longer than ANSWER_HEAD_MAX. *ret_why (static) says what is
 * wrong. */
ssize_t answer_head_read(const char *data, size_t len, size_t seen,
			 struct answer_head *ret, const char **ret_why);

/* What is left of a body. */
struct answer_body {
	enum answer_framing framing;
	bool over;
	uint64_t left;   /* of its length, or of a chunk */
	unsigned part;   /* of a chunk */
	unsigned digits; /* or other bytes seen of this part */
};

/* head: the request was HEAD, whose answer has none whatever it says. */
void answer_body_begin(struct answer_body *b, const struct answer_head *h, bool head);

/* Takes the next len bytes and leaves in their place what they mean, whose length is
 * returned. *ret_used: bytes taken, all of them unless the body is over before; what
 * follows is not its. -EBADMSG: broken. */
ssize_t answer_body_take(struct answer_body *b, char *data, size_t len,
			 size_t *ret_used);

/* The connection ended: 0, or -ECONNRESET: too early. */
int answer_body_end(struct answer_body *b);

#endif
