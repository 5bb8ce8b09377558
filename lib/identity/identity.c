/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proofs are checked from the strongest to the weakest; the first that a request uses
 * decides. */
#include "lib/identity/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/cleanup.h"
#include "lib/identity/jwt_source.h"
#include "lib/identity/munge.h"
#include "lib/identity/party.h"
#include "lib/identity/uid_names.h"
#include "lib/parse.h"

#define FRONT_ENDS_MAX 64
#define RANGES_MAX 64

/* An array of texts and where its copy goes. */
struct texts {
	char **items;
	size_t count;
};

struct identity {
	bool munge, munge_unbound, front_end_roles;
	char *munge_socket;
	enum identity_certificate certificate;
	char *suffix;
	struct party fronts[FRONT_ENDS_MAX], metrics[FRONT_ENDS_MAX];
	size_t front_count, metrics_count;
	struct netrange ranges[RANGES_MAX];
	size_t range_count;
	struct texts headers, issuers, audiences, munge_hosts;
	struct jwt_source *tokens;
	struct uid_names *names;
};

static int copy_identity_texts(const char *const *items, size_t count,
			       struct texts *ret)
{
	if (!count)
		return 0;
	ret->items = calloc(count, sizeof(*ret->items));
	for (size_t i = 0; ret->items && i < count; i++) {
		ret->items[i] = strdup(items[i]);
		if (!ret->items[i])
			return -ENOMEM;
		ret->count++;
	}
	return ret->items ? 0 : -ENOMEM;
}

static void free_texts(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->items[i]);
	free(t->items);
}

static int copy_identity_text(const char *s, char **ret)
{
	if (!s || !*s)
		return 0;
	*ret = strdup(s);
	return *ret ? 0 : -ENOMEM;
}

static int copy_parties(const char *const *items, size_t count, unsigned kinds,
			const char *option, struct party *ret, size_t *ret_count,
			struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		if (i == FRONT_ENDS_MAX)
			return err_set(err, -EINVAL, "%s: at most %d", option,
				       FRONT_ENDS_MAX);
		int rc = party_parse(items[i], kinds, &ret[i], err);
		if (rc < 0)
			return err_prefix(err, rc, "%s", option);
		*ret_count = i + 1;
	}
	return 0;
}

static int copy_identity_lists(struct identity *id, const struct identity_params *p,
			       struct err *err)
{
	int rc = copy_parties(p->front_ends, p->front_end_count,
			      PARTY_CERTIFICATE | PARTY_PASSWORD | PARTY_MUNGE,
			      "identity.front-end", id->fronts, &id->front_count, err);

