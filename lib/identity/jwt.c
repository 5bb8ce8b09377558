/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens are parsed in order of trust: the header only chooses a key, then the
 * signature is verified, then the claims are read. */
#include "lib/identity/jwt.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base64.h"
#include "lib/cleanup.h"
#include "lib/http/json.h"

#define USER_SUBJECT "user:"
#define COORDINATE_BYTES 32 /* of P-256; r and s have as many */

struct jwt_key {
	char kid[JWT_KID_BYTES];
	gnutls_pubkey_t pub;
};

struct jwt_keys {
	atomic_uint refs;
	size_t count;
	struct jwt_key keys[JWT_KEYS_MAX];
};

static bool is_or_absent(struct json_object *o, const char *name, const char *value)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, name, &v))
		return true;
	const char *s = http_json_text(o, name);
	return s && strcmp(s, value) == 0;
}

/* False: not a key that we use. */
static bool read_key(struct json_object *o, struct jwt_key *ret)
{
	unsigned char x[COORDINATE_BYTES], y[COORDINATE_BYTES];
	gnutls_datum_t xd = {x, sizeof(x)}, yd = {y, sizeof(y)};
	const char *kty = http_json_text(o, "kty"), *crv = http_json_text(o, "crv");
	const char *xs = http_json_text(o, "x"), *ys = http_json_text(o, "y");
	const char *kid = http_json_text(o, "kid");

	if (!kty || !crv || !xs || !ys || !kid || strcmp(kty, "EC") != 0 ||
	    strcmp(crv, "P-256") != 0 || !is_or_absent(o, "use", "sig") ||
	    !is_or_absent(o, "alg", "ES256") || strlen(kid) >= sizeof(ret->kid) ||
	    base64_decode(xs, strlen(xs), BASE64_URL, x, sizeof(x)) !=
		    COORDINATE_BYTES ||
	    base64_decode(ys, strlen(ys), BASE64_URL, y, sizeof(y)) != COORDINATE_BYTES)
		return false;
	if (gnutls_pubkey_init(&ret->pub) < 0)
		return false;
	/* refuses a point that is not on the curve */
	if (gnutls_pubkey_import_ecc_raw(ret->pub, GNUTLS_ECC_CURVE_SECP256R1, &xd,
					 &yd) < 0) {
		gnutls_pubkey_deinit(ret->pub);
		return false;
	}
	memcpy(ret->kid, kid, strlen(kid) + 1);
	return true;
}

int jwt_keys_parse(const char *text, size_t len, struct jwt_keys **ret, struct err *err)
{
	static const struct http_json_limits limits = {JWT_KEYS_BYTES_MAX, 8, true};
	auto_json struct json_object *o = NULL;
	struct json_object *list;
	int rc = http_json_object(text, len, &limits, &o, err);

	if (rc < 0)
		return rc;
	list = http_json_get(o, "keys", json_type_array);
	if (!list)
		return err_set(err, -EBADMSG, "not a set of keys: no list \"keys\"");
	struct jwt_keys *k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	atomic_init(&k->refs, 1);
	size_t n = json_object_array_length(list);
	for (size_t i = 0; i < n && k->count < JWT_KEYS_MAX; i++) {
		struct json_object *one = json_object_array_get_idx(list, i);
		if (json_object_is_type(one, json_type_object) &&
		    read_key(one, &k->keys[k->count]))
			k->count++;
	}
	if (k->count == 0) {
		jwt_keys_unref(k);
		return err_set(err, -EBADMSG, "no P-256 key with an id in the set");
	}
	*ret = k;
	return 0;
}

struct jwt_keys *jwt_keys_ref(struct jwt_keys *k)
{
	atomic_fetch_add(&k->refs, 1);
	return k;
}

void jwt_keys_unref(struct jwt_keys *k)
{
	if (!k || atomic_fetch_sub(&k->refs, 1) > 1)
		return;
	for (size_t i = 0; i < k->count; i++)
		gnutls_pubkey_deinit(k->keys[i].pub);
	free(k);
}

size_t jwt_keys_count(const struct jwt_keys *k)
{
	return k->count;
}

