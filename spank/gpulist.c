/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The GPU variables of a step. The caller knows which of them Slurm has set; here they
 * are only parsed, refused or shortened. */
#include "spank/gpulist.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/parse.h"

struct index_set {
	uint64_t bits[GPU_INDEX_MAX / 64];
};

static void set_add(struct index_set *s, uint64_t i)
{
	s->bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool set_has(const struct index_set *s, uint32_t i)
{
	return i < GPU_INDEX_MAX && s->bits[i / 64] >> (i % 64) & 1;
}

static int set_parse(struct index_set *s, const char *list)
{
	const char *at = list;
	const char *end = list + strlen(list);
	for (;;) {
		uint64_t first, last;
		if (scan_u64(&at, end, &first) < 0)
			return -EINVAL;
		last = first;
		if (at < end && *at == '-') {
			at++;
			if (scan_u64(&at, end, &last) < 0)
				return -EINVAL;
		}
		if (first > last || last >= GPU_INDEX_MAX)
			return -EINVAL;
		for (uint64_t i = first; i <= last; i++)
			set_add(s, i);
		if (at == end)
			return 0;
		if (*at++ != ',')
			return -EINVAL;
	}
}

int gpulist_canonical(const char *list, char *ret, size_t size)
{
	struct index_set set = {{0}};
	size_t used = 0;
	if (set_parse(&set, list) < 0)
		return -EINVAL;
	ret[0] = '\0';
	for (uint32_t i = 0; i < GPU_INDEX_MAX; i++) {
		char range[16];
		if (!set_has(&set, i)) {
			if (!set.bits[i / 64])
				i |= 63; /* none of these */
			continue;
		}
		uint32_t first = i;
		while (set_has(&set, i + 1))
			i++;
		const char *comma = used ? "," : "";
		int n = first == i ? snprintf(range, sizeof(range), "%s%u", comma, i)
				   : snprintf(range, sizeof(range), "%s%u-%u", comma,
					      first, i);
		if (n < 0 || used + (size_t)n >= size)
			return 1;
		memcpy(ret + used, range, (size_t)n + 1);
		used += (size_t)n;
	}
	return 0;
}

bool gpulist_share(const char *shards, const char *mps_percent, char *ret, size_t size)
{
	uint32_t v;
	ret[0] = '\0';
	if (shards && *shards && parse_u32(shards, &v) == 0 && v > 0)
		return snprintf(ret, size, "shard:%u", v) > 0;
	if (mps_percent && *mps_percent && parse_u32(mps_percent, &v) == 0 && v > 0 &&
	    v <= 100)
		return snprintf(ret, size, "mps:%u", v) > 0;
	return false;
}
