/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any JSON as the profile store's answer: an error, or a flame graph whose parts add
 * up. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cacct/flame.h"
#include "lib/http/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_flame(const struct flame *f)
{
	struct buf out = {.max = 8 << 20};
	struct flame_function *all = NULL;
	size_t n = 0;

	if (flame_functions(f, &all, &n) < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		if (!all[i].name || !all[i].total)
			abort();
	}
	free(all);
	flame_put_text(f, 20, true, &out);
	flame_put_html(f, &out);
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct http_json_limits limits = {
		.bytes_max = 4 << 20, .depth_max = 16, .strict = true};
	struct json_object *o = NULL;
	struct flame f;
	struct err err = {""};

	if (http_json_object((const char *)data, size, &limits, &o, &err) < 0)
		return 0;
	if (flame_take(o, &f, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	check_flame(&f);
	flame_done(&f);
	return 0;
}