	if (rc == 0)
		rc = copy_parties(p->metrics, p->metrics_count,
				  PARTY_CERTIFICATE | PARTY_PASSWORD | PARTY_ADDRESS,
				  "identity.metrics", id->metrics, &id->metrics_count,
				  err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < p->front_end_address_count; i++) {
		if (i == RANGES_MAX ||
		    netrange_parse(p->front_end_addresses[i], &id->ranges[i]) < 0)
			return err_set(err, -EINVAL,
				       "identity.front-end-address: %.100s: not an "
				       "address or range, or more than %d",
				       p->front_end_addresses[i], RANGES_MAX);
		id->range_count++;
	}
	for (size_t i = 0; i < p->munge_host_count; i++) {
		if (!munge_request_is_host(p->munge_hosts[i]))
			return err_set(err, -EINVAL,
				       "identity.munge-hosts: %.100s: not HOST or "
				       "HOST:PORT",
				       p->munge_hosts[i]);
	}
	if (p->user_header_count == 0 || p->user_header_count > IDENTITY_HEADERS_MAX)
		return err_set(err, -EINVAL,
			       "headers that name users: give 1 to %d of them",
			       IDENTITY_HEADERS_MAX);
	for (size_t i = 0; i < p->user_header_count; i++) {
		const char *h = p->user_headers[i];
		if (!*h ||
		    strspn(h, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789-") != strlen(h))
			return err_set(
				err, -EINVAL,
				"header that names users: %.100s: not the name of a "
				"header (X-Grafana-User)",
				h);
	}
	return 0;
}

static int open_tokens(struct identity *id, const struct identity_params *p,
		       struct err *err)
{
	const struct jwt_source_params s = {.where = p->token_keys,
					    .ca_file = p->token_ca_file};

	if (!p->token_keys || !*p->token_keys)
		return 0;
	/* otherwise any Grafana could say who asks */
	if (!p->token_issuer_count || !p->token_audience_count)
		return err_set(err, -EINVAL,
			       "identity.token-keys: needs identity.token-issuer and "
			       "identity.token-audience");
	int rc = jwt_source_new(&s, &id->tokens, err);
	return rc < 0 ? err_prefix(err, rc, "identity.token-keys") : 0;
}

int identity_new(const struct identity_params *p, struct identity **ret,
		 struct err *err)
{
	struct identity *id = calloc(1, sizeof(*id));

	if (!id)
		return err_set(err, -ENOMEM, "out of memory");
	id->munge = p->munge;
	id->munge_unbound = p->munge_unbound;
	id->certificate = p->certificate;
	id->front_end_roles = p->front_end_roles;
	id->names = uid_names_new();
	int rc = id->names ? 0 : err_set(err, -ENOMEM, "out of memory");
	if (copy_identity_text(p->munge_socket, &id->munge_socket) < 0 ||
	    copy_identity_text(p->certificate_suffix, &id->suffix) < 0 ||
	    copy_identity_texts(p->user_headers, p->user_header_count, &id->headers) <
		    0 ||
	    copy_identity_texts(p->munge_hosts, p->munge_host_count, &id->munge_hosts) <
		    0 ||
	    copy_identity_texts(p->token_issuers, p->token_issuer_count, &id->issuers) <
		    0 ||
	    copy_identity_texts(p->token_audiences, p->token_audience_count,
				&id->audiences) < 0)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc == 0)
		rc = copy_identity_lists(id, p, err);
	if (rc == 0)
		rc = open_tokens(id, p, err);
	if (rc < 0) {
		identity_free(id);
		return rc;
	}
	*ret = id;
	return 0;
}

void identity_free(struct identity *id)
{
	if (!id)
		return;
	jwt_source_free(id->tokens);
	uid_names_free(id->names);
	free_texts(&id->headers);
	free_texts(&id->issuers);
	free_texts(&id->audiences);
	free_texts(&id->munge_hosts);
	free(id->munge_socket);
	free(id->suffix);
	free(id);
}

static bool is_narrow(const struct netrange *r, const struct netaddr *a)
{
	const struct netrange v4 = {.addr = {.b = {[10] = 0xff, [11] = 0xff}},
				    .bits = 96};

	return r->bits >= (netrange_has(&v4, &r->addr) ? 112u : 48u) &&
	       netrange_has(r, a);
}

bool identity_is_front_address(const struct identity *id, const struct netaddr *a)
{
	for (size_t i = 0; i < id->front_count; i++) {
		const struct party *p = &id->fronts[i];
		if (p->has_range && is_narrow(&p->range, a))
			return true;
	}
	for (size_t i = 0; i < id->range_count; i++) {
		if (is_narrow(&id->ranges[i], a))
			return true;
	}
	return false;
}

const char *identity_user_header(const struct identity *id, size_t i)
{
	return i < id->headers.count ? id->headers.items[i] : NULL;
}

bool identity_is_login(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++) {
		char c = s[n];
		if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') &&
		    !strchr("._@+-$", c))
			return false;
		if (n + 1 == IDENTITY_LOGIN_BYTES)
			return false;
	}
	return n > 0 && *s != '-';
}

static int take_login(const char *s, struct identity_who *ret, struct err *err)
{
	if (!identity_is_login(s))
		return err_set(err, -EINVAL, "not a user name");
	memcpy(ret->login, s, strlen(s) + 1);
	return 0;
}

/* Whether the request comes from an address of this front end. MUNGE entries without an
 * address must be on this host: a credential of their account can be made on every host
 * of the site. */
static bool is_front_near(const struct identity *id, const struct party *p,
			  const struct identity_facts *f)
{
	const struct netaddr *peer = f->has_peer ? &f->peer : NULL;

	if (p->has_range)
		return party_is_at(p, peer);
	for (size_t i = 0; i < id->range_count; i++) {
		if (peer && netrange_has(&id->ranges[i], peer))
			return true;
	}
	if (id->range_count)
		return false;
	return p->kind != PARTY_MUNGE || (peer && netaddr_is_loopback(peer));
}

