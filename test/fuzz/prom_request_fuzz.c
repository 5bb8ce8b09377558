/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the parameters of a request to Prometheus; the first byte says which
 * call and whether they are in the URL or in the body. What is accepted is written
 * anew, and that is accepted and written the same. Where the times can be taken out,
 * the rest with other times is accepted exactly when this is, and written the same but
 * for them. */
#include <stdlib.h>
#include <string.h>

#include "lb/promql/prom_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

/* r: what data was read as; NULL: it was refused. */
static void check_times(const char *path, const char *data, size_t size,
			const struct prom_request *r)
{
	auto_buf struct buf other = BUF_INIT, form = BUF_INIT, form2 = BUF_INIT;
	struct prom_request *r2 = NULL;
	struct prom_times t, t2;
	char times[PROM_TIMES_BYTES], times2[PROM_TIMES_BYTES];
	size_t at, at2;

	if (size > PROM_BODY_MAX ||
	    !prom_times_split(path, data, size, 1000, &other, &t))
		return;
	buf_truncate(&other, other.len - 2); /* which times there were */
	t2 = t;
	t2.start_ms = 5123;
	t2.end_ms = 6000;
	prom_times_text(&t2, times2);
	buf_puts(&other, other.len || !*times2 ? times2 : times2 + 1);
	if (other.len > PROM_BODY_MAX ||
	    prom_request_read(path, NULL, other.data, other.len, PROMQL_2, 1000, &r2,
			      NULL))
		return;
	must(r != NULL && r->when.start_ms == t.start_ms && r->when.end_ms == t.end_ms);
	at = prom_request_form(r, &form);
	at2 = prom_request_form(r2, &form2);
	prom_times_text(&t, times);
	must(at == at2 && memcmp(form.data, form2.data, at) == 0);
	if (at)
		must(!strncmp(form.data + at, times, strlen(times)) &&
		     !strncmp(form2.data + at, times2, strlen(times2)) &&
		     !strcmp(form.data + at + strlen(times),
			     form2.data + at + strlen(times2)));
	prom_request_free(r2);
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
		(void)!prom_request_read(path, text, NULL, 0, PROMQL_NEWEST, 1000, &r,
					 &err);
	free(text);
	if (data[0] & 128)
		check_times(path, (const char *)data + 1, size - 1, r);
	if (!r)
		return 0;
	prom_request_form(r, &a);
	must(!buf_error(&a));
	if (a.len && a.len <= PROM_BODY_MAX &&
	    !prom_request_read(path, NULL, a.data, a.len,
			       data[0] & 128 ? PROMQL_2 : PROMQL_NEWEST, 1000, &again,
			       &err)) {
		prom_request_form(again, &b);
		must(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
	}
	prom_request_free(again);
	prom_request_free(r);
	return 0;
}
