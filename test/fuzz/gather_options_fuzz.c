/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as the energy plugin's option file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/plugin/gather_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gather_options o;
	struct err err = {""};

	gather_options_init(&o);
	int rc = gather_options_parse(&o, (const char *)data, size, &err);
	if (strnlen(o.page, sizeof(o.page)) == sizeof(o.page) || o.page[0] != '/')
		abort();
	if (rc < 0 && !err.text[0])
		abort();
	return 0;
}
