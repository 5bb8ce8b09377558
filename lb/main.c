/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_lb: in front of Prometheus and Pyroscope, lets users read what is theirs. Exit
 * status 2: the command line or a configuration is wrong; 1: it could not start. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lb/balancer.h"
#include "lb/options.h"
#include "lib/conf/program.h"
#include "lib/log.h"
#include "lib/privileges.h"
#include "lib/service.h"
#include "lib/signals.h"

struct lb_program {
	struct options options;
	struct privileges privileges;
	struct balancer *balancer;
	int signalfd;
};

static int start_balancer(struct lb_program *p, struct err *err)
{
	const struct options *o = &p->options;
	int rc = privileges_choose(o->run_as_user, o->drop_privileges, &p->privileges,
				   err);
	if (rc == 0)
		rc = signals_open(&p->signalfd, err);
	if (rc == 0 && o->drop_privileges)
		rc = privileges_limit(err);
	if (rc == 0)
		rc = balancer_start(o, &p->privileges, &p->balancer, err);
	return rc;
}

static bool reload_balancer(void *arg)
{
	struct lb_program *p = arg;
	return balancer_reload(p->balancer);
}

static enum program_status serve_balancer(struct lb_program *p)
{
	struct err err = {""};

	log_info("ceems_lb %s", CEEMS_VERSION);
	if (*p->options.gomaxprocs)
		log_warn("--runtime.gomaxprocs: ignored, there is no Go runtime here");
	int rc = start_balancer(p, &err);
	if (rc < 0) {
		log_error("%s", err.text);
	} else {
		service_say_user(&p->privileges);
		service_run(&(struct service){
			.signalfd = p->signalfd, .reload = reload_balancer, .arg = p});
	}
	balancer_stop(p->balancer);
	if (p->signalfd >= 0)
		close(p->signalfd);
	conf_release(options_table, options_count, &p->options);
	return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
}

static enum program_status check_config(const struct options *o)
{
	struct err err = {""};

	if (balancer_check(o, &err) < 0) {
		fprintf(stderr, "ceems_lb: %s\n", err.text);
		return PROGRAM_USAGE;
	}
	service_check_calls("ceems_lb", o->drop_privileges && o->seccomp);
	service_check_files("ceems_lb", o->drop_privileges && o->landlock);
	printf("ceems_lb: the configuration is valid\n");
	return PROGRAM_OK;
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "ceems_lb",
		.options = options_table,
		.option_count = options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct lb_program p = {.signalfd = -1};
	enum program_status status;

	if (!program_options(&program, argc, argv, &p.options, &warnings, &status))
		return status;
	program_log("ceems_lb", p.options.log_format, p.options.log_level, &warnings);
	if (!p.options.check_config)
		return serve_balancer(&p);
	status = check_config(&p.options);
	conf_release(options_table, options_count, &p.options);
	return status;
}