/* Whether it is listed, and for this address: a name may be listed with several
 * addresses. */
struct front {
	bool listed, near;
	bool munge; /* trusted to have proved the uid that it sends */
};

static void add_match(const struct identity *id, const struct party *p,
		      const struct identity_facts *f, struct front *ret,
		      struct identity_who *who)
{
	static const char *const words[] = {[PARTY_CERTIFICATE] = "certificate",
					    [PARTY_PASSWORD] = "password",
					    [PARTY_MUNGE] = "munge"};

	const char *word = words[p->kind];
	size_t word_len = strlen(word);
	size_t len = strnlen(p->name, sizeof(who->front) - word_len - 2);
	/* done for each request, so without snprintf(3) */
	memcpy(who->front, word, word_len);
	who->front[word_len] = ':';
	memcpy(who->front + word_len + 1, p->name, len);
	who->front[word_len + 1 + len] = '\0';
	ret->listed = true;
	ret->munge = p->kind == PARTY_MUNGE;
	ret->near |= is_front_near(id, p, f);
}

static struct front find_front(const struct identity *id, enum party_kind kind,
			       const char *name, const struct identity_facts *f,
			       struct identity_who *who)
{
	struct front front = {.listed = false};

	for (size_t i = 0; *name && i < id->front_count; i++) {
		const struct party *p = &id->fronts[i];
		if (p->kind == kind && strcmp(p->name, name) == 0)
			add_match(id, p, f, &front, who);
	}
	return front;
}

static struct front find_front_account(const struct identity *id, uint32_t uid,
				       const char *login,
				       const struct identity_facts *f,
				       struct identity_who *who)
{
	struct front front = {.listed = false};

	for (size_t i = 0; i < id->front_count; i++) {
		if (party_is_account(&id->fronts[i], uid, login))
			add_match(id, &id->fronts[i], f, &front, who);
	}
	return front;
}

/* Counts headers that name a user, over all configured names. */
static unsigned user_headers(const struct identity_facts *f, const char **ret)
{
	unsigned n = 0;

	for (size_t i = 0; i < IDENTITY_HEADERS_MAX; i++) {
		if (f->user[i].count && !n)
			*ret = f->user[i].first;
		n += f->user[i].count;
	}
	return n;
}

/* ---- the proofs ------------------------------------------------------------------ */

/* Accounts that Slurm and its nodes trust with everything, including other names of
 * root. */
static int refuse_system(const struct identity_who *who, struct err *err)
{
	if (strcmp(who->login, "root") != 0 && strcmp(who->login, "slurm") != 0 &&
	    !(who->has_uid && who->uid == 0))
		return 0;
	return err_set(err, -EPERM,
		       "%s: a front end cannot name root or slurm: such an account "
		       "must ask by MUNGE, itself",
		       who->login);
}

static int by_token(struct identity *id, const struct identity_facts *f,
		    struct identity_who *ret, struct err *err)
{
	const struct jwt_rules rules = {
		.issuers = (const char *const *)id->issuers.items,
		.issuer_count = id->issuers.count,
		.audiences = (const char *const *)id->audiences.items,
		.audience_count = id->audiences.count,
	};
	struct jwt_claims claims;

	if (f->tokens > 1)
		return err_set(err, -EINVAL, "X-Grafana-Id appears twice");
	if (!id->tokens)
		return err_set(err, -EACCES,
			       "tokens (X-Grafana-Id) are not accepted here "
			       "(identity.token-keys)");
	int rc = jwt_source_verify(id->tokens, &rules, f->token, (uint64_t)time(NULL),
				   &claims, err);
	if (rc < 0)
		return rc;
	ret->way = WAY_TOKEN;
	ret->until_s = claims.exp_s;
	rc = take_login(claims.login, ret, err);
	return rc < 0 ? rc : refuse_system(ret, err);
}

/* The uid that a front end sends for the user it names. */
static int take_uid(const struct identity_facts *f, struct identity_who *ret,
		    struct err *err)
{
	if (f->uids == 0)
		return 0;
	if (f->uids > 1 || parse_u32(f->uid, &ret->uid) < 0)
		return err_set(err, -EINVAL,
			       IDENTITY_UID_HEADER ": must be one number");
	ret->has_uid = true;
	return 0;
}

