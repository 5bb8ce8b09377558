/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_CLIENT_H
#define CEEMS_LIB_HTTP_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"

/*
 * One HTTP/1.1 client over libcurl: bounded in time, size and redirect targets. A
 * client keeps its connection alive between requests and belongs to one thread at a
 * time; several clients may run in several threads. Only http and https, no cookies, no
 * .netrc, no HSTS or alt-svc memory, no decompression.
 *
 * No error text or other output contains a secret, a user name from a URL or a query
 * string.
 */

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_POST, HTTP_DELETE };
/* "GET". Static. */
const char *http_method_name(enum http_method m);

struct http_header {
	const char *name, *value; /* no control characters in either: else -EINVAL */
};

#define HTTP_BODY_MAX ((size_t)4 << 20)
#define HTTP_HEADERS_MAX ((size_t)64 << 10) /* of one answer, beyond it -EFBIG */
#define HTTP_REDIRECTS_MAX 10u

/* Zero means the default everywhere. All strings are copied by http_client_new(). */
struct http_client_config {
	const char *ca_file;              /* PEM, instead of the system's */
	const char *cert_file, *key_file; /* client certificate, PEM */
	bool insecure;                    /* verify neither certificate nor name */
	unsigned tls_min;                 /* 10, 11, 12 or 13; default 12: TLS 1.2 */
	uint32_t connect_timeout_ms;      /* default 5000 */
	uint32_t timeout_ms;   /* a whole request, redirects too; default 10000 */
	size_t max_body_bytes; /* of an answer; default HTTP_BODY_MAX */
	/* Redirects of GET and HEAD to follow, at most HTTP_REDIRECTS_MAX, and only to
	 * the same scheme, host and port. Others are returned to the caller. */
	unsigned redirects;
	/* "http://host:port" of a forward proxy. NULL: none; "env": from http_proxy,
	 * https_proxy and no_proxy. */
	const char *proxy;
	const char *user_agent;  /* default ceems/VERSION */
	const atomic_bool *stop; /* when it becomes true the running request ends within
				    a second with -ECANCELED; may be NULL */
};

/* Credentials. Files are read at each request, see http_secret_read(). */
struct http_auth {
	const char *user, *password, *password_file; /* basic, when user is set */
	const char *scheme, *credentials,
		*credentials_file; /* if user is not set; scheme: Bearer */
};

struct http_request {
	enum http_method method;
	const char *url; /* http or https, without user and password: else -EINVAL */
	const struct http_header *headers;
	size_t header_count;
	const void *body; /* POST */
	size_t body_len;
	const struct http_auth *auth; /* or NULL */
	uint32_t timeout_ms;          /* 0: the client's */
	/* For an answer of status 200 without an end: takes its body piece by piece
	 * instead of ret->body, whatever its length. False ends the request with
	 * -ECANCELED. NULL: no such answer is expected. */
	bool (*take)(void *arg, const char *data, size_t len);
	void *take_arg;
};

/* Zero-initialise; reused by the next request, freed with http_response_done(). */
struct http_response {
	unsigned status;
	struct buf body; /* NUL-terminated where it is not empty */
	char url[1024];  /* the URL that answered, as http_url_name() shows it */
};

struct http_client;

/* -EINVAL: a value above its limit; -ENOMEM. A missing certificate file is noticed only
 * by the first request. */
int http_client_new(const struct http_client_config *config, struct http_client **ret,
		    struct err *err);
void http_client_free(struct http_client *c); /* accepts NULL */

/* Makes one request. 0: there is an answer, whatever its status. Else, with the URL in
 * err: -ETIMEDOUT; -ECONNREFUSED: no connection; -EHOSTUNREACH: name not found; -EFBIG:
 * body or headers too long; -EKEYREJECTED: TLS, certificate or name; -EBADMSG: not
 * HTTP; -ECONNRESET: connection lost; -ELOOP: too many redirects; -ECANCELED; -EINVAL;
 * -EPERM and the like: the file of a secret; -EIO. On failure *ret is empty. */
int http_client_do(struct http_client *c, const struct http_request *r,
		   struct http_response *ret, struct err *err);

/* A header of the last answer; NULL: not there. Borrowed until the next request. */
const char *http_client_header(struct http_client *c, const char *name);

void http_response_done(struct http_response *r);
#define auto_http_response __attribute__((cleanup(http_response_done)))

/* The URL as logs may show it: scheme, host, port and path, cut to fit. */
void http_url_name(const char *url, char *ret, size_t size);

/* secret_load() of at most 4 KiB, without the newline at its end. Appends to ret. */
int http_secret_read(const char *path, struct buf *ret, struct err *err);

#endif
