/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/fd_pass.h"
#include "opener/kernel_name.h"
#include "opener/profile.h"
#include "opener/profile_worker.h"

#define HZ_MAX 1000u
#define ROWS_MAX (1u << 26)
#define PLACES_MAX (1u << 20)
#define RING_MAX (64u << 20)

struct profile_server {
	const struct profile_service *service;
	struct profile profile;
	struct profile_worker worker;
	struct kernel_namer namer;
};

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_room_good(const struct profile_room *r)
{
	return r->rows && r->rows <= ROWS_MAX && is_power_of_two(r->processes) &&
	       r->processes <= PLACES_MAX && r->mappings && r->mappings <= PLACES_MAX &&
	       is_power_of_two(r->ring_bytes) && r->ring_bytes >= 4096 &&
	       r->ring_bytes <= RING_MAX && r->threads <= PLACES_MAX;
}

static int load_for_profiler(struct profile_server *s, const struct profile_request *r,
			     struct err *err)
{
	profile_close(&s->profile);
	if (!is_room_good(&r->room))
		return err_set(err, -EINVAL, "no such room for tables");
	int rc = profile_load(&s->profile, &r->room, s->service->by_cpuacct, err);
	if (rc < 0)
		profile_close(&s->profile);
	malloc_trim(0); /* the kernel's types were read for it: 18 MB */
	return rc;
}

static int start_clocks(struct profile_server *s, const struct profile_request *r,
			struct err *err)
{
	if (!r->hz || r->hz > HZ_MAX)
		return err_set(err, -EINVAL, "no such rate");
	return profile_start_ticks(&s->profile, r->hz, err);
}

static int answer_request(struct profile_server *s, const struct profile_request *r)
{
	struct profile_reply a = {.serial = r->serial, .kind = r->kind};
	struct err err = {""};
	int own[FD_PASS_MAX] = {-1};
	const int *fds = own;

	bool known =
		r->kind < PROFILE_REQUEST_KINDS && s->service->requests >> r->kind & 1;

	switch (known ? r->kind : 0) {
	case PROFILE_REQUEST_LOAD:
		a.rc = load_for_profiler(s, r, &err);
		fds = s->profile.fds;
		a.fds = PROFILE_FDS;
		break;
	case PROFILE_REQUEST_WATCH:
		a.rc = profile_watch(&s->profile, own, &err);
		a.fds = PROFILE_WATCH_FDS;
		break;
	case PROFILE_REQUEST_TICKS:
		own[0] = start_clocks(s, r, &err);
		a.rc = own[0] < 0 ? own[0] : 0;
		a.fds = 1;
		break;
	case PROFILE_REQUEST_SWITCHES:
		own[0] = profile_watch_switches(&s->profile, &err);
		a.rc = own[0] < 0 ? own[0] : 0;
		a.fds = 1;
		break;
	case PROFILE_REQUEST_UNLOAD:
		profile_close(&s->profile);
		break;
	case PROFILE_REQUEST_MAPS:
	case PROFILE_REQUEST_FILE:
	case PROFILE_REQUEST_PERF_MAP:
	case PROFILE_REQUEST_DRM:
	case PROFILE_REQUEST_MEMORY:
		profile_worker_ask(&s->worker, r, &a, &own[0]);
		a.fds = own[0] >= 0;
		break;
	case PROFILE_REQUEST_KERNEL_NAME:
		a.rc = kernel_namer_find(&s->namer, r->start, a.text, sizeof(a.text),
					 &err);
		break;
	default:
		a.rc = err_set(&err, -EINVAL, "no such request");
	}
	if (a.rc < 0 && *err.text)
		(void)snprintf(a.text, sizeof(a.text), "%.*s", (int)sizeof(a.text) - 1,
			       err.text);
	a.sees_maps = s->profile.sees_maps;
	a.magic = PROFILE_REQUEST_MAGIC;
	a.kind = r->kind;
	if (a.rc < 0)
		a.fds = 0;
	int rc = fd_pass_send(s->service->link, &a, sizeof(a), fds, a.fds, 0);
	for (uint32_t i = 0; fds == own && i < a.fds; i++)
		close(own[i]);
	return rc;
}

int profile_serve(const struct profile_service *service)
{
	struct profile_server s = {
		.service = service,
		.worker = {.procfd = service->procfd,
			   .any_process = service->any_process,
			   .fd = -1,
			   .time = {.burst_ns = WORKERS_BURST_NS}},
	};
	struct profile_request r;
	int fds[FD_PASS_MAX], rc = 0;
	unsigned count;

	while (rc == 0) {
		ssize_t n =
			fd_pass_receive(service->link, &r, sizeof(r), fds, &count, 0);
		if (n == -EINTR)
			continue;
		while (n >= 0 && count)
			close(fds[--count]); /* none of them was asked for */
		if (n <= 0 && n != -EMSGSIZE)
			break;
		if (n == sizeof(r) && r.magic == PROFILE_REQUEST_MAGIC)
			rc = answer_request(&s, &r);
	}
	profile_worker_end(&s.worker);
	profile_close(&s.profile);
	kernel_namer_close(&s.namer);
	return rc;
}
