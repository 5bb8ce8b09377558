/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PARTY_H
#define CEEMS_LIB_PARTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/netaddr.h"

/*
 * A program that the operator names by how it proves itself and where it connects from:
 *
 *	certificate:NAME, password:USER, munge:LOGIN, munge:NUMBER, token:NAME
 *
 * each with an address or a range behind it, munge:ceems-lb@10.0.0.5, or, where a proof
 * does not matter, an address or a range alone. Accounts have other numbers on other
 * hosts: what a login is there is for whoever matches to know; a number is itself.
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

/* kinds: those that are allowed here. -EINVAL, with what must be there. */
int party_parse(const char *text, unsigned kinds, struct party *ret, struct err *err);

/* Whether it may be connected from there: by its own range, else true. peer NULL: not
 * known, which is in no range. */
bool party_is_at(const struct party *p, const struct netaddr *peer);

/* Whether that account is meant, both words as MUNGE proved them; login "": none. */
bool party_is_account(const struct party *p, uint32_t uid, const char *login);

#endif
