/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_IDENTITY_TLS_NAMES_H
#define CEEMS_LIB_IDENTITY_TLS_NAMES_H

#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stddef.h>

/* The names in a client's certificate: DNS names and mail addresses of subjectAltName,
 * in their order, then the common name. The caller has had the certificate verified.
 * Names with a NUL or longer than 255 bytes are left out. */

#define TLS_NAME_BYTES 256

enum tls_name_kind { TLS_NAME_DNS, TLS_NAME_EMAIL, TLS_NAME_CN };

struct tls_name {
	enum tls_name_kind kind;
	char text[TLS_NAME_BYTES];
};

/* Puts at most max names into *ret, which the caller frees; returns their number.
 * *ret_client (may be NULL): the certificate is marked as a client's (extendedKeyUsage,
 * RFC 5280, 4.2.1.12) and not that it is a server's too. */
size_t tls_names(gnutls_session_t session, size_t max, struct tls_name **ret,
		 bool *ret_client);

#endif
