/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_POLICY_H
#define CEEMS_LIB_HTTP_WEB_POLICY_H

#include <gnutls/gnutls.h>

#include "lib/err.h"
#include "lib/http/web_config.h"

/* The web configuration in force: parsed, with its certificates loaded, and replaced as
 * a whole when a file changes. A connection keeps the one it started with. All
 * functions may be called from any thread. */

struct web_policy;

/* One version of the configuration. Reference-counted; read-only. */
struct web_settings {
	struct web_config config;
	gnutls_certificate_credentials_t cred; /* when config.tls */
	gnutls_priority_t priority;
	unsigned refs; /* the policy's */
	struct web_policy *policy;
};

/* file "" or NULL: plain HTTP and no passwords. */
int web_policy_new(const char *file, struct web_policy **ret, struct err *err);
void web_policy_free(struct web_policy *p); /* accepts NULL */

struct web_settings *web_policy_get(struct web_policy *p);
void web_settings_unref(struct web_settings *s);

/* Reads everything again. On failure the old settings stay. -ENOTSUP: TLS was switched
 * on or off, which needs a restart. */
int web_policy_reload(struct web_policy *p, struct err *err);

/* Checks at most once a second whether a file has changed, and then reloads; a failure
 * is logged once per change. */
void web_policy_refresh(struct web_policy *p);

/* Applies the settings to a new TLS session, before its handshake. */
int web_settings_apply(const struct web_settings *s, gnutls_session_t session);

#endif
