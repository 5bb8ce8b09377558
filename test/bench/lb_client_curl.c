/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test/bench/lb_client.c with libcurl's multi interface, driven as well as it can be:
 * multi_socket on an epoll of its own, handles used again, and epoll told of what
 * libcurl wants once for each batch of events and only where that has changed, so that
 * a connection that is used again costs no epoll_ctl(). A sink that is full pauses its
 * transfer. */
#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lib/clock.h"
#include "test/bench/lb_client.h"

#define FDS 1024
#define BATCH 256
#define SINK (1ull << 32)        /* in an event's data: the number of a slot */
#define BUFFER_LARGE (128 << 10) /* what ours reads at once */

struct curl_slot {
	struct relay_slot *s;
	CURL *easy;
	size_t partly; /* passed on of what libcurl will show again */
	bool paused;
	char type[128], encoding[32];
};

static struct curl_relay {
	struct relay_run *run;
	CURLM *multi;
	int epfd;
	uint64_t due_ms; /* UINT64_MAX: no timer */
	struct {
		uint32_t wanted, set; /* epoll's bits */
		bool listed;
	} fd[FDS];
	int changed[FDS];
	size_t changes;
	struct curl_slot slots[SLOTS];
} curl;

static uint64_t read_curl_clock_ms(void)
{
	return clock_read_ns(CLOCK_MONOTONIC) / NSEC_PER_MSEC;
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *arg2)
{
	(void)easy;
	(void)arg;
	(void)arg2;
	if (fd >= FDS)
		return -1;
	curl.fd[fd].wanted = what == CURL_POLL_IN      ? EPOLLIN
			     : what == CURL_POLL_OUT   ? EPOLLOUT
			     : what == CURL_POLL_INOUT ? EPOLLIN | EPOLLOUT
						       : 0;
	if (!curl.fd[fd].listed)
		curl.changed[curl.changes++] = (int)fd;
	curl.fd[fd].listed = true;
	return 0;
}

static int close_curl_socket(void *arg, curl_socket_t fd)
{
	(void)arg;
	if (fd < FDS)
		curl.fd[fd].set = 0;
	return close(fd);
}

static int on_curl_timer(CURLM *multi, long ms, void *arg)
{
	(void)multi;
	(void)arg;
	curl.due_ms = ms < 0 ? UINT64_MAX : read_curl_clock_ms() + (uint64_t)ms;
	return 0;
}

static void set_curl_events(int fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.u64 = (uint64_t)fd};
	uint32_t set = curl.fd[fd].set;

	(void)epoll_ctl(curl.epfd,
			!events ? EPOLL_CTL_DEL
			: set   ? EPOLL_CTL_MOD
				: EPOLL_CTL_ADD,
			fd, &e);
	curl.fd[fd].set = events;
}

/* An idle connection stays watched: it is used again soon, or ends once. */
static void apply_curl_changes(void)
{
	for (size_t i = 0; i < curl.changes; i++) {
		int fd = curl.changed[i];

		curl.fd[fd].listed = false;
		if (curl.fd[fd].wanted && curl.fd[fd].wanted != curl.fd[fd].set)
			set_curl_events(fd, curl.fd[fd].wanted);
	}
	curl.changes = 0;
}

/* What the load balancer must know of a head. */
static size_t take_curl_header(char *data, size_t one, size_t len, void *arg)
{
	static const char type[] = "content-type:", encoding[] = "content-encoding:";
	struct curl_slot *c = arg;

	(void)one;
	if (len > sizeof(type) && !strncasecmp(data, type, sizeof(type) - 1))
		snprintf(c->type, sizeof(c->type), "%.*s",
			 (int)(len - sizeof(type) - 2), data + sizeof(type));
	else if (len > sizeof(encoding) &&
		 !strncasecmp(data, encoding, sizeof(encoding) - 1))
		snprintf(c->encoding, sizeof(c->encoding), "%.*s",
			 (int)(len - sizeof(encoding) - 2), data + sizeof(encoding));
	return len;
}

static size_t take_curl_part(char *data, size_t one, size_t len, void *arg)
{
	struct curl_slot *c = arg;

	(void)one;
	c->partly += relay_part(c->s, data + c->partly, len - c->partly);
	c->paused = c->partly < len;
	if (c->paused)
		return CURL_WRITEFUNC_PAUSE;
	c->partly = 0;
	return len;
}

