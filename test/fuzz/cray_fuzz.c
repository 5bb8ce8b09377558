/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and texts of Cray's pm_counters and of hwmon's folders: what comes from sysfs
 * as words. */
#include "daemon/sources/cray_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sources/hwmon_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hwmon(const char *word)
{
	char clean[64], sensor[40];
	enum source_kind kind;

	hwmon_clean(word, clean, sizeof(clean));
	if (strspn(clean, "abcdefghijklmnopqrstuvwxyz0123456789:_") != strlen(clean))
		abort();
	if (hwmon_sensor(word, &kind, sensor, sizeof(sensor)) &&
	    (strncmp(word, sensor, strlen(sensor)) != 0 || kind >= SOURCE_KINDS))
		abort();
	char chip[160];
	const char *slash = strchr(word, '/');
	if (hwmon_device_name("hwmon0", word, slash ? slash : word, chip,
			      sizeof(chip)) &&
	    !chip[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct cray_reading r;
	char domain[CRAY_DOMAIN_BYTES], word[512];
	enum source_kind kind;
	uint32_t index;
	bool numbered;

	for (int unit = 0; unit < 4; unit++) {
		static const char *const units[] = {NULL, "W", "J", "C"};
		int rc = cray_parse(text, size, units[unit], &r);
		if (rc > 0)
			abort();
	}
	size_t n = size < sizeof(word) - 1 ? size : sizeof(word) - 1;
	memcpy(word, text, n);
	word[n] = '\0';
	if (cray_file(word, domain, &kind, &index, &numbered)) {
		uint64_t scale;
		if (strlen(domain) >= sizeof(domain) || !cray_unit(kind, &scale) ||
		    !scale)
			abort();
	}
	hwmon(word);
	return 0;
}
