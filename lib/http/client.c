/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libcurl without anything that it might do on its own: a server's answer decides
 * neither how long we wait, nor how much we keep, nor whom we ask next. */
#include "lib/http/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client_url.h"
#include "lib/secret.h"

#define CONNECT_MS 5000u
#define TIMEOUT_MS 10000u
#define CREDENTIALS_MAX 8192u

struct http_client {
	CURL *curl;
	struct curl_slist *headers; /* of the running request */
	uint32_t timeout_ms;
	size_t max_body_bytes;
	unsigned redirects;
	const atomic_bool *stop;
	struct buf *body; /* of the running request */
	const struct http_request *request;
	bool refused; /* by its take() */
	size_t header_bytes;
	bool too_long;
	char why[CURL_ERROR_SIZE];
};

static size_t take_body_bytes(char *data, size_t size, size_t n, void *arg)
{
	struct http_client *c = arg;
	size_t bytes = size * n;
	long status = 0;

	if (c->request->take &&
	    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
	    status == 200) {
		c->refused = !c->request->take(c->request->take_arg, data, bytes);
		return c->refused ? 0 : bytes;
	}
	if (bytes > c->max_body_bytes - c->body->len) {
		c->too_long = true;
		return 0;
	}
	buf_put(c->body, data, bytes);
	return buf_error(c->body) ? 0 : bytes;
}

static size_t take_header(char *data, size_t size, size_t n, void *arg)
{
	struct http_client *c = arg;

	(void)data;
	c->header_bytes += size * n;
	if (c->header_bytes > HTTP_HEADERS_MAX) {
		c->too_long = true;
		return 0;
	}
	return size * n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c,
		       curl_off_t d)
{
	const struct http_client *client = arg;

	(void)a, (void)b, (void)c, (void)d;
	return client->stop && atomic_load(client->stop);
}

static void global_init(void)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static CURLcode set_tls(CURL *h, const struct http_client_config *config)
{
	static const long versions[] = {
		CURL_SSLVERSION_TLSv1_0, CURL_SSLVERSION_TLSv1_1,
		CURL_SSLVERSION_TLSv1_2, CURL_SSLVERSION_TLSv1_3};
	unsigned min = config->tls_min ? config->tls_min : 12;
	CURLcode rc = CURLE_OK;

	rc |= curl_easy_setopt(h, CURLOPT_SSLVERSION, versions[min - 10]);
	rc |= curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
	rc |= curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
	if (config->ca_file && *config->ca_file) {
		rc |= curl_easy_setopt(h, CURLOPT_CAINFO, config->ca_file);
		rc |= curl_easy_setopt(h, CURLOPT_CAPATH, NULL);
	}
	if (config->cert_file && *config->cert_file)
		rc |= curl_easy_setopt(h, CURLOPT_SSLCERT, config->cert_file);
	if (config->key_file && *config->key_file)
		rc |= curl_easy_setopt(h, CURLOPT_SSLKEY, config->key_file);
	return rc;
}

static CURLcode set_all(struct http_client *c, const struct http_client_config *config)
{
	CURL *h = c->curl;
	long connect_ms =
		config->connect_timeout_ms ? config->connect_timeout_ms : CONNECT_MS;
	CURLcode rc = set_tls(h, config);

	rc |= curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
	rc |= curl_easy_setopt(h, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	rc |= curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
	rc |= curl_easy_setopt(h, CURLOPT_NETRC, CURL_NETRC_IGNORED);
	rc |= curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	rc |= curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
	rc |= curl_easy_setopt(h, CURLOPT_USERAGENT,
			       config->user_agent ? config->user_agent
						  : "ceems/" CEEMS_VERSION);
	if (!config->proxy || strcmp(config->proxy, "env") != 0)
		rc |= curl_easy_setopt(h, CURLOPT_PROXY,
				       config->proxy ? config->proxy : "");
	rc |= curl_easy_setopt(h, CURLOPT_ERRORBUFFER, c->why);
	rc |= curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take_body_bytes);
	rc |= curl_easy_setopt(h, CURLOPT_WRITEDATA, c);
	rc |= curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header);
	rc |= curl_easy_setopt(h, CURLOPT_HEADERDATA, c);
	rc |= curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
	rc |= curl_easy_setopt(h, CURLOPT_XFERINFODATA, c);
	rc |= curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
	return rc;
}

