/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redfish sessions. After a 401 there is one new login and one retry, never more: a BMC
 * that refuses what it has just granted would be asked for ever. */
#include "redfish_proxy/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client_url.h"
#include "lib/http/redfish_login.h"
#include "lib/secret.h"

#define PAUSE_TIMES_MAX 16u
#define URL_MAX 2048

struct session {
	struct http_client *client;
	char *base;
	enum redfish_login login;
	const struct http_auth *auth;
	char token[REDFISH_TOKEN_BYTES]; /* "": not signed in */
	char location[URL_MAX];          /* the session's, as a URL; "": unknown */
	uint64_t next_login_ns;
	unsigned pause_times;
	struct http_response scratch;
};

int session_new(const char *base, const struct http_client_config *config,
		enum redfish_login login, const struct http_auth *auth,
		struct session **ret, struct err *err)
{
	struct http_client_config c = *config;
	struct session *s = calloc(1, sizeof(*s));
	int rc = s ? 0 : err_set(err, -ENOMEM, "out of memory");

	c.redirects = 0;
	if (rc == 0)
		rc = http_client_new(&c, &s->client, err);
	if (rc == 0) {
		s->base = strdup(base);
		s->login = login;
		s->auth = auth;
		if (!s->base)
			rc = err_set(err, -ENOMEM, "out of memory");
	}
	if (rc < 0) {
		session_free(s);
		return rc;
	}
	*ret = s;
	return 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	http_client_free(s->client);
	http_response_done(&s->scratch);
	free(s->base);
	explicit_bzero(s->token, sizeof(s->token));
	free(s);
}

/* The session's own address: a path, or a URL of the same BMC. Any other address is not
 * used to delete it. */
static void take_location(struct session *s)
{
	const char *at = http_client_header(s->client, "Location");
	int n = 0;

	s->location[0] = '\0';
	if (at && at[0] == '/' && at[1] != '/')
		n = snprintf(s->location, sizeof(s->location), "%s%s", s->base, at);
	else if (at && http_url_same_origin(s->base, at))
		n = snprintf(s->location, sizeof(s->location), "%s", at);
	if (n < 0 || (size_t)n >= sizeof(s->location))
		s->location[0] = '\0';
}

static int take_token(struct session *s, struct err *err)
{
	if (!redfish_login_token(http_client_header(s->client, "X-Auth-Token"),
				 s->token))
		return err_set(err, -EBADMSG, "%s: login gave no valid token", s->base);
	take_location(s);
	return 0;
}

/* Interprets the answer to a login. */
static int judge_login(struct session *s, struct err *err)
{
	unsigned status = s->scratch.status;

	if (status == 200 || status == 201)
		return take_token(s, err);
	/* some BMCs send 400 for a wrong password */
	if (status == 400 || status == 401 || status == 403)
		return err_set(err, -EACCES, "%s: login refused with status %u",
			       s->base, status);
	return err_set(err, -EPROTO, "%s: login answered with status %u", s->base,
		       status);
}

static void pause_logins(struct session *s)
{
	s->pause_times = s->pause_times ? 2 * s->pause_times : 1;
	if (s->pause_times > PAUSE_TIMES_MAX)
		s->pause_times = PAUSE_TIMES_MAX;
	s->next_login_ns = clock_boottime_ns() + (uint64_t)s->pause_times *
							 REDFISH_LOGIN_PAUSE_MS *
							 NSEC_PER_MSEC;
}

static int may_sign_in(const struct session *s, struct err *err)
{
	if (clock_boottime_ns() >= s->next_login_ns)
		return 0;
	return err_set(err, -EACCES, "%s: login was refused, not tried again yet",
		       s->base);
}

static int sign_in(struct session *s, unsigned *ret_logins, struct err *err)
{
	static const struct http_header headers[] = {
		{"Content-Type", "application/json"}, {"Accept", "application/json"}};
	auto_secret struct buf body = {.max = 64 << 10};
	auto_free char *url = NULL;

	s->token[0] = '\0';
	int rc = may_sign_in(s, err);
	if (rc == 0)
		rc = redfish_login_body(s->auth->user ? s->auth->user : "",
					s->auth->password, s->auth->password_file,
					&body, err);
	if (rc < 0)
		return rc;
	if (asprintf(&url, "%s" REDFISH_SESSIONS_PATH, s->base) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	const struct http_request r = {.method = HTTP_POST,
				       .url = url,
				       .headers = headers,
				       .header_count = 2,
				       .body = body.data,
				       .body_len = body.len};
	if (ret_logins)
		++*ret_logins;
	rc = http_client_do(s->client, &r, &s->scratch, err);
	if (rc == 0)
		rc = judge_login(s, err);
	if (rc == -EACCES || rc == -EBADMSG)
		pause_logins(s);
	return rc;
}

static int ask_with_session(struct session *s, const char *url,
			    struct http_response *ret, struct err *err)
{
	const struct http_header headers[] = {{"Accept", "application/json"},
					      {"OData-Version", "4.0"},
					      {"X-Auth-Token", s->token}};
	const struct http_request r = {
		.method = HTTP_GET,
		.url = url,
		.headers = headers,
		.header_count = *s->token ? 3 : 2,
		.auth = s->login == REDFISH_AUTH ? s->auth : NULL,
	};
	return http_client_do(s->client, &r, ret, err);
}

int session_get(struct session *s, const char *path, struct http_response *ret,
		unsigned *ret_logins, struct err *err)
{
	auto_free char *url = NULL;
	bool fresh = false;
	int rc = 0;

	if (asprintf(&url, "%s%s", s->base, path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (s->login == REDFISH_AUTH) {
		rc = may_sign_in(s, err);
		fresh = true; /* each request authenticates */
	} else if (s->login == REDFISH_SESSION && !*s->token) {
		rc = sign_in(s, ret_logins, err);
		fresh = true;
	}
	if (rc == 0)
		rc = ask_with_session(s, url, ret, err);
	if (rc == 0 && ret->status == 401 && *s->token && !fresh) {
		/* the BMC has restarted, or the session has timed out */
		rc = sign_in(s, ret_logins, err);
		fresh = true;
		if (rc == 0)
			rc = ask_with_session(s, url, ret, err);
	}
	if (rc == 0 && ret->status == 401 && s->login != REDFISH_ANONYMOUS) {
		s->token[0] = '\0';
		pause_logins(s);
		return err_set(err, -EACCES, "%s: %s", s->base,
			       s->login == REDFISH_AUTH
				       ? "it refuses user and password"
				       : "refuses a session that it has just made");
	}
	if (rc == 0 && fresh)
		s->pause_times = 0;
	return rc;
}

const char *session_type(struct session *s)
{
	const char *type = http_client_header(s->client, "Content-Type");
	return type ? type : "";
}

void session_logout(struct session *s, uint32_t timeout_ms)
{
	const struct http_header header = {"X-Auth-Token", s->token};
	const struct http_request r = {.method = HTTP_DELETE,
				       .url = s->location,
				       .headers = &header,
				       .header_count = 1,
				       .timeout_ms = timeout_ms};

	if (*s->token && *s->location)
		(void)!http_client_do(s->client, &r, &s->scratch, NULL);
	explicit_bzero(s->token, sizeof(s->token));
}
