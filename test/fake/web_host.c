/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scrape, the web server and the node collectors on any tree, without the rest of
 * the daemon: what the web tests and the node benchmark talk to.
 *
 *	web_host [--all] [--slow MS] [--idle S] [--max-requests N] [--config FILE]
 *	         [--telemetry PATH] [--systemd] ROOT ADDRESS...
 *
 * ROOT holds proc and sys ("/" for the real ones). Prints "ready PORT..." and runs
 * until its standard input ends; SIGHUP reloads. --slow adds a collector that takes
 * that long and counts its runs. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/web/endpoints.h"
#include "daemon/web/scrape.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"

extern const struct collector collector_cpu, collector_infiniband, collector_meminfo,
	collector_netdev;

struct host {
	const char *root;
	const char *const *listen;
	size_t listen_count;
	bool all, systemd;
	const char *config, *telemetry;
	uint32_t slow_ms, idle_s, max_requests;
};

struct slow {
	uint32_t ms;
	uint64_t runs;
};

static uint32_t slow_ms; /* collectors know only env, and this one is a test's */

static int slow_open(const struct env *env, void **ret_state, struct err *err)
{
	struct slow *s = calloc(1, sizeof(*s));

	(void)env;
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->ms = slow_ms;
	*ret_state = s;
	return 0;
}

static int slow_collect(void *state, struct prom *out, struct err *err)
{
	static const struct prom_family runs = {"test_slow_runs_total", PROM_COUNTER,
						"Runs of the slow collector"};
	struct slow *s = state;
	struct timespec ts = {.tv_sec = s->ms / 1000,
			      .tv_nsec = (long)(s->ms % 1000) * 1000000};

	(void)err;
	nanosleep(&ts, NULL);
	prom_family(out, &runs);
	prom_put_u64(out, NULL, 0, ++s->runs);
	return 0;
}

static const struct collector collector_slow = {
	.name = "slow",
	.open = slow_open,
	.collect = slow_collect,
	.close = free,
};

static int fail(const struct err *err)
{
	fprintf(stderr, "web_host: %s\n", err_text(err));
	return 1;
}

static int parse_args(int argc, char **argv, struct host *h)
{
	int i = 1;

	*h = (struct host){.telemetry = "/metrics", .max_requests = 40};
	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		const char *name = argv[i] + 2;
		if (strcmp(name, "all") == 0) {
			h->all = true;
			continue;
		}
		if (strcmp(name, "systemd") == 0) {
			h->systemd = true;
			continue;
		}
		if (i + 1 >= argc)
			return -EINVAL;
		const char *value = argv[++i];
		if (strcmp(name, "config") == 0)
			h->config = value;
		else if (strcmp(name, "telemetry") == 0)
			h->telemetry = value;
		else if (strcmp(name, "slow") == 0   ? parse_u32(value, &h->slow_ms)
			 : strcmp(name, "idle") == 0 ? parse_u32(value, &h->idle_s)
			 : strcmp(name, "max-requests") == 0
				 ? parse_u32(value, &h->max_requests)
				 : -EINVAL)
			return -EINVAL;
	}
	if (i >= argc)
		return -EINVAL;
	h->root = argv[i++];
	h->listen = (const char *const *)argv + i;
	h->listen_count = (size_t)(argc - i);
	return 0;
}

static void serve(struct web *web)
{
	sigset_t set;
	struct err err = {""};

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	auto_close int sfd = signalfd(-1, &set, SFD_CLOEXEC);
	struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
			      {.fd = sfd, .events = POLLIN}};
	printf("ready");
	for (size_t i = 0; web_port(web, i); i++)
		printf(" %u", web_port(web, i));
	printf("\n");
	fflush(stdout);
	while (poll(p, 2, -1) > 0) {
		char text[256];
		if (p[0].revents && read(STDIN_FILENO, text, sizeof(text)) <= 0)
			break;
		if (p[1].revents && read(sfd, text, sizeof(text)) > 0) {
			if (web_reload(web, &err) < 0)
				log_warn("reload: %s", err_text(&err));
			else
				log_info("reloaded");
		}
	}
}

static int run(const struct host *h, const struct env *env)
{
	struct options *o = (struct options *)(uintptr_t)env->options;
	const struct collector *list[8];
	size_t n = 0;
	struct scrape *scrape = NULL;
	struct endpoints *pages = NULL;
	struct err err = {""};

	o->meminfo_all = h->all;
	list[n++] = &collector_cpu;
	if (h->all)
		list[n++] = &collector_infiniband;
	list[n++] = &collector_meminfo;
	if (h->all)
		list[n++] = &collector_netdev;
	if (h->slow_ms)
		list[n++] = &collector_slow;
	struct scrape_params sp = {
		.env = env, .collectors = list, .count = n, .exporter_metrics = true};
	if (scrape_new(&sp, &scrape, &err) < 0)
		return fail(&err);
	struct endpoints_params wp = {.listen = h->listen,
				      .listen_count = h->listen_count,
				      .systemd_socket = h->systemd,
				      .telemetry_path = h->telemetry,
				      .config_file = h->config,
				      .max_requests = h->max_requests,
				      .scrape = scrape,
				      .idle_timeout_s = h->idle_s};
	int rc = endpoints_start(&wp, &pages, &err);
	if (rc == 0)
		serve(endpoints_web(pages));
	endpoints_stop(pages);
	scrape_free(scrape);
	return rc < 0 ? fail(&err) : 0;
}

int main(int argc, char **argv)
{
	struct host h;
	struct options o = {0};
	struct env env = {.hostname = "host", .options = &o};
	struct err err = {""};
	char path[4096];
	sigset_t set;

	if (parse_args(argc, argv, &h) < 0) {
		fprintf(stderr, "usage: see test/fake/web_host.c\n");
		return 2;
	}
	log_init("web_host", LOG_LOGFMT, LOG_INFO);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	slow_ms = h.slow_ms;
	env.realtime_ns = clock_realtime_ns;
	env.boottime_ns = clock_boottime_ns;
	snprintf(path, sizeof(path), "%s/proc", h.root);
	auto_close int procfd = env.procfd = fs_opendir_at(AT_FDCWD, path, &err);
	if (procfd < 0)
		return fail(&err);
	snprintf(path, sizeof(path), "%s/sys", h.root);
	auto_close int sysfd = env.sysfd = fs_opendir_at(AT_FDCWD, path, &err);
	if (sysfd < 0)
		return fail(&err);
	return run(&h, &env);
}