int http_client_new(const struct http_client_config *config, struct http_client **ret,
		    struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if ((config->tls_min && (config->tls_min < 10 || config->tls_min > 13)) ||
	    config->redirects > HTTP_REDIRECTS_MAX)
		return err_set(err, -EINVAL, "http client: value out of range");
	(void)pthread_once(&once, global_init);
	struct http_client *c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->curl = curl_easy_init();
	c->timeout_ms = config->timeout_ms ? config->timeout_ms : TIMEOUT_MS;
	c->max_body_bytes =
		config->max_body_bytes ? config->max_body_bytes : HTTP_BODY_MAX;
	c->redirects = config->redirects;
	c->stop = config->stop;
	if (!c->curl || set_all(c, config) != CURLE_OK) {
		http_client_free(c);
		return err_set(err, -ENOMEM, "http client: libcurl refuses");
	}
	*ret = c;
	return 0;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	curl_slist_free_all(c->headers);
	free(c);
}

static int append_header_line(struct http_client *c, const char *line, struct err *err)
{
	struct curl_slist *more = curl_slist_append(c->headers, line);

	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	c->headers = more;
	return 0;
}

static bool has_control(const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	}
	return false;
}

static int put_request_header(struct http_client *c, const char *name,
			      const char *value, struct err *err)
{
	auto_buf struct buf line = {.max = 2 * (size_t)CREDENTIALS_MAX};

	if (!*name || strpbrk(name, ": \t") || has_control(name) || has_control(value))
		return err_set(err, -EINVAL, "a header that cannot be sent");
	/* libcurl's syntax for a header without a value is ';' */
	buf_printf(&line, *value ? "%s: %s" : "%s;", name, value);
	int rc = buf_error(&line);
	return rc ? err_set(err, rc, "a header that is too long")
		  : append_header_line(c, line.data, err);
}

static int put_basic(struct http_client *c, const char *user, const char *password,
		     struct err *err)
{
	CURLcode rc = CURLE_OK;

	if (strchr(user, ':'))
		return err_set(err, -EINVAL, "the user name contains a colon");
	rc |= curl_easy_setopt(c->curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	rc |= curl_easy_setopt(c->curl, CURLOPT_USERNAME, user);
	rc |= curl_easy_setopt(c->curl, CURLOPT_PASSWORD, password ? password : "");
	return rc ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int put_auth(struct http_client *c, const struct http_auth *a, struct err *err)
{
	auto_secret struct buf secret = {.max = CREDENTIALS_MAX};
	auto_secret struct buf value = {.max = CREDENTIALS_MAX};
	const char *file = a->user ? a->password_file : a->credentials_file;
	const char *text = a->user ? a->password : a->credentials;
	int rc = 0;

	if (file && *file) {
		rc = http_secret_read(file, &secret, err);
		text = secret.data;
	}
	if (rc == 0 && a->user) {
		rc = put_basic(c, a->user, text, err);
	} else if (rc == 0) {
		buf_printf(&value, "%s %s", a->scheme ? a->scheme : "Bearer",
			   text ? text : "");
		rc = buf_error(&value)
			     ? err_set(err, -EFBIG, "credentials too long")
			     : put_request_header(c, "Authorization", value.data, err);
	}
	return rc;
}

static int prepare_request(struct http_client *c, const struct http_request *r,
			   struct err *err)
{
	CURLcode rc = CURLE_OK;
	int status = 0;

	if (r->body_len > (size_t)LONG_MAX)
		return err_set(err, -EFBIG, "request too long");
	rc |= curl_easy_setopt(c->curl, CURLOPT_HTTPAUTH, CURLAUTH_NONE);
	rc |= curl_easy_setopt(c->curl, CURLOPT_USERNAME, NULL);
	rc |= curl_easy_setopt(c->curl, CURLOPT_PASSWORD, NULL);
	rc |= curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, NULL);
	rc |= curl_easy_setopt(c->curl, CURLOPT_NOBODY, 0L);
	rc |= curl_easy_setopt(c->curl, CURLOPT_HTTPGET, 1L);
	if (r->method == HTTP_HEAD)
		rc |= curl_easy_setopt(c->curl, CURLOPT_NOBODY, 1L);
	if (r->method == HTTP_DELETE)
		rc |= curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, "DELETE");
	if (r->method == HTTP_POST) {
		rc |= curl_easy_setopt(c->curl, CURLOPT_POST, 1L);
		rc |= curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS,
				       r->body ? r->body : "");
		rc |= curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE,
				       (long)r->body_len);
	}
	/* no round trip before a body: ours are small */
	status = append_header_line(c, "Expect:", err);
	for (size_t i = 0; i < r->header_count && status == 0; i++)
		status = put_request_header(c, r->headers[i].name, r->headers[i].value,
					    err);
	if (status == 0 && r->auth)
		status = put_auth(c, r->auth, err);
	rc |= curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, c->headers);
	return status == 0 && rc ? err_set(err, -ENOMEM, "out of memory") : status;
}

