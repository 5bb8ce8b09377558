/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Redfish login messages, for all programs that sign in to BMCs. */
#include "lib/http/redfish_login.h"

#include <errno.h>
#include <string.h>

#include "lib/http/client.h"
#include "lib/secret.h"

#define BODY_ROOM 8192u

int redfish_login_body(const char *user, const char *password,
		       const char *password_file, struct buf *body, struct err *err)
{
	auto_secret struct buf file = BUF_INIT;

	if (password_file && *password_file) {
		int rc = http_secret_read(password_file, &file, err);
		if (rc < 0)
			return rc;
		password = file.data;
	}
	if (!password)
		password = "";
	/* so that no growing buffer leaves a copy behind */
	if (!buf_reserve(body, BODY_ROOM))
		return err_set(err, -ENOMEM, "out of memory");
	buf_puts(body, "{\"UserName\":");
	buf_put_json(body, user, strlen(user));
	buf_puts(body, ",\"Password\":");
	buf_put_json(body, password, strlen(password));
	buf_putc(body, '}');
	return buf_error(body) ? err_set(err, -EINVAL, "user and password too long")
			       : 0;
}

bool redfish_login_token(const char *header, char ret[REDFISH_TOKEN_BYTES])
{
	size_t n = header ? strlen(header) : 0;

	if (!n || n >= REDFISH_TOKEN_BYTES)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (header[i] <= ' ' || header[i] >= 0x7f)
			return false;
	}
	memcpy(ret, header, n + 1);
	return true;
}
