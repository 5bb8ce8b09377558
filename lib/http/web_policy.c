/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads certificates and keys for the web configuration, and notices renewed files, so
 * that a certificate manager need not restart us. */
#include "lib/http/web_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/conf/dropins.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/secret.h"

/* Identifies a version of a file without reading it. */
struct signature {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec mtime, ctime;
};

#define FILES 5 /* configuration, certificate, key, CA, folder of drop-ins */

struct web_policy {
	char *file;
	pthread_mutex_t mutex;
	struct web_settings *current;
	struct signature seen[FILES]; /* at the last attempt, successful or not */
	atomic_uint_fast64_t next_look_ns;
	atomic_uint_fast64_t readings;
};

static void sign_file(const char *path, struct signature *ret)
{
	struct stat st;

	*ret = (struct signature){0};
	if (path && stat(path, &st) == 0) {
		ret->dev = st.st_dev;
		ret->ino = st.st_ino;
		ret->size = st.st_size;
		ret->mtime = st.st_mtim;
		ret->ctime = st.st_ctim;
	}
}

static void sign_dropins(const struct web_policy *p, struct signature *ret)
{
	char folder[PATH_MAX];
	bool named = *p->file && dropins_folder(p->file, folder, sizeof(folder)) == 0;

	sign_file(named ? folder : NULL, ret);
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_signature(const struct signature *a, const struct signature *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	       same_time(a->mtime, b->mtime) && same_time(a->ctime, b->ctime);
}

static void sign_all(const struct web_policy *p, const struct web_config *c,
		     struct signature ret[FILES])
{
	sign_file(p->file, &ret[0]);
	sign_file(c ? c->cert_file : NULL, &ret[1]);
	sign_file(c ? c->key_file : NULL, &ret[2]);
	sign_file(c ? c->client_ca_file : NULL, &ret[3]);
	sign_dropins(p, &ret[4]);
}

static void settings_free(struct web_settings *s)
{
	if (!s)
		return;
	if (s->cred)
		gnutls_certificate_free_credentials(s->cred);
	if (s->priority)
		gnutls_priority_deinit(s->priority);
	web_config_done(&s->config);
	free(s);
}

/* Whether a client's certificate, if any, is from our CA. */
static int verify_client(gnutls_session_t session)
{
	unsigned n = 0, status = 0;
	gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
					 .data = (void *)GNUTLS_KP_TLS_WWW_CLIENT};

	if (!gnutls_certificate_get_peers(session, &n) || n == 0)
		return 0;
	int rc = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
	return rc < 0 || status ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

static int load_pem(struct web_settings *s, struct err *err)
{
	struct web_config *c = &s->config;
	auto_buf struct buf cert = BUF_INIT;
	auto_secret struct buf key = BUF_INIT;
	int rc = fs_read_buf_at(AT_FDCWD, c->cert_file, WEB_CONFIG_BYTES_MAX, &cert,
				err);

	if (rc == 0)
		rc = secret_load(c->key_file, WEB_CONFIG_BYTES_MAX, &key, err);
	if (rc == 0) {
		gnutls_datum_t cd = {(unsigned char *)cert.data, (unsigned)cert.len};
		gnutls_datum_t kd = {(unsigned char *)key.data, (unsigned)key.len};
		int bad = gnutls_certificate_set_x509_key_mem2(
			s->cred, &cd, &kd, GNUTLS_X509_FMT_PEM, NULL, 0);
		if (bad < 0)
			rc = err_set(err, -EINVAL, "%s with %s: %s", c->cert_file,
				     c->key_file, gnutls_strerror(bad));
	}
	return rc;
}

static int load_ca(struct web_settings *s, struct err *err)
{
	auto_buf struct buf ca = BUF_INIT;
	const char *file = s->config.client_ca_file;
	int rc = fs_read_buf_at(AT_FDCWD, file, WEB_CONFIG_BYTES_MAX, &ca, err);

	if (rc < 0)
		return rc;
	gnutls_datum_t d = {(unsigned char *)ca.data, (unsigned)ca.len};
	int n = gnutls_certificate_set_x509_trust_mem(s->cred, &d, GNUTLS_X509_FMT_PEM);
	if (n <= 0)
		return err_set(err, -EINVAL, "%s: %s", file,
			       n < 0 ? gnutls_strerror(n) : "contains no certificate");
	return 0;
}

static int load_tls(struct web_settings *s, const char *file, struct err *err)
{
	const char *at = "";

	if (gnutls_certificate_allocate_credentials(&s->cred) < 0)
		return err_set(err, -ENOMEM, "%s: out of memory", file);
	int rc = gnutls_priority_init(&s->priority, s->config.priority.data, &at);
	if (rc < 0)
		return err_set(err, -EINVAL,
			       "%s: this machine's GnuTLS does not support the "
			       "versions, suites or curves asked for (at \"%s\")",
			       file, at);
	rc = load_pem(s, err);
	if (rc == 0 && s->config.client_ca_file)
		rc = load_ca(s, err);
	if (rc < 0)
		return err_prefix(err, rc, "%s", file);
	if (s->config.client_auth == CLIENT_VERIFY_IF_GIVEN ||
	    s->config.client_auth == CLIENT_REQUIRE_VERIFY)
		gnutls_certificate_set_verify_function(s->cred, verify_client);
	return rc;
}

static int settings_load(struct web_policy *p, struct web_settings **ret,
			 struct err *err)
{
	struct web_settings *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s)
		return err_set(err, -ENOMEM, "%s: out of memory", p->file);
	s->policy = p;
	s->refs = 1;
	s->config.client_prefix = NETADDR_PREFIX_OF_HOST;
	if (*p->file)
		rc = web_config_load(p->file, &s->config, err);
	if (rc == 0 && s->config.tls)
		rc = load_tls(s, p->file, err);
	if (rc < 0) {
		settings_free(s);
		return rc;
	}
	s->config.reading = atomic_fetch_add(&p->readings, 1) + 1;
	*ret = s;
	return 0;
}

