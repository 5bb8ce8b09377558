/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a profile store's answer: a verdict by its status alone, and a text that
 * a log can have. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/http/profile_push.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile_answer a, without;
	char retry[16] = "";

	if (size < 18)
		return 0;
	unsigned status = 100 + (data[0] | (unsigned)data[1] << 8) % 900;
	memcpy(retry, data + 2, sizeof(retry) - 1);
	profile_answer_read(status, (const char *)data + 18, size - 18, retry, &a);
	profile_answer_read(status, NULL, 0, NULL, &without);
	if (a.verdict != without.verdict || strlen(a.text) >= sizeof(a.text))
		abort();
	for (const char *s = a.text; *s; s++) {
		if (*s < 0x20 || *s >= 0x7f)
			abort();
	}
	return 0;
}
