/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Request targets and listen addresses. */
#include "lib/http/target.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/http/listen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = strndup((const char *)data, size);
	char path[256], host[64], port[8];

	if (!s)
		return 0;
	if (target_path(s, path, sizeof(path)) == 0) {
		if (path[0] != '/')
			abort();
		for (const char *p = path; *p; p++) {
			if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
				abort();
		}
		/* no two of one length: what needs no escape has none */
		if (strncmp(s, path, strcspn(s, "%?")) != 0)
			abort();
	}
	if (listen_split(s, host, sizeof(host), port, sizeof(port)) == 0 && !*port)
		abort();
	free(s);
	return 0;
}