static int errno_of(const struct http_client *c, CURLcode rc)
{
	switch (rc) {
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -EHOSTUNREACH;
	case CURLE_WRITE_ERROR:
		if (c->refused)
			return -ECANCELED;
		return c->too_long ? -EFBIG : -ENOMEM;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return -EKEYREJECTED;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
		return -EINVAL;
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
		return -ECONNRESET;
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_BAD_CONTENT_ENCODING:
		return -EBADMSG;
	case CURLE_ABORTED_BY_CALLBACK:
		return -ECANCELED;
	default:
		return -EIO;
	}
}

const char *http_method_name(enum http_method m)
{
	static const char *const names[] = {"GET", "HEAD", "POST", "DELETE"};
	return names[m];
}

/* libcurl's own text names hosts and files, but may quote an invalid URL. */
static int explain_failure(const struct http_client *c, const struct http_request *r,
			   const char *url, CURLcode code, struct err *err)
{
	char name[512];
	const char *why = c->why;
	int rc = errno_of(c, code);

	http_url_name(url, name, sizeof(name));
	if (c->too_long)
		why = c->header_bytes > HTTP_HEADERS_MAX ? "headers too long"
							 : "answer too long";
	else if (!*why || rc == -EINVAL)
		why = curl_easy_strerror(code);
	return err_set(err, rc, "%s %s: %s", http_method_name(r->method), name, why);
}

static int ask_url_once(struct http_client *c, const struct http_request *r,
			const char *url, uint64_t left_ms, struct http_response *ret,
			struct err *err)
{
	CURLcode rc = curl_easy_setopt(c->curl, CURLOPT_URL, url);

	buf_reset(&ret->body);
	c->body = &ret->body;
	c->request = r;
	c->header_bytes = 0;
	c->too_long = c->refused = false;
	c->why[0] = '\0';
	rc |= curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)left_ms);
	if (rc == CURLE_OK)
		rc = curl_easy_perform(c->curl);
	if (rc != CURLE_OK)
		return explain_failure(c, r, url, rc, err);
	long status = 0;
	(void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 100 || status > 999)
		return explain_failure(c, r, url, CURLE_WEIRD_SERVER_REPLY, err);
	ret->status = (unsigned)status;
	http_url_name(url, ret->url, sizeof(ret->url));
	return 0;
}

/* Whether to follow a redirect; *ret, its target, is owned. */
static bool find_redirect(struct http_client *c, const struct http_request *r,
			  const struct http_response *resp, const char *from,
			  char **ret)
{
	char *to = NULL;

	if (!c->redirects || r->method > HTTP_HEAD || resp->status < 301 ||
	    resp->status > 308 || resp->status == 304 ||
	    curl_easy_getinfo(c->curl, CURLINFO_REDIRECT_URL, &to) != CURLE_OK || !to ||
	    !http_url_same_origin(from, to))
		return false;
	*ret = strdup(to); /* libcurl's is freed with the next request */
	return *ret != NULL;
}

static int with_redirects(struct http_client *c, const struct http_request *r,
			  struct http_response *ret, struct err *err)
{
	uint32_t timeout_ms = r->timeout_ms ? r->timeout_ms : c->timeout_ms;
	uint64_t end_ns = clock_boottime_ns() + timeout_ms * NSEC_PER_MSEC;
	char *url = strdup(r->url), *next = NULL;
	unsigned hops = 0;
	int rc = url ? 0 : err_set(err, -ENOMEM, "out of memory");

	while (rc == 0) {
		uint64_t now = clock_boottime_ns();
		uint64_t left_ms = now < end_ns ? (end_ns - now) / NSEC_PER_MSEC : 0;
		rc = ask_url_once(c, r, url, left_ms ? left_ms : 1, ret, err);
		if (rc < 0 || !find_redirect(c, r, ret, url, &next))
			break;
		free(url);
		url = steal_ptr(&next);
		if (++hops > c->redirects)
			rc = err_set(err, -ELOOP, "%s %s: more than %u redirects",
				     http_method_name(r->method), ret->url,
				     c->redirects);
	}
	free(url);
	return rc;
}

int http_client_do(struct http_client *c, const struct http_request *r,
		   struct http_response *ret, struct err *err)
{
	char name[512];

	ret->status = 0;
	ret->url[0] = '\0';
	buf_reset(&ret->body);
	http_url_name(r->url, name, sizeof(name));
	int rc = http_url_check(r->url, err);
	if (rc == 0)
		rc = prepare_request(c, r, err);
	rc = rc < 0 ? err_prefix(err, rc, "%s %s", http_method_name(r->method), name)
		    : with_redirects(c, r, ret, err);
	(void)curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(steal_ptr(&c->headers));
	if (rc < 0) {
		ret->status = 0;
		buf_reset(&ret->body);
	}
	return rc;
}

const char *http_client_header(struct http_client *c, const char *name)
{
	struct curl_header *h = NULL;

	if (curl_easy_header(c->curl, name, 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
		return NULL;
	return h->value;
}

void http_response_done(struct http_response *r)
{
	buf_done(&r->body);
	r->status = 0;
}
