/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens: one of the RFC's, ours, and each way to forge one. */
#include "lib/identity/jwt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/identity/jwt_source.h"
#include "test/unit/jwt_make.h"
#include "test/unit/scratch.h"

#define NOW 1700000000ull
#define HEADER "{\"alg\":\"ES256\",\"typ\":\"jwt\",\"kid\":\"one\"}"
#define TIMES "\"iat\":1699999990,\"exp\":1700000590"
#define WHO                                                                            \
	"\"iss\":\"https://grafana.example/"                                           \
	"\",\"aud\":\"org:1\",\"sub\":\"user:1\",\"username\":\"alice\""
#define CLAIMS "{" WHO "," TIMES "}"

static const char *const issuers[] = {"https://grafana.example/"};
static const char *const audiences[] = {"org:1", "org:7"};
static const struct jwt_rules rules = {issuers, 1, audiences, 2, NULL};

static gnutls_privkey_t one, other;
static struct jwt_keys *keys;
static struct err err;

static int begin(void **state)
{
	auto_buf struct buf set = BUF_INIT;

	(void)state;
	one = jwt_new_key();
	other = jwt_new_key();
	buf_puts(&set, "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"one\",\"n\":\"AQAB\"},");
	jwt_put_jwk(&set, one, "one");
	buf_puts(&set, "]}");
	return jwt_keys_parse(set.data, set.len, &keys, &err);
}

static int end(void **state)
{
	(void)state;
	jwt_keys_unref(keys);
	gnutls_privkey_deinit(one);
	gnutls_privkey_deinit(other);
	return 0;
}

static int verify_at(const char *token, uint64_t now_s, struct jwt_claims *ret)
{
	err.text[0] = '\0';
	return jwt_verify(keys, &rules, token, now_s, ret, &err);
}

/* What becomes of a token with these two parts. */
static int check(const char *header, const char *claims)
{
	auto_buf struct buf t = BUF_INIT;
	struct jwt_claims c;

	jwt_sign(&t, one, header, claims);
	return verify_at(t.data, NOW, &c);
}

static void the_login_is_what_grafana_signed(void **state)
{
	auto_buf struct buf t = BUF_INIT;
	struct jwt_claims c;

	(void)state;
	jwt_sign(&t, one, HEADER, CLAIMS);
	assert_int_equal(verify_at(t.data, NOW, &c), 0);
	assert_string_equal(c.login, "alice");
	assert_int_equal(c.exp_s, 1700000590);
}

static void one_of_several_audiences_is_enough(void **state)
{
	(void)state;
	assert_int_equal(
		check(HEADER,
		      "{\"iss\":\"https://grafana.example/\",\"aud\":[3,\"x\","
		      "\"org:7\"],\"sub\":\"user:u1\",\"username\":\"a\"," TIMES "}"),
		0);
}

/* Signed by OpenSSL (Python's cryptography 48): two of our own make could agree in what
 * is wrong. */
static void a_token_of_another_library_is_good(void **state)
{
	static const char jwk[] =
		"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"one\","
		"\"x\":\"CvBwj6jzY8zLuYwH8eZ6q1BM0LPpoQkQM1TEt2rkaKs\","
		"\"y\":\"lcCeu9zI12jQL55xVebyYtnkRZ1we66IrXL6xlw9x40\"}]}";
	static const char token[] =
		"eyJhbGciOiJFUzI1NiIsInR5cCI6Imp3dCIsImtpZCI6Im9uZSJ9.eyJpc3M"
		"iOiJodHRwczovL2dyYWZhbmEuZXhhbXBsZS8iLCJhdWQiOiJvcmc6MSIsInN"
		"1YiI6InVzZXI6MSIsInVzZXJuYW1lIjoiYWxpY2UiLCJpYXQiOjE2OTk5OTk"
		"5OTAsImV4cCI6MTcwMDAwMDU5MH0.OUbCSJ0WJ7HYplU3IQu76tglpG--a5l"
		"BAdyjskHiAKefJkngnwg5yuBeTbqEJtO7fZFFB8fniz0P1YL9b1rgqA";
	struct jwt_keys *k = NULL;
	struct jwt_claims c;

	(void)state;
	assert_int_equal(jwt_keys_parse(jwk, strlen(jwk), &k, &err), 0);
	assert_int_equal(jwt_verify(k, &rules, token, NOW, &c, &err), 0);
	assert_string_equal(c.login, "alice");
	jwt_keys_unref(k);
}

