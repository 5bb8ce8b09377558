/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_TLS_NAMES_H
#define CEEMS_REDFISH_PROXY_TLS_NAMES_H

#include <gnutls/gnutls.h>
#include <stddef.h>

/* The names in a client's certificate: DNS names (subjectAltName), then the common
 * name. The caller has had the certificate verified. Names with a NUL in them or longer
 * than 255 are left out. */

#define TLS_NAME_BYTES 256

/* At most max of them into *ret, which the caller frees; 0: there is none. */
size_t tls_names(gnutls_session_t session, size_t max, char (**ret)[TLS_NAME_BYTES]);

#endif
