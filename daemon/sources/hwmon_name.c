/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of hwmon chips and sensors. */
#include "daemon/sources/hwmon_name.h"

#include <stdio.h>
#include <string.h>

#define PATH_BYTES 1200
#define PARTS_MAX 64

void hwmon_clean(const char *text, char *ret, size_t size)
{
	size_t n = 0;

	for (; *text && n + 1 < size; text++) {
		char c = *text;
		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			    c == ':' || c == '_';
		if (!good)
			c = '_';
		if (n || c != '_')
			ret[n++] = c;
	}
	while (n && ret[n - 1] == '_')
		n--;
	ret[n] = '\0';
}

/* Appends the components of path; "..": removes one. */
static size_t append_path_parts(char *path, const char **parts, size_t n)
{
	char *save = NULL;

	for (char *p = strtok_r(path, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
		if (strcmp(p, ".") == 0)
			continue;
		if (strcmp(p, "..") == 0)
			n -= n > 0;
		else if (n < PARTS_MAX)
			parts[n++] = p;
	}
	return n;
}

bool hwmon_device_name(const char *folder, const char *link, const char *device,
		       char *ret, size_t size)
{
	char at[PATH_BYTES], to[PATH_BYTES], bus[64], name[96];
	const char *parts[PARTS_MAX];
	int a = snprintf(at, sizeof(at), "class/hwmon/%s", *link ? link : folder);
	int b = snprintf(to, sizeof(to), "%s", device);

	if (a < 0 || (size_t)a >= sizeof(at) || b < 0 || (size_t)b >= sizeof(to))
		return false;
	size_t n = append_path_parts(to, parts, append_path_parts(at, parts, 0));
	hwmon_clean(n ? parts[n - 1] : "", name, sizeof(name));
	hwmon_clean(n > 1 ? parts[n - 2] : "", bus, sizeof(bus));
	if (!*name)
		return false;
	(void)snprintf(ret, size, "%s%s%s", bus, *bus ? "_" : "", name);
	return true;
}

bool hwmon_sensor(const char *file, enum source_kind *ret_kind, char *ret_name,
		  size_t size)
{
	static const struct {
		const char *type, *property;
		enum source_kind kind;
	} files[] = {
		{"power", "_input", SOURCE_POWER},
		{"power", "_input_lowest", SOURCE_POWER_MIN},
		{"power", "_input_highest", SOURCE_POWER_MAX},
		{"power", "_average", SOURCE_POWER_AVG},
		{"energy", "_input", SOURCE_ENERGY},
	};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t t = strlen(files[i].type);
		if (strncmp(file, files[i].type, t) != 0)
			continue;
		size_t digits = strspn(file + t, "0123456789");
		if (!digits || digits > 6 || t + digits >= size ||
		    strcmp(file + t + digits, files[i].property) != 0)
			continue;
		memcpy(ret_name, file, t + digits);
		ret_name[t + digits] = '\0';
		*ret_kind = files[i].kind;
		return true;
	}
	return false;
}

static bool is_same_text(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

enum source_domain hwmon_domain(const char *chip_name, const char *label,
				enum source_kind kind)
{
	if (kind != SOURCE_POWER && kind != SOURCE_POWER_AVG && kind != SOURCE_ENERGY)
		return SOURCE_DOMAIN_NONE;
	if (is_same_text(chip_name, "power_meter")) {
		if (strstr(label, "CPU Power"))
			return SOURCE_DOMAIN_PACKAGE;
		/* the others are parts of a module */
		if (strstr(label, "Grace Power") || strstr(label, "SysIO Power"))
			return SOURCE_DOMAIN_NONE;
		return SOURCE_DOMAIN_HOST;
	}
	if (is_same_text(chip_name, "amd_energy") && strncmp(label, "Esocket", 7) == 0)
		return SOURCE_DOMAIN_PACKAGE;
	if (is_same_text(chip_name, "amdgpu") || is_same_text(chip_name, "nouveau") ||
	    is_same_text(chip_name, "xe") || is_same_text(chip_name, "i915"))
		return SOURCE_DOMAIN_GPU;
	return SOURCE_DOMAIN_NONE;
}

bool hwmon_matches(const char *spec, const char *chip, const char *chip_name,
		   const char *sensor)
{
	const char *slash = strrchr(spec, '/');

	if (!slash || !is_same_text(slash + 1, sensor))
		return false;
	size_t n = (size_t)(slash - spec);
	return (strlen(chip) == n && memcmp(chip, spec, n) == 0) ||
	       (strlen(chip_name) == n && memcmp(chip_name, spec, n) == 0);
}
