/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Claims of the admission webhook as bytes. */
#include "lib/records/claim.h"

#include <errno.h>
#include <string.h>

#include "lib/records/tlv.h"

#define FIELD(id, kind, member) TLV_MEMBER(struct claim, id, kind, member, false)

/* Numbers on the wire: never change or reuse one. */
static const struct tlv_member claim_fields[] = {
	FIELD(1, TLV_TEXT, cluster),   FIELD(2, TLV_TEXT, kind),
	FIELD(3, TLV_TEXT, uid),       FIELD(4, TLV_TEXT, namespace),
	FIELD(5, TLV_TEXT, name),      FIELD(6, TLV_TEXT, owner),
	FIELD(7, TLV_TEXT, owner_uid), FIELD(8, TLV_TEXT, controller),
	FIELD(9, TLV_U64, at_ns),      FIELD(10, TLV_U8, by),
};
#define FIELDS (sizeof(claim_fields) / sizeof(claim_fields[0]))
#define WHAT "claim"

static const char *find_missing(const struct claim *c)
{
	if (!*c->cluster)
		return "cluster";
	if (!*c->kind)
		return "kind";
	if (!*c->uid)
		return "uid";
	if (!c->at_ns || c->at_ns > INT64_MAX)
		return "at_ns";
	return c->by < CLAIM_BY_USER || c->by > CLAIM_BY_CONTROLLER ? "by" : NULL;
}

int claim_encode(const struct claim *c, void *buf, size_t size)
{
	struct tlv_out o;

	if (find_missing(c))
		return -EINVAL;
	int rc = tlv_begin(&o, buf, size, CLAIM_TYPE);
	for (size_t i = 0; rc == 0 && i < FIELDS; i++)
		tlv_put_member(&o, c, &claim_fields[i], false);
	return rc < 0 || o.full ? -EMSGSIZE : (int)o.len;
}

int claim_decode(const void *data, size_t len, struct claim *ret, struct err *err)
{
	struct tlv_value v;
	struct tlv_in in;
	uint16_t type;
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (tlv_open(&in, data, len, &type) < 0 || type != CLAIM_TYPE)
		return err_set(err, -EPROTO, "claim: no record of that type");
	while ((rc = tlv_next(&in, &v)) > 0) {
		const struct tlv_member *f = tlv_find(claim_fields, FIELDS, v.id, NULL);
		bool cut = false;
		if (f && tlv_get_member(ret, f, &v, WHAT, &cut, err) < 0)
			return -EPROTO;
		if (cut)
			return tlv_bad(err, WHAT, f, "too long", v.len);
	}
	if (rc < 0)
		return err_set(err, -EPROTO, "claim: cut short");
	const char *missing = find_missing(ret);
	return missing ? err_set(err, -EPROTO, "claim: field %s is missing", missing)
		       : 0;
}
