/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TLS to backends: they are verified unless configured otherwise, we show a certificate
 * if configured; sessions are resumed if the backend can. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lb/proxy/upstream_impl.h"
#include "lib/cleanup.h"

enum { CA, CERT, KEY, FILES };

#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* A backend's certificates, loaded once and shared by all connections with the same
 * files. */
struct tls_trust {
	struct tls_trust *next;
	unsigned id;
	unsigned refs; /* connections */
	bool insecure;
	char *files[FILES]; /* NULL: none */
	struct timespec changed[FILES];
	gnutls_certificate_credentials_t cred;
};

static void trust_free(struct tls_trust *t)
{
	for (size_t i = 0; i < FILES; i++)
		free(t->files[i]);
	if (t->cred)
		gnutls_certificate_free_credentials(t->cred);
	free(t);
}

static int load_trust(struct tls_trust *t, const char **why)
{
	const char *ca = t->files[CA], *cert = t->files[CERT], *key = t->files[KEY];

	*why = "out of memory";
	if (gnutls_certificate_allocate_credentials(&t->cred) < 0) {
		t->cred = NULL;
		return -ENOMEM;
	}
	*why = "its CA cannot be read";
	int n = 0;
	if (!t->insecure)
		n = ca ? gnutls_certificate_set_x509_trust_file(t->cred, ca,
								GNUTLS_X509_FMT_PEM)
		       : gnutls_certificate_set_x509_system_trust(t->cred);
	if (n >= 0 && cert) {
		*why = "our certificate for it cannot be read";
		n = gnutls_certificate_set_x509_key_file(
			t->cred, cert, key ? key : cert, GNUTLS_X509_FMT_PEM);
	}
	return n < 0 ? -EKEYREJECTED : 0;
}

static struct tls_trust *trust_new(const struct backend *b)
{
	const char *const files[FILES] = {b->ca_file, b->cert_file, b->key_file};
	struct tls_trust *t = calloc(1, sizeof(*t));
	struct stat st;

	if (!t)
		return NULL;
	t->insecure = b->insecure;
	for (size_t i = 0; i < FILES; i++) {
		if (!files[i])
			continue;
		if (stat(files[i], &st) == 0)
			t->changed[i] = st.st_mtim;
		t->files[i] = strdup(files[i]);
		if (!t->files[i]) {
			trust_free(t);
			return NULL;
		}
	}
	return t;
}

static bool same_files(const struct tls_trust *a, const struct tls_trust *b)
{
	for (size_t i = 0; i < FILES; i++) {
		if (!a->files[i] != !b->files[i] ||
		    (a->files[i] && strcmp(a->files[i], b->files[i]) != 0))
			return false;
	}
	return a->insecure == b->insecure;
}

/* Drops those that are no longer used, except the newest of the same files. */
static void forget_unused_trusts(struct upstreams *u, const struct tls_trust *newest)
{
	for (struct tls_trust **at = &u->trusts; *at;) {
		struct tls_trust *t = *at;
		if (t == newest || t->refs || !same_files(t, newest)) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		trust_free(t);
	}
}

/* Replaced files are loaded for the next connection; if they cannot be read the old
 * ones stay in use. */
static int trust_get(struct upstreams *u, const struct backend *b,
		     struct tls_trust **ret, const char **why)
{
	struct tls_trust *now = trust_new(b), *t = u->trusts;

	*why = "out of memory";
	if (!now)
		return -ENOMEM;
	while (t && !same_files(t, now))
		t = t->next;
	if (!t || memcmp(t->changed, now->changed, sizeof(now->changed)) != 0) {
		int rc = load_trust(now, why);
		if (rc == 0) {
			now->id = ++u->trust_ids;
			now->next = u->trusts;
			u->trusts = t = steal_ptr(&now);
			forget_unused_trusts(u, t);
		} else if (!t) {
			trust_free(now);
			return rc;
		}
	}
	if (now)
		trust_free(now);
	t->refs++;
	*ret = t;
	return 0;
}

static bool is_literal_address(const char *name)
{
	unsigned char any[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, any) == 1 ||
	       inet_pton(AF_INET6, name, any) == 1;
}

/* The library also says "again" after reading something that was not data, such as a
 * ticket; only the socket knows whether there is more, and reports it once. */
static ssize_t pull_bytes(gnutls_transport_ptr_t ptr, void *data, size_t len)
{
	struct conn *c = ptr;
	ssize_t n = recv(c->fd, data, len, 0);

	if (n < 0) {
		c->readable &= errno != EAGAIN;
		gnutls_transport_set_errno(c->tls, errno);
	}
	return n;
}

/* Never blocks. */
static int pull_timeout(gnutls_transport_ptr_t ptr, unsigned ms)
{
	const struct conn *c = ptr;
	struct pollfd fd = {.fd = c->fd, .events = POLLIN};

	(void)ms;
	return poll(&fd, 1, 0);
}

