/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who we are, by the key that all nodes of a cluster share and users do not have. */
#include "courier/munge.h"

#include <errno.h>

#ifdef HAVE_MUNGE
#include <munge.h>
#include <stdlib.h>

#include "lib/http/redfish_munge.h"

#define TTL_S 60

int munge_credential(const char *node, struct buf *ret, struct err *err)
{
	munge_ctx_t ctx = munge_ctx_create();
	auto_buf struct buf payload = {.max = 512};
	char *cred = NULL;
	int rc = 0;

	buf_printf(&payload, REDFISH_MUNGE_PAYLOAD "%s", node);
	if (!ctx || buf_error(&payload)) {
		munge_ctx_destroy(ctx);
		return err_set(err, -ENOMEM, "munge: out of memory");
	}
	munge_err_t e = munge_ctx_set(ctx, MUNGE_OPT_TTL, TTL_S);
	if (e == EMUNGE_SUCCESS)
		e = munge_encode(&cred, ctx, payload.data, (int)payload.len);
	if (e == EMUNGE_SUCCESS)
		buf_puts(ret, cred);
	else
		rc = err_set(err, -EIO, "munge: %s", munge_strerror(e));
	free(cred);
	munge_ctx_destroy(ctx);
	return rc ? rc : buf_error(ret);
}
#else
int munge_credential(const char *node, struct buf *ret, struct err *err)
{
	(void)node;
	(void)ret;
	return err_set(err, -ENOTSUP, "munge: built without libmunge");
}
#endif
