/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the parameters of a request to Prometheus; the first byte says which
 * call and whether they are in the URL or in the body. What is accepted is written
 * anew, and that is accepted and written the same. */
#include <stdlib.h>
#include <string.h>

#include "lb/prom_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = {
		"/api/v1/query",  "/api/v1/query_range",    "/api/v1/series",
		"/api/v1/labels", "/api/v1/label/a/values", "/api/v1/query_exemplars",
	};
	struct prom_request *r = NULL, *again = NULL;
	auto_buf struct buf a = BUF_INIT, b = BUF_INIT;
	const char *path;
	char *text;
	struct err err;

	if (!size)
		return 0;
	path = paths[(data[0] & 127) % 6];
	text = strndup((const char *)data + 1, size - 1);
	must(text != NULL);
	if (data[0] & 128)
		(void)!prom_request_read(path, NULL, data + 1, size - 1, PROMQL_2, 1000,
					 &r, &err);
	else
		(void)!prom_request_read(path, text, NULL, 0, PROMQL_3, 1000, &r, &err);
	free(text);
	if (!r)
		return 0;
	prom_request_form(r, &a);
	must(!buf_error(&a));
	if (a.len && a.len <= PROM_BODY_MAX &&
	    !prom_request_read(path, NULL, a.data, a.len,
			       data[0] & 128 ? PROMQL_2 : PROMQL_3, 1000, &again,
			       &err)) {
		prom_request_form(again, &b);
		must(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	}
	prom_request_free(again);
	prom_request_free(r);
	return 0;
}
