/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The web configuration file. Silently ignoring a security option is worse than not
 * starting. */
#include "lib/http/web_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/conf/yaml_walk.h"
#include "lib/parse.h"
#include "lib/secret.h"

/* Parser state: the document, the result, and what must be combined at the end. */
struct web_config_parser {
	struct yaml_walk w;
	struct web_config *c;
	unsigned min_version, max_version; /* 10..13 */
	struct buf ciphers, curves;
	bool prefer_server;
	bool http2_on;
	size_t tls_line, ca_line, auth_line;
};

static int refuse_unsupported(void *arg, const char *key, yaml_node_t *value)
{
	struct web_config_parser *p = arg;
	return yaml_walk_fail(&p->w, value, "not supported", key);
}

static char *join_folder(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');
	char *s = NULL;

	if (path[0] == '/' || !slash)
		return strdup(path);
	if (asprintf(&s, "%.*s/%s", (int)(slash - file), file, path) < 0)
		return NULL;
	return s;
}

static int path_value(struct web_config_parser *p, const char *key, yaml_node_t *value,
		      char **ret)
{
	const char *s = "";
	int rc = yaml_walk_scalar(&p->w, key, value, &s);

	if (rc < 0 || !*s)
		return rc;
	*ret = join_folder(p->w.file, s);
	return *ret ? 0 : err_set(p->w.err, -ENOMEM, "%s: out of memory", p->w.file);
}

static int on_server_cert(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return path_value(p, key, v, &p->c->cert_file);
}

static int on_server_key(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return path_value(p, key, v, &p->c->key_file);
}

static int on_client_ca(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	p->ca_line = yaml_walk_line(v);
	return path_value(p, key, v, &p->c->client_ca_file);
}

static int on_client_auth(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	static const char *const names[] = {
		"NoClientCert", "RequestClientCert", "RequireAnyClientCert",
		"VerifyClientCertIfGiven", "RequireAndVerifyClientCert"};
	const char *s = "";
	int rc = yaml_walk_scalar(&p->w, key, v, &s);

	if (rc < 0 || !*s)
		return rc;
	p->auth_line = yaml_walk_line(v);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		/* the toolkit accepts RequireClientCert for RequireAnyClientCert too */
		if (strcmp(names[i], s) == 0) {
			p->c->client_auth = (enum web_client_auth)i;
			return 0;
		}
	}
	if (strcmp(s, "RequireClientCert") == 0) {
		p->c->client_auth = CLIENT_REQUIRE_ANY;
		return 0;
	}
	return yaml_walk_fail(&p->w, v, "unknown client_auth_type", s);
}

static int read_tls_version(struct web_config_parser *p, const char *key,
			    yaml_node_t *v, unsigned *ret)
{
	const char *s = "";
	uint32_t minor;
	int rc = yaml_walk_scalar(&p->w, key, v, &s);

	if (rc < 0)
		return rc;
	if (strncmp(s, "TLS1", 4) != 0 || strlen(s) != 5 ||
	    parse_u32(s + 4, &minor) < 0 || minor > 3)
		return yaml_walk_fail(&p->w, v, "must be TLS10, TLS11, TLS12 or TLS13",
				      key);
	*ret = 10 + minor;
	return 0;
}

static int on_server_min_version(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return read_tls_version(p, key, v, &p->min_version);
}

static int on_max_version(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return read_tls_version(p, key, v, &p->max_version);
}

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

static int name_list(struct web_config_parser *p, const char *key, yaml_node_t *v,
		     const struct cipher_name *names, size_t n, struct buf *out)
{
	if (v->type != YAML_SEQUENCE_NODE)
		return yaml_walk_fail(&p->w, v, key, "must be a list");
	for (yaml_node_item_t *i = v->data.sequence.items.start;
	     i < v->data.sequence.items.top; i++) {
		yaml_node_t *item = yaml_document_get_node(p->w.doc, *i);
		const char *s = "";
		int rc = yaml_walk_scalar(&p->w, key, item, &s);
		if (rc < 0)
			return rc;
		size_t k = 0;
		while (k < n && strcmp(names[k].go, s) != 0)
			k++;
		if (k == n)
			return yaml_walk_fail(&p->w, item, "not supported", s);
		buf_putc(out, ':');
		buf_puts(out, names[k].gnutls);
	}
	return 0;
}

static int on_ciphers(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return name_list(p, key, v, cipher_names,
			 sizeof(cipher_names) / sizeof(cipher_names[0]), &p->ciphers);
}

static int on_curves(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return name_list(p, key, v, curve_names,
			 sizeof(curve_names) / sizeof(curve_names[0]), &p->curves);
}

static int on_prefer_server(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return yaml_walk_bool(&p->w, key, v, &p->prefer_server);
}

