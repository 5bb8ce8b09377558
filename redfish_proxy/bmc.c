/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks a BMC and judges its answer. Only a 200 with JSON is passed on unchanged;
 * otherwise the client gets a status and a text of ours, never a header or text of the
 * BMC. */
#include "redfish_proxy/bmc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/cleanup.h"
#include "lib/clock.h"

#define TOKEN 1000000ull /* microtokens */

static void set_login(struct bmc *b, const struct config_login *l)
{
	static const enum redfish_login how[] = {
		[LOGIN_NONE] = REDFISH_ANONYMOUS,
		[LOGIN_BASIC] = REDFISH_AUTH,
		[LOGIN_SESSION] = REDFISH_SESSION,
		[LOGIN_HEADER] = REDFISH_AUTH,
	};
	b->login = how[l->how];
	if (l->how == LOGIN_HEADER)
		b->auth = (struct http_auth){.scheme = l->scheme,
					     .credentials = l->credentials,
					     .credentials_file = l->credentials_file};
	else
		b->auth = (struct http_auth){.user = l->user,
					     .password = l->password,
					     .password_file = l->password_file};
}

struct bmc *bmc_new(const char *url, const struct config *config,
		    const struct config_target *conf, const atomic_bool *abort,
		    uint64_t now_ns)
{
	const struct config_limits *l = &config->limits;
	const struct config_tls *tls =
		conf && conf->own_tls ? &conf->tls : &config->tls;
	size_t n = strlen(url) + 1;
	struct bmc *b = calloc(1, sizeof(*b) + n);

	if (!b)
		return NULL;
	memcpy(b->url, url, n);
	b->last = &b->first;
	b->used_ns = b->tokens_ns = now_ns;
	b->tokens_us = l->burst * TOKEN;
	set_login(b, conf && conf->own_login ? &conf->login : &config->login);
	b->http = (struct http_client_config){
		.ca_file = tls->ca_file,
		.cert_file = tls->cert_file,
		.key_file = tls->key_file,
		.insecure = tls->insecure,
		.tls_min = tls->min_version,
		.connect_timeout_ms = (uint32_t)l->connect_timeout_ms,
		.timeout_ms = (uint32_t)l->timeout_ms,
		.max_body_bytes = l->body_bytes,
		.stop = abort,
	};
	return b;
}

void bmc_free(struct bmc *b)
{
	free(b);
}

bool bmc_take_token(struct bmc *b, const struct config_limits *l, uint64_t now_ns)
{
	uint64_t most = l->burst * TOKEN, us = (now_ns - b->tokens_ns) / 1000;

	/* enough microseconds to fill it from empty */
	if (us >= most / l->rate)
		b->tokens_us = most;
	else
		b->tokens_us += us * l->rate;
	if (b->tokens_us > most)
		b->tokens_us = most;
	b->tokens_ns += us * 1000;
	if (b->tokens_us < TOKEN)
		return false;
	b->tokens_us -= TOKEN;
	return true;
}

static void fail_bmc_answer(struct bmc_answer *a, enum metrics_result result,
			    unsigned status, bool down, const char *text)
{
	a->result = result;
	a->status = status;
	a->down = down;
	a->text = text;
	a->reply = reply_new(status, REPLY_TEXT, text);
}

static void judge_failure(struct bmc_answer *a, int rc)
{
	switch (rc) {
	case -EACCES:
		fail_bmc_answer(a, RESULT_LOGIN, 502, true,
				"the BMC refuses the proxy's login\n");
		return;
	case -EKEYREJECTED:
		fail_bmc_answer(a, RESULT_TLS, 502, true,
				"the BMC's TLS or certificate fails\n");
		return;
	case -EFBIG:
		fail_bmc_answer(a, RESULT_BAD, 502, false,
				"the BMC's answer is too long\n");
		return;
	case -EBADMSG:
	case -EPROTO:
		fail_bmc_answer(a, RESULT_BAD, 502, false,
				"the BMC's answer is not valid\n");
		return;
	case -ECANCELED:
		fail_bmc_answer(a, RESULT_TIMEOUT, 503, true, "shutting down\n");
		return;
	case -ETIMEDOUT:
		fail_bmc_answer(a, RESULT_TIMEOUT, 504, true,
				"the BMC does not answer in time\n");
		return;
	default:
		fail_bmc_answer(a, RESULT_TIMEOUT, 502, true,
				"the BMC cannot be reached\n");
	}
}

static bool is_json(const char *type)
{
	size_t n = strlen("application/json");

	return strncasecmp(type, "application/json", n) == 0 &&
	       (!type[n] || type[n] == ';' || type[n] == ' ');
}

static void judge_status(struct bmc_answer *a, const struct bmc *b,
			 struct http_response *r, const char *type)
{
	if (r->status == 200 && is_json(type)) {
		a->result = RESULT_OK;
		a->status = 200;
		a->reply = reply_new(200, REPLY_JSON, "");
		if (a->reply) {
			buf_done(&a->reply->body);
			a->reply->body = r->body;
			r->body = (struct buf)BUF_INIT;
		}
		return;
	}
	err_set(&a->err, -EPROTO, "%s: status %u%s", b->url, r->status,
		r->status == 200 ? " without JSON" : "");
	if (r->status == 404 || r->status == 405 || r->status == 410) {
		fail_bmc_answer(a, RESULT_OK, r->status, false,
				"the BMC has no such resource\n");
	} else if (r->status == 401 || r->status == 403) {
		fail_bmc_answer(a, RESULT_LOGIN, 502, false,
				"the BMC does not let the proxy read this\n");
	} else if (r->status == 429 || r->status == 503) {
		fail_bmc_answer(a, RESULT_BAD, 503, true, "the BMC is busy\n");
	} else {
		fail_bmc_answer(a, RESULT_BAD, 502, false,
				"the BMC's answer is not valid\n");
	}
}

static int connect_to(const struct bmc *b, struct bmc_session **ret, struct err *err)
{
	auto_free struct bmc_session *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "%s: out of memory", b->url);
	int rc = session_new(b->url, &b->http, b->login, &b->auth, &s->redfish, err);
	if (rc == 0)
		*ret = steal_ptr(&s);
	return rc;
}

void bmc_ask(const struct bmc *b, struct bmc_session **s, const char *path,
	     struct bmc_answer *ret)
{
	auto_http_response struct http_response r = {0};
	uint64_t began_ns = clock_boottime_ns();
	int rc = *s ? 0 : connect_to(b, s, &ret->err);

	if (rc == 0)
		rc = session_get((*s)->redfish, path, &r, &ret->logins, &ret->err);
	ret->took_ns = clock_boottime_ns() - began_ns;
	if (rc != 0)
		judge_failure(ret, rc);
	else
		judge_status(ret, b, &r, session_type((*s)->redfish));
}

void bmc_session_free(struct bmc_session *s, uint32_t timeout_ms)
{
	if (timeout_ms)
		session_logout(s->redfish, timeout_ms);
	session_free(s->redfish);
	free(s);
}
