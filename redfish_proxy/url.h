/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_URL_H
#define CEEMS_REDFISH_PROXY_URL_H

#include <stdbool.h>
#include <stddef.h>

/* URLs of BMCs: scheme, host and port, nothing else. */

#define URL_BYTES_MAX 320

/* The canonical text of "http[s]://host[:port][/]" in ret, of URL_BYTES_MAX: lower
 * case, with its port unless it is the scheme's own. -EINVAL for anything else: a user,
 * a path, a query, a blank, an IPv6 zone. Total on any text. */
int url_clean(const char *url, char *ret);

/* A host's name: letters, digits, '-' and '.', no empty label; at most 253. */
bool url_is_host(const char *name);

/* Puts a node's name into a template: {node} is the name up to its first dot, {fqdn}
 * all of it. node must be url_is_host(). -EINVAL: not a URL afterwards. */
int url_of_node(const char *template, const char *node, char *ret);

#endif