static void log_web_notes(const struct web_config *c, const char *file)
{
	for (const char *s = c->notes.data; s && *s;) {
		size_t n = strcspn(s, "\n");
		log_warn("%s: %.*s", file, (int)n, s);
		s += n + (s[n] == '\n');
	}
}

static bool same_path(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* A signature taken before a file was read reveals a later change; one taken afterwards
 * would hide a change in between. Only a path that was unknown before is signed
 * afterwards. */
static void remember_signatures(struct web_policy *p, const struct web_config *was,
				const struct web_config *is,
				const struct signature before[FILES])
{
	sign_all(p, is, p->seen);
	p->seen[0] = before[0];
	p->seen[4] = before[4];
	if (same_path(was->cert_file, is->cert_file))
		p->seen[1] = before[1];
	if (same_path(was->key_file, is->key_file))
		p->seen[2] = before[2];
	if (same_path(was->client_ca_file, is->client_ca_file))
		p->seen[3] = before[3];
}

int web_policy_new(const char *file, struct web_policy **ret, struct err *err)
{
	struct web_policy *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "web: out of memory");
	pthread_mutex_init(&p->mutex, NULL);
	p->file = strdup(file ? file : "");
	struct signature before[FILES] = {{0}};
	if (p->file)
		sign_all(p, NULL, before);
	int rc = p->file ? settings_load(p, &p->current, err)
			 : err_set(err, -ENOMEM, "web: out of memory");
	if (rc < 0) {
		web_policy_free(p);
		return rc;
	}
	remember_signatures(p, &(struct web_config){0}, &p->current->config, before);
	log_web_notes(&p->current->config, p->file);
	*ret = p;
	return 0;
}

void web_policy_free(struct web_policy *p)
{
	if (!p)
		return;
	settings_free(p->current);
	free(p->file);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

struct web_settings *web_policy_get(struct web_policy *p)
{
	pthread_mutex_lock(&p->mutex);
	struct web_settings *s = p->current;
	s->refs++;
	pthread_mutex_unlock(&p->mutex);
	return s;
}

void web_settings_unref(struct web_settings *s)
{
	if (!s)
		return;
	struct web_policy *p = s->policy;
	pthread_mutex_lock(&p->mutex);
	bool last = --s->refs == 0;
	pthread_mutex_unlock(&p->mutex);
	if (last)
		settings_free(s);
}

int web_policy_reload(struct web_policy *p, struct err *err)
{
	struct web_settings *fresh = NULL, *old = NULL;
	struct signature before[FILES];

	pthread_mutex_lock(&p->mutex);
	sign_all(p, &p->current->config, before);
	pthread_mutex_unlock(&p->mutex);
	int rc = settings_load(p, &fresh, err);
	pthread_mutex_lock(&p->mutex);
	if (rc == 0 && fresh->config.tls != p->current->config.tls)
		rc = err_set(err, -ENOTSUP,
			     "%s: switching TLS on or off needs a restart", p->file);
	if (rc == 0) {
		old = p->current;
		p->current = steal_ptr(&fresh);
		remember_signatures(p, &old->config, &p->current->config, before);
	} else {
		memcpy(p->seen, before, sizeof(before));
	}
	if (rc == 0)
		log_web_notes(&p->current->config, p->file);
	pthread_mutex_unlock(&p->mutex);
	web_settings_unref(old);
	settings_free(fresh);
	return rc;
}

void web_policy_refresh(struct web_policy *p)
{
	struct signature now[FILES];
	uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC_COARSE);
	uint64_t next_ns = atomic_load(&p->next_look_ns);
	bool changed = false;

	/* only one of several concurrent callers checks */
	if (!*p->file || now_ns < next_ns ||
	    !atomic_compare_exchange_strong(&p->next_look_ns, &next_ns,
					    now_ns + NSEC_PER_SEC))
		return;
	pthread_mutex_lock(&p->mutex);
	sign_all(p, &p->current->config, now);
	for (size_t i = 0; i < FILES; i++)
		changed |= !same_signature(&now[i], &p->seen[i]);
	/* a broken file is tried again only when it changes */
	memcpy(p->seen, now, sizeof(now));
	pthread_mutex_unlock(&p->mutex);
	if (!changed)
		return;
	struct err err = {""};
	if (web_policy_reload(p, &err) < 0)
		log_warn("web: %s, keeping the current configuration", err_text(&err));
	else
		log_info("web: %s and its certificates read again", p->file);
}

int web_settings_apply(const struct web_settings *s, gnutls_session_t session)
{
	static const gnutls_certificate_request_t requests[] = {
		[CLIENT_NONE] = GNUTLS_CERT_IGNORE,
		[CLIENT_REQUEST] = GNUTLS_CERT_REQUEST,
		[CLIENT_REQUIRE_ANY] = GNUTLS_CERT_REQUIRE,
		[CLIENT_VERIFY_IF_GIVEN] = GNUTLS_CERT_REQUEST,
		[CLIENT_REQUIRE_VERIFY] = GNUTLS_CERT_REQUIRE,
	};

	if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, s->cred) < 0 ||
	    gnutls_priority_set(session, s->priority) < 0)
		return -EINVAL;
	gnutls_certificate_server_set_request(session, requests[s->config.client_auth]);
	return 0;
}
