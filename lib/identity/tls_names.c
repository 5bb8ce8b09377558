/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names as the CA wrote them. */
#include "lib/identity/tls_names.h"

#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>

#define PURPOSES_MAX 32

/* Appends an untrusted text: by its length, not up to its first NUL. */
static size_t keep_certificate_name(struct tls_name *list, size_t n,
				    enum tls_name_kind kind, size_t len)
{
	if (len >= TLS_NAME_BYTES || memchr(list[n].text, '\0', len))
		return n;
	list[n].kind = kind;
	list[n].text[len] = '\0';
	return n + 1;
}

static size_t read_certificate_names(gnutls_x509_crt_t crt, size_t max,
				     struct tls_name *list)
{
	size_t n = 0;

	for (unsigned i = 0; n + 1 < max && i < 4 * max; i++) {
		size_t len = TLS_NAME_BYTES - 1;
		int type = gnutls_x509_crt_get_subject_alt_name(crt, i, list[n].text,
								&len, NULL);
		if (type == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			break;
		if (type == GNUTLS_SAN_DNSNAME)
			n = keep_certificate_name(list, n, TLS_NAME_DNS, len);
		else if (type == GNUTLS_SAN_RFC822NAME)
			n = keep_certificate_name(list, n, TLS_NAME_EMAIL, len);
	}
	size_t len = TLS_NAME_BYTES - 1;
	if (gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
					  list[n].text, &len) == 0)
		n = keep_certificate_name(list, n, TLS_NAME_CN, len);
	return n;
}

/* "Any use" does not count. Without a list of uses it may be a server's as well. */
static bool is_client_alone(gnutls_x509_crt_t crt)
{
	bool client = false;

	for (unsigned i = 0; i < PURPOSES_MAX; i++) {
		char oid[64];
		size_t len = sizeof(oid);
		int rc = gnutls_x509_crt_get_key_purpose_oid(crt, i, oid, &len, NULL);

		if (rc == GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE)
			return client;
		if (rc < 0 || strcmp(oid, GNUTLS_KP_TLS_WWW_SERVER) == 0 ||
		    strcmp(oid, GNUTLS_KP_ANY) == 0)
			return false;
		client |= strcmp(oid, GNUTLS_KP_TLS_WWW_CLIENT) == 0;
	}
	return false;
}

size_t tls_names(gnutls_session_t session, size_t max, struct tls_name **ret,
		 bool *ret_client)
{
	unsigned count = 0;
	const gnutls_datum_t *der = gnutls_certificate_get_peers(session, &count);
	gnutls_x509_crt_t crt;
	size_t n = 0;

	if (!der || !count || gnutls_x509_crt_init(&crt) < 0)
		return 0;
	struct tls_name *list = calloc(max, sizeof(*list));
	if (list && gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER) == 0)
		n = read_certificate_names(crt, max, list);
	if (n && ret_client)
		*ret_client = is_client_alone(crt);
	gnutls_x509_crt_deinit(crt);
	if (n)
		*ret = list;
	else
		free(list);
	return n;
}
