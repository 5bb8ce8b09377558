/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redfish_proxy: lets nodes without access to the BMCs' network read their own BMC.
 * Exit status 2: the command line or a configuration is wrong; 1: it could not
 * start. */
#include <stdio.h>
#include <unistd.h>

#include "lib/conf/program.h"
#include "lib/http/listen.h"
#include "lib/http/web.h"
#include "lib/log.h"
#include "lib/privileges.h"
#include "lib/service.h"
#include "lib/signals.h"
#include "redfish_proxy/options.h"
#include "redfish_proxy/proxy.h"

#define TICK_MS 1000

struct proxy_program {
	struct options options;
	struct privileges privileges;
	struct proxy *proxy;
	struct web *web;
	int signalfd;
};

static enum program_status check_config(const struct options *o)
{
	struct err err = {""};
	int rc = proxy_check(o->config_file, o->expand, &err);

	if (rc == 0 && !o->systemd_socket)
		rc = listen_check((const char *const *)o->listen_addresses.items,
				  o->listen_addresses.count, &err);
	if (rc == 0 && *o->web_config_file)
		rc = web_check_config(o->web_config_file, &err);
	if (rc < 0) {
		fprintf(stderr, "redfish_proxy: %s\n", err.text);
		return PROGRAM_USAGE;
	}
	service_check_calls("redfish_proxy", o->drop_privileges && o->seccomp);
	service_check_files("redfish_proxy", o->drop_privileges && o->landlock);
	printf("redfish_proxy: the configuration is valid\n");
	return PROGRAM_OK;
}

static int open_web(struct proxy_program *p, struct err *err)
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

static int open_proxy(struct proxy_program *p, struct err *err)
{
	const struct options *o = &p->options;
	const struct proxy_params params = {
		.config_file = o->config_file,
		.expand = o->expand,
		.max_requests = (uint32_t)o->max_requests,
		.privileges = &p->privileges,
		.filter_calls = o->drop_privileges && o->seccomp,
		.fence_files = o->drop_privileges && o->landlock,
		.web_config_file = o->web_config_file,
		.folders = &o->landlock_read,
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

static bool reload_proxy(void *arg)
{
	struct proxy_program *p = arg;
	struct err err = {""};
	bool good = true;

	if (proxy_reload(p->proxy, &err) < 0) {
		log_error("reload: %s: the old configuration stays in force", err.text);
		if (proxy_is_fenced(p->proxy))
			service_say_outside(&err);
		good = false;
	}
	if (web_reload(p->web, &err) < 0) {
		log_error("reload: %s: the old web configuration stays in force",
			  err.text);
		if (proxy_is_fenced(p->proxy))
			service_say_outside(&err);
		good = false;
	}
	return good;
}

static unsigned tick_proxy(void *arg)
{
	struct proxy_program *p = arg;

	proxy_tick(p->proxy);
	return TICK_MS;
}

static void run_proxy(struct proxy_program *p)
{
	service_say_user(&p->privileges);
	for (size_t i = 0; web_port(p->web, i); i++)
		log_info("serves on port %u", web_port(p->web, i));
	service_run(&(struct service){
		.signalfd = p->signalfd,
		.wait_ms = TICK_MS,
		.tick = tick_proxy,
		.reload = reload_proxy,
		.arg = p,
	});
}

static enum program_status serve_proxy(struct proxy_program *p)
{
	struct err err = {""};

	log_info("redfish_proxy %s", CEEMS_VERSION);
	if (*p->options.gomaxprocs)
		log_warn("--runtime.gomaxprocs: ignored, there is no Go runtime here");
	if (p->options.debug_server)
		log_warn("--web.debug-server: ignored, there is no pprof here");
	int rc = open_proxy(p, &err);
	if (rc < 0)
		log_error("%s", err.text);
	else
		run_proxy(p);
	web_stop(p->web);
	proxy_free(p->proxy);
	if (p->signalfd >= 0)
		close(p->signalfd);
	conf_release(options_table, options_count, &p->options);
	return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "redfish_proxy",
		.options = options_table,
		.option_count = options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct proxy_program p = {.signalfd = -1};
	enum program_status status;

	if (!program_options(&program, argc, argv, &p.options, &warnings, &status))
		return status;
	program_log("redfish_proxy", p.options.log_format, p.options.log_level,
		    &warnings);
	if (!p.options.check_config)
		return serve_proxy(&p);
	status = check_config(&p.options);
	conf_release(options_table, options_count, &p.options);
	return status;
}
