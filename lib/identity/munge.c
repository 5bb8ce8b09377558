/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Credentials are decoded one at a time: the daemon is local and fast, and if it is not
 * running it is better to refuse late than to block many threads. */
#include "lib/identity/munge.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/identity/munge_request.h"
#include "lib/own_host.h"
#include "lib/wait.h"

#ifdef HAVE_MUNGE
#include <munge.h>
#endif

/* Limit of what a bad credential is charged: the daemon may have been slow. */
#define TOOK_MAX_NS (20 * NSEC_PER_MSEC)

struct munge {
	char *socket;
	pthread_mutex_t mutex;
	pthread_cond_t more;
	pthread_t thread;
	bool has_thread, stopping;
	struct turns turns; /* waiting jobs */
};

void munge_facts_done(struct munge_facts *f)
{
	buf_done(&f->payload);
}

#ifdef HAVE_MUNGE
static int open_context(const char *socket, munge_ctx_t *ret, struct err *err)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (!ctx)
		return err_set(err, -ENOMEM, "munge: out of memory");
	if (socket && munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) {
		munge_ctx_destroy(ctx);
		return err_set(err, -EINVAL, "munge: bad socket name");
	}
	*ret = ctx;
	return 0;
}

/* Failures of ours or of the daemon, not of the credential. */
static bool is_failure(munge_err_t e)
{
	return e == EMUNGE_SOCKET || e == EMUNGE_TIMEOUT || e == EMUNGE_SNAFU ||
	       e == EMUNGE_NO_MEMORY;
}

static int take_credential(munge_ctx_t ctx, const void *payload, int len,
			   struct munge_facts *ret, struct err *err)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};
	time_t encode_time = 0, now = 0;

	if (len < 0 || len > MUNGE_PAYLOAD_MAX ||
	    munge_ctx_get(ctx, MUNGE_OPT_ADDR4, &sin.sin_addr) != EMUNGE_SUCCESS ||
	    netaddr_from((struct sockaddr *)&sin, &ret->origin) < 0 ||
	    munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &encode_time) != EMUNGE_SUCCESS ||
	    munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &now) != EMUNGE_SUCCESS)
		return err_set(err, -EACCES,
			       "munge: not a valid credential of this site");
	if (now - encode_time > MUNGE_TTL_S)
		return err_set(err, -EACCES, "munge: Expired credential");
	if (len)
		buf_put(&ret->payload, payload, (size_t)len);
	else
		buf_puts(&ret->payload, "");
	return buf_error(&ret->payload);
}

int munge_read(const char *socket, const char *credential, struct munge_facts *ret,
	       struct err *err)
{
	munge_ctx_t ctx;
	void *payload = NULL;
	int len = 0;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	char host[256];

	*ret = (struct munge_facts){.rc = -EACCES};
	if (strlen(credential) > MUNGE_CREDENTIAL_MAX)
		return err_set(err, -EACCES, "munge: the credential is too long");
	ret->rc = open_context(socket, &ctx, err);
	if (ret->rc < 0)
		return ret->rc;
	munge_err_t e = munge_decode(credential, ctx, &payload, &len, &uid, &gid);
	if (e != EMUNGE_SUCCESS)
		ret->rc = err_set(err, is_failure(e) ? -EHOSTDOWN : -EACCES,
				  "munge: %s", munge_strerror(e));
	else
		ret->rc = take_credential(ctx, payload, len, ret, err);
	/* blocking is allowed here, but not in the comparison */
	if (ret->rc == 0 && munge_request_host(ret, host, sizeof(host)))
		own_host_learn_name(host);
	ret->uid = uid;
	ret->gid = gid;
	free(payload); /* may be set even for a replayed credential */
	munge_ctx_destroy(ctx);
	return ret->rc;
}

int munge_write(const char *socket, const char *payload, size_t len, struct buf *ret,
		struct err *err)
{
	munge_ctx_t ctx;
	char *credential = NULL;
	int rc = open_context(socket, &ctx, err);