static void start_curl(struct curl_slot *c)
{
	struct relay_run *r = curl.run;
	char url[64];

	if (!r->todo)
		return;
	r->todo--;
	r->running++;
	c->s->got = 0;
	c->s->ok = c->s->strange = false;
	c->partly = 0;
	c->paused = false;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", r->port, r->path);
	curl_easy_setopt(c->easy, CURLOPT_URL, url);
	if (curl_multi_add_handle(curl.multi, c->easy) != CURLM_OK)
		_exit(1);
}

static void end_curl_transfers(void)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(curl.multi, &left))) {
		CURLcode rc = m->data.result;
		struct curl_slot *c = NULL;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&c);
		curl_multi_remove_handle(curl.multi, c->easy);
		c->s->ok = rc == CURLE_OK;
		curl.run->bad += rc != CURLE_OK;
		curl.run->running--;
		start_curl(c);
	}
}

static void handle_curl_event(const struct epoll_event *e)
{
	int running, fd = (int)(uint32_t)e->data.u64;
	uint32_t bits = e->events;

	if (e->data.u64 & SINK) {
		if (curl.slots[fd].paused)
			curl_easy_pause(curl.slots[fd].easy, CURLPAUSE_CONT);
		return;
	}
	if (!curl.fd[fd].wanted) {
		if (curl.fd[fd].set)
			set_curl_events(fd, 0);
		return;
	}
	curl_multi_socket_action(curl.multi, fd,
				 (bits & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
					 (bits & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
					 (bits & EPOLLERR ? CURL_CSELECT_ERR : 0),
				 &running);
}

static void run_curl(struct relay_run *r)
{
	static struct epoll_event events[BATCH];
	int running;

	for (unsigned i = 0; i < r->slots; i++)
		start_curl(&curl.slots[i]);
	while (r->running) {
		uint64_t now = read_curl_clock_ms();
		int wait = curl.due_ms == UINT64_MAX ? -1
			   : curl.due_ms <= now      ? 0
						     : (int)(curl.due_ms - now);

		apply_curl_changes();
		int n = epoll_wait(curl.epfd, events, BATCH, wait);
		for (int i = 0; i < n; i++)
			handle_curl_event(&events[i]);
		if (curl.due_ms != UINT64_MAX && curl.due_ms <= read_curl_clock_ms()) {
			curl.due_ms = UINT64_MAX;
			curl_multi_socket_action(curl.multi, CURL_SOCKET_TIMEOUT, 0,
						 &running);
		}
		end_curl_transfers();
	}
}

static int open_curl_slot(struct curl_slot *c, const struct relay_run *r)
{
	c->easy = curl_easy_init();
	if (!c->easy)
		return -ENOMEM;
	curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
	curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "bench");
	curl_easy_setopt(c->easy, CURLOPT_BUFFERSIZE, r->buffer);
	curl_easy_setopt(c->easy, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	curl_easy_setopt(c->easy, CURLOPT_CLOSESOCKETFUNCTION, close_curl_socket);
	curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, take_curl_header);
	curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, c);
	curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, take_curl_part);
	curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, c);
	return 0;
}

static int open_curl(struct relay_run *r)
{
	int rc = 0;

	memset(&curl, 0, sizeof(curl));
	curl.run = r;
	curl.due_ms = UINT64_MAX;
	curl.epfd = epoll_create1(EPOLL_CLOEXEC);
	curl.multi = curl_multi_init();
	if (curl.epfd < 0 || !curl.multi)
		return -ENOMEM;
	curl_multi_setopt(curl.multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(curl.multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(curl.multi, CURLMOPT_MAXCONNECTS, 256L);
	for (unsigned i = 0; i < SLOTS && rc == 0; i++) {
		struct curl_slot *c = &curl.slots[i];
		struct epoll_event e = {.events = EPOLLOUT | EPOLLET,
					.data.u64 = SINK | i};

		c->s = &r->slot[i];
		rc = open_curl_slot(c, r);
		if (rc == 0 && c->s->sink >= 0 &&
		    epoll_ctl(curl.epfd, EPOLL_CTL_ADD, c->s->sink, &e) < 0)
			rc = -errno;
	}
	return rc;
}

static void close_curl(struct relay_run *r)
{
	(void)r;
	for (unsigned i = 0; i < SLOTS; i++)
		curl_easy_cleanup(curl.slots[i].easy);
	curl_multi_cleanup(curl.multi);
	close(curl.epfd);
}

const struct relay_kind relay_curl = {"curl", CURL_MAX_WRITE_SIZE, open_curl, run_curl,
				      close_curl};
const struct relay_kind relay_curl_large = {"curl_128k", BUFFER_LARGE, open_curl,
					    run_curl, close_curl};
