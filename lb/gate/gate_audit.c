/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line per decision. Text from outside is quoted and escaped. */
#include <stdlib.h>
#include <string.h>

#include "lb/gate/gate_impl.h"
#include "lib/log.h"

#define UNITS_MAX 16u /* named; the line says how many more there were */
#define UNIT_BYTES 40u
#define QUERY_BYTES 300u

static const char *const names[REASONS] = {
	[REASON_OWN] = "own",
	[REASON_PUBLIC] = "public",
	[REASON_ROLE] = "role",
	[REASON_OPEN] = "open",
	[REASON_UNPROVED] = "unproved",
	[REASON_REQUEST] = "bad_request",
	[REASON_CLUSTER] = "cluster",
	[REASON_CLOSED] = "closed",
	[REASON_NO_ROLE] = "no_role",
	[REASON_UNNAMED] = "not_provable",
	[REASON_FOREIGN] = "foreign",
	[REASON_UNKNOWN] = "unknown",
	[REASON_MANY] = "too_many_units",
	[REASON_BUSY] = "busy",
	[REASON_RATE] = "rate",
	[REASON_NOBODY] = "no_answer",
	[REASON_STOP] = "stopping",
	[REASON_ERROR] = "error",
};

const char *gate_reason_name(enum gate_reason why)
{
	return names[why];
}

static void put_units(const struct gate_state *s, struct buf *out)
{
	size_t count = s->claim_count;
	const struct access_claim *claims =
		s->plan ? access_claims(s->plan, &count) : s->claims;

	for (size_t i = 0; i < count && i < UNITS_MAX; i++) {
		struct str id = claims[i].id;

		if (i)
			buf_putc(out, ',');
		buf_put_json(out, id.p, id.len < UNIT_BYTES ? id.len : UNIT_BYTES);
	}
	if (count > UNITS_MAX)
		buf_printf(out, " and %zu more", count - UNITS_MAX);
}

static void put_query(const struct protocol_input *in, struct buf *out)
{
	const char *text = in->body_len ? in->body : in->query ? in->query : "";
	size_t n = in->body_len ? in->body_len : strlen(text);

	buf_puts(out, " query=");
	buf_put_json(out, text, n < QUERY_BYTES ? n : QUERY_BYTES);
}

void gate_audit(const struct gate_state *s)
{
	const struct gate_request *r = s->r;
	auto_buf struct buf line = BUF_INIT;

	buf_printf(&line, "audit: user=%s by=%s cluster=%s path=",
		   r->login[0] ? r->login : "-",
		   r->login[0] ? identity_way_name(s->who.way) : "-",
		   s->cluster ? s->cluster->id : "-");
	buf_put_json(&line, r->input.path, strnlen(r->input.path, 80));
	buf_printf(&line, " verdict=%s status=%u reason=%s units=",
		   s->reason <= REASON_OPEN ? "allowed" : "refused", r->status,
		   names[s->reason]);
	put_units(s, &line);
	if (s->site->audit_query)
		put_query(&r->input, &line);
	if (!buf_error(&line))
		log_info("%s", line.data);
}