	if (rc < 0)
		return rc;
	munge_err_t e = munge_ctx_set(ctx, MUNGE_OPT_TTL, MUNGE_TTL_S);
	if (e == EMUNGE_SUCCESS)
		e = munge_encode(&credential, ctx, payload, (int)len);
	if (e == EMUNGE_SUCCESS)
		buf_puts(ret, credential);
	else
		rc = err_set(err, -EHOSTDOWN, "munge: %s", munge_strerror(e));
	free(credential);
	munge_ctx_destroy(ctx);
	return rc ? rc : buf_error(ret);
}
#else
int munge_read(const char *socket, const char *credential, struct munge_facts *ret,
	       struct err *err)
{
	(void)socket;
	(void)credential;
	*ret = (struct munge_facts){.rc = -ENOTSUP};
	return err_set(err, -ENOTSUP, "munge: built without libmunge");
}

int munge_write(const char *socket, const char *payload, size_t len, struct buf *ret,
		struct err *err)
{
	(void)socket;
	(void)payload;
	(void)len;
	(void)ret;
	return err_set(err, -ENOTSUP, "munge: built without libmunge");
}
#endif

/* Mutex not held. Returns whether to charge it: failures of the daemon are nobody's
 * fault. */
static bool decode_job(const struct munge *m, struct munge_job *j)
{
	return munge_read(m->socket, j->credential, &j->facts, &j->why) == -EACCES;
}

/* Mutex held. */
static void run_munge_job(struct munge *m, struct munge_job *j)
{
	bool stopping = m->stopping, bad = false;
	uint64_t key = j->key, began_ns = clock_read_ns(CLOCK_MONOTONIC);

	pthread_mutex_unlock(&m->mutex);
	j->facts = (struct munge_facts){.rc = -EHOSTDOWN};
	if (stopping)
		(void)err_set(&j->why, -EHOSTDOWN, "this server is stopping");
	else
		bad = decode_job(m, j);
	j->done(j->arg);
	pthread_mutex_lock(&m->mutex);
	uint64_t now_ns = clock_read_ns(CLOCK_MONOTONIC);
	if (bad)
		turns_charge(&m->turns, key, now_ns - began_ns, now_ns);
}

static void *munge_thread(void *arg)
{
	struct munge *m = arg;

	pthread_mutex_lock(&m->mutex);
	for (;;) {
		uint64_t now_ns =
			m->stopping ? UINT64_MAX : clock_read_ns(CLOCK_MONOTONIC);
		uint64_t at_ns;
		struct fair_item *i = turns_pop(&m->turns, now_ns, &at_ns);
		if (i)
			run_munge_job(m, (struct munge_job *)i);
		else if (m->stopping)
			break;
		else
			wait_until(&m->more, &m->mutex, at_ns);
	}
	pthread_mutex_unlock(&m->mutex);
	return NULL;
}

int munge_new(const char *socket, struct munge **ret, struct err *err)
{
	struct munge *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	turns_init(&m->turns, MUNGE_QUEUE_MAX, MUNGE_LANE_MAX, TOOK_MAX_NS);
	pthread_mutex_init(&m->mutex, NULL);
	wait_cond_init(&m->more);
	int rc = 0;
	if (socket) {
		m->socket = strdup(socket);
		rc = m->socket ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = -pthread_create(&m->thread, NULL, munge_thread, m);
	if (rc < 0) {
		munge_free(m);
		return err_set(err, rc, "munge: start thread: %s", strerror(-rc));
	}
	m->has_thread = true;
	*ret = m;
	return 0;
}

void munge_stop(struct munge *m)
{
	pthread_mutex_lock(&m->mutex);
	m->stopping = true;
	pthread_cond_broadcast(&m->more);
	pthread_mutex_unlock(&m->mutex);
	if (m->has_thread)
		pthread_join(m->thread, NULL);
	m->has_thread = false;
}

void munge_free(struct munge *m)
{
	if (!m)
		return;
	munge_stop(m);
	pthread_cond_destroy(&m->more);
	pthread_mutex_destroy(&m->mutex);
	free(m->socket);
	free(m);
}

int munge_submit(struct munge *m, struct munge_job *j)
{
	pthread_mutex_lock(&m->mutex);
	int rc = m->stopping ? -EBUSY
			     : turns_push(&m->turns, &j->item, j->key,
					  clock_read_ns(CLOCK_MONOTONIC));
	if (rc == 0)
		pthread_cond_signal(&m->more);
	pthread_mutex_unlock(&m->mutex);
	return rc;
}
