/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_REDFISH_PROXY_CONFIG_H
#define CEEMS_REDFISH_PROXY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/netaddr.h"
#include "redfish_proxy/path.h"
#include "redfish_proxy/url.h"

/* --config.file of the proxy, in the peer's format with our additions
 * (doc/redfish_proxy.md). Read-only once loaded. */

#define CONFIG_BYTES_MAX (16u << 20)
#define CONFIG_TARGETS_MAX 65536
#define CONFIG_PER_TARGET_MAX 64 /* addresses, nodes */
#define CONFIG_LIST_MAX 1024     /* trusted_proxies, named_clients, munge_hosts */

enum identity { IDENTITY_ADDRESS = 1, IDENTITY_TLS = 2, IDENTITY_MUNGE = 4 };

enum login_how {
	LOGIN_NONE,
	LOGIN_BASIC,   /* user and password with each request */
	LOGIN_SESSION, /* a Redfish session, created with user and password */
	LOGIN_HEADER,  /* authorization: in the peer's format */
};

struct config_login {
	enum login_how how;
	bool how_given;
	const char *user, *password, *password_file;
	const char *scheme, *credentials, *credentials_file;
};

struct config_tls {
	const char *ca_file, *cert_file, *key_file;
	bool insecure;
	unsigned min_version; /* 10-13, 0: the client's default */
};

struct config_target {
	const char *url; /* canonical, or NULL: target_url with its first node */
	struct netaddr *addrs;
	size_t addr_count;
	const char **nodes; /* lower case */
	size_t node_count;
	size_t own_login, own_tls; /* their lines; 0: the global ones */
	struct config_login login;
	struct config_tls tls;
	size_t line;
};

struct config_limits {
	uint64_t cache_ms, error_cache_ms;
	uint64_t timeout_ms, connect_timeout_ms;
	uint64_t body_bytes;    /* of one answer of a BMC */
	uint64_t concurrency;   /* connections to one BMC */
	uint64_t queue;         /* requests waiting for one BMC */
	uint64_t rate, burst;   /* requests per second to one BMC */
	uint64_t workers;       /* BMCs that are talked to at the same time */
	uint64_t cache_entries; /* in all */
	uint64_t cache_bytes;
	uint64_t targets; /* unlisted BMCs known at a time */
};

/* A client that may name a listed target. */
struct config_client {
	const char *node; /* NULL: by its address */
	struct netrange range;
};

struct config {
	struct arena arena; /* of all but allow and notes */
	struct config_target *targets;
	size_t target_count;
	const char *target_url; /* template, or NULL */
	unsigned identity;
	struct netrange *trusted_proxies;
	size_t trusted_count;
	struct config_client *named;
	size_t named_count;
	bool ignore_redfish_url; /* from clients other than those */
	struct path_allow allow;
	struct config_login login;
	struct config_tls tls;
	struct config_limits limits;
	uint32_t *munge_uids;
	size_t munge_uid_count;
	const char *munge_socket; /* NULL: libmunge's own */
	bool munge_check_origin;
	const char **munge_hosts; /* names of this host besides its own */
	size_t munge_host_count;
	bool munge_unbound; /* accept credentials made by the previous release */
	bool has_secrets;   /* the file itself contains one */
	struct buf notes;   /* accepted settings without effect, one line each */
};

/* expand: replace $NAME and ${NAME} in values from the environment, and $$ by $. On
 * failure *ret is untouched. Accepts any bytes. */
int config_parse(const char *text, size_t len, const char *file, bool expand,
		 struct config *ret, struct err *err);

/* Reads and parses; file "": nobody may read anything. A file with secrets is refused
 * if its owner or mode is wrong. */
int config_load(const char *file, bool expand, struct config *ret, struct err *err);

/* Puts the files that it names, one path per line. */
void config_put_files(const struct config *c, struct buf *out);

/* Wipes secrets. Accepts a zeroed one. */
void config_done(struct config *c);

#endif