static void a_token_that_is_not_signed_is_refused(void **state)
{
	auto_buf struct buf t = BUF_INIT;
	struct jwt_claims c = {.login = "untouched"};

	(void)state;
	jwt_put_base64url(&t, "{\"alg\":\"none\",\"kid\":\"one\"}", 27);
	buf_putc(&t, '.');
	jwt_put_base64url(&t, CLAIMS, strlen(CLAIMS));
	assert_int_equal(verify_at(t.data, NOW, &c), -EACCES);
	buf_putc(&t, '.');
	assert_int_equal(verify_at(t.data, NOW, &c), -EACCES);
	buf_puts(&t, "AAAA");
	assert_int_equal(verify_at(t.data, NOW, &c), -EACCES);
	assert_string_equal(c.login, "untouched");
	assert_int_equal(check("{\"alg\":\"none\",\"kid\":\"one\"}", CLAIMS), -EACCES);
	assert_int_equal(check("{\"alg\":\"HS256\",\"kid\":\"one\"}", CLAIMS), -EACCES);
	assert_int_equal(check("{\"alg\":\"es256\",\"kid\":\"one\"}", CLAIMS), -EACCES);
	assert_int_equal(check("{\"kid\":\"one\"}", CLAIMS), -EACCES);
}

static void a_token_of_another_key_is_refused(void **state)
{
	auto_buf struct buf t = BUF_INIT;
	struct jwt_claims c;

	(void)state;
	jwt_sign(&t, other, HEADER, CLAIMS);
	assert_int_equal(verify_at(t.data, NOW, &c), -EACCES);
	assert_string_equal(err.text, "token: its signature is wrong");
	assert_int_equal(check("{\"alg\":\"ES256\",\"kid\":\"two\"}", CLAIMS), -ENOKEY);
}

static void each_changed_byte_is_noticed(void **state)
{
	auto_buf struct buf t = BUF_INIT;
	struct jwt_claims c;

	(void)state;
	jwt_sign(&t, one, HEADER, CLAIMS);
	for (size_t i = 0; i < t.len; i++) {
		char was = t.data[i];
		t.data[i] = was == 'B' ? 'C' : 'B';
		assert_int_not_equal(verify_at(t.data, NOW, &c), 0);
		t.data[i] = was;
	}
	assert_int_equal(verify_at(t.data, NOW, &c), 0);
}

static void another_audience_or_issuer_is_refused(void **state)
{
	(void)state;
	assert_int_equal(
		check(HEADER, "{\"iss\":\"https://grafana.example/\",\"aud\":\"org:2\","
			      "\"username\":\"a\"," TIMES "}"),
		-EACCES);
	assert_non_null(strstr(err.text, "audience"));
	assert_int_equal(check(HEADER,
			       "{\"iss\":\"https://evil.example/\",\"aud\":\"org:1\","
			       "\"username\":\"a\"," TIMES "}"),
			 -EACCES);
	assert_non_null(strstr(err.text, "issuer"));
	assert_int_equal(check(HEADER, "{\"username\":\"a\"," TIMES "}"), -EACCES);
}

