/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_SESSION_H
#define CEEMS_REDFISH_PROXY_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/http/client.h"

/*
 * One BMC, signed in to (Redfish DSP0266, "Authentication" and "Redfish session login
 * authentication"): a connection that is kept, and a session that is made when it is
 * first needed, made anew when the BMC has forgotten it, and deleted at the end, as
 * BMCs have room for a few only. For one thread at a time.
 *
 * A login that the BMC refuses is not tried again for a while, which doubles: BMCs lock
 * accounts. No error text holds a password or a token.
 */

enum redfish_login {
	REDFISH_ANONYMOUS,
	REDFISH_AUTH,    /* auth goes with each request */
	REDFISH_SESSION, /* auth's user and password make a session */
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
/* Without a word to the BMC. Accepts NULL. */
void session_free(struct session *s);

/* GETs a path of the BMC. As http_client_do(), and -EACCES: the BMC refuses the login,
 * or a session that it has just made. *ret_logins, which may be NULL, grows by the
 * logins that were tried. */
int session_get(struct session *s, const char *path, struct http_response *ret,
		unsigned *ret_logins, struct err *err);

/* The media type of the last answer, "" for none. Borrowed until the next request. */
const char *session_type(struct session *s);

/* Deletes the session at the BMC, if there is one, within timeout_ms. Errors are of no
 * interest: it ends by itself later. */
void session_logout(struct session *s, uint32_t timeout_ms);

#endif
