/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as an AdmissionReview: the answer is JSON, and so is its patch. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/k8s/admission/review.h"
#include "lib/base64.h"
#include "lib/http/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const struct buf *out, const struct review_result *result)
{
	const struct http_json_limits l = {.bytes_max = 1 << 24, .depth_max = 16};
	static unsigned char patch[1 << 16];
	struct json_object *doc = NULL, *list = NULL;

	if (http_json_object(out->data, out->len, &l, &doc, NULL) < 0)
		abort();
	const char *p = http_json_text(http_json_get(doc, "response", json_type_object),
				       "patch");
	if (!p != !result->patched)
		abort();
	ssize_t n = p ? base64_decode(p, strlen(p), BASE64_PADDED, patch, sizeof(patch))
		      : 0;
	if (p &&
	    (n < 0 || http_json_array((char *)patch, (size_t)n, &l, &list, NULL) < 0 ||
	     json_object_array_length(list) == 0))
		abort();
	json_object_put(list);
	json_object_put(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char hub[] = "hub:hub", any[] = "a:b@*", *items[] = {hub, any};
	static const struct conf_list namers = {items, 2}, none = {NULL, 0};
	static const struct owner_rules rules = {&namers, &none};
	static struct review_result result;
	static struct claim again;
	unsigned char wire[CLAIM_BYTES_MAX];

	for (int path = REVIEW_MUTATE; path <= REVIEW_VALIDATE; path++) {
		struct buf out = BUF_INIT;
		struct err err = {""};
		if (review_answer(&rules, (enum review_path)path, (const char *)data,
				  size, &out, &result, &err) == 0)
			check_answer(&out, &result);
		else if (!err.text[0])
			abort();
		buf_done(&out);
		if (!result.has_claim)
			continue;
		result.claim.at_ns = 1;
		strcpy(result.claim.cluster, "c");
		int n = claim_encode(&result.claim, wire, sizeof(wire));
		if (n < 0 || claim_decode(wire, (size_t)n, &again, NULL) < 0 ||
		    memcmp(&again, &result.claim, sizeof(again)) != 0)
			abort();
	}
	(void)claim_decode(data, size, &again, NULL);
	return 0;
}
