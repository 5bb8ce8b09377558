/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as answers of an API server, and as a file of users: rows are JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator/kubernetes/kube_json.h"
#include "lib/http/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Rows, with the brackets that the caller puts around them */
static void check_rows(struct buf *rows)
{
	const struct http_json_limits l = {.bytes_max = 1 << 24, .depth_max = 8};
	struct buf list = BUF_INIT;
	struct json_object *doc = NULL;

	buf_printf(&list, "[%s]", rows->len ? rows->data : "");
	if (http_json_array(list.data, list.len, &l, &doc, NULL) < 0)
		abort();
	json_object_put(doc);
	buf_done(&list);
	buf_reset(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *owners[] = {"ceems.io/created-by"}, *projects[] = {"p"};
	const struct kube k = {.owner_annotations = owners,
			       .owner_annotation_count = 1,
			       .project_annotations = projects,
			       .project_annotation_count = 1};
	const char *text = (const char *)data;
	struct buf rows = BUF_INIT;
	struct kube_list list;
	struct kube_watch w = {.events = 0};
	struct err err = {""};
	bool allowed;

	(void)kube_json_pods(text, size, &k, &rows, &list, &err);
	check_rows(&rows);
	(void)kube_json_namespaces(text, size, &rows, &list, &err);
	check_rows(&rows);
	(void)kube_json_bindings(text, size, &rows, &list, &err);
	check_rows(&rows);
	(void)kube_json_watch(text, size, &k, &rows, &w, &err);
	check_rows(&rows);
	(void)kube_json_allowed(text, size, &allowed, &err);
	buf_done(&rows);
	return 0;
}
