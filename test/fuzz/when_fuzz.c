/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct's time syntax. Beyond "no crash": what is refused changes nothing and is named
 * in words, what is taken is a moment since 1970 that its own print reads back as. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/when.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1774526400

static void must(int ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[WHEN_TEXT_MAX * 2], print[WHEN_SIZE];
	time_t t = 42, again = 0;
	struct err err = {""};

	if (size >= sizeof(text))
		return 0;
	(void)setenv("TZ", "UTC", 1);
	memcpy(text, data, size);
	text[size] = '\0';
	if (when_parse(text, NOW, &t, &err) < 0) {
		must(t == 42 && err.text[0]);
		return 0;
	}
	must(t >= 0);
	when_print(t, print);
	when_print_span((uint64_t)t, text);
	if (strcmp(print, "Unknown") != 0) {
		must(when_parse(print, NOW, &again, &err) == 0);
		must(again == t);
	}
	return 0;
}
