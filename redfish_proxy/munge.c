/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Credentials are decoded one after the other: the daemon is local and quick, and when
 * it is not there it is better to be refused late than to have many threads wait. */
#include "redfish_proxy/munge.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_MUNGE
#include <munge.h>
#endif

#include "lib/http/redfish_munge.h"
#include "redfish_proxy/url.h"

#define TTL_S 60 /* of a credential, whatever its maker allows */

struct munge {
	char *socket;
	pthread_mutex_t mutex;
	pthread_cond_t more;
	pthread_t thread;
	bool has_thread, stopping;
	struct munge_job *first, **last;
	unsigned waiting;
};

bool munge_payload(const char *payload, size_t len, char ret_node[256])
{
	size_t n = strlen(REDFISH_MUNGE_PAYLOAD);

	if (len <= n || len - n > 255 || memcmp(payload, REDFISH_MUNGE_PAYLOAD, n) != 0)
		return false;
	memcpy(ret_node, payload + n, len - n);
	ret_node[len - n] = '\0';
	return strlen(ret_node) == len - n && url_is_host(ret_node);
}

#ifdef HAVE_MUNGE
static void take(munge_ctx_t ctx, const char *payload, int len, uid_t uid,
		 struct munge_facts *ret)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};

	ret->good =
		payload && len > 0 && munge_payload(payload, (size_t)len, ret->node) &&
		munge_ctx_get(ctx, MUNGE_OPT_ADDR4, &sin.sin_addr) == EMUNGE_SUCCESS &&
		netaddr_from((struct sockaddr *)&sin, &ret->origin) == 0;
	ret->uid = uid;
}

static void decode(const struct munge *m, struct munge_job *j)
{
	munge_ctx_t ctx = munge_ctx_create();
	void *payload = NULL;
	int len = 0;
	time_t encode_time = 0, now = 0;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;

	if (!ctx)
		return;
	if (!m->socket ||
	    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, m->socket) == EMUNGE_SUCCESS) {
		munge_err_t rc =
			munge_decode(j->credential, ctx, &payload, &len, &uid, &gid);
		if (rc == EMUNGE_SUCCESS &&
		    munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &encode_time) ==
			    EMUNGE_SUCCESS &&
		    munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &now) == EMUNGE_SUCCESS &&
		    now - encode_time <= TTL_S)
			take(ctx, payload, len, uid, &j->facts);
	}
	free(payload);
	munge_ctx_destroy(ctx);
}
#else
static void decode(const struct munge *m, struct munge_job *j)
{
	(void)m;
	j->facts.good = false;
}
#endif

static void *work(void *arg)
{
	struct munge *m = arg;

	pthread_mutex_lock(&m->mutex);
	for (;;) {
		while (!m->first && !m->stopping)
			pthread_cond_wait(&m->more, &m->mutex);
		struct munge_job *j = m->first;
		if (!j)
			break;
		m->first = j->next;
		if (!m->first)
			m->last = &m->first;
		m->waiting--;
		bool stopping = m->stopping;
		pthread_mutex_unlock(&m->mutex);
		j->facts = (struct munge_facts){.good = false};
		if (!stopping)
			decode(m, j);
		j->done(j->arg);
		pthread_mutex_lock(&m->mutex);
	}
	pthread_mutex_unlock(&m->mutex);
	return NULL;
}

int munge_new(const char *socket, struct munge **ret, struct err *err)
{
	struct munge *m = calloc(1, sizeof(*m));

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->last = &m->first;
	pthread_mutex_init(&m->mutex, NULL);
	pthread_cond_init(&m->more, NULL);
	int rc = 0;
	if (socket) {
		m->socket = strdup(socket);
		rc = m->socket ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = -pthread_create(&m->thread, NULL, work, m);
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
	int rc = 0;

	pthread_mutex_lock(&m->mutex);
	if (m->stopping || m->waiting >= MUNGE_QUEUE_MAX)
		rc = -EBUSY;
	if (rc == 0) {
		j->next = NULL;
		*m->last = j;
		m->last = &j->next;
		m->waiting++;
		pthread_cond_signal(&m->more);
	}
	pthread_mutex_unlock(&m->mutex);
	return rc;
}
