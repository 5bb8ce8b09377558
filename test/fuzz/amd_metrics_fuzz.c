/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A device's gpu_metrics. */
#include "gpu/amd_metrics.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct amd_metrics m;
	struct err err = {""};

	/* of its own, so that a byte beyond it is seen */
	uint8_t *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	int rc = amd_metrics_parse(copy, size, &m, &err);
	free(copy);
	if (rc < 0)
		return err.text[0] ? 0 : (abort(), 0);
	if (m.have >> AMD_VALUES)
		abort();
	for (uint32_t i = 0; i < AMD_PARTITIONS_MAX; i++)
		if (m.partition_busy[i] != UINT32_MAX && m.partition_busy[i] > 1000000)
			abort();
	(void)amd_metrics_uj(m.value[AMD_ENERGY]);
	return 0;
}
