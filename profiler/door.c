/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/door.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/fd_pass.h"
#include "lib/log.h"

#define MEANWHILE_MS 20

static void close_fds(int *fds, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		close(fds[i]);
}

static bool is_news_of_death(const struct profile_reply *a)
{
	return a->magic == PROFILE_REQUEST_MAGIC && a->serial == PROFILE_REQUEST_DIED;
}

/* What has come since the last request */
static void read_news(struct door *d)
{
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	unsigned count;

	while (fd_pass_receive(d->link, &a, sizeof(a), fds, &count, MSG_DONTWAIT) > 0) {
		close_fds(fds, count);
		d->deaths += is_news_of_death(&a);
	}
}

static int say_opener_gone(struct door *d, struct err *err)
{
	if (!d->gone)
		log_error("ceems-opener has ended: programs that start from now on "
			  "have no names in profiles; restart ceemsd");
	d->gone = true;
	return err_set(err, -EPIPE, "ceems-opener has ended");
}

/* Answers to somebody before us are passed over. */
static int await_reply(struct door *d, unsigned wait_ms, struct profile_reply *a,
		       int *fds, unsigned *count, struct err *err)
{
	uint64_t until = clock_boottime_ns() + wait_ms * NSEC_PER_MSEC;

	for (;;) {
		struct pollfd p = {.fd = d->link, .events = POLLIN};
		uint64_t now = clock_boottime_ns();
		int rc = now < until ? poll(&p, 1, MEANWHILE_MS) : 0;
		if (rc == 0 && now < until) {
			if (d->meanwhile)
				d->meanwhile(d->meanwhile_arg);
			continue;
		}
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc <= 0)
			return err_set(err, -ETIMEDOUT, "ceems-opener does not answer");
		ssize_t n = fd_pass_receive(d->link, a, sizeof(*a), fds, count, 0);
		if (n <= 0)
			return say_opener_gone(d, err);
		if (n == sizeof(*a) && is_news_of_death(a)) {
			d->deaths++;
			return err_set(err, -EAGAIN,
				       "ceems-opener has died and is there again");
		}
		if (n == sizeof(*a) && a->magic == PROFILE_REQUEST_MAGIC &&
		    a->serial == d->serial)
			return 0;
		close_fds(fds, *count);
	}
}

/* r's kind and arguments; fds[FD_PASS_MAX]. */
static int ask_opener(struct door *d, struct profile_request *r, unsigned fds_wanted,
		      int *fds, struct profile_reply *a, struct err *err)
{
	unsigned count = 0;

	/* many that are answered at once take long, too */
	if (d->meanwhile)
		d->meanwhile(d->meanwhile_arg);
	read_news(d);
	r->magic = PROFILE_REQUEST_MAGIC;
	if (++d->serial == PROFILE_REQUEST_DIED)
		d->serial++;
	r->serial = d->serial;
	int rc = fd_pass_send(d->link, r, sizeof(*r), NULL, 0, 0);
	if (rc == -EPIPE)
		return say_opener_gone(d, err);
	if (rc < 0)
		return err_set(err, rc, "ceems-opener: %s", strerror(-rc));
	rc = await_reply(d, r->kind == PROFILE_REQUEST_LOAD ? DOOR_LOAD_MS : DOOR_MS, a,
			 fds, &count, err);
	if (rc < 0)
		return rc;
	a->text[sizeof(a->text) - 1] = '\0';
	if (a->rc == 0 && count != fds_wanted)
		a->rc = -EPROTO;
	if (a->rc == 0)
		return 0;
	close_fds(fds, count);
	return err_set(err, a->rc < 0 ? a->rc : -EPROTO, "%s",
		       *a->text ? a->text : strerror(-a->rc));
}

uint64_t door_deaths(struct door *d)
{
	read_news(d);
	return d->deaths;
}

int door_load(struct door *d, const struct profile_room *room, int *fds,
	      bool *ret_sees_maps, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_LOAD, .room = *room};
	struct profile_reply a;
	int all[FD_PASS_MAX];
	int rc = ask_opener(d, &r, PROFILE_FDS, all, &a, err);

	if (rc < 0)
		return rc;
	memcpy(fds, all, PROFILE_FDS * sizeof(int));
	*ret_sees_maps = a.sees_maps;
	return 0;
}

int door_watch(struct door *d, int *fds, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_WATCH};
	struct profile_reply a;
	int all[FD_PASS_MAX];
	int rc = ask_opener(d, &r, PROFILE_WATCH_FDS, all, &a, err);

	if (rc == 0)
		memcpy(fds, all, PROFILE_WATCH_FDS * sizeof(int));
	return rc;
}

int door_ticks(struct door *d, uint32_t hz, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_TICKS, .hz = hz};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	int rc = ask_opener(d, &r, 1, fds, &a, err);

	return rc < 0 ? rc : fds[0];
}

int door_switches(struct door *d, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_SWITCHES};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	int rc = ask_opener(d, &r, 1, fds, &a, err);

	return rc < 0 ? rc : fds[0];
}

int door_unload(struct door *d, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_UNLOAD};
	struct profile_reply a;
	int fds[FD_PASS_MAX];

	return ask_opener(d, &r, 0, fds, &a, err);
}

int door_kernel_name(struct door *d, uint64_t address, char *ret, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_KERNEL_NAME,
				    .start = address};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	int rc = ask_opener(d, &r, 0, fds, &a, err);

	if (rc == 0)
		memcpy(ret, a.text, sizeof(a.text));
	return rc;
}

int door_maps(struct door *d, uint32_t pid, uint32_t *ret_uid, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_MAPS, .pid = pid};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	int rc = ask_opener(d, &r, 1, fds, &a, err);

	if (rc < 0)
		return rc;
	*ret_uid = a.uid;
	return fds[0];
}

int door_perf_map(struct door *d, uint32_t pid, uint32_t *ret_uid, struct err *err)
{
	struct profile_request r = {.kind = PROFILE_REQUEST_PERF_MAP, .pid = pid};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	int rc = ask_opener(d, &r, 1, fds, &a, err);

	if (rc < 0)
		return rc;
	*ret_uid = a.uid;
	return fds[0];
}

int door_file(struct door *d, uint32_t pid, uint64_t start, uint64_t end,
	      struct profile_file *ret, struct err *err)
{
	struct profile_request r = {
		.kind = PROFILE_REQUEST_FILE, .pid = pid, .start = start, .end = end};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	int rc = ask_opener(d, &r, 1, fds, &a, err);

	if (rc < 0)
		return rc;
	*ret = a.file;
	return fds[0];
}

int door_memory(struct door *d, uint32_t pid, uint64_t start, uint64_t end,
		struct err *err)
{
	struct profile_request r = {
		.kind = PROFILE_REQUEST_MEMORY, .pid = pid, .start = start, .end = end};
	struct profile_reply a;
	int fds[FD_PASS_MAX];
	int rc = ask_opener(d, &r, 1, fds, &a, err);

	return rc < 0 ? rc : fds[0];
}
