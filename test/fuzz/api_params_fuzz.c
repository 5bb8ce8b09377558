/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request's target, and a time. */
#include "aggregator/params.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct param_spec a = {"project", PARAM_TEXT, true, ""};
	static const struct param_spec b = {"uuid", PARAM_ID, true, ""};
	static const struct param_spec c = {"running", PARAM_FLAG, false, ""};
	static const struct param_spec d = {"from", PARAM_TIME, false, ""};
	static const struct param_spec e = {"limit", PARAM_COUNT, false, ""};
	static const struct param_spec *const specs[] = {&a, &b, &c, &d, &e, NULL};
	auto_buf struct buf warnings = BUF_INIT;
	struct param_set p;
	struct err err = {""};
	uint64_t us;
	char *target = strndup((const char *)data, size);

	if (!target)
		return 0;
	if (params_parse(target, specs, 1700000000000000ull, &p, &warnings, &err) ==
	    0) {
		for (size_t i = 0; i < p.count; i++) {
			const char *v = p.items[i].value;
			if (strlen(v) > PARAM_BYTES_MAX)
				abort();
			for (; *v; v++) {
				if ((unsigned char)*v < 0x20)
					abort();
			}
		}
		params_done(&p);
	} else if (!*err.text) {
		abort();
	}
	if (params_time(target, 1700000000000000ull, &us) == 0 &&
	    us > 16000000000ull * 1000000)
		abort();
	free(target);
	return 0;
}
