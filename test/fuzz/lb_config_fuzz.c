/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load balancer's configuration: any bytes are a site or an error with the file's
 * name, and no text opens what nobody opened by hand. */
#include "lb/site/site.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lb/site/backend_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_set(const struct backend_set *set)
{
	for (size_t i = 0; set && i < backend_set_count(set); i++) {
		const struct backend *b = &backend_set_at(set, i)->pub;
		const char *h = b->fixed_headers;
		size_t n = strlen(h);

		/* each line ends as it must, and none is empty */
		if (n < 2 || h[n - 1] != '\n' || strstr(h, "\r\n\r\n"))
			abort();
		for (; *h; h++) {
			if ((*h == '\n' && h[-1] != '\r') ||
			    (*h == '\r' && h[1] != '\n'))
				abort();
		}
		if (!*b->host || !b->port || strpbrk(b->host, "/@ \r\n") ||
		    strpbrk(b->base_path, "?# \r\n"))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct site *s = NULL, *again = NULL;
	struct err err = {""};

	if (site_parse((const char *)data, size, "/f/lb.yaml", size & 1, NULL, &s, NULL,
		       &err) < 0) {
		if (!strstr(err.text, "/f/lb.yaml"))
			abort();
		return 0;
	}
	if (s->open && !memmem(data, size, "open", 4))
		abort();
	for (size_t i = 0; i < s->cluster_count; i++) {
		for (int p = 0; p < SITE_PROTOCOLS; p++) {
			if (!s->clusters[i].policy[p].cluster)
				abort();
			check_set(s->clusters[i].backends[p]);
		}
	}
	if (site_parse((const char *)data, size, "/f/lb.yaml", size & 1, s, &again,
		       NULL, &err) < 0)
		abort();
	site_unref(s);
	site_unref(again);
	return 0;
}
