/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_WEB_USER_H
#define CEEMS_CLI_TOOL_WEB_USER_H

#include "lib/buf.h"
#include "lib/err.h"

/* Users of a web configuration (basic_auth_users). */

#define WEB_USER_PASSWORD_LEN 24

/* Letters and digits, uniformly distributed. -EIO: no random numbers. */
int web_user_make_password(char ret[WEB_USER_PASSWORD_LEN + 1]);

/* Appends "basic_auth_users:" with this one user, whose bcrypt hash takes about 50 ms
 * to check. -ENOTSUP, -EIO, -ENOMEM. */
int web_user_put(const char *user, const char *password, struct buf *out,
		 struct err *err);

#endif
