/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accept and Accept-Encoding: first line and the rest. */
#include "lib/http/negotiate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nl = memchr(data, '\n', size);
	size_t first = nl ? (size_t)(nl - data) : size;
	size_t rest = nl ? size - first - 1 : 0;
	char *accept = strndup((const char *)data, first);
	char *encoding = strndup(nl ? (const char *)nl + 1 : "", rest);
	const char *type = NULL;

	if (accept && encoding) {
		enum prom_format f = negotiate_format(accept, &type);
		if (!type || (f == PROM_TEXT) != (type[0] == 't'))
			abort();
		/* nobody gets OpenMetrics who did not name it */
		if (f == PROM_OPENMETRICS && !strcasestr(accept, "openmetrics-text"))
			abort();
		if (negotiate_gzip(encoding) && !strcasestr(encoding, "gzip") &&
		    !strchr(encoding, '*'))
			abort();
	}
	free(accept);
	free(encoding);
	return 0;
}
