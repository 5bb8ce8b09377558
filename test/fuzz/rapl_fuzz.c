/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of powercap zones, and any series of readings of a counter. */
#include "daemon/sources/rapl_zone.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sources/energy_counter.h"
#include "daemon/sources/rapl_pmu.h"
#include "lib/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void names(const char *text, size_t size)
{
	char name[RAPL_NAME_BYTES], folder[64];
	uint32_t index;
	bool indexed;
	unsigned depth = 0;

	if (rapl_zone_name(text, size, name, &index, &indexed) == 0) {
		if (!name[0] || strlen(name) >= sizeof(name) || strpbrk(name, " \n\t"))
			abort();
		if (!indexed && index)
			abort();
	}
	size_t n = size < sizeof(folder) - 1 ? size : sizeof(folder) - 1;
	memcpy(folder, text, n);
	folder[n] = '\0';
	if (rapl_zone_folder(folder, &depth) != (depth > 0) && depth == 0)
		abort();
	if (rapl_zone_domain(folder, folder) >= SOURCE_DOMAINS)
		abort();
}

/* Whatever comes, the total neither falls nor grows by more than the hardware can. */
static void readings(const uint8_t *data, size_t size)
{
	struct energy_counter c = {0};
	uint64_t v[2], now_ns = 0;

	if (size < sizeof(v))
		return;
	memcpy(v, data, sizeof(v));
	c.range_uj = rapl_zone_range_uj(v[0]);
	c.worst_uw = rapl_zone_worst_uw("package", v[1]);
	if (!energy_counter_gap_ms(&c))
		abort();
	for (size_t at = sizeof(v); at + sizeof(v) <= size; at += sizeof(v)) {
		memcpy(v, data + at, sizeof(v));
		uint64_t step_ns = v[1] % 4000000000000ull, before = c.total_uj;
		now_ns += step_ns;
		enum energy_step step = energy_counter_take(&c, v[0], now_ns);
		if (c.total_uj < before || c.raw_uj != v[0])
			abort();
		if ((step == ENERGY_STEP_FIRST || step == ENERGY_STEP_RESET) &&
		    c.total_uj != before)
			abort();
		if ((c.total_uj - before) / 4 >
		    c.worst_uw / 1000 * (step_ns / 1000000 + 101))
			abort();
	}
}

static void pmu(const char *text, size_t size)
{
	uint64_t event, scale;
	uint32_t cpus[64];
	char name[RAPL_NAME_BYTES], file[64];
	enum source_domain domain;

	if (rapl_pmu_event(text, size, &event) == 0 && event > UINT32_MAX)
		abort();
	if (rapl_pmu_scale(text, size, &scale) == 0 &&
	    (rapl_pmu_uj(1, scale) || !rapl_pmu_uj(UINT64_MAX, scale)))
		abort();
	int n = parse_cpus(text, size, cpus, 64);
	if (n == 0 || n > 64)
		abort();
	size_t len = size < sizeof(file) - 1 ? size : sizeof(file) - 1;
	memcpy(file, text, len);
	file[len] = '\0';
	if (rapl_pmu_name(file, name, sizeof(name), &domain) &&
	    (!name[0] || strpbrk(name, " \n./") || domain >= SOURCE_DOMAINS))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pmu((const char *)data, size);
	names((const char *)data, size);
	readings(data, size);
	return 0;
}
