/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches lists of logins with a role, for all programs. */
#include "lib/identity/role_entry.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "lib/account.h"
#include "lib/log.h"
#include "lib/parse.h"

int role_entry_parse(const char *s, size_t len, struct role_entry *ret)
{
	const char *colon = memchr(s, ':', len);
	size_t n = colon ? (size_t)(colon - s) : len;
	struct role_entry e = {.has_uid = colon != NULL};
	uint64_t uid = 0;

	if (n >= sizeof(e.login))
		return -EINVAL;
	memcpy(e.login, s, n);
	if (!identity_is_login(e.login))
		return -EINVAL;
	if (colon &&
	    (parse_u64_len(colon + 1, len - n - 1, &uid) < 0 || uid >= UINT32_MAX))
		return -EINVAL;
	e.uid = (uint32_t)uid;
	*ret = e;
	return 0;
}

enum role_match role_entry_match(const char *s, size_t len,
				 const struct identity_who *who)
{
	struct role_entry e;

	if (role_entry_parse(s, len, &e) < 0 || strcmp(e.login, who->login) != 0)
		return ROLE_MATCH_NO;
	if (e.has_uid)
		return who->has_uid && who->uid == e.uid ? ROLE_MATCH_YES
							 : ROLE_MATCH_NO;
	return who->has_uid ? ROLE_MATCH_ACCOUNT : ROLE_MATCH_YES;
}

bool role_entry_is_account(const struct identity_who *who)
{
	uint32_t uid;

	return who->has_uid && account_find_uid(who->login, &uid) == 0 &&
	       uid == who->uid;
}

void role_entry_withhold(const struct identity_who *who)
{
	static atomic_bool said;

	if (!atomic_exchange(&said, true))
		log_warn(
			"%s has a role, but not when %s names them: that takes "
			"identity.front-end-roles (front_end_roles of a load balancer; "
			"this is said once)",
			who->login, who->front);
}
