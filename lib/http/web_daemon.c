/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP library's daemons: one per address, on the library's threads, or one per
 * address and loop of the program, which runs them. */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/http/listen.h"
#include "lib/http/web_impl.h"

#define THREADS 2              /* none of them ever blocks */
#define CONNECTION_BYTES 16384 /* of request line and headers together */
#define CONNECTIONS_SPARE 24   /* beyond max_requests: for a 503, and /health */
#define CONNECTIONS_MAX 1024
#define CONNECTIONS_ENDING 64 /* were closed for others and are not gone yet */
#define FILES_OTHERS 512      /* of the program, besides connections */
#define TICK_MS 1000          /* the library looks for silent connections */
#define NAPS_MAX 256          /* each is checked whenever the library runs */
#define NAP_MS 20
#define RUNS_MAX 100 /* without any progress: then it is stuck */
#define RUNS_STUCK 3 /* and then, after each event */
#define STUCK_MS 10

#if MHD_VERSION < 0x00097002
#error "libmicrohttpd 0.9.75 or newer is needed"
#endif

/* target_path() decodes percent-escapes; nothing else uses arguments. */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *s)
{
	(void)cls;
	(void)connection;
	return strlen(s);
}

/* Never used: each session gets its own credentials when it begins, but the library
 * must know at its start where certificates come from. */
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *names,
			  int name_count, const gnutls_pk_algorithm_t *algorithms,
			  int algorithm_count, gnutls_pcert_st **certs, unsigned *count,
			  gnutls_privkey_t *key)
{
	(void)session;
	(void)names;
	(void)name_count;
	(void)algorithms;
	(void)algorithm_count;
	(void)certs;
	(void)count;
	(void)key;
	return -1;
}

size_t web_connections_most(const struct web *w, const struct web_params *p)
{
	size_t loops = p->loop_count ? p->loop_count : 1;

	if (w->max_connections)
		return w->max_connections * loops;
	return loops * (w->max_requests ? w->max_requests + CONNECTIONS_SPARE
					: CONNECTIONS_MAX);
}

/* Takes *fd. */
static int start_daemon(struct web_daemon *d, int *fd, bool tls, unsigned threads,
			struct err *err)
{
	struct web *w = d->w;
	unsigned flags = (d->loop ? MHD_USE_EPOLL | MHD_USE_TURBO
				  : MHD_USE_EPOLL_INTERNAL_THREAD) |
			 MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0);
	/* web_conns_admit() decides; each of the library's threads gets a part of
	 * this */
	size_t limit =
		(w->connections_most + CONNECTIONS_ENDING) * (threads ? threads : 1);
	unsigned keep_s = (unsigned)(KEEP_TIMES * w->header_ms / 1000 + 5);
	/* the library must not be told a pool of 0 threads; the TLS callback comes last
	 * so that it can be omitted */
	struct MHD_OptionItem options[] = {
		{MHD_OPTION_LISTEN_SOCKET, *fd, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limit, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)keep_s, NULL},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)web_on_connection, d},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)web_on_completed, d},
		{MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)web_on_uri, d},
		{MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)keep_escapes, d},
		{d->loop ? MHD_OPTION_SIGPIPE_HANDLED_BY_APP
			 : MHD_OPTION_THREAD_POOL_SIZE,
		 d->loop ? 1 : (intptr_t)threads, NULL},
#if MHD_VERSION >= 0x00097701
		/* older ones: see web_head_wrong() */
		{MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1, NULL},
#endif
		{tls ? MHD_OPTION_HTTPS_CERT_CALLBACK : MHD_OPTION_END, 0,
		 (void *)no_certificate},
		{MHD_OPTION_END, 0, NULL},
	};

	errno = 0;
	d->mhd = MHD_start_daemon(flags, 0, web_on_accept, d, web_on_request, d,
				  MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!d->mhd)
		return err_set(err, errno ? -errno : -EIO,
			       "web: the HTTP server cannot be started on port %u%s%s",
			       w->ports[d->listener], errno ? ": " : "",
			       errno ? strerror(errno) : "");
	*fd = -1; /* now owned by the library */
	return 0;
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
	struct web_daemon *d =
		(struct web_daemon *)((char *)watch -
				      offsetof(struct web_daemon, watch));

	(void)events;
	d->ready = true;
	d->runs = 0;
}

static void on_task(struct loop_task *task)
{
	struct web_daemon *d =
		(struct web_daemon *)((char *)task - offsetof(struct web_daemon, task));

	d->ready = true;
	d->runs = 0;
}

void web_daemon_wake(struct web_daemon *d)
{
	if (!d->loop)
		return; /* the library has woken its own thread */
	if (loop_inside(d->loop))
		d->ready = true;
	else
		loop_post(d->loop, &d->task);
}

void web_nap(struct web_request *r)
{
	struct web_daemon *d = r->daemon;

	if (!d->loop || d->tls || d->naps >= NAPS_MAX) {
		web_sleep(r);
		return;
	}
	r->result = MHD_YES;
	r->slept = r->naps = true;
	r->nap_ends_ms = loop_now_ms(d->loop) + NAP_MS;
	d->naps++;
}

void web_nap_end(struct web_request *r)
{
	if (!r->naps)
		return;
	r->naps = false;
	r->daemon->naps--;
}

/* Whether the library has something to do at once: unfinished work, and requests woken
 * by handlers. It tells so itself, but not while a request naps: then it expects to be
 * run again and again. */
