/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redfish sessions (DSP0266, 13.3): few BMCs have room for more than a handful, so one
 * is kept as long as it lasts and deleted at the end. */
#include "courier/redfish_bmc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/http/client.h"
#include "lib/http/redfish_login.h"
#include "lib/identity/munge_request.h"
#include "lib/identity/redfish_munge.h"
#include "lib/log.h"
#include "lib/secret.h"

#define ROOT "/redfish/v1/"
#define LOGOUT_MS 1500u
#define REDIRECTS 3u
#define HOLD_LOGIN_NS (30 * NSEC_PER_SEC) /* accounts get locked */
#define HOLD_NS (2 * NSEC_PER_SEC)
#define HOLD_MAX_NS (900 * NSEC_PER_SEC)
#define FIXED_HEADERS 5u /* limit of ours, besides the configured ones */

struct redfish_bmc {
	const struct redfish_config *config;
	struct http_client *client, *parting; /* the second ignores stop */
	struct http_auth auth;
	bool has_auth;
	char *target; /* the BMC's, owned; NULL: a proxy knows it */
	char *base; /* whom we ask: external_url or target, owned, without trailing / */
	uint64_t interval_ms;
	char token[REDFISH_TOKEN_BYTES]; /* "": not logged in */
	char session[REDFISH_PATH_BYTES];
	uint64_t hold_until_ns, hold_ns; /* after a refusal */
	bool said_timeout;
	struct http_response answer;
};

/* For the first server: the BMC itself, or the proxy before it. */
static void choose_auth(struct redfish_bmc *b)
{
	const struct redfish_config *c = b->config;

	b->has_auth = true;
	if (c->username && !c->use_session_token)
		b->auth = (struct http_auth){.user = c->username,
					     .password = c->password,
					     .password_file = c->password_file};
	else if (c->auth_user)
		b->auth = (struct http_auth){.user = c->auth_user,
					     .password = c->auth_password,
					     .password_file = c->auth_password_file};
	else if (c->auth_credentials || c->auth_credentials_file)
		b->auth = (struct http_auth){.scheme = c->auth_scheme,
					     .credentials = c->auth_credentials,
					     .credentials_file =
						     c->auth_credentials_file};
	else
		b->has_auth = false;
}

static int make_clients(struct redfish_bmc *b, const atomic_bool *stop, struct err *err)
{
	const struct redfish_config *c = b->config;
	struct http_client_config h = {
		.ca_file = c->ca_file,
		.cert_file = c->cert_file,
		.key_file = c->key_file,
		.insecure = c->insecure,
		.tls_min = c->tls_min,
		.connect_timeout_ms = c->timeout_ms,
		.timeout_ms = c->timeout_ms,
		.max_body_bytes = REDFISH_BODY_MAX,
		.redirects = c->follow_redirects ? REDIRECTS : 0,
		.proxy = c->proxy_url,
		.stop = stop,
	};
	int rc = http_client_new(&h, &b->client, err);

	h.stop = NULL;
	h.timeout_ms = h.connect_timeout_ms = LOGOUT_MS;
	return rc < 0 ? rc : http_client_new(&h, &b->parting, err);
}

int redfish_bmc_new(const struct redfish_config *config, const char *url,
		    uint64_t interval_ms, const atomic_bool *stop,
		    struct redfish_bmc **ret, struct err *err)
{
	struct redfish_bmc *b = calloc(1, sizeof(*b));

	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	b->config = config;
	b->interval_ms = interval_ms;
	b->target = url ? strdup(url) : NULL;
	const char *base = config->external_url ? config->external_url : url;
	b->base = base ? strdup(base) : NULL;
	int rc = (b->target || !url) && b->base
			 ? 0
			 : err_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = make_clients(b, stop, err);
	if (rc < 0) {
		redfish_bmc_free(b);
		return rc;
	}
	size_t n = strlen(b->base);
	while (n && b->base[n - 1] == '/')
		b->base[--n] = '\0';
	choose_auth(b);
	*ret = b;
	return 0;
}

/* Headers of a request: ours, then the configured ones. Files are read again each
 * time. */
static size_t fill_headers(const struct redfish_bmc *b, bool is_post,
			   struct http_header *h, struct buf *secrets)
{
	const struct redfish_config *c = b->config;
	size_t n = 0;

