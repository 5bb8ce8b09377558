/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_ROLE_ENTRY_H
#define CEEMS_LIB_IDENTITY_ROLE_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/identity/identity.h"

/*
 * One of a list of those who have a role, LOGIN or LOGIN:UID: a login alone may be
 * somebody else's on another cluster, or later. The number of LOGIN:UID counts where it
 * was proved; a bare LOGIN means the account of that name on the host whose list it is.
 */
struct role_entry {
	char login[IDENTITY_LOGIN_BYTES];
	bool has_uid;
	uint32_t uid;
};

/* -EINVAL: it is neither. */
int role_entry_parse(const char *s, size_t len, struct role_entry *ret);

enum role_match {
	ROLE_MATCH_NO,
	/* if the number that was proved is the one of this host's own account */
	ROLE_MATCH_ACCOUNT,
	ROLE_MATCH_YES,
};

enum role_match role_entry_match(const char *s, size_t len,
				 const struct identity_who *who);

/* Whether this host's account of that login has the number that was proved. Waits for
 * the user database. */
bool role_entry_is_account(const struct identity_who *who);

/* Says, once in the life of the process, that somebody with a role was only named by a
 * front end and so has none (identity_who.named). */
void role_entry_withhold(const struct identity_who *who);

#endif
