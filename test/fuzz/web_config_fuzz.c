/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The web configuration file. */
#include "lib/http/web_config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct web_config c;
	struct err err = {""};

	if (web_config_parse((const char *)data, size, "/f/web.yaml", &c, &err) < 0) {
		if (!strstr(err.text, "/f/web.yaml"))
			abort();
		return 0;
	}
	for (size_t i = 0; i < c.user_count; i++) {
		if (strlen(c.users[i].hash) != 60 || strchr(c.users[i].name, ':'))
			abort();
	}
	if (c.tls != (c.cert_file && c.key_file))
		abort();
	web_config_done(&c);
	return 0;
}
