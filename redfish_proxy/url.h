/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_URL_H
#define CEEMS_REDFISH_PROXY_URL_H

#include <stdbool.h>
#include <stddef.h>

/* URLs of BMCs: scheme, host and port only. */

#define URL_BYTES_MAX 320

/* The canonical form of "http[s]://host[:port][/]" in ret (URL_BYTES_MAX): lower case,
 * with the port unless it is the scheme's default. -EINVAL for anything else: a user, a
 * path, a query, a blank, an IPv6 zone. Accepts any text. */
int url_clean(const char *url, char *ret);

/* A host name: letters, digits, '-' and '.', no empty label; at most 253 bytes. */
bool url_is_host(const char *name);

/* Inserts a node's name into a template: {node} is the name up to its first dot, {fqdn}
 * the whole name. node must be url_is_host(). -EINVAL: the result is not a URL. */
int url_of_node(const char *template, const char *node, char *ret);

#endif
