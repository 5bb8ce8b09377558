/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One canonical URL per BMC. Not a general URL parser: anything but a plain host and
 * port is refused, so that parsers cannot disagree. */
#include "redfish_proxy/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/parse.h"

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9');
}

bool url_is_host(const char *name)
{
	size_t label = 0, len = strlen(name);

	if (!len || len > 253)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		if (c == '.') {
			if (!label || name[i - 1] == '-')
				return false;
			label = 0;
			continue;
		}
		if (!is_alnum(c) && c != '_' && (c != '-' || !label))
			return false;
		if (++label > 63)
			return false;
	}
	return label && name[len - 1] != '-';
}

static void lower_case(char *s)
{
	for (; *s; s++) {
		if (*s >= 'A' && *s <= 'Z')
			*s += 'a' - 'A';
	}
}

/* Splits "host", "host:port", "[v6]", "[v6]:port". */
static int split_host_port(const char *s, size_t len, char *host, size_t size,
			   uint32_t *port)
{
	char text[8];
	const char *end = s + len, *colon;

	if (len && s[0] == '[') {
		const char *close = memchr(s, ']', len);
		if (!close)
			return -EINVAL;
		colon = close + 1;
	} else {
		colon = memchr(s, ':', len);
		if (!colon)
			colon = end;
	}
	if ((size_t)(colon - s) >= size)
		return -EINVAL;
	memcpy(host, s, (size_t)(colon - s));
	host[colon - s] = '\0';
	if (colon == end)
		return 0;
	size_t n = (size_t)(end - colon) - 1;
	if (*colon != ':' || n == 0 || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, colon + 1, n);
	text[n] = '\0';
	return parse_u32(text, port) < 0 || *port == 0 || *port > 65535 ? -EINVAL : 0;
}

static bool good_host(char *host)
{
	char text[64];
	uint8_t addr[16];

	size_t len = strlen(host);
	if (host[0] != '[')
		return url_is_host(host);
	if (len < 4 || len - 2 >= sizeof(text))
		return false;
	memcpy(text, host + 1, len - 2);
	text[len - 2] = '\0';
	/* in inet_ntop()'s form */
	if (inet_pton(AF_INET6, text, addr) != 1 ||
	    !inet_ntop(AF_INET6, addr, host + 1, 60))
		return false;
	memcpy(host + strlen(host), "]", 2);
	return true;
}

int url_clean(const char *url, char *ret)
{
	bool tls = strncasecmp(url, "https://", 8) == 0;
	char host[256];

	if (!tls && strncasecmp(url, "http://", 7) != 0)
		return -EINVAL;
	const char *rest = url + (tls ? 8 : 7);
	size_t len = strcspn(rest, "/");
	uint32_t own = tls ? 443 : 80, port = own;
	if (rest[len] && rest[len + 1])
		return -EINVAL;
	if (split_host_port(rest, len, host, sizeof(host), &port) < 0 ||
	    !good_host(host))
		return -EINVAL;
	lower_case(host);
	char number[16] = "";
	if (port != own)
		snprintf(number, sizeof(number), ":%u", port);
	snprintf(ret, URL_BYTES_MAX, "%s://%s%s", tls ? "https" : "http", host, number);
	return 0;
}

int url_of_node(const char *template, const char *node, char *ret)
{
	char text[URL_BYTES_MAX] = "";
	size_t n = 0;

	for (const char *p = template; *p;) {
		size_t len = strlen(node);
		const char *from = node;
		size_t step = 6;
		if (strncmp(p, "{node}", 6) == 0) {
			len = strcspn(node, ".");
		} else if (strncmp(p, "{fqdn}", 6) != 0) {
			from = p;
			len = step = 1;
		}
		if (n + len >= sizeof(text))
			return -EINVAL;
		memcpy(text + n, from, len);
		n += len;
		p += step;
	}
	text[n] = '\0';
	return url_clean(text, ret);
}
