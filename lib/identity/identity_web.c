/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adapter from the web server to identity.h: copies and decides nothing. */
#include "lib/identity/identity_web.h"

#include <stdlib.h>

#include "lib/identity/tls_names.h"

#define FIXED_HEADERS 4

static const char *method_name(enum web_method m)
{
	switch (m) {
	case WEB_GET:
		return "GET";
	case WEB_HEAD:
		return "HEAD";
	case WEB_POST:
		return "POST";
	case WEB_PUT:
		return "PUT";
	case WEB_PATCH:
		return "PATCH";
	case WEB_DELETE:
		return "DELETE";
	case WEB_OPTIONS:
		return "OPTIONS";
	}
	return "";
}

static void collect_names(struct web_request *r, struct identity_request *ret)
{
	static const enum identity_certificate kinds[] = {
		[TLS_NAME_DNS] = CERTIFICATE_DNS,
		[TLS_NAME_EMAIL] = CERTIFICATE_EMAIL,
		[TLS_NAME_CN] = CERTIFICATE_CN,
	};
	struct identity_facts *f = &ret->facts;
	gnutls_session_t tls = web_tls(r);

	/* an unverified certificate is only a claim */
	if (!tls || !web_tls_verified(r))
		return;
	f->name_count =
		tls_names(tls, IDENTITY_NAMES_MAX, &ret->names, &f->client_certificate);
	for (size_t i = 0; i < f->name_count; i++)
		f->names[i] = (struct identity_name){kinds[ret->names[i].kind],
						     ret->names[i].text};
}

void identity_collect(const struct identity *id, struct web_request *r,
		      struct identity_request *ret)
{
	struct identity_facts *f = &ret->facts;
	struct web_header_values v[FIXED_HEADERS + IDENTITY_HEADERS_MAX] = {
		{.name = "Authorization"},
		{.name = "X-Grafana-Id"},
		{.name = IDENTITY_UID_HEADER},
		{.name = IDENTITY_NO_ROLE_HEADER}};
	size_t n = FIXED_HEADERS;

	*ret = (struct identity_request){.names = NULL};
	f->method = method_name(web_method(r));
	f->target = web_target(r);
	f->has_peer = netaddr_from(web_peer(r), &f->peer) == 0;
	f->password_user = web_password_user(r);
	while (n < FIXED_HEADERS + IDENTITY_HEADERS_MAX &&
	       identity_user_header(id, n - FIXED_HEADERS)) {
		v[n].name = identity_user_header(id, n - FIXED_HEADERS);
		n++;
	}
	web_headers(r, v, n);
	f->authorizations = v[0].count;
	f->authorization = v[0].first;
	/* only credentials need it */
	f->has_local = identity_credential(id, f) && web_local(r, &f->local) == 0;
	f->tokens = v[1].count;
	f->token = v[1].first;
	f->uids = v[2].count;
	f->uid = v[2].first;
	f->no_role = v[3].count > 0;
	for (size_t i = FIXED_HEADERS; i < n; i++) {
		f->user[i - FIXED_HEADERS].count = v[i].count;
		f->user[i - FIXED_HEADERS].first = v[i].first;
	}
	collect_names(r, ret);
}

void identity_request_done(struct identity_request *q)
{
	free(q->names);
	q->names = NULL;
}

bool identity_admits_metrics(const struct identity *id, struct web_request *r)
{
	struct identity_request q;
	struct err err;

	identity_collect(id, r, &q);
	int rc = identity_check_metrics(id, &q.facts, &err);
	identity_request_done(&q);
	if (rc < 0)
		web_answer_text(r, identity_status(rc), err.text); /* copies */
	return rc == 0;
}
