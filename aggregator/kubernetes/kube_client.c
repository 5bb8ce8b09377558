/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to an API server. The token's file is read for each: kubelet renews it. */
#include "aggregator/kubernetes/kube_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/kubernetes/kube_json.h"

struct kube_client {
	const struct kube *kube;
	struct http_client *http;
};

int kube_client_new(const struct kube *k, uint64_t timeout_ms, const atomic_bool *stop,
		    struct kube_client **ret, struct err *err)
{
	const struct http_client_config config = {
		.ca_file = k->ca_file,
		.cert_file = k->cert_file,
		.key_file = k->key_file,
		.insecure = k->insecure,
		.timeout_ms = (uint32_t)timeout_ms,
		.max_body_bytes = KUBE_ANSWER_MAX,
		.stop = stop,
	};
	struct kube_client *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->kube = k;
	int rc = http_client_new(&config, &c->http, err);
	if (rc < 0) {
		free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void kube_client_free(struct kube_client *c)
{
	if (!c)
		return;
	http_client_free(c->http);
	free(c);
}

static int ask_server(struct kube_client *c, enum http_method method, const char *path,
		      const struct buf *body, struct http_response *ret,
		      struct err *err)
{
	static const struct http_header json = {"Content-Type", "application/json"};
	const struct kube *k = c->kube;
	const struct http_auth auth = {.scheme = "Bearer",
				       .credentials = k->token,
				       .credentials_file = k->token_file};
	auto_buf struct buf url = BUF_INIT;
	size_t n = strlen(k->server);

	while (n && k->server[n - 1] == '/')
		n--;
	buf_printf(&url, "%.*s%s", (int)n, k->server, path);
	if (buf_error(&url))
		return err_set(err, -ENOMEM, "out of memory");
	const struct http_request r = {
		.method = method,
		.url = url.data,
		.headers = &json,
		.header_count = body ? 1 : 0,
		.body = body ? body->data : NULL,
		.body_len = body ? body->len : 0,
		.auth = k->token_file || k->token ? &auth : NULL,
	};
	int rc = http_client_do(c->http, &r, ret, err);
	if (rc < 0)
		return rc;
	if (ret->status == 200 || (body && ret->status == 201))
		return 0;
	return err_set(err, ret->status == 410 ? -ESTALE : -EPROTO, "%s: status %u%s",
		       ret->url, ret->status,
		       ret->status == 401   ? " (the token is not valid)"
		       : ret->status == 403 ? " (the token has no right to that)"
					    : "");
}

int kube_client_get(struct kube_client *c, const char *path, struct http_response *ret,
		    struct err *err)
{
	return ask_server(c, HTTP_GET, path, NULL, ret, err);
}

int kube_client_post(struct kube_client *c, const char *path, const struct buf *body,
		     struct http_response *ret, struct err *err)
{
	return ask_server(c, HTTP_POST, path, body, ret, err);
}
