/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/hardware_raw.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"

#define FIELDS 5

void hardware_raws_put(struct buf *out, const struct hardware_raws *raws)
{
	for (uint32_t i = 0; i < raws->count; i++) {
		const struct hardware_raw *r = &raws->event[i];
		buf_printf(out, "%s%u:%llu:%llu:%llu:%d", i ? "," : "", r->type,
			   (unsigned long long)r->config,
			   (unsigned long long)r->config1,
			   (unsigned long long)r->config2, r->leads);
	}
}

static int parse_raw(const char *text, size_t len, struct hardware_raw *ret)
{
	uint64_t v[FIELDS];

	for (int i = 0; i < FIELDS; i++) {
		const char *end = memchr(text, ':', len);
		size_t n = end ? (size_t)(end - text) : len;
		if (!end != (i == FIELDS - 1) || parse_u64_len(text, n, &v[i]) < 0)
			return -EINVAL;
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	if (v[0] > UINT32_MAX || v[4] > 1)
		return -EINVAL;
	*ret = (struct hardware_raw){.type = (uint32_t)v[0],
				     .config = v[1],
				     .config1 = v[2],
				     .config2 = v[3],
				     .leads = v[4]};
	return 0;
}

int hardware_raws_parse(const char *text, struct hardware_raws *ret)
{
	struct hardware_raws raws = {.count = 0};

	while (*text) {
		size_t len = strcspn(text, ",");
		if (raws.count == HARDWARE_RAW_MAX)
			return -E2BIG;
		int rc = parse_raw(text, len, &raws.event[raws.count++]);
		if (rc < 0)
			return rc;
		text += len;
		if (*text == ',' && !*++text)
			return -EINVAL;
	}
	*ret = raws;
	return 0;
}

uint32_t hardware_raws_mask(const struct hardware_raws *raws)
{
	return ((1u << raws->count) - 1) << HARDWARE_RAW;
}
