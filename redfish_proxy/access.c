/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may read what from which BMC. Nothing here blocks, allocates per request or
 * remembers a request: a client cannot change what another one gets. */
#include "redfish_proxy/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/identity/redfish_munge.h"
#include "redfish_proxy/url.h"

/* Open addressing, at most half full; keys are borrowed from the configuration. */
struct access_slot {
	const void *key;
	size_t len;
	const struct config_target *target;
};

struct table {
	struct access_slot *slots;
	size_t mask;
};

struct access {
	const struct config *c;
	struct table addrs, nodes, urls;
};

static uint64_t hash_access_key(const void *key, size_t len)
{
	const unsigned char *p = key;
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

/* The slot of the key, or for it. */
static struct access_slot *find_access_slot(const struct table *t, const void *key,
					    size_t len)
{
	for (size_t i = hash_access_key(key, len);; i++) {
		struct access_slot *s = &t->slots[i & t->mask];
		if (!s->key || (s->len == len && memcmp(s->key, key, len) == 0))
			return s;
	}
}

static int table_init(struct table *t, size_t entries, struct err *err)
{
	size_t n = 16;

	while (n < 2 * entries)
		n *= 2;
	t->slots = calloc(n, sizeof(*t->slots));
	t->mask = n - 1;
	return t->slots ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int add_access_key(struct table *t, const void *key, size_t len,
			  const struct config_target *target, const char *what,
			  const char *name, struct err *err)
{
	struct access_slot *s = find_access_slot(t, key, len);

	if (s->key)
		return err_set(err, -EINVAL,
			       "targets of lines %zu and %zu have the same %s: %s",
			       s->target->line, target->line, what, name);
	*s = (struct access_slot){key, len, target};
	return 0;
}

static int add_target(struct access *a, const struct config_target *t, struct err *err)
{
	char text[NETADDR_TEXT_MAX];
	int rc =
		add_access_key(&a->urls, t->url, strlen(t->url), t, "url", t->url, err);

	for (size_t i = 0; rc == 0 && i < t->addr_count; i++) {
		netaddr_text(&t->addrs[i], text);
		rc = add_access_key(&a->addrs, t->addrs[i].b, sizeof(t->addrs[i].b), t,
				    "address", text, err);
	}
	for (size_t i = 0; rc == 0 && i < t->node_count; i++)
		rc = add_access_key(&a->nodes, t->nodes[i], strlen(t->nodes[i]), t,
				    "node", t->nodes[i], err);
	return rc;
}

int access_new(const struct config *c, struct access **ret, struct err *err)
{
	size_t addrs = 0, nodes = 0;
	struct access *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->c = c;
	for (size_t i = 0; i < c->target_count; i++) {
		addrs += c->targets[i].addr_count;
		nodes += c->targets[i].node_count;
	}
	int rc = table_init(&a->addrs, addrs, err);
	if (rc == 0)
		rc = table_init(&a->nodes, nodes, err);
	if (rc == 0)
		rc = table_init(&a->urls, c->target_count, err);
	for (size_t i = 0; rc == 0 && i < c->target_count; i++)
		rc = add_target(a, &c->targets[i], err);
	if (rc < 0) {
		access_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void access_free(struct access *a)
{
	if (!a)
		return;
	free(a->addrs.slots);
	free(a->nodes.slots);
	free(a->urls.slots);
	free(a);
}

/* The identified client: a name, or an address. */
struct client {
	char node[256]; /* lower case; "": known by address */
	bool has_addr;
	struct netaddr addr;
};

static bool in_ranges(const struct netrange *list, size_t n, const struct netaddr *a)
{
	for (size_t i = 0; i < n; i++) {
		if (netrange_has(&list[i], a))
			return true;
	}
	return false;
}

/* A node's name in lower case; false: not a host name. */
static bool take_name(const char *name, char ret[256])
{
	size_t n = strnlen(name, 256);

	if (n == 256 || !url_is_host(name))
		return false;
	for (size_t i = 0; i <= n; i++) {
		char c = name[i];
		ret[i] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
	}
	return true;
}

static const struct config_target *by_node(const struct access *a, const char *node)
{
	return find_access_slot(&a->nodes, node, strlen(node))->target;
}

bool access_munge_node(const char *payload, size_t len, char ret_node[256])
{
	size_t n = strlen(REDFISH_MUNGE_PAYLOAD);

	if (len <= n || len - n > 255 || memcmp(payload, REDFISH_MUNGE_PAYLOAD, n) != 0)
		return false;
	memcpy(ret_node, payload + n, len - n);
	ret_node[len - n] = '\0';
	return strlen(ret_node) == len - n && url_is_host(ret_node);
}

static enum access_verdict identify_munge_node(const struct access *a,
					       const struct access_facts *f,
					       struct client *ret)
{
	bool known = false;

	if (f->munge != ACCESS_MUNGE_GOOD || !take_name(f->munge_node, ret->node))
		return ACCESS_BAD_CREDENTIAL;
	for (size_t i = 0; i < a->c->munge_uid_count; i++)
		known |= a->c->munge_uids[i] == f->munge_uid;
	if (!known)
		return ACCESS_BAD_CREDENTIAL;
	const struct config_target *t = by_node(a, ret->node);
	if (!a->c->munge_check_origin || !t || !t->addr_count)
		return ACCESS_GRANTED;
	/* a node may identify itself only */
	for (size_t i = 0; i < t->addr_count; i++) {
		if (netaddr_equal(&t->addrs[i], &f->munge_origin))
			return ACCESS_GRANTED;
	}
	return ACCESS_BAD_CREDENTIAL;
}

/* The first listed name, else the first host name. */
static enum access_verdict by_tls(const struct access *a, const struct access_facts *f,
				  struct client *ret)
{
	char first[256] = "";

	for (size_t i = 0; i < f->name_count && i < ACCESS_NAMES_MAX; i++) {
		if (!take_name(f->names[i], ret->node))
			continue;
		if (by_node(a, ret->node))
			return ACCESS_GRANTED;
		if (!*first)
			memcpy(first, ret->node, sizeof(first));
	}
	memcpy(ret->node, first, sizeof(first));
	return *first ? ACCESS_GRANTED : ACCESS_BAD_CREDENTIAL;
}

/* Headers count only from trusted proxies. */
static enum access_verdict by_address(const struct access *a,
				      const struct access_facts *f, struct client *ret)
{
	if (!f->has_peer)
		return ACCESS_UNIDENTIFIED;
	ret->addr = f->peer;
	if (in_ranges(a->c->trusted_proxies, a->c->trusted_count, &f->peer)) {
		if (f->real_ips == 0)
			return ACCESS_UNIDENTIFIED;
		if (f->real_ips > 1 || netaddr_parse(f->real_ip, &ret->addr) < 0)
			return ACCESS_BAD_HEADER;
	}
	ret->has_addr = true;
	return ACCESS_GRANTED;
}

static enum access_verdict identify_client(const struct access *a,
					   const struct access_facts *f,
					   struct client *ret)
{
	unsigned on = a->c->identity;

	if (on & IDENTITY_MUNGE && f->munge != ACCESS_MUNGE_NONE)
		return identify_munge_node(a, f, ret);
	if (on & IDENTITY_TLS && f->name_count)
		return by_tls(a, f, ret);
	if (on & IDENTITY_ADDRESS)
		return by_address(a, f, ret);
	return ACCESS_UNIDENTIFIED;
}

/* The client's own BMC. */
static bool own_target(const struct access *a, const struct client *who,
		       const struct config_target **ret, char *ret_url)
{
	const struct config_target *t =
		who->has_addr
			? find_access_slot(&a->addrs, who->addr.b, sizeof(who->addr.b))
				  ->target
			: by_node(a, who->node);

	*ret = t;
	if (t) {
		memcpy(ret_url, t->url, strlen(t->url) + 1);
		return true;
	}
	/* the DNS is not asked who an address is */
	if (who->has_addr || !a->c->target_url ||
	    url_of_node(a->c->target_url, who->node, ret_url) < 0)
		return false;
	/* a listed target belongs to the clients listed there */
	return !find_access_slot(&a->urls, ret_url, strlen(ret_url))->target;
}

static bool may_name(const struct access *a, const struct client *who)
{
	const struct config *c = a->c;

	for (size_t i = 0; i < c->named_count; i++) {
		const struct config_client *n = &c->named[i];

		if (who->has_addr ? !n->node && netrange_has(&n->range, &who->addr)
				  : n->node && strcmp(n->node, who->node) == 0)
			return true;
	}
	return false;
}

static enum access_verdict choose_target(const struct access *a,
					 const struct access_facts *f,
					 const struct client *who,
					 struct access_decision *ret)
{
	char named[URL_BYTES_MAX];
	bool own = own_target(a, who, &ret->target, ret->url);

	/* it gets its own BMC, whatever it calls that */
	if (own && a->c->ignore_redfish_url && !may_name(a, who))
		return ACCESS_GRANTED;
	if (f->redfish_urls > 1)
		return ACCESS_BAD_HEADER;
	if (f->redfish_urls == 0 || !*f->redfish_url)
		return own ? ACCESS_GRANTED : ACCESS_NO_TARGET;
	if (url_clean(f->redfish_url, named) < 0)
		return ACCESS_BAD_HEADER;
	if (own && strcmp(named, ret->url) == 0)
		return ACCESS_GRANTED;
	ret->target = find_access_slot(&a->urls, named, strlen(named))->target;
	if (!may_name(a, who) || !ret->target)
		return ACCESS_OTHER_TARGET;
	memcpy(ret->url, named, strlen(named) + 1);
	return ACCESS_GRANTED;
}

/* For the log: the identified client, else its address. */
static void say_who(const struct access_facts *f, const struct client *who, char *ret,
		    size_t size)
{
	char text[NETADDR_TEXT_MAX] = "?";

	if (*who->node) {
		snprintf(ret, size, "%.100s", who->node);
		return;
	}
	if (who->has_addr || f->has_peer)
		netaddr_text(who->has_addr ? &who->addr : &f->peer, text);
	snprintf(ret, size, "%s", text);
}

void access_decide(const struct access *a, const struct access_facts *f,
		   struct access_decision *ret)
{
	struct client who = {0};

	*ret = (struct access_decision){.verdict = ACCESS_UNIDENTIFIED};
	enum access_verdict id = identify_client(a, f, &who);
	if (id != ACCESS_GRANTED)
		who = (struct client){0}; /* its own claims do not count */
	say_who(f, &who, ret->who, sizeof(ret->who));
	bool clean = path_clean(f->target, ret->path) == 0;
	if (!clean)
		ret->path[0] = '\0';
	if (id != ACCESS_GRANTED) /* who is not known learns nothing of paths */
		ret->verdict = id;
	else if (!clean)
		ret->verdict = ACCESS_BAD_PATH;
	else if (!path_allowed(&a->c->allow, ret->path))
		ret->verdict = ACCESS_PATH;
	else
		ret->verdict = choose_target(a, f, &who, ret);
	if (ret->verdict == ACCESS_GRANTED)
		return;
	ret->target = NULL;
	ret->url[0] = '\0';
}

static const struct {
	unsigned status;
	const char *reason;
} verdicts[ACCESS_VERDICTS] = {
	[ACCESS_GRANTED] = {200, "granted"},
	[ACCESS_BAD_PATH] = {400, "bad_path"},
	[ACCESS_PATH] = {403, "path_not_allowed"},
	[ACCESS_BAD_HEADER] = {400, "bad_header"},
	[ACCESS_UNIDENTIFIED] = {401, "unidentified"},
	[ACCESS_BAD_CREDENTIAL] = {401, "bad_credential"},
	[ACCESS_NO_TARGET] = {403, "no_target"},
	[ACCESS_OTHER_TARGET] = {403, "other_target"},
};

unsigned access_status(enum access_verdict v)
{
	return verdicts[v].status;
}

const char *access_reason(enum access_verdict v)
{
	return verdicts[v].reason;
}
