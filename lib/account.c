/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts of this host, from the name service. */
#include "lib/account.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>

#define PASSWD_BYTES 16384

int account_find_uid(const char *login, uint32_t *ret)
{
	char memory[PASSWD_BYTES];
	struct passwd pw, *found = NULL;

	if (getpwnam_r(login, &pw, memory, sizeof(memory), &found) != 0 || !found)
		return -ENOENT;
	*ret = pw.pw_uid;
	return 0;
}