static void time_is_kept_with_a_little_leeway(void **state)
{
	auto_buf struct buf t = BUF_INIT;
	struct jwt_claims c;

	(void)state;
	jwt_sign(&t, one, HEADER, CLAIMS);
	assert_int_equal(verify_at(t.data, 1700000590 + JWT_LEEWAY_S - 1, &c), 0);
	assert_int_equal(verify_at(t.data, 1700000590 + JWT_LEEWAY_S, &c), -EACCES);
	assert_string_equal(err.text, "token: it has expired");
	assert_int_equal(verify_at(t.data, 1699999990 - JWT_LEEWAY_S, &c), 0);
	assert_int_equal(verify_at(t.data, 1699999990 - JWT_LEEWAY_S - 1, &c), -EACCES);
	assert_int_equal(check(HEADER, "{" WHO "," TIMES ",\"nbf\":1700000100}"),
			 -EACCES);
	assert_int_equal(check(HEADER, "{" WHO ",\"iat\":1699999990}"), -EACCES);
	assert_int_equal(check(HEADER, "{" WHO ",\"exp\":1700000590}"), -EACCES);
	assert_int_equal(
		check(HEADER, "{" WHO ",\"iat\":1699999990,\"exp\":\"1800000000\"}"),
		-EACCES);
	assert_int_equal(
		check(HEADER, "{" WHO ",\"iat\":1699999990,\"exp\":1800000000}"),
		-EACCES);
	assert_string_equal(err.text, "token: it is valid for too long");
}

static void without_a_login_the_refusal_explains(void **state)
{
	(void)state;
	assert_int_equal(
		check(HEADER, "{\"iss\":\"https://grafana.example/\",\"aud\":\"org:1\","
			      "\"sub\":\"user:1\"," TIMES "}"),
		-EACCES);
	assert_non_null(strstr(err.text, "\"username\""));
	assert_int_equal(
		check(HEADER, "{\"iss\":\"https://grafana.example/\",\"aud\":\"org:1\","
			      "\"username\":\"\"," TIMES "}"),
		-EACCES);
	assert_int_equal(
		check(HEADER, "{\"iss\":\"https://grafana.example/\",\"aud\":\"org:1\","
			      "\"username\":\"a\\u0000b\"," TIMES "}"),
		-EACCES);
}

static void only_a_user_is_one(void **state)
{
	static const struct {
		const char *subject;
		int rc;
	} cases[] = {
		{"\"sub\":\"user:1\"", 0},
		{"\"sub\":\"user:cek2x9\",\"type\":\"user\"", 0},
		{"\"sub\":\"user:\"", -EACCES},
		{"\"sub\":\"User:1\"", -EACCES},
		{"\"sub\":\"1\"", -EACCES},
		{"\"sub\":1", -EACCES},
		{"\"sub\":\"service-account:3\"", -EACCES},
		{"\"sub\":\"api-key:3\"", -EACCES},
		{"\"sub\":\"anonymous:0\"", -EACCES},
		{"\"sub\":\"render:0\"", -EACCES},
		{"\"sub\":\"user:1\",\"type\":\"service-account\"", -EACCES},
		{"\"sub\":\"user:1\",\"type\":1", -EACCES},
		{"\"type\":\"user\"", -EACCES},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char claims[512];
		int rc;

		snprintf(claims, sizeof(claims),
			 "{\"iss\":\"https://grafana.example/\",\"aud\":\"org:1\","
			 "\"username\":\"alice\",%s," TIMES "}",
			 cases[i].subject);
		rc = check(HEADER, claims);
		if (rc != cases[i].rc)
			fail_msg("%s: %d", cases[i].subject, rc);
		if (rc)
			assert_non_null(strstr(err.text, "not a user's"));
	}
}

static void key_sets_without_a_key_of_ours_are_none(void **state)
{
	static const char *const bad[] = {
		"",
		"{}",
		"[]",
		"{\"keys\":{}}",
		"{\"keys\":[]}",
		"<html>",
		"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-384\",\"kid\":\"a\",\"x\":"
		"\"AA\","
		"\"y\":\"AA\"}]}",
		/* not a point of the curve */
		"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"a\","
		"\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
		"\"y\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct jwt_keys *k = NULL;
		int rc = jwt_keys_parse(bad[i], strlen(bad[i]), &k, &err);
		if (rc == 0) {
			/* GnuTLS 3.7 looks at a point when it verifies with it */
			auto_buf struct buf t = BUF_INIT;
			struct jwt_claims c;
			jwt_sign(&t, one, "{\"alg\":\"ES256\",\"kid\":\"a\"}", CLAIMS);
			rc = jwt_verify(k, &rules, t.data, NOW, &c, &err);
			jwt_keys_unref(k);
		}
		assert_true(rc < 0);
	}
}

