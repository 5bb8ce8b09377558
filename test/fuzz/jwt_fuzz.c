/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of keys in the first line, a token in the rest; the keys of the RFC where the
 * first line is none. Nothing here has a signature that is good: a token that is
 * accepted is a bug. */
#include "lib/identity/jwt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rfc_keys[] =
	"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"1\","
	"\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
	"\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const iss[] = {"i"}, *const aud[] = {"a"};
	const struct jwt_rules rules = {iss, 1, aud, 1, NULL};
	const uint8_t *nl = memchr(data, '\n', size);
	size_t first = nl ? (size_t)(nl - data) : 0;
	const char *rest = nl ? (const char *)nl + 1 : (const char *)data;
	char *token = strndup(rest, size - (size_t)(rest - (const char *)data));
	struct jwt_keys *k = NULL;
	struct jwt_claims c;
	struct err err = {""};

	if (jwt_keys_parse((const char *)data, first, &k, &err) < 0 &&
	    jwt_keys_parse(rfc_keys, strlen(rfc_keys), &k, &err) < 0)
		abort();
	if (token) {
		int rc = jwt_verify(k, &rules, token, 1700000000, &c, &err);
		if (rc != -EACCES && rc != -ENOKEY && rc != -ENOMEM)
			abort();
		if (!*err.text)
			abort();
	}
	jwt_keys_unref(k);
	free(token);
	return 0;
}
