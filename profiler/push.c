/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/push.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/http/client.h"
#include "profiler/pprof.h"

#define PUSH_PATH "/push.v1.PusherService/Push"
#define OWN_LABELS 1

int push_check_labels(const struct conf_list *labels, struct err *err)
{
	bool service = false;

	for (size_t i = 0; i < labels->count; i++) {
		const char *text = labels->items[i], *equals = strchr(text, '=');
		if (!equals || equals == text)
			return err_set(err, -EINVAL,
				       "--push.label \"%s\": want name=value", text);
		service = service || strncmp(text, "service_name=", 13) == 0;
	}
	return service ? 0
		       : err_set(err, -EINVAL,
				 "--push.label: service_name=... is missing, by which "
				 "Pyroscope shows the profile");
}

/* Each is cut at its first '='; texts holds them. */
static int cut_labels(const struct conf_list *list, struct pprof_label *ret,
		      struct buf *texts)
{
	for (size_t i = 0; i < list->count; i++)
		buf_put(texts, list->items[i], strlen(list->items[i]) + 1);
	if (buf_error(texts))
		return buf_error(texts);
	char *at = texts->data;
	for (size_t i = 0; i < list->count; i++) {
		size_t len = strlen(at);
		char *equals = strchr(at, '=');
		*equals = '\0';
		ret[i] = (struct pprof_label){at, equals + 1};
		at += len + 1;
	}
	return 0;
}

static int send_request(const char *url, const struct buf *body, struct err *err)
{
	static const struct http_client_config config = {.timeout_ms = 30000};
	static const struct http_header headers[] = {
		{"Content-Type", "application/proto"},
		{"Connect-Protocol-Version", "1"},
	};
	const struct http_request r = {
		.method = HTTP_POST,
		.url = url,
		.headers = headers,
		.header_count = sizeof(headers) / sizeof(headers[0]),
		.body = body->data,
		.body_len = body->len,
	};
	struct http_response answer = {0};
	struct http_client *client = NULL;

	int rc = http_client_new(&config, &client, err);
	if (rc == 0)
		rc = http_client_do(client, &r, &answer, err);
	if (rc == 0 && answer.status != 200)
		rc = err_set(err, -EREMOTEIO, "%s: status %u: %.160s", answer.url,
			     answer.status, answer.body.len ? answer.body.data : "");
	http_response_done(&answer);
	http_client_free(client);
	return rc;
}

int push_profile(const char *url, const struct conf_list *labels,
		 const struct buf *profile, struct err *err)
{
	auto_buf struct buf body = BUF_INIT, texts = BUF_INIT, at = BUF_INIT;
	auto_free struct pprof_label *all =
		calloc(labels->count + OWN_LABELS, sizeof(*all));

	if (!all || cut_labels(labels, all + OWN_LABELS, &texts) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	all[0] = (struct pprof_label){"__name__", "process_cpu"};
	int rc = pprof_push_request(profile, all, labels->count + OWN_LABELS, &body,
				    err);
	if (rc < 0)
		return rc;
	size_t len = strlen(url);
	buf_put(&at, url, len && url[len - 1] == '/' ? len - 1 : len);
	buf_puts(&at, PUSH_PATH);
	return buf_error(&at) ? err_set(err, -ENOMEM, "out of memory")
			      : send_request(at.data, &body, err);
}
