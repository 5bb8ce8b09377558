/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as an aggregator's answer. The first two say with which status. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "courier/ship.h"

#define COUNT 20u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned statuses[] = {200, 200, 200, 400, 413, 401, 503, 302};
	struct ship_answer a;

	if (size < 2)
		return 0;
	unsigned status = statuses[data[0] % 8];
	char *copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 2, size - 2);
	copy[size - 2] = '\0';
	ship_answer_read(status, copy, size - 2, data[1] >> 1 & 1, COUNT,
			 data[1] & 1 ? copy : NULL, &a);
	if (a.verdict == SHIP_TAKEN) {
		if (status != 200 || a.accepted > COUNT || a.refused > COUNT ||
		    a.reason_count > SHIP_REASONS_MAX)
			abort();
		for (uint32_t i = 0; i < a.reason_count; i++) {
			if (a.reasons[i].index >= COUNT ||
			    strnlen(a.reasons[i].text, SHIP_REASON_BYTES) ==
				    SHIP_REASON_BYTES)
				abort();
		}
	}
	if (strnlen(a.error, sizeof(a.error)) == sizeof(a.error))
		abort();
	free(copy);
	return 0;
}
