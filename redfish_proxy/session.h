/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_SESSION_H
#define CEEMS_REDFISH_PROXY_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/http/client.h"

/*
 * A kept-alive connection to a BMC, with authentication (Redfish DSP0266,
 * "Authentication" and "Redfish session login authentication"). A session is created
 * when it is first needed, renewed when the BMC has forgotten it, and deleted at the
 * end, since BMCs have room for only a few. For one thread at a time.
 *
 * A refused login is not retried for a while, which doubles: BMCs lock accounts. Error
 * texts contain no password and no token.
 */

enum redfish_login {
	REDFISH_ANONYMOUS,
	REDFISH_AUTH,    /* auth is sent with each request */
	REDFISH_SESSION, /* auth's user and password create a session */
};

#define REDFISH_LOGIN_PAUSE_MS                                                         \
	60000u /* after the first refusal; at most 16 times that */

struct session;

/* base: "https://host:port", without a path; auth's strings are borrowed and outlive
 * the session; NULL with REDFISH_ANONYMOUS. config as http_client_new() takes it; no
 * redirect is ever followed. */
int session_new(const char *base, const struct http_client_config *config,
		enum redfish_login login, const struct http_auth *auth,
		struct session **ret, struct err *err);
/* Without telling the BMC. Accepts NULL. */
void session_free(struct session *s);

/* GETs a path of the BMC. As http_client_do(), and -EACCES: the BMC refuses the login,
 * or a session that it has just created. Adds the number of logins tried to
 * *ret_logins, which may be NULL. */
int session_get(struct session *s, const char *path, struct http_response *ret,
		unsigned *ret_logins, struct err *err);

/* The media type of the last answer, "" for none. Borrowed until the next request. */
const char *session_type(struct session *s);

/* Deletes the session at the BMC, if there is one, within timeout_ms. Errors do not
 * matter: it will expire. */
void session_logout(struct session *s, uint32_t timeout_ms);

#endif
