/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/gate/call.h"

void call_done(struct call *c)
{
	buf_done(&c->target);
	buf_done(&c->body);
	*c = (struct call){.get = false};
}