static bool has_more(struct web_daemon *d)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (d->naps)
		return d->again;
	if (MHD_get_timeout(d->mhd, &ms) != MHD_YES || ms != 0) {
		d->runs = 0;
		d->stuck = false;
		return false;
	}
	/* a chunk extension that fills its request's memory blocks the library (0.9.75)
	 * until CHUNK_PAUSE_S is over; on its own threads it answers 500 at once */
	d->runs = d->again ? 0 : d->runs + 1;
	d->stuck |= d->runs >= RUNS_MAX;
	return d->runs < (d->stuck ? RUNS_STUCK : RUNS_MAX);
}

/* How long it may be left alone if nothing happens. */
static int idle_pause_ms(const struct web_daemon *d)
{
	return d->naps ? NAP_MS : d->stuck ? STUCK_MS : TICK_MS;
}

static void quiesce_daemon(struct web_daemon *d)
{
	int fd = d->quiet ? -1 : MHD_quiesce_daemon(d->mhd);

	d->quiet = true;
	if (fd >= 0)
		close(fd);
}

static int run_daemons(struct loop_hook *hook)
{
	struct web_loop *l =
		(struct web_loop *)((char *)hook - offsetof(struct web_loop, hook));
	uint64_t now = loop_now_ms(l->loop);
	int wait = TICK_MS;

	for (size_t i = 0; i < l->count; i++) {
		struct web_daemon *d = l->daemons[i];
		if (atomic_load(&l->w->closing))
			quiesce_daemon(d);
		if (d->ready || now - d->ran_ms >= (uint64_t)idle_pause_ms(d)) {
			d->ran_ms = now;
			d->again = false;
			MHD_run(d->mhd);
			d->ready = has_more(d);
		}
		if (wait > idle_pause_ms(d))
			wait = idle_pause_ms(d);
		if (d->ready)
			wait = 0;
	}
	return wait;
}

static int start_on_loop(struct web_loop *l, struct web_daemon *d, int listenfd,
			 bool tls, struct err *err)
{
	int fd = fcntl(listenfd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return err_set(err, -errno, "web: listening socket: %s",
			       strerror(errno));
	d->loop = l->loop;
	d->tls = tls;
	d->watch.ready = on_ready;
	d->task.run = on_task;
	int rc = start_daemon(d, &fd, tls, 0, err);
	if (rc < 0) {
		if (fd >= 0)
			close(fd);
		return rc;
	}
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(d->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	rc = info ? loop_watch(l->loop, info->epoll_fd, EPOLLIN, &d->watch) : -ENOTSUP;
	if (rc < 0)
		return err_set(err, rc, "web: watch connections: %s", strerror(-rc));
	l->daemons[l->count++] = d;
	return 0;
}

static int start_loops(struct web *w, int *fds, bool tls, const struct web_params *p,
		       struct err *err)
{
	int rc = 0;

	w->loops = calloc(p->loop_count, sizeof(*w->loops));
	if (!w->loops)
		return err_set(err, -ENOMEM, "web: out of memory");
	w->loop_count = p->loop_count;
	for (size_t i = 0; rc == 0 && i < w->loop_count; i++) {
		struct web_loop *l = &w->loops[i];
		l->w = w;
		l->loop = p->loops[i];
		l->hook.run = run_daemons;
		for (size_t k = 0; rc == 0 && k < w->count; k++) {
			struct web_daemon *d = &w->daemons[w->daemon_count++];
			d->w = w;
			d->listener = k;
			rc = start_on_loop(l, d, fds[k], tls, err);
		}
		loop_add_hook(l->loop, &l->hook);
	}
	return rc;
}

int web_daemons_start(struct web *w, int *fds, size_t count, bool tls,
		      const struct web_params *p, struct err *err)
{
	size_t daemons = count * (p->loop_count ? p->loop_count : 1);
	int rc = 0;

	w->connections_most = web_connections_most(w, p);
	listen_files(count * (w->connections_most + CONNECTIONS_ENDING) + FILES_OTHERS);
	w->daemons = calloc(daemons, sizeof(*w->daemons));
	if (!w->daemons)
		return err_set(err, -ENOMEM, "web: out of memory");
	for (size_t i = 0; i < count; i++)
		w->ports[i] = listen_port(fds[i]);
	w->count = count;
	if (p->loop_count)
		return start_loops(w, fds, tls, p, err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct web_daemon *d = &w->daemons[w->daemon_count++];
		d->w = w;
		d->listener = i;
		rc = start_daemon(d, &fds[i], tls, count > 1 ? THREADS / 2 : THREADS,
				  err);
	}
	return rc;
}

void web_daemons_quiesce(struct web *w)
{
	for (size_t i = 0; i < w->daemon_count; i++) {
		if (w->daemons[i].mhd)
			quiesce_daemon(&w->daemons[i]);
	}
}

void web_quiesce(struct web *w)
{
	atomic_store(&w->closing, true);
	for (size_t i = 0; i < w->loop_count; i++) {
		for (size_t k = 0; k < w->loops[i].count; k++)
			loop_post(w->loops[i].loop, &w->loops[i].daemons[k]->task);
	}
}

void web_daemons_stop(struct web *w)
{
	for (size_t i = 0; i < w->daemon_count; i++) {
		struct web_daemon *d = &w->daemons[i];
		if (d->mhd)
			MHD_stop_daemon(d->mhd);
		while (d->spare) {
			struct web_request *r = d->spare;
			d->spare = r->next;
			free(r);
		}
	}
	free(w->daemons);
	free(w->loops);
}
