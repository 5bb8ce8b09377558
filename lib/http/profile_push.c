/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles to Pyroscope. A push is three nested messages, which are written here: it is
 * no reason to link a library of protobuf to what has no other use for one. */
#include "lib/http/profile_push.h"

#include <errno.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client_url.h"
#include "lib/parse.h"

#define PUSH_PATH "/push.v1.PusherService/Push"
#define NAME_LABEL "__name__"

/* Fields of PushRequest, RawProfileSeries, RawSample and LabelPair */
enum { PUSH_SERIES = 1, SERIES_LABELS = 1, SERIES_SAMPLES = 2, SAMPLE_PROFILE = 1 };
enum { PAIR_NAME = 1, PAIR_VALUE = 2 };

/* ---- protobuf -------------------------------------------------------------------- */

static size_t count_varint_bytes(uint64_t v)
{
	size_t n = 1;

	for (; v > 127; v >>= 7)
		n++;
	return n;
}

static void put_push_varint(struct buf *b, uint64_t v)
{
	for (; v > 127; v >>= 7)
		buf_putc(b, (char)(v | 128));
	buf_putc(b, (char)v);
}

/* The head of a field of bytes; its number is below 16. */
static void put_field_head(struct buf *b, unsigned number, size_t len)
{
	buf_putc(b, (char)(number << 3 | 2));
	put_push_varint(b, len);
}

static size_t field_room(size_t len)
{
	return 1 + count_varint_bytes(len) + len;
}

static size_t pair_room(const char *name, const char *value)
{
	return field_room(strlen(name)) + field_room(strlen(value));
}

static void put_label_pair(struct buf *b, const char *name, const char *value)
{
	put_field_head(b, SERIES_LABELS, pair_room(name, value));
	put_field_head(b, PAIR_NAME, strlen(name));
	buf_puts(b, name);
	put_field_head(b, PAIR_VALUE, strlen(value));
	buf_puts(b, value);
}

void profile_push_write(const struct profile_record *r, struct buf *ret)
{
	size_t series = field_room(pair_room(NAME_LABEL, r->name)) +
			field_room(field_room(r->len));

	for (size_t i = 0; i < r->label_count; i++)
		series += field_room(pair_room(r->labels[i].name, r->labels[i].value));
	put_field_head(ret, PUSH_SERIES, series);
	put_label_pair(ret, NAME_LABEL, r->name);
	for (size_t i = 0; i < r->label_count; i++)
		put_label_pair(ret, r->labels[i].name, r->labels[i].value);
	put_field_head(ret, SERIES_SAMPLES, field_room(r->len));
	put_field_head(ret, SAMPLE_PROFILE, r->len);
	buf_put(ret, r->data, r->len);
}

/* ---- the older API --------------------------------------------------------------- */

void profile_ingest_target(const struct profile_record *r, struct buf *ret)
{
	const char *service = profile_record_label(r, "service_name");
	const char *comma = "";

	buf_puts(ret, "/ingest?format=pprof&spyName=ceems&name=");
	http_url_put_escaped(ret, service ? service : "");
	buf_puts(ret, "%7B");
	for (size_t i = 0; i < r->label_count; i++) {
		buf_puts(ret, comma);
		http_url_put_escaped(ret, r->labels[i].name);
		buf_puts(ret, "%3D%22");
		http_url_put_escaped(ret, r->labels[i].value);
		buf_puts(ret, "%22");
		comma = "%2C";
	}
	buf_puts(ret, "%7D&from=");
	buf_put_u64(ret, r->from_ns / NSEC_PER_SEC);
	buf_puts(ret, "&until=");
	buf_put_u64(ret, r->until_ns / NSEC_PER_SEC);
}

/* ---- the answer ------------------------------------------------------------------ */

static void copy_answer_text(const char *s, size_t len, char ret[PROFILE_ANSWER_BYTES])
{
	size_t n = len < PROFILE_ANSWER_BYTES - 1 ? len : PROFILE_ANSWER_BYTES - 1;

	for (size_t i = 0; i < n; i++)
		ret[i] = (char)(s[i] >= 0x20 && s[i] < 0x7f ? s[i] : ' ');
	while (n && ret[n - 1] == ' ')
		n--;
	ret[n] = '\0';
}

static enum profile_verdict judge_push_status(unsigned status)
{
	switch (status) {
	case 400:
	case 413:
	case 415:
	case 422:
		return PROFILE_REFUSED;
	case 401:
	case 403:
		return PROFILE_DENIED;
	case 425:
		return PROFILE_WAITS;
	default:
		return status / 100 == 2 ? PROFILE_TAKEN : PROFILE_LATER;
	}
}

void profile_answer_read(unsigned status, const char *body, size_t len,
			 const char *retry_after, struct profile_answer *ret)
{
	*ret = (struct profile_answer){.verdict = judge_push_status(status),
				       .status = status};
	if (retry_after && parse_u32(retry_after, &ret->retry_after_s) < 0)
		ret->retry_after_s = 0;
	copy_answer_text(body ? body : "", body ? len : 0, ret->text);
}

/* ---- the request ----------------------------------------------------------------- */

int profile_push(struct http_client *client, const struct profile_store *s,
		 const struct profile_record *r, struct profile_answer *ret,
		 struct err *err)
{
	const bool push = s->api == PROFILE_API_PUSH;
	struct http_header headers[3] = {
		{"Content-Type",
		 push ? "application/proto" : "application/octet-stream"},
		{"Connect-Protocol-Version", "1"},
	};
	auto_buf struct buf at = BUF_INIT, body = BUF_INIT;
	auto_http_response struct http_response answer = {0};
	size_t len = strlen(s->url);
	struct http_request q = {.method = HTTP_POST,
				 .headers = headers,
				 .header_count = 2,
				 .auth = s->auth};

	if (s->tenant && *s->tenant)
		headers[q.header_count++] =
			(struct http_header){"X-Scope-OrgID", s->tenant};
	buf_put(&at, s->url, len && s->url[len - 1] == '/' ? len - 1 : len);
	if (push) {
		buf_puts(&at, PUSH_PATH);
		profile_push_write(r, &body);
	} else {
		profile_ingest_target(r, &at);
	}
	if (buf_error(&at) || buf_error(&body))
		return err_set(err, -ENOMEM, "out of memory");
	q.url = at.data;
	q.body = push ? body.data : r->data;
	q.body_len = push ? body.len : r->len;
	int rc = http_client_do(client, &q, &answer, err);
	if (rc < 0)
		return rc;
	profile_answer_read(answer.status, answer.body.data, answer.body.len,
			    http_client_header(client, "Retry-After"), ret);
	return 0;
}
