/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redfish_proxy: lets nodes that do not reach the network of the BMCs read their own.
 * Exit status 2: the command line or a configuration is wrong; 1: it could not start.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/http/web.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/privileges.h"
#include "lib/signals.h"
#include "redfish_proxy/options.h"
#include "redfish_proxy/proxy.h"

#define TICK_MS 1000

enum { EXIT_OK = 0, EXIT_CANNOT = 1, EXIT_USAGE = 2 };

struct program {
	struct options options;
	struct privileges privileges;
	struct proxy *proxy;
	struct web *web;
	int signalfd;
};

static int print(const struct buf *b)
{
	if (b->len && fs_write_all(STDOUT_FILENO, b->data, b->len) < 0)
		return EXIT_CANNOT;
	return EXIT_OK;
}

/* For doc/config.md, which is this text. */
static int print_markdown(void)
{
	auto_buf struct buf b = BUF_INIT;
	conf_markdown(options_table, options_count, &b);
	return buf_error(&b) ? EXIT_CANNOT : print(&b);
}

static int check_config(const struct options *o)
{
	struct err err = {""};
	int rc = proxy_check(o->config_file, o->expand, &err);

	if (rc == 0 && *o->web_config_file)
		rc = web_check_config(o->web_config_file, &err);
	if (rc < 0) {
		fprintf(stderr, "redfish_proxy: %s\n", err.text);
		return EXIT_USAGE;
	}
	printf("redfish_proxy: the configuration is good\n");
	return EXIT_OK;
}

static int open_web(struct program *p, struct err *err)
{
	const struct options *o = &p->options;
	struct web_params w = {
		.program = "redfish_proxy",
		.listen = (const char *const *)o->listen_addresses.items,
		.listen_count = o->listen_addresses.count,
		.systemd_socket = o->systemd_socket,
		.config_file = o->web_config_file,
		.max_requests = (uint32_t)o->max_requests,
		.arg = p->proxy,
		.before_threads = proxy_before_threads,
		.before_stop = proxy_before_stop,
	};

	w.routes = proxy_routes(&w.route_count);
	return web_start(&w, &p->web, err);
}

static int open_all(struct program *p, struct err *err)
{
	const struct options *o = &p->options;
	const struct proxy_params params = {
		.config_file = o->config_file,
		.expand = o->expand,
		.max_requests = (uint32_t)o->max_requests,
		.privileges = &p->privileges,
	};
	int rc = privileges_choose(o->run_as_user, o->drop_privileges, &p->privileges,
				   err);
	if (rc == 0)
		rc = signals_open(&p->signalfd, err);
	if (rc == 0 && o->drop_privileges)
		rc = privileges_limit(err);
	if (rc == 0)
		rc = proxy_new(&params, &p->proxy, err);
	return rc < 0 ? rc : open_web(p, err);
}

static void reload(void *arg)
{
	struct program *p = arg;
	struct err err = {""};
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		 clock_read_ns(CLOCK_MONOTONIC) / 1000);
	(void)notify_send(state);
	if (proxy_reload(p->proxy, &err) < 0)
		log_error("reload: %s: the old configuration stays in force", err.text);
	else
		log_info("reload: done");
	if (web_reload(p->web, &err) < 0)
		log_error("reload: %s: the old web configuration stays in force",
			  err.text);
	(void)notify_send("READY=1");
}

static void run(struct program *p)
{
	struct pollfd fd = {.fd = p->signalfd, .events = POLLIN};

	if (p->privileges.drop)
		log_info("runs as user %s", p->privileges.user);
	else if (geteuid() == 0)
		log_warn("keeps running as root (--security.drop-privileges)");
	for (size_t i = 0; web_port(p->web, i); i++)
		log_info("serves on port %u", web_port(p->web, i));
	log_info("ready");
	(void)notify_send("READY=1");
	for (;;) {
		int n = poll(&fd, 1, TICK_MS);
		if (n > 0 && !signals_take(p->signalfd, reload, p))
			break;
		proxy_tick(p->proxy);
	}
	(void)notify_send("STOPPING=1");
}

static int serve(struct program *p)
{
	struct err err = {""};

	log_info("redfish_proxy %s", CEEMS_VERSION);
	if (*p->options.gomaxprocs)
		log_warn("--runtime.gomaxprocs: ignored, there is no Go runtime here");
	if (p->options.debug_server)
		log_warn("--web.debug-server: ignored, there is no pprof here");
	int rc = open_all(p, &err);
	if (rc < 0)
		log_error("%s", err.text);
	else
		run(p);
	web_stop(p->web);
	proxy_free(p->proxy);
	if (p->signalfd >= 0)
		close(p->signalfd);
	conf_release(options_table, options_count, &p->options);
	return rc < 0 ? EXIT_CANNOT : EXIT_OK;
}

int main(int argc, char *argv[])
{
	auto_buf struct buf out = BUF_INIT, warnings = BUF_INIT;
	struct program p = {.signalfd = -1};
	struct err err = {""};

	if (argc == 2 && strcmp(argv[1], "--help-markdown") == 0)
		return print_markdown();
	int rc = conf_load(options_table, options_count, "redfish_proxy", argc, argv,
			   &p.options, &out, &warnings, &err);
	if (rc == 1)
		return print(&out);
	if (rc < 0) {
		fprintf(stderr, "redfish_proxy: %s\n", err.text);
		return EXIT_USAGE;
	}
	log_init("redfish_proxy", (enum log_format)p.options.log_format,
		 options_log_level(&p.options));
	if (!p.options.check_config)
		return serve(&p);
	rc = check_config(&p.options);
	conf_release(options_table, options_count, &p.options);
	return rc;
}
