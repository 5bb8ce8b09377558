/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The headers by which somebody says who asks, and what the MUNGE daemon says of a
 * credential: a first line of switches, then a line each for the target, Authorization,
 * two headers that name a user, a token, a certificate's name and the payload. Whatever
 * they are, nobody becomes a user whom nothing proves. */
#include "lib/identity/identity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/identity/munge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MUNGE_GOOD = 1,
	MUNGE_LB = 2, /* of the login that is listed as a front end */
	PASSWORD_LB = 4,
	PASSWORD_OTHER = 8,
	CERTIFICATE_NAME = 16,
	TWICE = 32, /* Authorization */
	HEADER = 64,
	PEER_FAR = 128,
};
#define FIELDS 7

static char *field[FIELDS];
static unsigned flags;

/* In place of the daemon: lib/identity/munge.c is not linked. */
int munge_read(const char *socket, const char *credential, struct munge_facts *ret,
	       struct err *err)
{
	(void)socket;
	if (!credential)
		abort();
	*ret = (struct munge_facts){.rc = 0, .uid = flags & MUNGE_LB ? 1 : 0};
	if (!(flags & MUNGE_GOOD))
		return ret->rc = err_set(err, -EACCES, "munge: forged");
	buf_init(&ret->payload, MUNGE_PAYLOAD_MAX);
	buf_puts(&ret->payload, field[6]);
	return 0;
}

int munge_write(const char *socket, const char *payload, size_t len, struct buf *ret,
		struct err *err)
{
	(void)socket;
	(void)payload;
	(void)len;
	(void)ret;
	return err_set(err, -ENOTSUP, "nobody asks here");
}

void munge_facts_done(struct munge_facts *f)
{
	buf_done(&f->payload);
}

static struct identity *make(void)
{
	static const char *const fronts[] = {"certificate:grafana", "password:lb",
					     "munge:daemon"};
	static const char *const near[] = {"10.0.0.0/8"};
	static const char *const headers[] = {"X-Grafana-User", "X-Auth-Request-User"};
	static const char *const hosts[] = {"agg"};
	const struct identity_params p = {.munge = true,
					  .munge_hosts = hosts,
					  .munge_host_count = 1,
					  .munge_unbound = true,
					  .certificate = CERTIFICATE_CN,
					  .front_ends = fronts,
					  .front_end_count = 3,
					  .front_end_addresses = near,
					  .front_end_address_count = 1,
					  .user_headers = headers,
					  .user_header_count = 2};
	struct identity *id = NULL;
	struct err err;

	if (identity_new(&p, &id, &err) < 0)
		abort();
	return id;
}

static bool is_for_this(const struct identity_facts *f)
{
	size_t n = strlen(IDENTITY_MUNGE_PAYLOAD), m = strlen(f->method);
	const char *p = field[6];

	if (strncmp(p, MUNGE_REQUEST_WORD, n = strlen(MUNGE_REQUEST_WORD)) == 0) {
		const char *place = p + n + m + 1, *target = strchr(place, ' ');
		size_t t = strlen(f->target);
		return f->authorizations == 1 && strncmp(p + n, f->method, m) == 0 &&
		       target && strncmp(target + 1, f->target, t) == 0 &&
		       strlen(target + 1 + t) == 65;
	}
	n = strlen(IDENTITY_MUNGE_PAYLOAD);
	return f->authorizations == 1 && strncmp(p, IDENTITY_MUNGE_PAYLOAD, n) == 0 &&
	       strncmp(p + n, f->method, m) == 0 && p[n + m] == ' ' &&
	       strcmp(p + n + m + 1, f->target) == 0;
}

static bool is_named(const struct identity_facts *f, const char *login)
{
	return f->user[0].count + f->user[1].count == 1 &&
	       strcmp(f->user[f->user[1].count].first, login) == 0;
}

static void look(const struct identity_facts *f, const struct identity_who *who)
{
	bool claims = f->user[0].count || f->user[1].count;

	if (who->login[0] && !identity_is_login(who->login))
		abort();
	switch (who->way) {
	case WAY_MUNGE:
		if (!(flags & MUNGE_GOOD) || !is_for_this(f) || claims || !who->has_uid)
			abort();
		break;
	case WAY_CERTIFICATE:
		if (!f->name_count || claims || strcmp(who->login, field[5]) != 0)
			abort();
		break;
	case WAY_FRONT_END:
		if (flags & PEER_FAR || !is_named(f, who->login) || !who->front[0])
			abort();
		if (strcmp(who->front, "munge:daemon") == 0 &&
		    ((flags & (MUNGE_GOOD | MUNGE_LB)) != (MUNGE_GOOD | MUNGE_LB) ||
		     !is_for_this(f)))
			abort();
		if (strcmp(who->front, "password:lb") == 0 && !(flags & PASSWORD_LB))
			abort();
		if (strcmp(who->front, "certificate:grafana") == 0 &&
		    (!f->name_count || strcmp(field[5], "grafana") != 0))
			abort();
		break;
	default:
		abort(); /* no keys: no token is good */
	}
}

static void ask(const struct identity *id)
{
	struct identity_facts f = {.method = "GET", .target = field[0]};
	struct identity_who who = {.login = "untouched"};
	struct err err = {""};

	f.has_peer = netaddr_parse(flags & PEER_FAR ? "192.0.2.1" : "10.1.2.3",
				   &f.peer) == 0;
	f.authorization = *field[1] ? field[1] : NULL;
	f.authorizations = f.authorization ? flags & TWICE ? 2 : 1 : 0;
	for (unsigned i = 0; i < 2; i++) {
		f.user[i].first = flags & HEADER && *field[2 + i] ? field[2 + i] : NULL;
		f.user[i].count = f.user[i].first != NULL;
	}
	f.token = *field[4] ? field[4] : NULL;
	f.tokens = f.token != NULL;
	if (flags & PASSWORD_LB)
		f.password_user = "lb";
	else if (flags & PASSWORD_OTHER)
		f.password_user = "other";
	if (flags & CERTIFICATE_NAME && *field[5])
		f.names[f.name_count++] =
			(struct identity_name){CERTIFICATE_CN, field[5]};
	(void)identity_waits(id, &f);
	int rc = identity_prove((struct identity *)(uintptr_t)id, &f, &who, &err);
	if (rc == 0) {
		look(&f, &who);
		return;
	}
	if ((rc != -EACCES && rc != -EPERM && rc != -EINVAL && rc != -EHOSTDOWN) ||
	    !*err.text || strcmp(who.login, "untouched") != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct identity *id;

	if (!size)
		return 0;
	if (!id)
		id = make();
	char *copy = strndup((const char *)data + 1, size - 1), *rest = copy;
	static char none[1];
	if (!copy)
		return 0;
	flags = data[0];
	for (size_t i = 0; i < FIELDS; i++) {
		char *line = rest ? strsep(&rest, "\n") : NULL;
		field[i] = line ? line : none;
	}
	ask(id);
	free(copy);
	return 0;
}
