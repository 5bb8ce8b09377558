/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/push.h"

#include <errno.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/http/profile_push.h"
#include "profiler/pprof.h"

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
static int cut_labels(const struct conf_list *list, struct profile_label *ret,
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
		ret[i] = (struct profile_label){at, equals + 1};
		at += len + 1;
	}
	return 0;
}

int push_profile(const char *url, const struct conf_list *labels,
		 const struct buf *profile, struct err *err)
{
	static const struct http_client_config config = {.timeout_ms = 30000};
	const struct profile_store store = {.url = url, .api = PROFILE_API_PUSH};
	auto_buf struct buf texts = BUF_INIT, packed = BUF_INIT;
	struct profile_record r = {.name = "process_cpu", .label_count = labels->count};
	struct profile_answer answer;
	struct http_client *client = NULL;

	if (labels->count > PROFILE_LABELS_MAX)
		return err_set(err, -EINVAL, "--push.label: more than %u",
			       PROFILE_LABELS_MAX);
	if (cut_labels(labels, r.labels, &texts) < 0 ||
	    pprof_pack(profile, &packed) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r.data = packed.data;
	r.len = packed.len;
	int rc = http_client_new(&config, &client, err);
	if (rc == 0)
		rc = profile_push(client, &store, &r, &answer, err);
	if (rc == 0 && answer.verdict != PROFILE_TAKEN)
		rc = err_set(err, -EREMOTEIO, "%s: status %u: %s", url, answer.status,
			     answer.text);
	http_client_free(client);
	return rc;
}