static int on_server_tls(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	static const struct yaml_key keys[] = {
		{"cert_file", on_server_cert},
		{"key_file", on_server_key},
		{"client_auth_type", on_client_auth},
		{"client_ca_file", on_client_ca},
		{"min_version", on_server_min_version},
		{"max_version", on_max_version},
		{"cipher_suites", on_ciphers},
		{"curve_preferences", on_curves},
		{"prefer_server_cipher_suites", on_prefer_server},
		{"cert", refuse_unsupported},
		{"key", refuse_unsupported},
		{"client_ca", refuse_unsupported},
		{"client_allowed_sans", refuse_unsupported},
	};
	p->tls_line = yaml_walk_line(v);
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int on_server_http2(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return yaml_walk_bool(&p->w, key, v, &p->http2_on);
}

/* The toolkit accepts only these headers. */
static int on_header(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	static const char *const names[] = {
		"Content-Security-Policy", "Strict-Transport-Security",
		"X-Content-Type-Options", "X-Frame-Options", "X-XSS-Protection"};
	struct web_config_header *h = &p->c->headers[p->c->header_count];
	const char *s = "";
	int rc = yaml_walk_scalar(&p->w, key, v, &s);

	if (rc < 0)
		return rc;
	for (const char *c = s; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return yaml_walk_fail(&p->w, v, key,
					      "holds a control character");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], key) == 0)
			h->name = names[i];
	}
	h->value = strdup(s);
	if (!h->value)
		return err_set(p->w.err, -ENOMEM, "%s: out of memory", p->w.file);
	p->c->header_count++;
	return 0;
}