static bool has_more_to_read(const struct conn *c, ssize_t rc)
{
	return rc == GNUTLS_E_AGAIN && c->readable &&
	       gnutls_record_get_direction(c->tls) == 0;
}

int tls_begin(struct conn *c, const char **why)
{
	struct pool *p = c->pool;
	const struct backend *b = p->backend;
	const char *name = b->server_name ? b->server_name : b->host;
	static const gnutls_datum_t alpn = {(unsigned char *)"http/1.1", 8};
	int rc = trust_get(c->u, b, &c->trust, why);

	if (rc < 0)
		return rc;
	*why = "TLS cannot be started";
	if (!c->u->priority &&
	    gnutls_priority_init(&c->u->priority, PRIORITY, NULL) < 0)
		return -ENOMEM;
	if (gnutls_init(&c->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) <
	    0) {
		c->tls = NULL;
		return -ENOMEM;
	}
	if (gnutls_priority_set(c->tls, c->u->priority) < 0 ||
	    gnutls_credentials_set(c->tls, GNUTLS_CRD_CERTIFICATE, c->trust->cred) <
		    0 ||
	    gnutls_alpn_set_protocols(c->tls, &alpn, 1, 0) < 0 ||
	    (!is_literal_address(name) &&
	     gnutls_server_name_set(c->tls, GNUTLS_NAME_DNS, name, strlen(name)) < 0))
		return -ENOMEM;
	if (!b->insecure)
		gnutls_session_set_verify_cert(c->tls, name, 0);
	/* sessions verified with other certificates are not resumed */
	if (p->session.data && p->session_trust == c->trust->id)
		(void)gnutls_session_set_data(c->tls, p->session.data, p->session.size);
	gnutls_transport_set_ptr2(c->tls, c, (gnutls_transport_ptr_t)(intptr_t)c->fd);
	gnutls_transport_set_pull_function(c->tls, pull_bytes);
	gnutls_transport_set_pull_timeout_function(c->tls, pull_timeout);
	return 0;
}

int tls_greet(struct conn *c, const char **why)
{
	int rc;

	do
		rc = gnutls_handshake(c->tls);
	while (has_more_to_read(c, rc) ||
	       (rc < 0 && rc != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(rc)));
	if (rc == GNUTLS_E_AGAIN)
		return -EAGAIN;
	if (rc >= 0) {
		/* data that followed may already be in the library's buffer */
		c->readable = true;
		return 0;
	}
	*why = rc == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR
		       ? "its certificate is not valid"
		       : "TLS failed";
	return rc == GNUTLS_E_PULL_ERROR || rc == GNUTLS_E_PREMATURE_TERMINATION
		       ? -ECONNRESET
		       : -EKEYREJECTED;
}

/* An end without close_notify is a truncation: an attacker could have caused it. */
ssize_t tls_recv(struct conn *c, void *buf, size_t max)
{
	ssize_t n;

	do
		n = gnutls_record_recv(c->tls, buf, max);
	while (has_more_to_read(c, n) ||
	       (n < 0 && n != GNUTLS_E_AGAIN && !gnutls_error_is_fatal((int)n)));
	if (n >= 0)
		return n;
	return n == GNUTLS_E_AGAIN ? -EAGAIN : -ECONNRESET;
}

ssize_t tls_send(struct conn *c, const void *data, size_t len)
{
	ssize_t n;

	do
		n = gnutls_record_send(c->tls, data, len);
	while (n == GNUTLS_E_INTERRUPTED);
	if (n >= 0)
		return n;
	return n == GNUTLS_E_AGAIN ? -EAGAIN : -ECONNRESET;
}

void tls_remember(struct conn *c)
{
	struct pool *p = c->pool;
	gnutls_datum_t session;

	if (!c->tls || c->state != CONN_OPEN)
		return;
	/* before the ticket has come the library would wait for it */
	if (gnutls_protocol_get_version(c->tls) >= GNUTLS_TLS1_3 &&
	    !(gnutls_session_get_flags(c->tls) & GNUTLS_SFLAGS_SESSION_TICKET))
		return;
	if (gnutls_session_get_data2(c->tls, &session) < 0)
		return;
	gnutls_free(p->session.data);
	p->session = session;
	p->session_trust = c->trust->id;
}

void tls_end(struct conn *c)
{
	if (c->trust)
		c->trust->refs--;
	c->trust = NULL;
	if (!c->tls)
		return;
	if (c->state == CONN_OPEN && !c->hung_up)
		(void)gnutls_bye(c->tls, GNUTLS_SHUT_WR);
	gnutls_deinit(c->tls);
	c->tls = NULL;
}

void tls_pool_free(struct pool *p)
{
	gnutls_free(p->session.data);
	p->session.data = NULL;
}

void tls_done(struct upstreams *u)
{
	while (u->trusts) {
		struct tls_trust *t = u->trusts;
		u->trusts = t->next;
		trust_free(t);
	}
	if (u->priority)
		gnutls_priority_deinit(u->priority);
}
