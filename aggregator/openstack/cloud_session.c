/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A token, and requests with it. */
#include "aggregator/openstack/cloud_session.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/openstack/keystone_json.h"
#include "aggregator/openstack/nova_json.h"
#include "lib/clock.h"
#include "lib/parse.h"
#include "lib/secret.h"

#define TOKEN_BYTES_MAX 16384u
#define PAUSE_MAX_S 3600u
/* Servers of a cell that does not answer are told since 2.69, and nothing that we
 * read has changed since. */
#define MICROVERSION 69u

struct cloud_session {
	const struct cloud *cloud;
	struct http_client *client;
	struct buf token;
	uint64_t renew_ns; /* by the boot clock; 0: there is no token */
	char compute[1024];
	char version[16]; /* "2.69", "": not asked yet */
	uint64_t pause_s, date_s;
	atomic_uint_fast64_t requests;
};

int cloud_session_new(const struct cloud *cloud, const atomic_bool *stop,
		      struct cloud_session **ret, struct err *err)
{
	const struct http_client_config config = {
		.ca_file = cloud->ca_file,
		.cert_file = cloud->cert_file,
		.key_file = cloud->key_file,
		.insecure = cloud->insecure,
		.tls_min = cloud->tls_min,
		.timeout_ms = (uint32_t)cloud->timeout_ms,
		.max_body_bytes = NOVA_BYTES_MAX,
		.proxy = cloud->proxy,
		.stop = stop,
	};
	struct cloud_session *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->cloud = cloud;
	buf_init(&s->token, TOKEN_BYTES_MAX);
	int rc = http_client_new(&config, &s->client, err);
	if (rc < 0) {
		cloud_session_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void cloud_session_free(struct cloud_session *s)
{
	if (!s)
		return;
	http_client_free(s->client);
	secret_wipe(&s->token);
	free(s);
}

uint64_t cloud_session_pause_s(const struct cloud_session *s)
{
	return s->pause_s;
}

uint64_t cloud_session_date_s(const struct cloud_session *s)
{
	return s->date_s;
}

uint64_t cloud_session_requests(const struct cloud_session *s)
{
	return atomic_load(&s->requests);
}

static uint64_t date_of(struct cloud_session *s)
{
	const char *text = http_client_header(s->client, "Date");
	time_t t = text ? curl_getdate(text, NULL) : -1;

	return t > 0 ? (uint64_t)t : 0;
}

/* Retry-After is a number of seconds or a date of the service's clock (RFC 9110). */
static uint64_t pause_of(struct cloud_session *s)
{
	const char *text = http_client_header(s->client, "Retry-After");
	uint64_t pause = 0, now = date_of(s);

	if (text && parse_u64(text, &pause) < 0) {
		time_t until = curl_getdate(text, NULL);
		pause = until > 0 && (uint64_t)until > now && now
				? (uint64_t)until - now
				: 0;
	}
	return pause < 1 ? 1 : pause > PAUSE_MAX_S ? PAUSE_MAX_S : pause;
}

static int judge_status(struct cloud_session *s, const struct http_response *r,
			unsigned also, struct err *err)
{
	s->date_s = date_of(s);
	if (r->status == 406)
		s->version[0] = '\0'; /* another Nova than the one that was asked */
	if (r->status == 200 || (also && r->status == also))
		return 0;
	if (r->status != 429 &&
	    (r->status != 503 || !http_client_header(s->client, "Retry-After")))
		return err_set(err, -EPROTO, "%s: status %u", r->url, r->status);
	s->pause_s = pause_of(s);
	return err_set(err, -EAGAIN, "%s: status %u: asked to wait %llu s", r->url,
		       r->status, (unsigned long long)s->pause_s);
}

static void join_path(struct buf *b, const char *base, const char *path)
{
	size_t n = strlen(base);

	while (n && base[n - 1] == '/')
		n--;
	buf_put(b, base, n);
	buf_puts(b, path);
}

static int take_token(struct cloud_session *s, const struct http_response *r,
		      struct err *err)
{
	const char *subject = http_client_header(s->client, "X-Subject-Token");
	struct keystone_token t;

	if (!subject || !*subject || strlen(subject) >= TOKEN_BYTES_MAX)
		return err_set(err, -EBADMSG, "%s: no token", r->url);
	buf_puts(&s->token, subject);
	int rc = keystone_token(r->body.data ? r->body.data : "", r->body.len, s->cloud,
				&t, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s", r->url);
	if (!s->cloud->compute && !*t.compute)
		return err_set(err, -ENOENT,
			       "%s: the catalogue has no compute endpoint%s%s (set "
			       "api_service_endpoints.compute, region or interface)",
			       r->url, s->cloud->region ? " in " : "",
			       s->cloud->region ? s->cloud->region : "");
	(void)snprintf(s->compute, sizeof(s->compute), "%s",
		       s->cloud->compute ? s->cloud->compute : t.compute);
	/* no wall clock: Keystone's own two times say how long it lasts */
	uint64_t last_s = t.lifetime_s > 86400 ? 86400 : t.lifetime_s;
	s->renew_ns = clock_boottime_ns() + last_s * 800000000ull;
	return 0;
}

static int ask_token(struct cloud_session *s, struct err *err)
{
	static const struct http_header json = {"Content-Type", "application/json"};
	auto_http_response struct http_response r = {.status = 0};
	auto_secret struct buf body = BUF_INIT;
	auto_buf struct buf url = BUF_INIT;

	secret_wipe(&s->token);
	buf_init(&s->token, TOKEN_BYTES_MAX);
	s->renew_ns = 0;
	int rc = keystone_auth_body(&s->cloud->auth, &body, err);
	join_path(&url, s->cloud->identity, "/v3/auth/tokens");
	if (rc == 0 && buf_error(&url))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc < 0)
		return rc;
	const struct http_request request = {.method = HTTP_POST,
					     .url = url.data,
					     .headers = &json,
					     .header_count = 1,
					     .body = body.data,
					     .body_len = body.len};
	atomic_fetch_add(&s->requests, 1);
	rc = http_client_do(s->client, &request, &r, err);
	if (rc == 0 && r.status == 401)
		rc = err_set(err, -EACCES,
			     "%s: Keystone refuses our credentials (auth)", r.url);
	else if (rc == 0)
		rc = judge_status(s, &r, 201, err);
	return rc < 0 ? rc : take_token(s, &r, err);
}

/* What is asked for. */
struct cloud_ask {
	enum cloud_service service;
	const char *path;
	unsigned also; /* status that is an answer, too */
	bool (*take)(void *arg, const char *data, size_t len);
	void *take_arg;
};

static int ask_with_token(struct cloud_session *s, const struct cloud_ask *ask,
			  struct http_response *ret, struct err *err)
{
	const struct http_header headers[] = {
		{"X-Auth-Token", s->token.data},
		{"Accept", "application/json"},
		{"X-OpenStack-Nova-API-Version", s->version},
	};
	auto_buf struct buf url = BUF_INIT;

	join_path(&url, ask->service == CLOUD_COMPUTE ? s->compute : s->cloud->identity,
		  ask->path);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	const struct http_request request = {
		.url = url.data,
		.headers = headers,
		.header_count = ask->service == CLOUD_COMPUTE && *s->version ? 3 : 2,
		.take = ask->take,
		.take_arg = ask->take_arg,
	};
	atomic_fetch_add(&s->requests, 1);
	return http_client_do(s->client, &request, ret, err);
}

static int ask_twice(struct cloud_session *s, const struct cloud_ask *ask,
		     struct http_response *ret, struct err *err)
{
	int rc = 0;

	for (int turn = 0; turn < 2; turn++) {
		if (!s->renew_ns || clock_boottime_ns() >= s->renew_ns)
			rc = ask_token(s, err);
		if (rc == 0)
			rc = ask_with_token(s, ask, ret, err);
		if (rc < 0 || ret->status != 401)
			break;
		s->renew_ns = 0; /* revoked, or Keystone has other keys */
	}
	return rc < 0 ? rc : judge_status(s, ret, ask->also, err);
}

static int ask_version(struct cloud_session *s, struct err *err)
{
	auto_http_response struct http_response r = {.status = 0};
	const struct cloud_ask ask = {.service = CLOUD_COMPUTE, .path = "/"};
	unsigned minor = 0;
	int rc = ask_twice(s, &ask, &r, err);

	if (rc == 0)
		rc = nova_version(r.body.data ? r.body.data : "", r.body.len, &minor,
				  err);
	if (rc == 0)
		(void)snprintf(s->version, sizeof(s->version), "2.%u",
			       minor < MICROVERSION ? minor : MICROVERSION);
	return rc < 0 && *r.url && rc != -EPROTO && rc != -EAGAIN
		       ? err_prefix(err, rc, "%s", r.url)
		       : rc;
}

static int ask_service(struct cloud_session *s, const struct cloud_ask *ask,
		       struct http_response *ret, struct err *err)
{
	int rc = 0;

	if (ask->service == CLOUD_COMPUTE && !*s->version)
		rc = ask_version(s, err);
	return rc < 0 ? rc : ask_twice(s, ask, ret, err);
}

int cloud_session_get(struct cloud_session *s, enum cloud_service service,
		      const char *path, unsigned also, struct http_response *ret,
		      struct err *err)
{
	const struct cloud_ask ask = {.service = service, .path = path, .also = also};

	return ask_service(s, &ask, ret, err);
}

int cloud_session_read(struct cloud_session *s, enum cloud_service service,
		       const char *path,
		       bool (*take)(void *arg, const char *data, size_t len),
		       void *take_arg, struct http_response *ret, struct err *err)
{
	const struct cloud_ask ask = {
		.service = service, .path = path, .take = take, .take_arg = take_arg};

	return ask_service(s, &ask, ret, err);
}