/* The three parts of a token and their decoded bytes. */
struct jwt_token {
	const char *part[3];
	size_t len[3];
	size_t signed_len; /* of the token's text */
};

static int split_token(const char *s, struct jwt_token *ret)
{
	size_t total = strnlen(s, JWT_BYTES_MAX + 1);

	if (total > JWT_BYTES_MAX)
		return -EINVAL;
	for (int i = 0; i < 3; i++) {
		ret->part[i] = s;
		ret->len[i] = strcspn(s, ".");
		s += ret->len[i];
		if (ret->len[i] == 0 || (*s == '.') != (i < 2))
			return -EINVAL;
		s++;
	}
	ret->signed_len = ret->len[0] + 1 + ret->len[1];
	return 0;
}

static int read_json(const struct jwt_token *t, int part, struct json_object **ret)
{
	static const struct http_json_limits limits = {JWT_BYTES_MAX, 8, true};
	auto_free unsigned char *bytes = malloc(JWT_BYTES_MAX);

	if (!bytes)
		return -ENOMEM;
	ssize_t n = base64_decode(t->part[part], t->len[part], BASE64_URL, bytes,
				  JWT_BYTES_MAX);
	if (n < 0)
		return n;
	return http_json_object((const char *)bytes, (size_t)n, &limits, ret, NULL);
}

static const struct jwt_key *find_key(const struct jwt_keys *k, const char *kid)
{
	for (size_t i = 0; i < k->count; i++) {
		if (strcmp(k->keys[i].kid, kid) == 0)
			return &k->keys[i];
	}
	return NULL;
}

static int check_header(const struct jwt_keys *k, struct json_object *o,
			const struct jwt_key **ret, struct err *err)
{
	const char *alg = http_json_text(o, "alg"), *kid = http_json_text(o, "kid");
	struct json_object *crit;

	if (!alg || strcmp(alg, "ES256") != 0)
		return err_set(err, -EACCES, "token: it is not signed with ES256");
	if (json_object_object_get_ex(o, "crit", &crit))
		return err_set(err, -EACCES, "token: it has extensions");
	if (!kid)
		return err_set(err, -EACCES, "token: it names no key (kid)");
	*ret = find_key(k, kid);
	return *ret ? 0 : err_set(err, -ENOKEY, "token: its key is not known here");
}

static int check_signature(const struct jwt_key *key, const struct jwt_token *t,
			   struct err *err)
{
	unsigned char raw[2 * COORDINATE_BYTES];
	gnutls_datum_t r = {raw, COORDINATE_BYTES};
	gnutls_datum_t s = {raw + COORDINATE_BYTES, COORDINATE_BYTES};
	gnutls_datum_t data = {(unsigned char *)(uintptr_t)t->part[0],
			       (unsigned)t->signed_len};
	gnutls_datum_t der = {NULL, 0};

	if (base64_decode(t->part[2], t->len[2], BASE64_URL, raw, sizeof(raw)) !=
		    (ssize_t)sizeof(raw) ||
	    gnutls_encode_rs_value(&der, &r, &s) < 0)
		return err_set(err, -EACCES, "token: its signature is malformed");
	int rc = gnutls_pubkey_verify_data2(key->pub, GNUTLS_SIGN_ECDSA_SHA256, 0,
					    &data, &der);
	gnutls_free(der.data);
	return rc < 0 ? err_set(err, -EACCES, "token: its signature is wrong") : 0;
}

static int claim_time(struct json_object *o, const char *name, uint64_t *ret)
{
	double d = 0;
	int rc = http_json_number(o, name, &d);

	if (rc == 0 && !(d >= 0 && d < 1e12))
		rc = -EINVAL;
	if (rc == 0)
		*ret = (uint64_t)d;
	return rc;
}

static int check_token_times(struct json_object *o, uint64_t now_s, uint64_t *ret_exp,
			     struct err *err)
{
	uint64_t exp, iat, nbf = 0;
	int rc = claim_time(o, "nbf", &nbf);