	h[n++] = (struct http_header){"Accept", "application/json"};
	/* tells redfish_proxy which BMC is meant */
	if (b->target)
		h[n++] = (struct http_header){"X-Redfish-Url", b->target};
	if (is_post)
		h[n++] = (struct http_header){"Content-Type", "application/json"};
	if (*b->token)
		h[n++] = (struct http_header){"X-Auth-Token", b->token};
	for (size_t i = 0; i < c->header_count; i++) {
		const char *value = c->headers[i].value;
		if (c->headers[i].file) {
			struct err err;
			if (http_secret_read(c->headers[i].file, &secrets[i], &err) < 0)
				continue; /* the server will say what is missing */
			value = secrets[i].data;
		}
		if (value)
			h[n++] = (struct http_header){c->headers[i].name, value};
	}
	return n;
}

static int ask_bmc(struct redfish_bmc *b, struct http_client *client,
		   enum http_method method, const char *path, const struct buf *body,
		   struct err *err)
{
	struct http_header headers[FIXED_HEADERS + REDFISH_HEADERS_MAX];
	struct buf secrets[REDFISH_HEADERS_MAX] = {{0}};
	auto_secret struct buf credential = BUF_INIT;
	char url[4096];
	int n = snprintf(url, sizeof(url), "%s%s", b->base, path);

	if (n < 0 || (size_t)n >= sizeof(url))
		return err_set(err, -EINVAL, "URL too long");
	struct http_request r = {
		.method = method,
		.url = url,
		.headers = headers,
		.header_count = fill_headers(b, method == HTTP_POST, headers, secrets),
		.body = body ? body->data : NULL,
		.body_len = body ? body->len : 0,
		.auth = b->has_auth ? &b->auth : NULL,
	};
	/* tells redfish_proxy which node asks */
	int rc = b->config->munge ? munge_request_write_node(NULL, b->config->munge,
							     http_method_name(method),
							     url, r.body, r.body_len,
							     &credential, err)
				  : 0;
	if (credential.len)
		headers[r.header_count++] =
			(struct http_header){REDFISH_MUNGE_HEADER, credential.data};
	if (rc == 0)
		rc = http_client_do(client, &r, &b->answer, err);
	for (size_t i = 0; i < REDFISH_HEADERS_MAX; i++)
		secret_wipe(&secrets[i]);
	return rc;
}

/* Backs off for first_ns, then twice as long each time. */
static int hold_off_bmc(struct redfish_bmc *b, const char *what, uint64_t first_ns,
			struct err *err)
{
	b->hold_ns = b->hold_ns * 2 > first_ns ? b->hold_ns * 2 : first_ns;
	if (b->hold_ns > HOLD_MAX_NS)
		b->hold_ns = HOLD_MAX_NS;
	b->hold_until_ns = clock_boottime_ns() + b->hold_ns;
	return err_set(err, -EACCES,
		       "%s: %s is refused with status %u, next attempt in %llu s",
		       b->answer.url, what, b->answer.status,
		       (unsigned long long)(b->hold_ns / NSEC_PER_SEC));
}

static int parse_answer(const struct redfish_bmc *b, struct json_object **ret,
			struct err *err)
{
	const struct buf *body = &b->answer.body;
	int rc = redfish_json_parse(body->len ? body->data : "", body->len, ret, err);

	return rc < 0 ? err_prefix(err, rc, "%s", b->answer.url) : 0;
}

static int status_error(const struct redfish_bmc *b, struct err *err)
{
	unsigned status = b->answer.status;

	return err_set(err, status == 404 || status == 410 ? -ENOENT : -EIO,
		       "%s: status %u", b->answer.url, status);
}

/* The path of the sessions: it is in the service root, which everybody may read. */
static int find_sessions(struct redfish_bmc *b, char sessions[REDFISH_PATH_BYTES],
			 char service[REDFISH_PATH_BYTES], struct err *err)
{
	auto_redfish_json struct json_object *root = NULL;
	int rc = ask_bmc(b, b->client, HTTP_GET, ROOT, NULL, err);

	if (rc < 0)
		return rc;
	if (b->answer.status == 401)
		return hold_off_bmc(b, "the question", HOLD_NS, err);
	if (b->answer.status != 200)
		return status_error(b, err);
	rc = parse_answer(b, &root, err);
	if (rc < 0)
		return rc;
	service[0] = '\0';
	(void)redfish_json_link(root, "SessionService", service);
	if (!redfish_json_link(root, "Sessions", sessions))
		(void)snprintf(sessions, REDFISH_PATH_BYTES, REDFISH_SESSIONS_PATH);
	return 0;
}

/* The path in "Location", which may be a full URL */
static void take_location(struct redfish_bmc *b)
{
	const char *at = http_client_header(b->client, "Location");
	const char *scheme = at ? strstr(at, "://") : NULL;
	auto_redfish_json struct json_object *o = NULL;

	b->session[0] = '\0';
	if (scheme)
		at = strchr(scheme + 3, '/');
	if (at && redfish_path_ok(at))
		(void)snprintf(b->session, sizeof(b->session), "%s", at);
	else if (parse_answer(b, &o, NULL) == 0)
		redfish_json_self(o, b->session);
}

