/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_PROFILE_PUSH_H
#define CEEMS_LIB_HTTP_PROFILE_PUSH_H

#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/http/client.h"
#include "lib/records/profile_record.h"

/*
 * A finished profile to Grafana Pyroscope: one request for each. Sources:
 * api/push/v1/push.proto and pkg/ingester/pyroscope/ingest_handler.go of its
 * repository.
 */

enum profile_api {
	PROFILE_API_PUSH,   /* push.v1.PusherService/Push, protobuf by Connect */
	PROFILE_API_INGEST, /* /ingest, for servers that have nothing else */
};

struct profile_store {
	const char *url; /* http://host:port, perhaps with a path before the API's */
	enum profile_api api;
	const char *tenant;           /* X-Scope-OrgID; NULL or "": none */
	const struct http_auth *auth; /* or NULL */
};

/* What an answer means for the profile. */
enum profile_verdict {
	PROFILE_TAKEN,
	PROFILE_REFUSED, /* it never will be */
	PROFILE_WAITS,   /* this one is tried again later, others may be sent */
	PROFILE_LATER,   /* the server is busy, down, or no profile store */
	PROFILE_DENIED,  /* the server does not accept us */
};

#define PROFILE_ANSWER_BYTES 160u
struct profile_answer {
	enum profile_verdict verdict;
	unsigned status;
	uint32_t retry_after_s;          /* 0: not given */
	char text[PROFILE_ANSWER_BYTES]; /* beginning of the body, printable */
};

/* 2xx: taken; 400, 413, 415, 422: refused; 425: waits; 401, 403: denied; all else:
 * later. Accepts any bytes. retry_after: the header, or NULL. */
void profile_answer_read(unsigned status, const char *body, size_t len,
			 const char *retry_after, struct profile_answer *ret);

/* The body of a push; errors are the buffer's. */
void profile_push_write(const struct profile_record *r, struct buf *ret);
/* What follows the server's URL for the older API, from "/ingest?" on. */
void profile_ingest_target(const struct profile_record *r, struct buf *ret);

/* 0: *ret is the answer; else there was none, as http_client_do() has it. */
int profile_push(struct http_client *client, const struct profile_store *s,
		 const struct profile_record *r, struct profile_answer *ret,
		 struct err *err);

#endif
