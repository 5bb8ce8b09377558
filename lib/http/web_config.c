/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The web configuration file. Silently ignoring a security option is worse than not
 * starting. */
#include "lib/http/web_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/conf/dropins.h"
#include "lib/conf/yaml_rows.h"
#include "lib/parse.h"
#include "lib/secret.h"

/* The result, and what must be combined at the end. */
struct web_config_file {
	struct web_config c;
	unsigned min_version, max_version; /* 10..13 */
	struct buf ciphers, curves;
	bool prefer_server;
	bool http2_on;
	size_t tls_line, ca_line, auth_line;
};

#define FILE_ROWS struct web_config_file

struct cipher_name {
	const char *go, *gnutls;
};

/* Go's names of the acceptable cipher suites (crypto/tls, CipherSuites()), and GnuTLS'
 * names of their parts. TLS 1.3's are always on in Go. */
static const struct cipher_name cipher_names[] = {
	{"TLS_AES_128_GCM_SHA256", "+AES-128-GCM"},
	{"TLS_AES_256_GCM_SHA384", "+AES-256-GCM"},
	{"TLS_CHACHA20_POLY1305_SHA256", "+CHACHA20-POLY1305"},
	{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "+AES-128-CBC:+SHA1:+ECDHE-ECDSA"},
	{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "+AES-256-CBC:+SHA1:+ECDHE-ECDSA"},
	{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "+AES-128-CBC:+SHA1:+ECDHE-RSA"},
	{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "+AES-256-CBC:+SHA1:+ECDHE-RSA"},
	{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "+AES-128-GCM:+ECDHE-ECDSA"},
	{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "+AES-256-GCM:+ECDHE-ECDSA"},
	{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "+AES-128-GCM:+ECDHE-RSA"},
	{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "+AES-256-GCM:+ECDHE-RSA"},
	{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	 "+CHACHA20-POLY1305:+ECDHE-RSA"},
	{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	 "+CHACHA20-POLY1305:+ECDHE-ECDSA"},
};

static const struct cipher_name curve_names[] = {
	{"CurveP256", "+GROUP-SECP256R1"},
	{"CurveP384", "+GROUP-SECP384R1"},
	{"CurveP521", "+GROUP-SECP521R1"},
	{"X25519", "+GROUP-X25519"},
};

struct cipher_list {
	struct yaml_reader *r;
	const struct cipher_name *names;
	size_t count;
	struct buf *out;
};

static int read_cipher_name(void *arg, const char *key, yaml_node_t *v)
{
	struct cipher_list *l = arg;
	const char *s = "";
	int rc = yaml_walk_scalar(&l->r->w, key, v, &s);

	for (size_t i = 0; rc == 0 && i < l->count; i++) {
		if (strcmp(l->names[i].go, s) == 0) {
			buf_putc(l->out, ':');
			buf_puts(l->out, l->names[i].gnutls);
			return 0;
		}
	}
	return rc < 0 ? rc : yaml_walk_fail(&l->r->w, v, "not supported", s);
}

#define NAMES_MAX 256

static int read_ciphers(struct yaml_reader *r, const struct yaml_row *row,
			const char *key, yaml_node_t *v, void *at)
{
	struct cipher_list l = {r, cipher_names,
				sizeof(cipher_names) / sizeof(cipher_names[0]), at};

	(void)row;
	return yaml_walk_list(&r->w, &l, key, v, NAMES_MAX, read_cipher_name);
}

static int read_curves(struct yaml_reader *r, const struct yaml_row *row,
		       const char *key, yaml_node_t *v, void *at)
{
	struct cipher_list l = {r, curve_names,
				sizeof(curve_names) / sizeof(curve_names[0]), at};

	(void)row;
	return yaml_walk_list(&r->w, &l, key, v, NAMES_MAX, read_cipher_name);
}

/* In the order of enum web_client_auth. The toolkit accepts RequireClientCert for
 * RequireAnyClientCert too. */
static int read_client_auth(struct yaml_reader *r, const struct yaml_row *row,
			    const char *key, yaml_node_t *v, void *at)
{
	static const char *const names[] = {
		"NoClientCert", "RequestClientCert", "RequireAnyClientCert",
		"VerifyClientCertIfGiven", "RequireAndVerifyClientCert"};
	const char *s = "";
	int rc = yaml_read_text(r, row, key, v, &s);

	if (rc != 0)
		return rc;
	if (strcmp(s, "RequireClientCert") == 0)
		s = names[CLIENT_REQUIRE_ANY];
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], s) == 0) {
			*(enum web_client_auth *)at = (enum web_client_auth)i;
			return 0;
		}
	}
	return yaml_walk_fail(&r->w, v, "unknown client_auth_type", s);
}