static void write_set(const char *path, gnutls_privkey_t key, const char *kid)
{
	auto_buf struct buf set = BUF_INIT;

	buf_puts(&set, "{\"keys\":[");
	jwt_put_jwk(&set, key, kid);
	buf_puts(&set, "]}");
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, set.data, set.len, 0600, &err), 0);
}

/* Grafana turns to a new key: the first token of it is good at once, and what an
 * unknown id can make us do is bounded. */
static void a_new_key_is_fetched_when_a_token_comes_with_it(void **state)
{
	char dir[SCRATCH_PATH], path[SCRATCH_PATH + 8];
	const struct jwt_source_params p = {.where = path, .ask_s = 1};
	auto_buf struct buf first = BUF_INIT, second = BUF_INIT;
	struct jwt_source *s = NULL;
	struct jwt_claims c;

	(void)state;
	scratch_make(dir);
	snprintf(path, sizeof(path), "%s/keys", dir);
	write_set(path, one, "one");
	assert_int_equal(jwt_source_new(&p, &s, &err), 0);
	jwt_sign(&first, one, HEADER, CLAIMS);
	jwt_sign(&second, other, "{\"alg\":\"ES256\",\"kid\":\"two\"}", CLAIMS);
	assert_int_equal(jwt_source_verify(s, &rules, first.data, NOW, &c, &err), 0);
	/* just asked: not again for everyone who makes up an id */
	assert_int_equal(jwt_source_verify(s, &rules, second.data, NOW, &c, &err),
			 -EACCES);
	write_set(path, other, "two");
	usleep(1200000);
	assert_int_equal(jwt_source_verify(s, &rules, second.data, NOW, &c, &err), 0);
	assert_int_equal(unlink(path), 0);
	usleep(1200000);
	/* what cannot be fetched now does not take away what is known */
	assert_int_equal(jwt_source_verify(s, &rules, first.data, NOW, &c, &err),
			 -EACCES);
	assert_int_equal(jwt_source_verify(s, &rules, second.data, NOW, &c, &err), 0);
	jwt_source_free(s);
	scratch_remove(dir);
}

static void without_keys_it_is_nobodys_fault_and_nobodys_right(void **state)
{
	const struct jwt_source_params p = {.where = "/nonexistent/keys", .ask_s = 1};
	auto_buf struct buf t = BUF_INIT;
	struct jwt_source *s = NULL;
	struct jwt_claims c;

	(void)state;
	assert_int_equal(jwt_source_new(&p, &s, &err), 0);
	jwt_sign(&t, one, HEADER, CLAIMS);
	assert_int_equal(jwt_source_verify(s, &rules, t.data, NOW, &c, &err),
			 -EHOSTDOWN);
	assert_non_null(strstr(err.text, "/nonexistent/keys"));
	jwt_source_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_login_is_what_grafana_signed),
		cmocka_unit_test(one_of_several_audiences_is_enough),
		cmocka_unit_test(a_token_of_another_library_is_good),
		cmocka_unit_test(a_token_that_is_not_signed_is_refused),
		cmocka_unit_test(a_token_of_another_key_is_refused),
		cmocka_unit_test(each_changed_byte_is_noticed),
		cmocka_unit_test(another_audience_or_issuer_is_refused),
		cmocka_unit_test(time_is_kept_with_a_little_leeway),
		cmocka_unit_test(without_a_login_the_refusal_explains),
		cmocka_unit_test(only_a_user_is_one),
		cmocka_unit_test(key_sets_without_a_key_of_ours_are_none),
		cmocka_unit_test(a_new_key_is_fetched_when_a_token_comes_with_it),
		cmocka_unit_test(without_keys_it_is_nobodys_fault_and_nobodys_right),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