/* Warns once: a session that ends between two polls costs a login each time. */
static void look_at_timeout(struct redfish_bmc *b, const char *service)
{
	auto_redfish_json struct json_object *o = NULL;
	struct err err;

	if (b->said_timeout || !*service ||
	    ask_bmc(b, b->client, HTTP_GET, service, NULL, &err) < 0 ||
	    b->answer.status != 200 || parse_answer(b, &o, &err) < 0)
		return;
	uint64_t timeout_s = redfish_json_session_timeout_s(o);
	b->said_timeout = true;
	if (timeout_s && timeout_s * 1000 <= b->interval_ms)
		log_warn("redfish: sessions of the BMC end after %llu s, but it is "
			 "asked every %llu ms: each request costs a login "
			 "(--collector.redfish.interval)",
			 (unsigned long long)timeout_s,
			 (unsigned long long)b->interval_ms);
}

static int log_in_bmc(struct redfish_bmc *b, struct err *err)
{
	char sessions[REDFISH_PATH_BYTES], service[REDFISH_PATH_BYTES];
	auto_secret struct buf body = {.max = 64 << 10};
	int rc = find_sessions(b, sessions, service, err);

	if (rc == 0)
		rc = redfish_login_body(b->config->username, b->config->password,
					b->config->password_file, &body, err);
	if (rc == 0)
		rc = ask_bmc(b, b->client, HTTP_POST, sessions, &body, err);
	if (rc < 0)
		return rc;
	unsigned status = b->answer.status;
	if (status == 400 || status == 401 || status == 403)
		return hold_off_bmc(b, "login", HOLD_LOGIN_NS, err);
	if (status != 200 && status != 201)
		return status_error(b, err);
	if (!redfish_login_token(http_client_header(b->client, "X-Auth-Token"),
				 b->token))
		return err_set(err, -EBADMSG, "%s: a session without X-Auth-Token",
			       b->answer.url);
	take_location(b);
	look_at_timeout(b, service);
	return 0;
}

static void forget_session(struct redfish_bmc *b)
{
	explicit_bzero(b->token, sizeof(b->token));
	b->session[0] = '\0';
}

static bool wants_session(const struct redfish_bmc *b)
{
	return b->config->username && b->config->use_session_token;
}

static int get_once(struct redfish_bmc *b, const char *path, bool *fresh,
		    struct err *err)
{
	*fresh = false;
	if (wants_session(b) && !*b->token) {
		int rc = log_in_bmc(b, err);
		if (rc < 0)
			return rc;
		*fresh = true;
	}
	return ask_bmc(b, b->client, HTTP_GET, path, NULL, err);
}

int redfish_bmc_get(struct redfish_bmc *b, const char *path, struct json_object **ret,
		    struct err *err)
{
	uint64_t now_ns = clock_boottime_ns();
	bool fresh;

	if (now_ns < b->hold_until_ns)
		return err_set(err, -EACCES,
			       "%s: it rejected our login, next attempt in %llu s",
			       b->base,
			       (unsigned long long)((b->hold_until_ns - now_ns) /
						    NSEC_PER_SEC));
	int rc = get_once(b, path, &fresh, err);
	if (rc == 0 && b->answer.status == 401 && wants_session(b)) {
		forget_session(b); /* the BMC has ended it */
		if (!fresh)
			rc = get_once(b, path, &fresh, err);
	}
	if (rc < 0)
		return rc;
	/* a 403 is about this resource, not about us */
	if (b->answer.status == 401)
		return hold_off_bmc(b, "the question", HOLD_NS, err);
	if (b->answer.status != 200)
		return status_error(b, err);
	rc = parse_answer(b, ret, err);
	if (rc == 0)
		b->hold_ns = 0;
	return rc;
}

void redfish_bmc_free(struct redfish_bmc *b)
{
	struct err err;

	if (!b)
		return;
	http_client_free(b->client); /* a BMC may have room for a single connection */
	if (*b->token && *b->session &&
	    ask_bmc(b, b->parting, HTTP_DELETE, b->session, NULL, &err) < 0)
		log_warn("redfish: the session was not closed and stays until the BMC "
			 "ends it: %s",
			 err.text);
	forget_session(b);
	http_client_free(b->parting);
	http_response_done(&b->answer);
	free(b->target);
	free(b->base);
	free(b);
}