/* An empty version is a mistake, and not the default. */
static int read_version(struct yaml_reader *r, const struct yaml_row *row,
			const char *key, yaml_node_t *v, void *at)
{
	r->empty_is_absent = false;
	int rc = yaml_read_tls_version(r, row, key, v, at);
	r->empty_is_absent = true;
	return rc;
}

static const struct yaml_row web_tls_rows[] = {
	YAML_PATH("cert_file", FILE_ROWS, c.cert_file),
	YAML_PATH("key_file", FILE_ROWS, c.key_file),
	YAML_ROW("client_auth_type", read_client_auth, FILE_ROWS, c.client_auth,
		 .given = offsetof(FILE_ROWS, auth_line)),
	YAML_PATH("client_ca_file", FILE_ROWS, c.client_ca_file,
		  .given = offsetof(FILE_ROWS, ca_line)),
	YAML_ROW("min_version", read_version, FILE_ROWS, min_version, ),
	YAML_ROW("max_version", read_version, FILE_ROWS, max_version, ),
	YAML_ROW("cipher_suites", read_ciphers, FILE_ROWS, ciphers, ),
	YAML_ROW("curve_preferences", read_curves, FILE_ROWS, curves, ),
	YAML_BOOL("prefer_server_cipher_suites", FILE_ROWS, prefer_server),
	YAML_REFUSED("cert"),
	YAML_REFUSED("key"),
	YAML_REFUSED("client_ca"),
	YAML_REFUSED("client_allowed_sans"),
	YAML_END,
};

static int read_web_header(struct yaml_reader *r, const struct yaml_row *row,
			   const char *key, yaml_node_t *v, void *at)
{
	struct web_config *c = at;
	const char *s = "";
	int rc = yaml_reader_text(r, key, v, &s);

	if (rc < 0)
		return rc;
	for (const char *p = s; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return yaml_walk_fail(&r->w, v, key,
					      "holds a control character");
	}
	c->headers[c->header_count++] = (struct web_config_header){row->key, s};
	return 0;
}

/* The toolkit accepts only these headers. */
#define HEADER_ROW(name_) YAML_ROW(name_, read_web_header, FILE_ROWS, c, )
static const struct yaml_row web_header_rows[] = {
	HEADER_ROW("Content-Security-Policy"), HEADER_ROW("Strict-Transport-Security"),
	HEADER_ROW("X-Content-Type-Options"),  HEADER_ROW("X-Frame-Options"),
	HEADER_ROW("X-XSS-Protection"),        YAML_END,
};

static const struct yaml_row web_http_rows[] = {
	YAML_BOOL("http2", FILE_ROWS, http2_on),
	YAML_SAME("headers", web_header_rows),
	YAML_END,
};

/* "$2a$", "$2b$" or "$2y$", two digits of cost (04..31), 53 characters. */
static bool is_bcrypt(const char *s)
{
	static const char set[] =
		"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	if (strlen(s) != 60 || s[0] != '$' || s[1] != '2' || !strchr("aby", s[2]) ||
	    s[3] != '$' || s[6] != '$' || strspn(s + 7, set) != 53)
		return false;
	int cost = (s[4] - '0') * 10 + (s[5] - '0');
	return s[4] >= '0' && s[4] <= '3' && s[5] >= '0' && s[5] <= '9' && cost >= 4 &&
	       cost <= 31;
}

static int read_web_user(void *arg, const char *name, yaml_node_t *k, yaml_node_t *v)
{
	struct yaml_reader *r = arg;
	struct web_config *c = r->config;
	struct web_config_user *u = &c->users[c->user_count];
	const char *hash = "";
	int rc = yaml_walk_scalar(&r->w, "basic_auth_users", v, &hash);

	if (rc < 0)
		return rc;
	if (!*name || strchr(name, ':'))
		return yaml_walk_fail(
			&r->w, k, "basic_auth_users",
			"a user name must not be empty or contain a colon");
	/* never quote the value: it is a secret */
	if (!is_bcrypt(hash))
		return yaml_walk_fail(
			&r->w, v,
			"basic_auth_users: the hash must be bcrypt ($2a$, $2b$ or "
			"$2y$; make one with htpasswd -nBC 10 \"\"), user",
			name);
	for (size_t i = 0; i < c->user_count; i++) {
		if (strcmp(c->users[i].name, name) == 0)
			return yaml_walk_fail(&r->w, k, "key given twice", name);
	}
	if (c->user_count == WEB_CONFIG_USERS_MAX)
		return yaml_walk_fail(&r->w, k, "basic_auth_users",
				      "more than 256 users");
	u->name = arena_text(r->arena, name);
	u->hash = arena_text(r->arena, hash);
	c->user_count++;
	return u->name && u->hash ? 0 : yaml_reader_no_memory(r);
}

