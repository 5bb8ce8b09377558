/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_k8s_admission_controller: writes who creates a pod into its annotations, and
 * tells the aggregator. Exit status 2: the command line or a configuration is wrong; 1:
 * it could not start. */
#include <stdio.h>
#include <unistd.h>

#include "contrib/k8s/admission/hook.h"
#include "contrib/k8s/admission/options.h"
#include "lib/conf/program.h"
#include "lib/http/listen.h"
#include "lib/http/web.h"
#include "lib/log.h"
#include "lib/privileges.h"
#include "lib/service.h"
#include "lib/signals.h"

#define NAME "ceems_k8s_admission_controller"
#define TICK_MS 1000
#define BODIES_BYTES_MAX ((size_t)128 << 20) /* within the limit of our manifest */

struct admission {
	struct options options;
	struct privileges privileges;
	struct hook *hook;
	struct web *web;
	int signalfd;
};

static enum program_status check_config(const struct options *o)
{
	struct err err = {""};
	int rc = hook_check(o, &err);

	if (rc == 0 && !o->systemd_socket)
		rc = listen_check((const char *const *)o->listen_addresses.items,
				  o->listen_addresses.count, &err);
	if (rc == 0 && *o->web_config_file)
		rc = web_check_config(o->web_config_file, &err);
	if (rc < 0) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return PROGRAM_USAGE;
	}
	service_check_calls(NAME, o->drop_privileges && o->seccomp);
	printf(NAME ": the configuration is valid\n");
	return PROGRAM_OK;
}

static int open_admission(struct admission *a, struct err *err)
{
	const struct options *o = &a->options;
	struct web_params w = {
		.program = NAME,
		.listen = (const char *const *)o->listen_addresses.items,
		.listen_count = o->listen_addresses.count,
		.systemd_socket = o->systemd_socket,
		.config_file = o->web_config_file,
		.max_requests = (uint32_t)o->max_requests,
		.bodies_bytes_max = BODIES_BYTES_MAX,
		.before_threads = hook_before_threads,
		.is_front_end = hook_is_front_end,
	};
	int rc = hook_check(o, err);

	if (rc == 0)
		rc = privileges_choose(o->run_as_user, o->drop_privileges,
				       &a->privileges, err);
	if (rc == 0)
		rc = signals_open(&a->signalfd, err);
	if (rc == 0 && o->drop_privileges)
		rc = privileges_limit(err);
	if (rc == 0)
		rc = hook_new(o, &a->privileges, &a->hook, err);
	if (rc < 0)
		return rc;
	w.arg = a->hook;
	w.routes = hook_routes(&w.route_count);
	return web_start(&w, &a->web, err);
}

static bool reload_admission(void *arg)
{
	struct admission *a = arg;
	struct err err = {""};

	if (web_reload(a->web, &err) == 0)
		return true;
	log_error("reload: %s: the old web configuration stays in force", err.text);
	return false;
}

static unsigned tick_admission(void *arg)
{
	(void)arg;
	return TICK_MS;
}

static void run_admission(struct admission *a)
{
	service_say_user(&a->privileges);
	for (size_t i = 0; web_port(a->web, i); i++)
		log_info("serves on port %u", web_port(a->web, i));
	if (!*a->options.web_config_file)
		log_warn("no web.config.file: an API server speaks to webhooks by "
			 "HTTPS only");
	service_run(&(struct service){
		.signalfd = a->signalfd,
		.wait_ms = TICK_MS,
		.tick = tick_admission,
		.reload = reload_admission,
		.arg = a,
	});
}

static enum program_status serve_admission(struct admission *a)
{
	struct err err = {""};

	log_info(NAME " %s", CEEMS_VERSION);
	if (*a->options.gomaxprocs)
		log_warn("--runtime.gomaxprocs: ignored, there is no Go runtime here");
	if (a->options.debug_server)
		log_warn("--web.debug-server: ignored, there is no pprof here");
	int rc = open_admission(a, &err);
	if (rc < 0)
		log_error("%s", err.text);
	else
		run_admission(a);
	web_stop(a->web);
	hook_free(a->hook);
	if (a->signalfd >= 0)
		close(a->signalfd);
	return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = NAME,
		.options = admission_options,
		.option_count = admission_options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct admission a = {.signalfd = -1};
	enum program_status status;

	if (!program_options(&program, argc, argv, &a.options, &warnings, &status))
		return status;
	program_log(NAME, a.options.log_format, a.options.log_level, &warnings);
	status =
		a.options.check_config ? check_config(&a.options) : serve_admission(&a);
	conf_release(admission_options, admission_options_count, &a.options);
	return status;
}
