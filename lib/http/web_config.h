/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_HTTP_WEB_CONFIG_H
#define CEEMS_LIB_HTTP_WEB_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/netaddr.h"

/* --web.config.file in the format of Prometheus' exporter-toolkit
 * (github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md).
 * Unsupported keys are refused by name with file and line; doc/web.md lists them. */

#define WEB_CONFIG_BYTES_MAX (1u << 20)
#define WEB_CONFIG_USERS_MAX 256
#define WEB_CONFIG_HEADERS_MAX 8

enum web_client_auth {
	CLIENT_NONE,            /* NoClientCert */
	CLIENT_REQUEST,         /* RequestClientCert */
	CLIENT_REQUIRE_ANY,     /* RequireAnyClientCert */
	CLIENT_VERIFY_IF_GIVEN, /* VerifyClientCertIfGiven */
	CLIENT_REQUIRE_VERIFY,  /* RequireAndVerifyClientCert */
};

struct web_config_user {
	const char *name, *hash; /* bcrypt, "$2y$10$..." */
};

struct web_config_header {
	const char *name; /* static */
	const char *value;
};

struct web_config {
	bool tls;
	const char *cert_file, *key_file;
	const char *client_ca_file; /* NULL: none */
	enum web_client_auth client_auth;
	/* GnuTLS priority string made of min_version, max_version, cipher_suites,
	 * curve_preferences and prefer_server_cipher_suites */
	struct buf priority;
	struct web_config_header headers[WEB_CONFIG_HEADERS_MAX];
	size_t header_count;
	struct web_config_user *users;
	size_t user_count;
	struct netaddr_prefix client_prefix; /* network that counts as one client */
	uint64_t reading; /* number of this configuration in the process, from 1; 0: a
			     test's */
	/* accepted without effect, one line each, for the log */
	struct buf notes;
	struct arena arena; /* of the texts */
};

/* Parses a text; file is its name in messages, and relative paths in the text are
 * relative to that file's folder. Accepts any bytes. On failure *ret is untouched. */
int web_config_parse(const char *text, size_t len, const char *file,
		     struct web_config *ret, struct err *err);

/* Reads and parses a file. Refused if it holds password hashes and anybody but its
 * owner (root or ourselves) and its group can read it, or anybody but its owner can
 * write it. */
int web_config_load(const char *file, struct web_config *ret, struct err *err);

/* Puts the files that it names, one path per line. */
void web_config_put_files(const struct web_config *c, struct buf *out);

/* Wipes secrets. Accepts a zeroed one. */
void web_config_done(struct web_config *c);

#endif