/* For a proved front end; ret->front says which. */
static int by_front(struct identity *id, const struct identity_facts *f,
		    const struct front *front, struct identity_who *ret,
		    struct err *err)
{
	const char *user = NULL;
	unsigned n = user_headers(f, &user);

	if (!front->near)
		return err_set(err, -EPERM,
			       "%s connects from an address that is not listed for it "
			       "(identity.front-end: %s@ADDRESS)",
			       ret->front, ret->front);
	if (n > 1)
		return err_set(err, -EINVAL, "several headers name a user: send one");
	if (n == 0 && f->tokens == 0)
		return err_set(err, -EACCES, "%s names no user (header %s)", ret->front,
			       id->headers.items[0]);
	ret->way = WAY_FRONT_END;
	if (n == 1 && take_login(user, ret, err) < 0)
		return err_prefix(err, -EINVAL, "header that names the user");
	if (take_uid(f, ret, err) < 0)
		return -EINVAL;
	bool proved = front->munge && ret->has_uid;
	if (n == 1 && !proved && refuse_system(ret, err) < 0)
		return -EPERM;
	ret->named = f->no_role || (!proved && !id->front_end_roles);
	if (f->tokens == 0 || (n == 1 && !id->tokens))
		return 0;
	struct identity_who token = {.way = WAY_TOKEN};
	int rc = by_token(id, f, &token, err);
	if (rc < 0)
		return rc;
	if (n == 1 && strcmp(token.login, ret->login) != 0)
		return err_set(err, -EPERM,
			       "X-Grafana-Id and the user's header name two users");
	ret->way = WAY_TOKEN;
	ret->named = f->no_role;
	ret->until_s = token.until_s;
	memcpy(ret->login, token.login, sizeof(ret->login));
	return 0;
}

/* For a proved user: no header may name another one. */
static int as_user(const struct identity_facts *f, struct err *err)
{
	const char *user = NULL;

	if (user_headers(f, &user) || f->uids)
		return err_set(err, -EPERM,
			       "only a front end of this site's list may name a user "
			       "by a header");
	if (f->tokens)
		return err_set(err, -EPERM,
			       "there are two proofs of identity: send one");
	return 0;
}

/* "": unknown here. */
static int name_of_uid(const struct identity *id, uint32_t uid,
		       char ret[IDENTITY_LOGIN_BYTES], struct err *err)
{
	char login[UID_NAMES_LOGIN_BYTES];
	int rc = uid_names_get(id->names, uid, login, err);

	if (rc == 0 && identity_is_login(login))
		memcpy(ret, login, strlen(login) + 1);
	return rc;
}

static bool payload_is_ours(const struct munge_facts *m, const struct identity_facts *f)
{
	size_t p = strlen(IDENTITY_MUNGE_PAYLOAD), n = strlen(f->method);
	size_t t = strlen(f->target);
	const char *s = m->payload.data;

	return m->payload.len == p + n + 1 + t &&
	       memcmp(s, IDENTITY_MUNGE_PAYLOAD, p) == 0 &&
	       memcmp(s + p, f->method, n) == 0 && s[p + n] == ' ' &&
	       memcmp(s + p + n + 1, f->target, t) == 0;
}

static int check_munge_request(const struct identity *id, const struct munge_facts *m,
			       const struct identity_facts *f, struct identity_who *ret,
			       struct err *err)
{
	const struct munge_asked asked = {
		.method = f->method,
		.target = f->target,
		.has_peer = f->has_peer,
		.peer = f->peer,
		.has_local = f->has_local,
		.local = f->local,
		.hosts = (const char *const *)id->munge_hosts.items,
		.host_count = id->munge_hosts.count};

	if (munge_request_is_bound(m))
		return munge_request_check(m, &asked, ret->body, err);
	if (!payload_is_ours(m, f))
		return err_set(err, -EACCES,
			       "munge: the credential was made for another request");
	if (!id->munge_unbound)
		return err_set(err, -EACCES,
			       "munge: the credential is in the format of an earlier "
			       "release, which is not bound to a host and a body "
			       "(identity.munge-unbound)");
	return 0;
}

static const char *credential_of(const struct identity_facts *f)
{
	const char *s = f->authorization + strlen("MUNGE");

	return s + strspn(s, " ");
}