static int refuse_at_line(struct yaml_reader *r, size_t line, const char *what)
{
	return err_set(r->w.err, -EINVAL, "%s:%zu: %s", r->w.file, line, what);
}

/* "ada:$2y$10$...": without a blank after the colon it is a single string. */
static bool is_htpasswd(const yaml_node_t *v)
{
	return v->type == YAML_SCALAR_NODE &&
	       strstr((const char *)v->data.scalar.value, ":$");
}

#define HTPASSWD_HINT                                                                  \
	"a line of htpasswd belongs below basic_auth_users:, indented, with a space "  \
	"after the colon (ada: $2y$...)"

static int read_web_users(struct yaml_reader *r, const struct yaml_row *row,
			  const char *key, yaml_node_t *v, void *at)
{
	(void)row;
	(void)at;
	if (is_htpasswd(v))
		return refuse_at_line(r, yaml_walk_line(v), HTPASSWD_HINT);
	if (v->type == YAML_SCALAR_NODE && v->data.scalar.length == 0)
		return 0;
	if (v->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(&r->w, v, key,
				      "must be a mapping of user names to hashes");
	struct web_config *c = r->config;
	c->users = yaml_reader_alloc(r, WEB_CONFIG_USERS_MAX, sizeof(*c->users));
	return c->users ? yaml_walk_pairs(&r->w, r, key, v, read_web_user) : -ENOMEM;
}

/* Shorter prefixes would make half a country one client. */
static int read_prefix(struct yaml_reader *r, const struct yaml_row *row,
		       const char *key, yaml_node_t *v, void *at)
{
	const char *s = "";
	uint32_t bits;
	char what[64];
	int rc = yaml_walk_scalar(&r->w, key, v, &s);

	if (rc < 0)
		return rc;
	if (parse_u32(s, &bits) < 0 || bits < row->min || bits > row->max) {
		snprintf(what, sizeof(what), "client_prefix: must be %u to %u bits",
			 (unsigned)row->min, (unsigned)row->max);
		return yaml_walk_fail(&r->w, v, what, key);
	}
	*(uint8_t *)at = (uint8_t)bits;
	return 0;
}

static const struct yaml_row prefix_rows[] = {
	YAML_ROW("ipv4", read_prefix, struct netaddr_prefix, ipv4, .min = 8, .max = 32),
	YAML_ROW("ipv6", read_prefix, struct netaddr_prefix, ipv6, .min = 16,
		 .max = 64),
	YAML_END,
};

static const struct yaml_row web_file_rows[] = {
	YAML_SAME("tls_server_config", web_tls_rows,
		  .given = offsetof(FILE_ROWS, tls_line)),
	YAML_SAME("http_server_config", web_http_rows),
	{.key = "basic_auth_users", .read = read_web_users},
	/* Ours: the toolkit has no such key. */
	YAML_MAP("client_prefix", prefix_rows, FILE_ROWS, c.client_prefix),
	YAML_REFUSED("rate_limit"),
	YAML_END,
};

/* "NORMAL:-VERS-ALL:+VERS-TLS1.2:..." from the options. The default is the toolkit's:
 * TLS 1.2 and newer. By default GnuTLS prefers the client's order. */
static void make_priority(struct web_config_file *p)
{
	static const char *const versions[] = {"TLS1.0", "TLS1.1", "TLS1.2", "TLS1.3"};
	struct buf *b = &p->c.priority;

	buf_puts(b, "NORMAL:-VERS-ALL");
	for (unsigned v = 13; v >= 10; v--) {
		if (v >= p->min_version && v <= p->max_version)
			buf_printf(b, ":+VERS-%s", versions[v - 10]);
	}
	if (p->ciphers.len) {
		/* the listed ones, and TLS 1.3's own suites as in Go */
		buf_puts(b, ":-CIPHER-ALL:-MAC-ALL:-KX-ALL:+AEAD");
		buf_put(b, p->ciphers.data, p->ciphers.len);
		if (p->max_version == 13)
			buf_puts(b, ":+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"
				    ":+ECDHE-RSA:+ECDHE-ECDSA");
	}
	if (p->curves.len) {
		buf_puts(b, ":-GROUP-ALL");
		buf_put(b, p->curves.data, p->curves.len);
	}
	if (p->prefer_server)
		buf_puts(b, ":%SERVER_PRECEDENCE");
}

/* Checks across keys. */
static int check_whole(struct yaml_reader *r, struct web_config_file *p)
{
	struct web_config *c = &p->c;

	if (p->min_version > p->max_version)
		return refuse_at_line(r, p->tls_line,
				      "min_version is above max_version");
	if (!c->cert_file != !c->key_file)
		return refuse_at_line(
			r, p->tls_line,
			"tls_server_config: cert_file and key_file go together");
	c->tls = c->cert_file;
	if (!c->tls && (c->client_ca_file || c->client_auth))
		return refuse_at_line(
			r, p->tls_line,
			"tls_server_config: client certificates need cert_file "
			"and key_file");
	if (c->client_ca_file && c->client_auth == CLIENT_NONE)
		return refuse_at_line(
			r, p->ca_line,
			"client_ca_file needs a client_auth_type that uses it");
	if ((c->client_auth == CLIENT_REQUIRE_VERIFY ||
	     c->client_auth == CLIENT_VERIFY_IF_GIVEN) &&
	    !c->client_ca_file)
		return refuse_at_line(r, p->auth_line,
				      "client_auth_type needs a client_ca_file");
	if (p->http2_on)
		buf_puts(&c->notes,
			 "http_server_config: http2 is not supported, HTTP/1.1 is "
			 "served\n");
	make_priority(p);
	if (buf_error(&c->priority) || buf_error(&c->notes))
		return yaml_reader_no_memory(r);
	return 0;
}

static int refuse_htpasswd(void *arg, yaml_node_t *root)
{
	return root && is_htpasswd(root)
		       ? refuse_at_line(arg, yaml_walk_line(root), HTPASSWD_HINT)
		       : 0;
}

static int parse_web_config(const char *text, size_t len, const char *file,
			    const struct dropins *more, struct web_config *ret,
			    struct err *err)
{
	struct web_config_file f = {.c = {.client_prefix = NETADDR_PREFIX_OF_HOST},
				    .min_version = 12,
				    .max_version = 13,
				    .prefer_server = true};
	struct yaml_reader r = {.w = {.file = file, .err = err, .more = more},
				.arena = &f.c.arena,
				.config = &f.c,
				.empty_is_absent = true};
	int rc = yaml_walk_text(&r.w, text, len, WEB_CONFIG_BYTES_MAX, refuse_htpasswd,
				&r);

	if (rc == 0)
		rc = yaml_rows_read(&r, text, len, WEB_CONFIG_BYTES_MAX,
				    "web configuration", web_file_rows, &f);
	if (rc == 0)
		rc = check_whole(&r, &f);
	buf_done(&f.ciphers);
	buf_done(&f.curves);
	if (rc < 0)
		web_config_done(&f.c);
	else
		*ret = f.c;
	return rc;
}

int web_config_parse(const char *text, size_t len, const char *file,
		     struct web_config *ret, struct err *err)
{
	return parse_web_config(text, len, file, NULL, ret, err);
}

int web_config_load(const char *file, struct web_config *ret, struct err *err)
{
	auto_secret struct buf text = BUF_INIT;
	auto_dropins struct dropins more = {.count = 0};
	struct web_config c;
	struct stat st;
	int rc = secret_read(file, WEB_CONFIG_BYTES_MAX, &text, &st, err);

	if (rc == 0)
		rc = dropins_read(file, &more, err);
	if (rc == 0)
		rc = parse_web_config(text.data ? text.data : "", text.len, file, &more,
				      &c, err);
	if (rc != 0)
		return rc;
	if (c.user_count)
		rc = secret_check(file, &st, err);
	if (rc == 0 && c.user_count)
		rc = dropins_check_secret(&more, err);
	if (rc < 0)
		web_config_done(&c);
	else
		*ret = c;
	return rc;
}

void web_config_put_files(const struct web_config *c, struct buf *out)
{
	const char *const files[] = {c->cert_file, c->key_file, c->client_ca_file};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (files[i])
			buf_printf(out, "%s\n", files[i]);
	}
}

void web_config_done(struct web_config *c)
{
	arena_done(&c->arena); /* which wipes it */
	buf_done(&c->priority);
	buf_done(&c->notes);
	*c = (struct web_config){0};
}
