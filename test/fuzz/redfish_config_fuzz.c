/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Redfish file: whatever stands in it, an error that says where, or a URL that can
 * be asked. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "courier/redfish_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct redfish_config c;
	struct err err = {""};
	char *text = NULL, *url = NULL;

	if (redfish_config_expand((const char *)data, size, &text, &err) == 0)
		free(text);
	if (redfish_config_parse((const char *)data, size, "dir/file", &c, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	if (c.timeout_ms == 0 || c.timeout_ms > 60000 || c.port > 65535 ||
	    c.header_count > REDFISH_HEADERS_MAX)
		abort();
	if (redfish_config_url(&c, "node1", "192.0.2.1", &url, &err) == 0) {
		if (strncmp(url, "http", 4) != 0 || strpbrk(url, "\r\n @?#"))
			abort();
		free(url);
	}
	redfish_config_done(&c);
	return 0;
}
