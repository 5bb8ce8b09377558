/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "cli/cacct.h"
int cacct_report(struct cacct *c, struct api *api, struct buf *out, struct err *err)
{
	(void)c;
	(void)api;
	(void)out;
	return err_set(err, -ENOSYS, "not in this version");
}
int cacct_series(struct cacct *c, struct api *api, struct buf *out, struct err *err)
{
	(void)c;
	(void)api;
	(void)out;
	return err_set(err, -ENOSYS, "not in this version");
}
