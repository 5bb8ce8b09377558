/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Request targets, URLs, addresses and node names that the Redfish proxy is given. */
#include "redfish_proxy/path.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/netaddr.h"
#include "redfish_proxy/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void check_path(const char *s)
{
	char path[PATH_BYTES_MAX], again[PATH_BYTES_MAX];

	if (path_clean(s, path) < 0)
		return;
	check(strlen(path) < sizeof(path) && strncmp(path, "/redfish", 8) == 0);
	check(path_clean(path, again) == 0 && strcmp(path, again) == 0);
	check(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
	for (const char *p = path; *p; p++) {
		check((unsigned char)*p > ' ' && (unsigned char)*p < 0x7f);
		check(!strchr("\\;?#<>\"", *p));
		check(*p != '%' || !strncmp(p, "%20", 3) || !strncmp(p, "%23", 3));
	}
}

static void check_url(const char *s)
{
	char url[URL_BYTES_MAX], again[URL_BYTES_MAX];

	if (url_clean(s, url) == 0) {
		check(url_clean(url, again) == 0 && strcmp(url, again) == 0);
		check(strncmp(url, "http", 4) == 0 && !strpbrk(url, "@?#%\\ "));
		check(!strchr(strstr(url, "://") + 3, '/'));
	}
	if (url_is_host(s) && url_of_node("https://{node}-bmc", s, url) == 0)
		check(strncmp(url, "https://", 8) == 0 && strstr(url, "-bmc"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = strndup((const char *)data, size);
	char text[NETADDR_TEXT_MAX];
	struct netrange r;
	struct netaddr a;

	if (!s)
		return 0;
	check_path(s);
	check_url(s);
	if (netrange_parse(s, &r) == 0)
		check(r.bits <= 128 && netrange_has(&r, &r.addr));
	if (netaddr_parse(s, &a) == 0) {
		struct netaddr b;
		netaddr_text(&a, text);
		check(netaddr_parse(text, &b) == 0 && netaddr_equal(&a, &b));
	}
	free(s);
	return 0;
}