static int identify_by_munge(struct identity *id, const struct identity_facts *f,
			     struct identity_who *ret, struct err *err)
{
	auto_munge_facts struct munge_facts own = {.rc = -EACCES};
	const struct munge_facts *m = f->munge ? &f->munge->facts : &own;
	int rc = m->rc;

	if (!id->munge)
		return err_set(err, -EACCES,
			       "MUNGE credentials are not accepted here "
			       "(identity.munge)");
	if (!f->munge)
		rc = munge_read(id->munge_socket, credential_of(f), &own, err);
	else if (rc < 0)
		(void)err_set(err, rc, "%s", f->munge->why.text);
	if (rc < 0)
		return rc == -ENOTSUP || rc == -EINVAL ? -EACCES : rc;
	rc = check_munge_request(id, m, f, ret, err);
	if (rc < 0)
		return rc;
	ret->way = WAY_MUNGE;
	ret->has_uid = true;
	ret->uid = m->uid;
	rc = name_of_uid(id, m->uid, ret->login, err);
	if (rc < 0)
		return rc;
	const struct front front = find_front_account(id, m->uid, ret->login, f, ret);
	if (front.listed) {
		ret->has_uid = false;
		ret->login[0] = '\0';
		return by_front(id, f, &front, ret, err);
	}
	return as_user(f, err);
}

/* The login in a name, by the configured rule. */
static bool login_of_name(const struct identity *id, const struct identity_name *name,
			  char ret[IDENTITY_LOGIN_BYTES])
{
	size_t n = strlen(name->text), cut = id->suffix ? strlen(id->suffix) : 0;

	if (name->kind != id->certificate || n <= cut ||
	    n - cut >= IDENTITY_LOGIN_BYTES ||
	    (cut && strcasecmp(name->text + n - cut, id->suffix) != 0))
		return false;
	memcpy(ret, name->text, n - cut);
	ret[n - cut] = '\0';
	return identity_is_login(ret);
}

static int by_certificate(struct identity *id, const struct identity_facts *f,
			  struct identity_who *ret, struct err *err)
{
	char login[IDENTITY_LOGIN_BYTES];
	bool known = false;

	if (!f->client_certificate)
		return err_set(err, -EACCES,
			       "the certificate is not for clients alone: its extended "
			       "key usage must be clientAuth, without serverAuth");
	for (size_t i = 0; i < f->name_count; i++) {
		/* a name of another kind is not considered */
		if (f->names[i].kind == CERTIFICATE_EMAIL &&
		    !strchr(f->names[i].text, '@'))
			continue;
		const struct front front =
			find_front(id, PARTY_CERTIFICATE, f->names[i].text, f, ret);
		if (front.listed)
			return by_front(id, f, &front, ret, err);
	}
	for (size_t i = 0; id->certificate && i < f->name_count; i++) {
		if (!login_of_name(id, &f->names[i], login))
			continue;
		if (known && strcmp(login, ret->login) != 0)
			return err_set(err, -EPERM, "the certificate names two users");
		memcpy(ret->login, login, sizeof(login));
		known = true;
	}
	if (!known)
		return err_set(err, -EACCES,
			       "the client certificate belongs to no front end and no "
			       "user here");
	ret->way = WAY_CERTIFICATE;
	return as_user(f, err);
}

static int by_nothing(struct identity *id, const struct identity_facts *f,
		      struct err *err)
{
	const char *user = NULL;

	if (f->password_user)
		return err_set(
			err, -EACCES,
			"the password of %.64s is right, but %.64s is no front end: "
			"to let it name users add password:%.64s to identity.front-end "
			"(identity.front_ends of a load balancer)",
			f->password_user, f->password_user, f->password_user);
	if (user_headers(f, &user))
		return err_set(
			err, -EACCES,
			"a header alone does not prove who asks: the front end "
			"must have a client certificate or a password, and be in "
			"identity.front-end");
	if (f->authorization)
		return err_set(err, -EACCES, "unknown kind of Authorization");
	return err_set(err, -EACCES, "no proof of identity was sent%s",
		       id->munge ? " (Authorization: MUNGE credential)" : "");
}

static bool uses_munge(const struct identity_facts *f)
{
	return f->authorization && strncasecmp(f->authorization, "MUNGE ", 6) == 0;
}

