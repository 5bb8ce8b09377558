/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a plugin file whose version is looked up. */
#include <errno.h>
#include <stdlib.h>

#include "cli/tool/elfsym.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t v;
	int rc = elfsym_u32(data, size, "plugin_version", &v, NULL);

	if (rc != 0 && rc != -EINVAL && rc != -ENOENT)
		abort();
	return 0;
}
