/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_ROLE_ENTRY_H
#define CEEMS_LIB_IDENTITY_ROLE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/identity/identity.h"

/*
 * An entry LOGIN or LOGIN:UID in a list of those who have a role: a login alone may be
 * somebody else's on another cluster, or later. The uid of LOGIN:UID must be the proved
 * one; a bare LOGIN means the account of that name on the host that has the list.
 */
struct role_entry {
	char login[IDENTITY_LOGIN_BYTES];
	bool has_uid;
	uint32_t uid;
};

/* -EINVAL: neither. */
int role_entry_parse(const char *s, size_t len, struct role_entry *ret);

enum role_match {
	ROLE_MATCH_NO,
	/* if this host's own account of that login has the proved uid */
	ROLE_MATCH_ACCOUNT,
	ROLE_MATCH_YES,
};

enum role_match role_entry_match(const char *s, size_t len,
				 const struct identity_who *who);

/* Whether this host's account of that login has the proved uid. Blocks on the user
 * database. */
bool role_entry_is_account(const struct identity_who *who);

/* Logs, once per process, that somebody with a role was only named by a front end and
 * so gets none (identity_who.named). */
void role_entry_withhold(const struct identity_who *who);

#endif
