/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/kernel_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/log.h"
#include "profiler/session.h"

static int ask_kernel_name(struct kernel_names *k, uint64_t address,
			   struct reader_names *ret)
{
	char text[PROFILE_REQUEST_TEXT_BYTES];
	struct err err;

	int rc = door_kernel_name(k->door, address, text, &err);
	if (rc == -ENOENT)
		return 0; /* none of its functions, for good */
	if (rc < 0 && rc != -EAGAIN && rc != -ETIMEDOUT) {
		log_info("%s: profiles have one frame [kernel] for all of its code",
			 err.text);
		k->refused = true;
	}
	if (rc < 0)
		return rc;
	utf8_clean(text, strlen(text));
	int n = snprintf(ret->text, sizeof(ret->text), "%s%s", text,
			 strchr(text, '[') ? "" : " [kernel]");
	ret->count = 1;
	ret->len = (uint32_t)n + 1;
	return 0;
}

uint32_t kernel_names_find(struct kernel_names *k, struct name_cache *c,
			   uint64_t address, struct name_list *ret)
{
	struct reader_names names = {.count = 0};

	ret->count = 0;
	if (name_cache_find(c, FRAME_KERNEL, address, ret) || k->refused || !k->door)
		return ret->count;
	if (ask_kernel_name(k, address | ~(~UINT64_C(0) >> 16), &names) == 0 &&
	    name_cache_add(c, FRAME_KERNEL, address, &names) == 0)
		(void)name_cache_find(c, FRAME_KERNEL, address, ret);
	return ret->count;
}
