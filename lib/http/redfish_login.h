/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_REDFISH_LOGIN_H
#define CEEMS_LIB_HTTP_REDFISH_LOGIN_H

#include <stdbool.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Creating a Redfish session (DSP0266, 13.3.4): a POST of this body, answered by a
 * token in X-Auth-Token. */

#define REDFISH_SESSIONS_PATH "/redfish/v1/SessionService/Sessions"
#define REDFISH_TOKEN_BYTES 2049 /* longest token, with its NUL */

/* Adds {"UserName":...,"Password":...} to body, which the caller wipes (auto_secret).
 * The password is read from password_file if that is neither NULL nor ""; NULL
 * password: "". */
int redfish_login_body(const char *user, const char *password,
		       const char *password_file, struct buf *body, struct err *err);

/* Copies a token that may be sent in a header. False: there is none, or it may not. */
bool redfish_login_token(const char *header, char ret[REDFISH_TOKEN_BYTES]);

#endif