static int on_response_headers(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	static const struct yaml_key keys[] = {
		{"Content-Security-Policy", on_header},
		{"Strict-Transport-Security", on_header},
		{"X-Content-Type-Options", on_header},
		{"X-Frame-Options", on_header},
		{"X-XSS-Protection", on_header},
	};
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

static int on_http(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	static const struct yaml_key keys[] = {{"http2", on_server_http2},
					       {"headers", on_response_headers}};
	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

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

static int on_basic_auth_user(struct web_config_parser *p, yaml_node_t *k,
			      yaml_node_t *v)
{
	struct web_config *c = p->c;
	const char *name = "", *hash = "";
	int rc = yaml_walk_scalar(&p->w, "basic_auth_users", k, &name);

	if (rc == 0)
		rc = yaml_walk_scalar(&p->w, "basic_auth_users", v, &hash);
	if (rc < 0)
		return rc;
	if (!*name || strchr(name, ':'))
		return yaml_walk_fail(
			&p->w, k, "basic_auth_users",
			"a user name must not be empty or contain a colon");
	/* never quote the value: it is a secret */
	if (!is_bcrypt(hash))
		return yaml_walk_fail(
			&p->w, v,
			"basic_auth_users: the hash must be bcrypt ($2a$, $2b$ or "
			"$2y$; make one with htpasswd -nBC 10 \"\"), user",
			name);
	for (size_t i = 0; i < c->user_count; i++) {
		if (strcmp(c->users[i].name, name) == 0)
			return yaml_walk_fail(&p->w, k, "key given twice", name);
	}
	if (c->user_count == WEB_CONFIG_USERS_MAX)
		return yaml_walk_fail(&p->w, k, "basic_auth_users",
				      "more than 256 users");
	struct web_config_user *u =
		reallocarray(c->users, c->user_count + 1, sizeof(*u));
	if (!u)
		return err_set(p->w.err, -ENOMEM, "%s: out of memory", p->w.file);
	c->users = u;
	u[c->user_count] = (struct web_config_user){strdup(name), strdup(hash)};
	c->user_count++;
	if (!u[c->user_count - 1].name || !u[c->user_count - 1].hash)
		return err_set(p->w.err, -ENOMEM, "%s: out of memory", p->w.file);
	return 0;
}

static int at_line(struct web_config_parser *p, size_t line, const char *what)
{
	return err_set(p->w.err, -EINVAL, "%s:%zu: %s", p->w.file, line, what);
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

static int on_users(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	if (is_htpasswd(v))
		return at_line(p, v->start_mark.line + 1, HTPASSWD_HINT);
	if (v->type == YAML_SCALAR_NODE && v->data.scalar.length == 0)
		return 0;
	if (v->type != YAML_MAPPING_NODE)
		return yaml_walk_fail(&p->w, v, key,
				      "must be a mapping of user names to hashes");
	for (yaml_node_pair_t *i = v->data.mapping.pairs.start;
	     i < v->data.mapping.pairs.top; i++) {
		int rc = on_basic_auth_user(p, yaml_document_get_node(p->w.doc, i->key),
					    yaml_document_get_node(p->w.doc, i->value));
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_prefix(struct web_config_parser *p, const char *key, yaml_node_t *v,
		       uint32_t least, uint32_t most, uint8_t *ret)
{
	const char *s = "";
	uint32_t bits;
	char what[64];
	int rc = yaml_walk_scalar(&p->w, key, v, &s);

	if (rc < 0)
		return rc;
	if (parse_u32(s, &bits) < 0 || bits < least || bits > most) {
		snprintf(what, sizeof(what), "client_prefix: must be %u to %u bits",
			 least, most);
		return yaml_walk_fail(&p->w, v, what, key);
	}
	*ret = (uint8_t)bits;
	return 0;
}

/* Shorter prefixes would make half a country one client. */
static int on_ipv4(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return read_prefix(p, key, v, 8, 32, &p->c->client_prefix.ipv4);
}

static int on_ipv6(void *arg, const char *key, yaml_node_t *v)
{
	struct web_config_parser *p = arg;
	return read_prefix(p, key, v, 16, 64, &p->c->client_prefix.ipv6);
}

/* Ours: the toolkit has no such key. */
static int on_client_prefix(void *arg, const char *key, yaml_node_t *v)
{
	static const struct yaml_key keys[] = {{"ipv4", on_ipv4}, {"ipv6", on_ipv6}};
	struct web_config_parser *p = arg;

	return yaml_walk_map(&p->w, p, key, v, keys, sizeof(keys) / sizeof(keys[0]));
}

/* "NORMAL:-VERS-ALL:+VERS-TLS1.2:..." from the options. The default is the toolkit's:
 * TLS 1.2 and newer. By default GnuTLS prefers the client's order. */
static void make_priority(struct web_config_parser *p)
{
	static const char *const versions[] = {"TLS1.0", "TLS1.1", "TLS1.2", "TLS1.3"};
	struct buf *b = &p->c->priority;

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
static int check_whole(struct web_config_parser *p)
{
	struct web_config *c = p->c;

	if (p->min_version > p->max_version)
		return at_line(p, p->tls_line, "min_version is above max_version");
	if (!c->cert_file != !c->key_file)
		return at_line(p, p->tls_line,
			       "tls_server_config: cert_file and key_file go together");
	c->tls = c->cert_file;
	if (!c->tls && (c->client_ca_file || c->client_auth))
		return at_line(p, p->tls_line,
			       "tls_server_config: client certificates need cert_file "
			       "and key_file");
	if (c->client_ca_file && c->client_auth == CLIENT_NONE)
		return at_line(p, p->ca_line,
			       "client_ca_file needs a client_auth_type that uses it");
	if ((c->client_auth == CLIENT_REQUIRE_VERIFY ||
	     c->client_auth == CLIENT_VERIFY_IF_GIVEN) &&
	    !c->client_ca_file)
		return at_line(p, p->auth_line,
			       "client_auth_type needs a client_ca_file");
	if (p->http2_on)
		buf_puts(&c->notes,
			 "http_server_config: http2 is not supported, HTTP/1.1 is "
			 "served\n");
	make_priority(p);
	if (buf_error(&c->priority) || buf_error(&c->notes))
		return err_set(p->w.err, -ENOMEM, "%s: out of memory", p->w.file);
	return 0;
}

static int parse_document(void *arg, yaml_node_t *root)
{
	static const struct yaml_key keys[] = {
		{"tls_server_config", on_server_tls},
		{"http_server_config", on_http},
		{"basic_auth_users", on_users},
		{"client_prefix", on_client_prefix},
		{"rate_limit", refuse_unsupported},
	};
	struct web_config_parser *p = arg;
	if (root && is_htpasswd(root))
		return at_line(p, root->start_mark.line + 1, HTPASSWD_HINT);
	int rc = root ? yaml_walk_map(&p->w, p, "web configuration", root, keys,
				      sizeof(keys) / sizeof(keys[0]))
		      : 0;
	return rc < 0 ? rc : check_whole(p);
}

int web_config_parse(const char *text, size_t len, const char *file,
		     struct web_config *ret, struct err *err)
{
	struct web_config c = {.client_prefix = NETADDR_PREFIX_OF_HOST};
	struct web_config_parser p = {.w = {.file = file, .err = err},
				      .c = &c,
				      .min_version = 12,
				      .max_version = 13,
				      .prefer_server = true};
	int rc = yaml_walk_text(&p.w, text, len, WEB_CONFIG_BYTES_MAX, parse_document,
				&p);

	buf_done(&p.ciphers);
	buf_done(&p.curves);
	if (rc < 0)
		web_config_done(&c);
	else
		*ret = c;
	return rc;
}

int web_config_load(const char *file, struct web_config *ret, struct err *err)
{
	auto_secret struct buf text = BUF_INIT;
	struct web_config c;
	struct stat st;
	int rc = secret_read(file, WEB_CONFIG_BYTES_MAX, &text, &st, err);

	if (rc == 0)
		rc = web_config_parse(text.data ? text.data : "", text.len, file, &c,
				      err);
	if (rc != 0)
		return rc;
	if (c.user_count)
		rc = secret_check(file, &st, err);
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
	for (size_t i = 0; i < c->user_count; i++) {
		free(c->users[i].name);
		if (c->users[i].hash)
			explicit_bzero(c->users[i].hash, strlen(c->users[i].hash));
		free(c->users[i].hash);
	}
	free(c->users);
	for (size_t i = 0; i < c->header_count; i++)
		free(c->headers[i].value);
	free(c->cert_file);
	free(c->key_file);
	free(c->client_ca_file);
	buf_done(&c->priority);
	buf_done(&c->notes);
	*c = (struct web_config){0};
}
