/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http/web_config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/unit.h"

/* "secret", cost 4 */
#define HASH "$2b$04$abcdefghijklmnopqrstuuIIjbzLTtPONCeyPaCOkQ6NdDqDT8wLC"

static int parse(const char *text, struct web_config *c, struct err *err)
{
	return web_config_parse(text, strlen(text), "/etc/ceems/web.yaml", c, err);
}

/* The key of an address under a configuration. */
static uint64_t key_of(const char *text, const char *address)
{
	struct web_config c;
	struct netaddr a;

	assert_int_equal(parse(text, &c, NULL), 0);
	uint64_t key =
		netaddr_parse(address, &a) < 0 ? 0 : netaddr_key(&a, c.client_prefix);
	web_config_done(&c);
	return key;
}

static void one_client_is_as_wide_as_its_prefix(void **state)
{
	static const struct {
		const char *text, *a, *b;
		bool one;
	} cases[] = {
		{"", "10.0.0.1", "10.0.0.2", false},
		{"", "fd00::1", "fd00::2", true},
		{"", "fd00:0:0:1::1", "fd00::1", false},
		{"client_prefix: {ipv4: 24}", "10.0.0.1", "10.0.0.254", true},
		{"client_prefix: {ipv4: 24}", "10.0.0.1", "10.0.1.1", false},
		{"client_prefix: {ipv4: 24}", "fd00:0:0:1::1", "fd00::1", false},
		{"client_prefix: {ipv6: 56}", "fd00:0:0:1::1", "fd00::1", true},
		{"client_prefix: {ipv6: 56}", "fd00:0:0:100::1", "fd00::1", false},
		{"client_prefix: {ipv6: 56}", "10.0.0.1", "10.0.0.2", false},
		{"client_prefix: {ipv4: 8, ipv6: 16}", "10.0.0.1", "10.9.9.9", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool one = key_of(cases[i].text, cases[i].a) ==
			   key_of(cases[i].text, cases[i].b);
		if (one != cases[i].one)
			fail_msg("case %zu", i);
	}
}

static void whole_file_is_read(void **state)
{
	(void)state;
	struct web_config c;
	struct err err = {""};
	int rc = parse("# comment\n"
		       "tls_server_config:\n"
		       "  cert_file: node.pem\n"
		       "  key_file: /secret/node.key\n"
		       "  client_auth_type: RequireAndVerifyClientCert\n"
		       "  client_ca_file: ca/clients.pem\n"
		       "  min_version: TLS13\n"
		       "  max_version: TLS13\n"
		       "  cipher_suites: [TLS_AES_128_GCM_SHA256]\n"
		       "  curve_preferences:\n  - X25519\n  - CurveP256\n"
		       "  prefer_server_cipher_suites: false\n"
		       "http_server_config:\n"
		       "  http2: false\n"
		       "  headers:\n"
		       "    Strict-Transport-Security: max-age=31536000\n"
		       "    X-Frame-Options: DENY\n"
		       "basic_auth_users:\n"
		       "  prometheus: " HASH "\n"
		       "  other: $2y$10$"
		       "abcdefghijklmnopqrstuu"
		       "...............................\n",
		       &c, &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	assert_true(c.tls);
	assert_string_equal(c.cert_file, "/etc/ceems/node.pem");
	assert_string_equal(c.key_file, "/secret/node.key");
	assert_string_equal(c.client_ca_file, "/etc/ceems/ca/clients.pem");
	assert_int_equal(c.client_auth, CLIENT_REQUIRE_VERIFY);
	assert_non_null(strstr(c.priority.data, "+VERS-TLS1.3"));
	assert_null(strstr(c.priority.data, "+VERS-TLS1.2"));
	assert_null(strstr(c.priority.data, "SERVER_PRECEDENCE"));
	assert_non_null(strstr(c.priority.data, "+GROUP-X25519:+GROUP-SECP256R1"));
	assert_int_equal(c.header_count, 2);
	assert_string_equal(c.headers[0].name, "Strict-Transport-Security");
	assert_string_equal(c.headers[1].value, "DENY");
	assert_int_equal(c.user_count, 2);
	assert_string_equal(c.users[0].name, "prometheus");
	assert_string_equal(c.users[0].hash, HASH);
	assert_int_equal(c.notes.len, 0);
	web_config_done(&c);
}

static void empty_file_is_plain_http(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",   "# nothing\n",         "tls_server_config:\n",
		"{}", "basic_auth_users:\n", "tls_server_config: {}\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct web_config c;
		struct err err = {""};
		if (parse(texts[i], &c, &err) < 0)
			fail_msg("%s: %s", texts[i], err.text);
		assert_false(c.tls);
		assert_int_equal(c.user_count, 0);
		web_config_done(&c);
	}
}

static void http2_is_taken_and_said_not_to_be_served(void **state)
{
	(void)state;
	struct web_config c;
	assert_int_equal(parse("http_server_config:\n  http2: true\n", &c, NULL), 0);
	assert_non_null(strstr(c.notes.data, "http2 is not supported"));
	web_config_done(&c);
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"tls_server_config:\n  cert_fil: x\n", ":2: unknown key: cert_fil"},
		{"tls_config:\n  x: 1\n", ":1: unknown key: tls_config"},
		{"http_server_config:\n  headers:\n    Server: x\n",
		 ":3: unknown key: Server"},
		{"http_server_config:\n  http3: true\n", ":2: unknown key: http3"},
		{"tls_server_config:\n  client_allowed_sans: [a]\n",
		 ":2: not supported: client_allowed_sans"},
		{"tls_server_config:\n  cert: |\n   x\n", "not supported: cert"},
		{"rate_limit:\n  burst: 1\n", "not supported: rate_limit"},
		{"client_prefix:\n  ipv4: 33\n",
		 ":2: client_prefix: must be 8 to 32 bits: ipv4"},
		{"client_prefix:\n  ipv6: /56\n",
		 ":2: client_prefix: must be 16 to 64 bits: ipv6"},
		{"client_prefix: {ipv5: 1}\n", ":1: unknown key: ipv5"},
		{"tls_server_config:\n  cert_file: a\n", "go together"},
		{"tls_server_config:\n  key_file: a\n", "go together"},
		{"tls_server_config:\n  cert_file: a\n  cert_file: b\n",
		 ":3: key given twice: cert_file"},
		{"tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: "
		 "SSL30\n",
		 ":4: must be TLS10, TLS11, TLS12 or TLS13: min_version"},
		{"tls_server_config:\n  cert_file: a\n  key_file: b\n  min_version: "
		 "TLS13\n  max_version: TLS12\n",
		 "min_version is above max_version"},
		{"tls_server_config:\n  cert_file: a\n  key_file: b\n  cipher_suites:\n"
		 "  - TLS_RSA_WITH_RC4_128_SHA\n",
		 ":5: not supported: TLS_RSA_WITH_RC4_128_SHA"},
		{"tls_server_config:\n  curve_preferences: [CurveP224]\n",
		 "not supported: CurveP224"},
		{"tls_server_config:\n  cert_file: a\n  key_file: b\n"
		 "  client_auth_type: Maybe\n",
		 ":4: unknown client_auth_type: Maybe"},
		{"tls_server_config:\n  cert_file: a\n  key_file: b\n"
		 "  client_auth_type: VerifyClientCertIfGiven\n",
		 "needs a client_ca_file"},
		{"tls_server_config:\n  cert_file: a\n  key_file: b\n"
		 "  client_ca_file: c\n",
		 "needs a client_auth_type"},
		{"tls_server_config:\n  client_auth_type: RequestClientCert\n",
		 "client certificates need cert_file"},
		{"basic_auth_users:\n  u: plaintext\n",
		 ":2: basic_auth_users: the hash"},
		{"basic_auth_users:\n  u: $1$salt$qJH7.N4xYta3aEG/dfqo/0\n", "bcrypt"},
		{"basic_auth_users:\n  u: $2x$"
		 "04$abcdefghijklmnopqrstuu"
		 "IIjbzLTtPONCeyPaCOkQ6NdDqDT8wLC\n",
		 "bcrypt"},
		{"basic_auth_users:\n  u: $2b$32$abcdefghijklmnopqrstuu"
		 "IIjbzLTtPONCeyPaCOkQ6NdDqDT8wLC\n",
		 "bcrypt"},
		{"basic_auth_users:\n  \"a:b\": " HASH "\n", "contain a colon"},
		{"basic_auth_users:\n  \"\": " HASH "\n", "must not be empty"},
		{"basic_auth_users:\n  u: " HASH "\n  u: " HASH "\n",
		 ":3: key given twice: u"},
		{"basic_auth_users: [a, b]\n", "must be a mapping"},
		{"u:" HASH "\n", "web.yaml:1: a line of htpasswd belongs below"},
		{"basic_auth_users:\n  u:" HASH "\n",
		 "web.yaml:2: a line of htpasswd belongs below"},
		{"http_server_config:\n  http2: maybe\n",
		 "http2: must be true or false"},
		{"http_server_config:\n  headers:\n    X-Frame-Options: \"a\\nb\"\n",
		 "control character"},
		{"- a\n- b\n", "must be a mapping"},
		{"tls_server_config: yes\n", "must be a mapping"},
		{"a: [1, 2\n", "web.yaml:"},
		{"\tx: 1\n", "web.yaml:"},
		{"tls_server_config:\n  cert_file: \"a\\0b\"\n", "NUL"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct web_config c;
		struct err err = {""};
		int rc = parse(cases[i].text, &c, &err);
		if (rc == 0)
			fail_msg("accepted: %s", cases[i].text);
		if (!strstr(err.text, cases[i].want))
			fail_msg("%s\n# wanted: %s", err.text, cases[i].want);
		if (strncmp(err.text, "/etc/ceems/web.yaml:", 20) != 0)
			fail_msg("no file in: %s", err.text);
	}
}

