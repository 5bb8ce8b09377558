/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A question to the aggregator's API on behalf of a user, with our credentials as a
 * front end (doc/api.md). The configured aggregators are tried in order, starting with
 * the one that answered last. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lb/gate/ownership.h"
#include "lb/promql/form.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client.h"
#include "lib/identity/identity.h"
#include "lib/identity/munge_request.h"

#define TIMEOUT_MS 5000u

struct ownership_link {
	uint64_t generation;
	struct http_client *client;
	size_t good;    /* the URL that answered last */
	bool no_latest; /* the aggregator is older and does not know this parameter */
};

void ownership_link_free(struct ownership_link *l)
{
	if (!l)
		return;
	http_client_free(l->client);
	free(l);
}

static int open_link(struct ownership_link **link, const struct site_api *api,
		     uint64_t generation, const char *user_agent,
		     const atomic_bool *stop, struct err *err)
{
	const struct http_client_config config = {
		.ca_file = api->ca_file,
		.cert_file = api->cert_file,
		.key_file = api->key_file,
		.insecure = api->insecure,
		.connect_timeout_ms = 2000,
		.timeout_ms = api->timeout_ms ? api->timeout_ms : TIMEOUT_MS,
		.max_body_bytes = OWNERSHIP_ANSWER_BYTES_MAX,
		.user_agent = user_agent,
		.stop = stop,
	};
	struct ownership_link *l = *link;

	if (l && l->generation == generation)
		return 0;
	ownership_link_free(l);
	*link = NULL;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->generation = generation;
	int rc = http_client_new(&config, &l->client, err);
	if (rc) {
		ownership_link_free(l);
		return rc;
	}
	*link = l;
	return 0;
}

static void put_target(const struct ownership_ask *q, bool latest, struct buf *out)
{
	auto_buf struct buf form = BUF_INIT;

	form_put(&form, "cluster_id", q->cluster, strlen(q->cluster));
	if (q->own) {
		/* rounded outwards to full seconds */
		int64_t from = q->from_ms < 0 ? 0 : q->from_ms / 1000;
		int64_t to = q->to_ms < 0 ? 0 : q->to_ms / 1000 + 1;

		buf_printf(&form, "&from=%lld&to=%lld&most=%u",
			   (long long)(from < 9999999999 ? from : 9999999999),
			   (long long)(to < 9999999999 ? to : 9999999999), q->most + 1);
	}
	if (latest)
		buf_printf(&form, "&latest=%u", q->latest);
	buf_puts(out, q->own ? "/api/v1/units/own?" : "/api/v1/units/verify?");
	buf_put(out, form.data, form.len);
	if (buf_error(&form))
		out->error = buf_error(&form);
}

/* -EAGAIN: the aggregator is older than `latest`; the same question without it. */
static int take_http_answer(struct ownership_link *l, const struct ownership_ask *q,
			    bool latest, const struct http_response *a, struct buf *ret,
			    struct err *err)
{
	if (a->status == 401 || a->status == 403)
		return err_set(err, -EACCES,
			       "%s: status %u: the aggregator does not list this load "
			       "balancer as a front end (identity.front-end), or has "
			       "no user %s",
			       a->url, a->status, q->login);
	if (a->status == 400 && latest) {
		l->no_latest = true;
		return -EAGAIN;
	}
	if (a->status != 200)
		return err_set(err, -EHOSTDOWN, "%s: status %u", a->url, a->status);
	buf_reset(ret);
	buf_put(ret, a->body.data ? a->body.data : "", a->body.len);
	return buf_error(ret);
}

static int ask_one(struct ownership_link *l, const struct site_api *api,
		   const char *base, const struct ownership_ask *q,
		   const struct buf *body, uint32_t timeout_ms, struct buf *ret,
		   struct err *err)
{
	auto_http_response struct http_response a = {0};
	auto_buf struct buf url = BUF_INIT, proof = BUF_INIT;
	struct http_auth auth = {.user = api->user,
				 .password = api->password,
				 .password_file = api->password_file};
	char uid[24];
	struct http_header headers[4] = {{"X-Grafana-User", q->login}};
	size_t n = strlen(base), header_count = 1;
	bool latest = q->latest && !l->no_latest;
	int rc;

	snprintf(uid, sizeof(uid), "%u", q->uid);
	if (q->has_uid)
		headers[header_count++] =
			(struct http_header){IDENTITY_UID_HEADER, uid};
	if (q->named)
		headers[header_count++] =
			(struct http_header){IDENTITY_NO_ROLE_HEADER, "1"};
	if (!q->own)
		headers[header_count++] =
			(struct http_header){"Content-Type", "text/plain"};
	while (n && base[n - 1] == '/')
		n--;
	buf_put(&url, base, n);
	put_target(q, latest, &url);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	if (api->munge) {
		rc = munge_request_write(api->munge_socket, q->own ? "GET" : "POST",
					 url.data, q->own ? NULL : body->data,
					 q->own ? 0 : body->len, &proof, err);
		if (rc)
			return rc;
		auth = (struct http_auth){.scheme = "MUNGE", .credentials = proof.data};
	}
	const struct http_request request = {
		.method = q->own ? HTTP_GET : HTTP_POST,
		.url = url.data,
		.headers = headers,
		.header_count = header_count,
		.body = q->own ? NULL : body->data,
		.body_len = q->own ? 0 : body->len,
		.auth = api->munge || api->user ? &auth : NULL,
		.timeout_ms = timeout_ms,
	};
	rc = http_client_do(l->client, &request, &a, err);
	return rc ? rc : take_http_answer(l, q, latest, &a, ret, err);
}

int ownership_link_ask(struct ownership_link **link, const struct site_api *api,
		       uint64_t generation, const char *user_agent,
		       const atomic_bool *stop, const struct ownership_ask *q,
		       struct buf *ret, struct err *err)
{
	uint32_t left_ms = api->timeout_ms ? api->timeout_ms : TIMEOUT_MS;
	uint64_t until = clock_boottime_ns() + left_ms * NSEC_PER_MSEC, now;
	auto_buf struct buf body = BUF_INIT;
	int rc = open_link(link, api, generation, user_agent, stop, err);
	struct ownership_link *l = *link;
	size_t first;

	if (rc)
		return rc;
	for (size_t i = 0; i < q->count; i++) {
		buf_put(&body, q->ids[i].p, q->ids[i].len);
		buf_putc(&body, '\n');
	}
	if (buf_error(&body))
		return err_set(err, -ENOMEM, "out of memory");
	first = l->good;
	for (size_t i = 0; i < api->url_count && !atomic_load(stop); i++) {
		size_t k = (first + i) % api->url_count;

		now = clock_boottime_ns();
		if (now >= until)
			break;
		left_ms = (uint32_t)((until - now) / NSEC_PER_MSEC) + 1;
		rc = ask_one(l, api, api->urls[k], q, &body, left_ms, ret, err);
		if (rc == -EAGAIN)
			rc = ask_one(l, api, api->urls[k], q, &body, left_ms, ret, err);
		l->good = k;
		if (!rc || rc == -EACCES || rc == -ENOMEM)
			return rc;
		rc = -EHOSTDOWN;
	}
	return rc ? rc : err_set(err, -EHOSTDOWN, "no aggregator is configured");
}
