/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A web server whose routes accept bodies, for the tests of request bodies.
 *
 *	web_bodies [--idle S] [--bodies BYTES] [--config FILE] [--loops N]
 *
 * POST or PUT /echo, at most 100000 bytes: "METHOD LENGTH CRC32C". POST /typed wants
 * application/json. POST /guard wants "X-Key: good", which another thread checks.
 * Prints "ready PORT", runs until its standard input ends, then prints how often each
 * function of the routes was called. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/crc32c.h"
#include "lib/http/web.h"
#include "lib/log.h"
#include "lib/loop.h"
#include "lib/parse.h"

#define BODY_MAX 100000
#define LOOPS_MAX 4

struct bodies {
	atomic_uint admits, handles, ends;
};

static const char *method_name(enum web_method m)
{
	return m == WEB_POST ? "POST" : m == WEB_PUT ? "PUT" : "other";
}

static void echo(void *arg, struct web_request *r)
{
	struct bodies *b = arg;
	char text[80];
	size_t len;
	const void *data = web_body(r, &len);

	atomic_fetch_add(&b->handles, 1);
	snprintf(text, sizeof(text), "%s %zu %08x\n", method_name(web_method(r)), len,
		 crc32c(0, data, len));
	web_body_drop(r);
	web_answer_text(r, 200, text);
}

struct look {
	struct web_request *request;
	bool over, good;
};

static void *look_thread(void *arg)
{
	struct look *l = arg;
	struct timespec pause = {.tv_nsec = 20000000};
	const char *key = web_header(l->request, "X-Key");

	nanosleep(&pause, NULL);
	l->good = key && strcmp(key, "good") == 0;
	l->over = true;
	web_wake(l->request);
	return NULL;
}

static void admit(void *arg, struct web_request *r)
{
	struct bodies *b = arg;
	struct look *l = *web_state(r);
	pthread_t thread;

	if (l && l->over) {
		if (!l->good)
			web_answer_text(r, 403, "wrong key\n");
		return;
	}
	atomic_fetch_add(&b->admits, 1);
	l = calloc(1, sizeof(*l));
	if (!l) {
		web_answer_text(r, 500, "out of memory\n");
		return;
	}
	l->request = r;
	*web_state(r) = l;
	web_sleep(r);
	if (pthread_create(&thread, NULL, look_thread, l) == 0) {
		pthread_detach(thread);
		return;
	}
	l->over = true;
	web_wake(r);
}

static void end(void *arg, struct web_request *r, unsigned status)
{
	struct bodies *b = arg;

	(void)status;
	atomic_fetch_add(&b->ends, 1);
	free(*web_state(r));
}

static const struct web_route routes[] = {
	{.path = "/echo",
	 .methods = WEB_POST | WEB_PUT,
	 .body_bytes_max = BODY_MAX,
	 .handle = echo},
	{.path = "/typed",
	 .methods = WEB_POST,
	 .body_bytes_max = BODY_MAX,
	 .body_type = "application/json",
	 .handle = echo},
	{.path = "/guard",
	 .methods = WEB_POST,
	 .body_bytes_max = BODY_MAX,
	 .admit = admit,
	 .handle = echo,
	 .end = end},
	{.path = "/get", .handle = echo},
};

/* The program's own loops, where they are asked for. */
struct loops {
	struct loop *loop[LOOPS_MAX];
	pthread_t thread[LOOPS_MAX];
	struct loop_task task[LOOPS_MAX];
	atomic_bool stop;
	uint32_t count;
};

struct runs {
	struct loops *all;
	struct loop *loop;
};

static void *run_loop(void *arg)
{
	struct runs *r = arg;

	loop_run(r->loop, &r->all->stop);
	free(r);
	return NULL;
}

static int start_loops(struct loops *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		struct runs *r = calloc(1, sizeof(*r));
		if (!r)
			return -ENOMEM;
		*r = (struct runs){l, l->loop[i]};
		if (pthread_create(&l->thread[i], NULL, run_loop, r) != 0)
			return -EAGAIN;
	}
	return 0;
}

static void nothing(struct loop_task *task)
{
	(void)task;
}

static void stop_loops(struct loops *l, struct web *web)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	if (!l->count)
		return;
	web_quiesce(web);
	for (unsigned i = 0; i < 300 && web_requests(web); i++)
		nanosleep(&pause, NULL);
	atomic_store(&l->stop, true);
	for (uint32_t i = 0; i < l->count; i++) {
		l->task[i].run = nothing;
		loop_post(l->loop[i], &l->task[i]);
		pthread_join(l->thread[i], NULL);
	}
}

int main(int argc, char **argv)
{
	struct loops loops = {.count = 0};
	static const char *const listen[] = {"127.0.0.1:0"};
	struct bodies b = {0};
	uint32_t idle_s = 0, bodies = 0;
	const char *config = NULL;
	struct web *web = NULL;
	struct err err = {""};
	char text[256];

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--config") == 0)
			config = argv[i + 1];
		else if (strcmp(argv[i], "--idle") == 0
				 ? parse_u32(argv[i + 1], &idle_s)
			 : strcmp(argv[i], "--bodies") == 0
				 ? parse_u32(argv[i + 1], &bodies)
			 : strcmp(argv[i], "--loops") == 0
				 ? parse_u32(argv[i + 1], &loops.count)
				 : -EINVAL)
			return 2;
	}
	log_init("web_bodies", LOG_LOGFMT, LOG_INFO);
	if (loops.count > LOOPS_MAX)
		return 2;
	for (uint32_t i = 0; i < loops.count; i++) {
		if (loop_new(&loops.loop[i], &err) < 0)
			return 1;
	}
	struct web_params p = {.loops = loops.loop,
			       .loop_count = loops.count,
			       .program = "test",
			       .listen = listen,
			       .listen_count = 1,
			       .config_file = config,
			       .bodies_bytes_max = bodies,
			       .routes = routes,
			       .route_count = sizeof(routes) / sizeof(routes[0]),
			       .arg = &b,
			       .idle_timeout_s = idle_s};
	if (web_start(&p, &web, &err) < 0 || start_loops(&loops) < 0) {
		fprintf(stderr, "web_bodies: %s\n", err_text(&err));
		return 1;
	}
	printf("ready %u\n", web_port(web, 0));
	fflush(stdout);
	while (read(STDIN_FILENO, text, sizeof(text)) > 0)
		;
	stop_loops(&loops, web);
	web_stop(web);
	for (uint32_t i = 0; i < loops.count; i++)
		loop_free(loops.loop[i]);
	printf("admits %u handles %u ends %u\n", b.admits, b.handles, b.ends);
	return 0;
}