	if (claim_time(o, "exp", &exp) < 0 || claim_time(o, "iat", &iat) < 0 ||
	    (rc < 0 && rc != -ENOENT))
		return err_set(
			err, -EACCES,
			"token: its time of validity is missing (iat, exp, nbf)");
	if (now_s >= exp + JWT_LEEWAY_S)
		return err_set(err, -EACCES, "token: it has expired");
	if (iat > now_s + JWT_LEEWAY_S || nbf > now_s + JWT_LEEWAY_S)
		return err_set(err, -EACCES,
			       "token: it is not valid yet (do the clocks differ?)");
	if (exp < iat || exp - iat > JWT_LIFE_MAX_S)
		return err_set(err, -EACCES, "token: it is valid for too long");
	*ret_exp = exp;
	return 0;
}

static bool in_list(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; s && i < n; i++) {
		if (strcmp(s, list[i]) == 0)
			return true;
	}
	return false;
}

static bool audience_is_ours(struct json_object *o, const struct jwt_rules *rules)
{
	struct json_object *v = http_json_get(o, "aud", json_type_array);

	if (in_list(http_json_text(o, "aud"), rules->audiences, rules->audience_count))
		return true;
	size_t n = v ? json_object_array_length(v) : 0;
	for (size_t i = 0; i < n && i < 64; i++) {
		if (in_list(http_json_as_text(json_object_array_get_idx(v, i)),
			    rules->audiences, rules->audience_count))
			return true;
	}
	return false;
}

/* Grafana's subject for users is "user:1": service accounts, API keys, alert rules and
 * its renderer have other types, and whoever creates a service account chooses its
 * name. */
static bool is_of_user(struct json_object *o)
{
	const char *sub = http_json_text(o, "sub");

	return sub && strncmp(sub, USER_SUBJECT, sizeof(USER_SUBJECT) - 1) == 0 &&
	       sub[sizeof(USER_SUBJECT) - 1] && is_or_absent(o, "type", "user");
}

static int check_claims(struct json_object *o, const struct jwt_rules *rules,
			uint64_t now_s, struct jwt_claims *ret, struct err *err)
{
	const char *claim = rules->login_claim ? rules->login_claim : "username";
	uint64_t exp = 0;
	int rc = check_token_times(o, now_s, &exp, err);

	if (rc < 0)
		return rc;
	if (!in_list(http_json_text(o, "iss"), rules->issuers, rules->issuer_count))
		return err_set(err, -EACCES, "token: it is of another issuer (iss)");
	if (!audience_is_ours(o, rules))
		return err_set(err, -EACCES, "token: it is for another audience (aud)");
	if (!is_of_user(o))
		return err_set(err, -EACCES,
			       "token: it is not a user's (sub is not \"user:...\"): "
			       "service accounts, API keys and alert rules have no "
			       "units");
	const char *login = http_json_text(o, claim);
	if (!login || !*login || strlen(login) >= sizeof(ret->login))
		return err_set(err, -EACCES,
			       "token: it has no claim \"%s\", so its user is unknown; "
			       "Grafana 11.2 and later put the login there",
			       claim);
	memcpy(ret->login, login, strlen(login) + 1);
	ret->exp_s = exp;
	return 0;
}

int jwt_verify(const struct jwt_keys *k, const struct jwt_rules *rules,
	       const char *token, uint64_t now_s, struct jwt_claims *ret,
	       struct err *err)
{
	auto_json struct json_object *header = NULL, *claims = NULL;
	const struct jwt_key *key = NULL;
	struct jwt_token t;

	if (split_token(token, &t) < 0)
		return err_set(err, -EACCES, "token: it is malformed");
	int rc = read_json(&t, 0, &header);
	if (rc == 0) {
		rc = check_header(k, header, &key, err);
		if (rc == 0)
			rc = check_signature(key, &t, err);
		if (rc < 0)
			return rc;
		rc = read_json(&t, 1, &claims);
	}
	if (rc < 0)
		return rc == -ENOMEM ? err_set(err, rc, "out of memory")
				     : err_set(err, -EACCES, "token: it is malformed");
	return check_claims(claims, rules, now_s, ret, err);
}
