/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Certificates by GnuTLS, the TLS library of our servers. */
#include "cli/tool/selfsigned.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/fs.h"
#include "lib/secret.h"

struct pair {
	gnutls_x509_crt_t cert;
	gnutls_x509_privkey_t key;
};

static void pair_done(struct pair *p)
{
	if (p->cert)
		gnutls_x509_crt_deinit(p->cert);
	if (p->key)
		gnutls_x509_privkey_deinit(p->key);
}

static int tls_error(struct err *err, int rc, const char *what)
{
	return err_set(err, -EKEYREJECTED, "%s: %s", what, gnutls_strerror(rc));
}

static int set_host(gnutls_x509_crt_t cert, const char *host)
{
	unsigned char address[16];

	if (inet_pton(AF_INET, host, address) == 1)
		return gnutls_x509_crt_set_subject_alt_name(
			cert, GNUTLS_SAN_IPADDRESS, address, 4, GNUTLS_FSAN_APPEND);
	if (inet_pton(AF_INET6, host, address) == 1)
		return gnutls_x509_crt_set_subject_alt_name(
			cert, GNUTLS_SAN_IPADDRESS, address, 16, GNUTLS_FSAN_APPEND);
	return gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_DNSNAME, host,
						    (unsigned)strlen(host),
						    GNUTLS_FSAN_APPEND);
}

static int fill_certificate(struct pair *p, const char *const *hosts, size_t count,
			    uint64_t validity_s)
{
	unsigned char serial[16];
	time_t now = time(NULL);

	if (getrandom(serial, sizeof(serial), 0) != (ssize_t)sizeof(serial))
		return GNUTLS_E_RANDOM_FAILED;
	serial[0] = (serial[0] & 0x7f) | 1; /* positive, RFC 5280 4.1.2.2 */
	int rc = gnutls_x509_crt_set_version(p->cert, 3);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_serial(p->cert, serial, sizeof(serial));
	if (rc >= 0)
		rc = gnutls_x509_crt_set_activation_time(p->cert, now - 3600);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_expiration_time(p->cert,
							 now + (time_t)validity_s);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_dn_by_oid(p->cert, GNUTLS_OID_X520_COMMON_NAME,
						   0, hosts[0],
						   (unsigned)strlen(hosts[0]));
	for (size_t i = 0; rc >= 0 && i < count; i++)
		rc = set_host(p->cert, hosts[i]);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_basic_constraints(p->cert, 0, -1);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_key_usage(p->cert,
						   GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_key_purpose_oid(p->cert,
							 GNUTLS_KP_TLS_WWW_SERVER, 0);
	if (rc >= 0)
		rc = gnutls_x509_crt_set_key(p->cert, p->key);
	if (rc >= 0)
		rc = gnutls_x509_crt_sign2(p->cert, p->cert, p->key, GNUTLS_DIG_SHA256,
					   0);
	return rc;
}

static int put_pem(int rc, gnutls_datum_t *d, struct buf *out)
{
	if (rc >= 0) {
		buf_put(out, d->data, d->size);
		gnutls_memset(d->data, 0, d->size);
		gnutls_free(d->data);
	}
	return rc;
}

int selfsigned(const char *const *hosts, size_t count, uint64_t validity_s,
	       struct buf *ret_cert, struct buf *ret_key, struct err *err)
{
	struct pair p = {NULL};
	gnutls_datum_t pem = {NULL, 0};
	int rc = gnutls_x509_crt_init(&p.cert);

	if (rc >= 0)
		rc = gnutls_x509_privkey_init(&p.key);
	if (rc >= 0)
		rc = gnutls_x509_privkey_generate(
			p.key, GNUTLS_PK_ECDSA,
			GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	if (rc >= 0)
		rc = fill_certificate(&p, hosts, count, validity_s);
	if (rc >= 0)
		rc = put_pem(gnutls_x509_crt_export2(p.cert, GNUTLS_X509_FMT_PEM, &pem),
			     &pem, ret_cert);
	if (rc >= 0)
		rc = put_pem(gnutls_x509_privkey_export2_pkcs8(
				     p.key, GNUTLS_X509_FMT_PEM, NULL,
				     GNUTLS_PKCS_PLAIN, &pem),
			     &pem, ret_key);
	pair_done(&p);
	if (rc < 0)
		return tls_error(err, rc, "certificate");
	rc = buf_error(ret_cert);
	return rc < 0 ? rc : buf_error(ret_key);
}

static int load_pem_file(const char *file, struct buf *text, gnutls_datum_t *ret,
			 struct err *err)
{
	int rc = fs_read_buf_at(AT_FDCWD, file, 1 << 20, text, err);

	*ret = (gnutls_datum_t){(unsigned char *)text->data, (unsigned)text->len};
	return rc < 0 ? rc : 0;
}

int selfsigned_check(const char *cert_file, const char *key_file, struct err *err)
{
	auto_buf struct buf cert_text = BUF_INIT;
	auto_secret struct buf key_text = BUF_INIT;
	gnutls_certificate_credentials_t both = NULL;
	struct pair p = {NULL};
	gnutls_datum_t cert, key;
	time_t now = time(NULL);
	int rc = load_pem_file(cert_file, &cert_text, &cert, err);

	if (rc == 0)
		rc = load_pem_file(key_file, &key_text, &key, err);
	if (rc < 0)
		return rc;
	rc = gnutls_certificate_allocate_credentials(&both);
	if (rc >= 0)
		rc = gnutls_certificate_set_x509_key_mem(both, &cert, &key,
							 GNUTLS_X509_FMT_PEM);
	if (rc >= 0)
		rc = gnutls_x509_crt_init(&p.cert);
	if (rc >= 0)
		rc = gnutls_x509_crt_import(p.cert, &cert, GNUTLS_X509_FMT_PEM);
	if (rc < 0)
		rc = tls_error(err, rc, cert_file);
	else if (gnutls_x509_crt_get_expiration_time(p.cert) < now)
		rc = err_set(err, -EKEYREJECTED, "%s: has expired", cert_file);
	else if (gnutls_x509_crt_get_activation_time(p.cert) > now)
		rc = err_set(err, -EKEYREJECTED, "%s: is not valid yet", cert_file);
	else
		rc = 0;
	pair_done(&p);
	if (both)
		gnutls_certificate_free_credentials(both);
	return rc;
}

int selfsigned_time_left(const char *cert_file, int64_t *ret_s, struct err *err)
{
	auto_buf struct buf text = BUF_INIT;
	struct pair p = {NULL};
	gnutls_datum_t cert;
	int rc = load_pem_file(cert_file, &text, &cert, err);

	if (rc < 0)
		return rc;
	rc = gnutls_x509_crt_init(&p.cert);
	if (rc >= 0)
		rc = gnutls_x509_crt_import(p.cert, &cert, GNUTLS_X509_FMT_PEM);
	if (rc >= 0)
		*ret_s = (int64_t)gnutls_x509_crt_get_expiration_time(p.cert) -
			 (int64_t)time(NULL);
	else
		rc = tls_error(err, rc, cert_file);
	pair_done(&p);
	return rc < 0 ? rc : 0;
}
