/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, domains and ranges of powercap zones. */
#include "daemon/sources/rapl_zone.h"

#include <errno.h>
#include <string.h>

#include "lib/parse.h"

/* Today's largest sockets draw 0.5 to 0.8 kW; a platform holds several. */
#define WORST_UW 1000000000ull
#define WORST_PSYS_UW 10000000000ull

int rapl_zone_name(const char *text, size_t len, char ret[RAPL_NAME_BYTES],
		   uint32_t *ret_index, bool *ret_indexed)
{
	char name[RAPL_NAME_BYTES];
	uint32_t index = 0;

	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	if (!len || len >= sizeof(name))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return -EINVAL;
	}
	memcpy(name, text, len);
	name[len] = '\0';
	char *dash = strchr(name, '-');
	bool indexed = dash && dash != name && !strchr(dash + 1, '-') &&
		       parse_u32(dash + 1, &index) == 0;
	if (indexed)
		*dash = '\0';
	memcpy(ret, name, sizeof(name));
	*ret_index = indexed ? index : 0;
	*ret_indexed = indexed;
	return 0;
}

bool rapl_zone_folder(const char *folder, unsigned *ret_depth)
{
	unsigned depth = 0;

	for (const char *p = strchr(folder, ':'); p; p = strchr(p + 1, ':')) {
		size_t digits = strspn(p + 1, "0123456789");
		if (!digits || (p[1 + digits] && p[1 + digits] != ':'))
			return false;
		depth++;
	}
	*ret_depth = depth;
	return depth > 0;
}

static bool zone_begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

enum source_domain rapl_zone_domain(const char *folder, const char *name)
{
	unsigned depth = 0;

	if (zone_begins(folder, "intel-rapl-mmio") || !rapl_zone_folder(folder, &depth))
		return SOURCE_DOMAIN_NONE;
	if (depth == 1 && zone_begins(name, "package"))
		return SOURCE_DOMAIN_PACKAGE;
	if (strcmp(name, "dram") == 0)
		return SOURCE_DOMAIN_DRAM;
	if (zone_begins(name, "psys") || zone_begins(name, "platform"))
		return SOURCE_DOMAIN_PSYS;
	return SOURCE_DOMAIN_NONE; /* core and uncore are parts of the package */
}

uint64_t rapl_zone_range_uj(uint64_t max_energy_range_uj)
{
	uint64_t unit = (max_energy_range_uj + UINT32_MAX / 2) / UINT32_MAX;
	return max_energy_range_uj > UINT64_MAX - unit ? 0 : max_energy_range_uj + unit;
}

uint64_t rapl_zone_worst_uw(const char *name, uint64_t max_power_uw)
{
	bool platform = zone_begins(name, "psys") || zone_begins(name, "platform");
	uint64_t worst = platform ? WORST_PSYS_UW : WORST_UW;

	/* A limit is not a maximum, and firmware may report garbage. */
	if (max_power_uw > worst / 2 && max_power_uw < 10 * worst)
		worst = 2 * max_power_uw;
	return worst;
}
