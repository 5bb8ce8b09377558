/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passwords of our servers: made here, stored as hashes. */
#include "cli/tool/web_user.h"

#include <crypt.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define BCRYPT_COST 10 /* about 50 ms per check, once per client and process */

int web_user_make_password(char ret[WEB_USER_PASSWORD_LEN + 1])
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789";
	const unsigned n = sizeof(set) - 1, fair = 256 / n * n;
	size_t len = 0;

	while (len < WEB_USER_PASSWORD_LEN) {
		unsigned char b[64];
		if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
			return -EIO;
		for (size_t i = 0; i < sizeof(b) && len < WEB_USER_PASSWORD_LEN; i++)
			if (b[i] < fair)
				ret[len++] = set[b[i] % n];
	}
	ret[len] = '\0';
	return 0;
}

int web_user_put(const char *user, const char *password, struct buf *out,
		 struct err *err)
{
	static struct crypt_data data;
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];

	if (!crypt_gensalt_rn("$2b$", BCRYPT_COST, NULL, 0, setting, sizeof(setting)))
		return err_set(err, -ENOTSUP, "this libcrypt has no bcrypt");
	const char *hash = crypt_rn(password, setting, &data, sizeof(data));
	if (!hash)
		return err_set(err, -EIO, "bcrypt failed");
	buf_puts(out, "basic_auth_users:\n  ");
	buf_put_json(out, user, strlen(user)); /* valid as a YAML string too */
	buf_printf(out, ": \"%s\"\n", hash);
	return buf_error(out);
}