static void message_never_shows_a_hash(void **state)
{
	(void)state;
	struct web_config c;
	struct err err = {""};
	assert_true(parse("basic_auth_users:\n  u: hunter2\n", &c, &err) < 0);
	assert_null(strstr(err.text, "hunter2"));
}

static char folder[] = "/tmp/ceems-webconf-test.XXXXXX";

static const char *write_file(const char *text, mode_t mode)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/web.yaml", folder);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), mode, NULL), 0);
	return path;
}

static void file_with_hashes_is_refused_when_others_can_read_it(void **state)
{
	(void)state;
	static const char secret[] = "basic_auth_users:\n  u: " HASH "\n";
	static const struct {
		mode_t mode;
		bool good;
	} cases[] = {{0600, true},  {0400, true},  {0640, true},  {0440, true},
		     {0644, false}, {0604, false}, {0660, false}, {0602, false}};
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct web_config c;
		struct err err = {""};
		int rc = web_config_load(write_file(secret, cases[i].mode), &c, &err);
		if ((rc == 0) != cases[i].good)
			fail_msg("mode %o: %s", cases[i].mode, err.text);
		if (rc == 0) {
			web_config_done(&c);
			continue;
		}
		assert_int_equal(rc, -EPERM);
		assert_non_null(strstr(err.text, "chmod"));
	}
	struct web_config c;
	assert_int_equal(web_config_load(write_file("http_server_config:\n  http2: "
						    "false\n",
						    0644),
					 &c, NULL),
			 0);
	web_config_done(&c);
	unlink(write_file("", 0600));
	struct err err = {""};
	char path[128];
	snprintf(path, sizeof(path), "%s/absent", folder);
	assert_int_equal(web_config_load(path, &c, &err), -ENOENT);
	assert_non_null(strstr(err.text, "absent"));
	assert_int_equal(web_config_load(folder, &c, &err), -EINVAL);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_file_is_read),
		cmocka_unit_test(empty_file_is_plain_http),
		cmocka_unit_test(http2_is_taken_and_said_not_to_be_served),
		cmocka_unit_test(what_is_wrong_is_named_with_its_line),
		cmocka_unit_test(one_client_is_as_wide_as_its_prefix),
		cmocka_unit_test(message_never_shows_a_hash),
		cmocka_unit_test(file_with_hashes_is_refused_when_others_can_read_it),
	};
	return cmocka_run_group_tests_name("web_config_test", tests, NULL, NULL);
}
