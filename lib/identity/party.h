/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_PARTY_H
#define CEEMS_LIB_IDENTITY_PARTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/netaddr.h"

/*
 * A program, given by how it proves itself and where it connects from:
 *
 *	certificate:NAME, password:USER, munge:LOGIN, munge:NUMBER, token:NAME
 *
 * each optionally with an address or range, munge:ceems-lb@10.0.0.5, or, where no proof
 * is needed, an address or range alone. A login may have different uids on different
 * hosts, so matching it needs the caller's knowledge; a number is the uid.
 */

enum party_kind {
	PARTY_CERTIFICATE = 1,
	PARTY_PASSWORD = 2,
	PARTY_MUNGE = 4,
	PARTY_TOKEN = 8,
	PARTY_ADDRESS = 16, /* an address or a range alone */
};

#define PARTY_NAME_BYTES 129

struct party {
	enum party_kind kind;
	char name[PARTY_NAME_BYTES]; /* without the address; "" for PARTY_ADDRESS */
	bool has_uid, has_range;
	uint32_t uid; /* of munge:NUMBER */
	struct netrange range;
};

/* kinds: the allowed ones. -EINVAL, err says what is expected. */
int party_parse(const char *text, unsigned kinds, struct party *ret, struct err *err);

/* Whether it may connect from peer: within its own range, or it has none. peer NULL:
 * unknown, which is in no range. */
bool party_is_at(const struct party *p, const struct netaddr *peer);

/* Whether this account is meant, both values as proved by MUNGE; login "": none. */
bool party_is_account(const struct party *p, uint32_t uid, const char *login);

#endif
