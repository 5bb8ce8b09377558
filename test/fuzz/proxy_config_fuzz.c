/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Redfish proxy's configuration, and that nothing it says lets a stranger in whom
 * it does not list. */
#include "redfish_proxy/config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redfish_proxy/access.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_decision(const struct config *c)
{
	struct access *a = NULL;
	struct access_decision d;
	struct access_facts f = {.target = "/redfish/v1/Chassis",
				 .has_peer = true,
				 .real_ip = "",
				 .redfish_url = "http://evil",
				 .redfish_urls = 1};
	bool listed = false;

	if (access_new(c, &a, NULL) < 0)
		return;
	if (netaddr_parse("198.51.100.7", &f.peer) < 0)
		abort();
	access_decide(a, &f, &d);
	for (size_t i = 0; i < c->target_count; i++)
		listed |= strcmp(c->targets[i].url, "http://evil") == 0;
	if (d.verdict == ACCESS_GRANTED && !listed)
		abort();
	access_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c;
	struct err err = {""};

	if (config_parse((const char *)data, size, "/f/p.yaml", size & 1, &c, &err) <
	    0) {
		if (!strstr(err.text, "/f/p.yaml") && !strstr(err.text, "expression"))
			abort();
		return 0;
	}
	for (size_t i = 0; i < c.target_count; i++) {
		char url[URL_BYTES_MAX];
		if (url_clean(c.targets[i].url, url) < 0 ||
		    strcmp(url, c.targets[i].url) != 0)
			abort();
	}
	check_decision(&c);
	config_done(&c);
	return 0;
}
