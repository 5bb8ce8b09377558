/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers for the PMU "power". */
#include "daemon/sources/rapl_pmu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/parse.h"

static size_t trimmed_pmu_len(const char *text, size_t len)
{
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	return len;
}

int rapl_pmu_event(const char *text, size_t len, uint64_t *ret)
{
	static const char head[] = "event=0x";
	const size_t n = sizeof(head) - 1;
	uint64_t v = 0;

	len = trimmed_pmu_len(text, len);
	if (len <= n || len > n + 8 || memcmp(text, head, n) != 0)
		return -EINVAL;
	for (size_t i = n; i < len; i++) {
		const char *digits = "0123456789abcdef";
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;
		if (!at)
			return -EINVAL;
		v = v << 4 | (uint64_t)(at - digits);
	}
	*ret = v;
	return 0;
}

int rapl_pmu_scale(const char *text, size_t len, uint64_t *ret)
{
	char number[64];
	double joules;

	len = trimmed_pmu_len(text, len);
	if (!len || len >= sizeof(number) || memchr(text, '\0', len))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	int rc = parse_f64(number, &joules);
	if (rc < 0)
		return rc;
	if (!(joules >= 1e-15 && joules <= 9e-7))
		return -ERANGE;
	*ret = (uint64_t)(joules * 1e6 * 18446744073709551616.0);
	return 0;
}

bool rapl_pmu_name(const char *event, char *ret, size_t size,
		   enum source_domain *ret_domain)
{
	static const struct {
		const char *event, *name;
		enum source_domain domain;
	} known[] = {{"pkg", "package", SOURCE_DOMAIN_PACKAGE},
		     {"ram", "dram", SOURCE_DOMAIN_DRAM},
		     {"psys", "psys", SOURCE_DOMAIN_PSYS},
		     /* part of the package */
		     {"cores", "core", SOURCE_DOMAIN_NONE},
		     {"gpu", "uncore", SOURCE_DOMAIN_NONE}};
	static const char head[] = "energy-";
	const char *name = event + sizeof(head) - 1;

	if (strncmp(event, head, sizeof(head) - 1) != 0)
		return false;
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
	if (!n || name[n] || n >= size) /* energy-pkg.scale and .unit */
		return false;
	*ret_domain = SOURCE_DOMAIN_NONE;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(name, known[i].event) == 0) {
			name = known[i].name;
			*ret_domain = known[i].domain;
			break;
		}
	}
	(void)snprintf(ret, size, "%s", name);
	return true;
}
