/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A claim of Kubernetes' admission (lib/records/claim.h) as an element of what
 * k8s_claims() of aggregator/sql takes. */
#include <errno.h>
#include <string.h>

#include "aggregator/ingest/ingest_decode.h"
#include "lib/clock.h"

static void put_claim_text(struct buf *b, const char *key, const char *s)
{
	buf_printf(b, "%c\"%s\":", b->len ? ',' : '{', key);
	buf_put_json(b, s, strlen(s));
}

int ingest_claim(const struct claim *c, const struct ingest_rules *rules,
		 struct ingest_push *p, struct err *err)
{
	auto_buf struct buf b = {.max = 65536};
	/* an object cannot have been asked for later than now */
	uint64_t at_ns = c->at_ns < rules->now_ns ? c->at_ns : rules->now_ns;

	put_claim_text(&b, "cluster", c->cluster);
	put_claim_text(&b, "kind", c->kind);
	put_claim_text(&b, "uid", c->uid);
	put_claim_text(&b, "namespace", c->namespace);
	put_claim_text(&b, "name", c->name);
	put_claim_text(&b, "owner", c->owner);
	put_claim_text(&b, "owner_uid", c->owner_uid);
	put_claim_text(&b, "controller", c->controller);
	buf_puts(&b, ",\"by\":");
	buf_put_u64(&b, c->by);
	buf_puts(&b, ",\"at_ms\":");
	buf_put_u64(&b, at_ns / NSEC_PER_MSEC);
	buf_putc(&b, '}');
	if (buf_error(&b))
		return err_set(err, -ENOMEM, "out of memory");
	struct ingest_claim *row = ingest_push_claim(p);
	if (!row)
		return err_set(err, -EINVAL, "too many rows for one request");
	row->row = ingest_push_put(p, b.data, b.len);
	return 0;
}
