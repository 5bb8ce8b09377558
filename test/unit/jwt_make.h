/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_JWT_MAKE_H
#define CEEMS_TEST_JWT_MAKE_H

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "test/unit/unit.h"

/* Tokens as an issuer makes them: the other half of lib/http/jwt. */

static inline void jwt_put_base64url(struct buf *b, const void *data, size_t len)
{
	gnutls_datum_t in = {(unsigned char *)(uintptr_t)data, (unsigned)len}, out;

	assert_int_equal(gnutls_base64_encode2(&in, &out), 0);
	for (unsigned i = 0; i < out.size && out.data[i] != '='; i++) {
		char c = (char)out.data[i];
		buf_putc(b, c == '+' ? '-' : c == '/' ? '_' : c);
	}
	gnutls_free(out.data);
}

static inline gnutls_privkey_t jwt_new_key(void)
{
	gnutls_privkey_t key;

	assert_int_equal(gnutls_privkey_init(&key), 0);
	assert_int_equal(gnutls_privkey_generate(
				 key, GNUTLS_PK_ECDSA,
				 GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
			 0);
	return key;
}

/* A number of 32 bytes, whatever GnuTLS made of its leading zeros. */
static inline void jwt_put_number(struct buf *b, const gnutls_datum_t *d)
{
	unsigned char raw[32] = {0};
	unsigned skip = d->size > 32 ? d->size - 32 : 0;

	memcpy(raw + 32 - (d->size - skip), d->data + skip, d->size - skip);
	jwt_put_base64url(b, raw, sizeof(raw));
}

static inline void jwt_put_jwk(struct buf *b, gnutls_privkey_t key, const char *kid)
{
	gnutls_ecc_curve_t curve;
	gnutls_datum_t x, y;

	assert_int_equal(gnutls_privkey_export_ecc_raw(key, &curve, &x, &y, NULL), 0);
	buf_printf(b,
		   "{\"kty\":\"EC\",\"use\":\"sig\",\"crv\":\"P-256\",\"kid\":\"%s\","
		   "\"x\":\"",
		   kid);
	jwt_put_number(b, &x);
	buf_puts(b, "\",\"y\":\"");
	jwt_put_number(b, &y);
	buf_puts(b, "\"}");
	gnutls_free(x.data);
	gnutls_free(y.data);
}

static inline void jwt_put_signature(struct buf *b, gnutls_privkey_t key,
				     const gnutls_datum_t *text)
{
	gnutls_datum_t der, r, s;
	unsigned char raw[64] = {0};

	assert_int_equal(
		gnutls_privkey_sign_data2(key, GNUTLS_SIGN_ECDSA_SHA256, 0, text, &der),
		0);
	assert_int_equal(gnutls_decode_rs_value(&der, &r, &s), 0);
	unsigned rs = r.size > 32 ? r.size - 32 : 0, ss = s.size > 32 ? s.size - 32 : 0;
	memcpy(raw + 32 - (r.size - rs), r.data + rs, r.size - rs);
	memcpy(raw + 64 - (s.size - ss), s.data + ss, s.size - ss);
	jwt_put_base64url(b, raw, sizeof(raw));
	gnutls_free(der.data);
	gnutls_free(r.data);
	gnutls_free(s.data);
}

static inline void jwt_sign(struct buf *b, gnutls_privkey_t key, const char *header,
			    const char *claims)
{
	jwt_put_base64url(b, header, strlen(header));
	buf_putc(b, '.');
	jwt_put_base64url(b, claims, strlen(claims));
	gnutls_datum_t text = {(unsigned char *)b->data, (unsigned)b->len};
	auto_buf struct buf signature = BUF_INIT;
	jwt_put_signature(&signature, key, &text);
	buf_putc(b, '.');
	buf_put(b, signature.data, signature.len);
	assert_int_equal(buf_error(b), 0);
}

#endif
