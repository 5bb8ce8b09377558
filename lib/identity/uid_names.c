/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logins of numbers, so that a slow name service does not hold up those who need it
 * not: a table by number, in which a collision only means to ask again. */
#include "lib/identity/uid_names.h"

#include <errno.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"

#define SLOTS 256u

struct uid_slot {
	uint32_t uid;
	uint64_t answered_ns; /* CLOCK_BOOTTIME; 0: empty */
	char login[UID_NAMES_LOGIN_BYTES];
};

struct uid_names {
	pthread_mutex_t mutex;
	unsigned asking;
	struct uid_slot slots[SLOTS];
};

struct uid_names *uid_names_new(void)
{
	struct uid_names *n = calloc(1, sizeof(*n));

	if (n)
		pthread_mutex_init(&n->mutex, NULL);
	return n;
}

void uid_names_free(struct uid_names *n)
{
	if (!n)
		return;
	pthread_mutex_destroy(&n->mutex);
	free(n);
}

/* "": none. A longer login than there is room for is none. */
static int ask_for_login(uint32_t uid, char ret[UID_NAMES_LOGIN_BYTES])
{
	struct passwd pw, *found = NULL;
	size_t size = 16384;
	int rc = ERANGE;

	ret[0] = '\0';
	for (int i = 0; i < 6 && rc == ERANGE; i++, size *= 4) {
		auto_free char *text = malloc(size);
		if (!text)
			return -ENOMEM;
		rc = getpwuid_r(uid, &pw, text, size, &found);
		if (rc == 0 && found && strlen(pw.pw_name) < UID_NAMES_LOGIN_BYTES)
			memcpy(ret, pw.pw_name, strlen(pw.pw_name) + 1);
	}
	/* getpwnam(3): these errors mean that there is none */
	return rc == 0 || rc == ENOENT || rc == ESRCH || rc == EBADF || rc == EPERM
		       ? 0
		       : -EHOSTDOWN;
}

/* Whether the table has an answer of at most that age. The mutex is held. */
static bool take_known(const struct uid_names *n, uint32_t uid, uint64_t age_s,
		       char ret[UID_NAMES_LOGIN_BYTES])
{
	const struct uid_slot *s = &n->slots[uid % SLOTS];

	if (!s->answered_ns || s->uid != uid ||
	    clock_boottime_ns() - s->answered_ns > age_s * NSEC_PER_SEC)
		return false;
	memcpy(ret, s->login, sizeof(s->login));
	return true;
}

static void keep_answer(struct uid_names *n, uint32_t uid, const char *login)
{
	struct uid_slot *s = &n->slots[uid % SLOTS];

	s->uid = uid;
	s->answered_ns = clock_boottime_ns();
	memcpy(s->login, login, strlen(login) + 1);
}

int uid_names_get(struct uid_names *n, uint32_t uid, char ret[UID_NAMES_LOGIN_BYTES],
		  struct err *err)
{
	char login[UID_NAMES_LOGIN_BYTES];

	pthread_mutex_lock(&n->mutex);
	bool known = take_known(n, uid, UID_NAMES_KEPT_S, ret);
	bool may_ask = !known && n->asking < UID_NAMES_ASKING_MAX;
	if (!known && !may_ask)
		known = take_known(n, uid, UID_NAMES_STALE_S, ret);
	n->asking += may_ask;
	pthread_mutex_unlock(&n->mutex);
	if (known)
		return 0;
	if (!may_ask)
		return err_set(err, -EHOSTDOWN,
			       "the user database is slow: try again in a few seconds");

	int rc = ask_for_login(uid, login);
	pthread_mutex_lock(&n->mutex);
	n->asking--;
	if (rc == 0)
		keep_answer(n, uid, login);
	else if (rc == -EHOSTDOWN && take_known(n, uid, UID_NAMES_STALE_S, login))
		rc = 0;
	pthread_mutex_unlock(&n->mutex);
	if (rc == -ENOMEM)
		return err_set(err, rc, "out of memory");
	if (rc < 0)
		return err_set(err, rc, "the user database does not answer");
	memcpy(ret, login, strlen(login) + 1);
	return 0;
}