const char *identity_credential(const struct identity *id,
				const struct identity_facts *f)
{
	return id->munge && f->authorizations == 1 && uses_munge(f) ? credential_of(f)
								    : NULL;
}

bool identity_waits(const struct identity *id, const struct identity_facts *f)
{
	return uses_munge(f) || (f->tokens && id->tokens);
}

int identity_prove(struct identity *id, const struct identity_facts *f,
		   struct identity_who *ret, struct err *err)
{
	struct identity_who who = {.way = WAY_MUNGE};
	int rc;

	if (f->authorizations > 1)
		return err_set(err, -EINVAL, "Authorization appears twice");
	bool certificate = f->name_count && (id->certificate || id->front_count);
	struct front password = {.listed = false};

	if (f->password_user && !uses_munge(f))
		password = find_front(id, PARTY_PASSWORD, f->password_user, f, &who);
	if (uses_munge(f))
		rc = identify_by_munge(id, f, &who, err);
	else if (password.listed)
		rc = by_front(id, f, &password, &who, err);
	else if (certificate)
		rc = by_certificate(id, f, &who, err);
	else if (f->tokens)
		rc = by_token(id, f, &who, err);
	else
		rc = by_nothing(id, f, err);
	/* with only a token a user's header is not allowed */
	if (rc == 0 && who.way == WAY_TOKEN && !*who.front) {
		const char *user = NULL;
		if (f->uids)
			rc = err_set(err, -EPERM,
				     IDENTITY_UID_HEADER " is a front end's to say");
		else if (user_headers(f, &user) > 0 && strcmp(user, who.login) != 0)
			rc = err_set(
				err, -EPERM,
				"X-Grafana-Id and the user's header name two users");
	}
	if (rc == 0)
		*ret = who;
	return rc;
}

int identity_check_body(const struct identity_who *who, const void *body, size_t len,
			struct err *err)
{
	return *who->body ? munge_request_check_body(who->body, body, len, err) : 0;
}

/* ---- metrics --------------------------------------------------------------------- */

static bool has_name(const struct identity_facts *f, const char *name)
{
	for (size_t i = 0; f->client_certificate && i < f->name_count; i++) {
		if (strcmp(f->names[i].text, name) == 0)
			return true;
	}
	return false;
}

static bool may_scrape(const struct party *p, const struct identity_facts *f)
{
	if (!party_is_at(p, f->has_peer ? &f->peer : NULL))
		return false;
	if (p->kind == PARTY_PASSWORD)
		return f->password_user && strcmp(p->name, f->password_user) == 0;
	return p->kind == PARTY_ADDRESS || has_name(f, p->name);
}

/* Whether it comes from a front end, at any address, or names a user. */
static bool is_user_side(const struct identity *id, const struct identity_facts *f)
{
	struct identity_who who;
	char login[IDENTITY_LOGIN_BYTES];

	if (f->password_user &&
	    find_front(id, PARTY_PASSWORD, f->password_user, f, &who).listed)
		return true;
	for (size_t i = 0; i < f->name_count; i++) {
		if (find_front(id, PARTY_CERTIFICATE, f->names[i].text, f, &who)
			    .listed ||
		    (id->certificate && login_of_name(id, &f->names[i], login)))
			return true;
	}
	return false;
}

int identity_check_metrics(const struct identity *id, const struct identity_facts *f,
			   struct err *err)
{
	const char *user = NULL;
	bool may = !id->metrics_count && !is_user_side(id, f);

	for (size_t i = 0; i < id->metrics_count; i++)
		may |= may_scrape(&id->metrics[i], f);
	if (may && !user_headers(f, &user) && !f->tokens && !f->uids)
		return 0;
	return err_set(err, -EPERM,
		       "users and front ends may not read the metrics of this service: "
		       "Prometheus needs a password or certificate of its own, or a "
		       "place in identity.metrics");
}

unsigned identity_status(int rc)
{
	switch (rc) {
	case -EACCES:
		return 401;
	case -EPERM:
		return 403;
	case -EINVAL:
		return 400;
	default:
		return 503;
	}
}

const char *identity_way_name(enum identity_way way)
{
	static const char *const names[] = {"munge", "certificate", "front_end",
					    "token"};
	return names[way];
}
