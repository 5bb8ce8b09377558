/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a DRM driver tells of a client. */
#include "lib/drm/drm_fdinfo.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct drm_fdinfo f;

	/* of its own, so that a byte beyond it is seen */
	char *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	int rc = drm_fdinfo_parse(copy, size, &f);
	free(copy);
	if (rc < 0)
		return 0;
	if (!*f.driver || !*f.pdev || f.engine_count > DRM_ENGINES_MAX)
		abort();
	for (uint32_t i = 0; i < f.engine_count; i++) {
		size_t len = strnlen(f.engines[i].name, DRM_NAME_BYTES);
		if (!len || len == DRM_NAME_BYTES)
			abort();
	}
	return 0;
}
