/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceemsd: the daemon of a node. Exit status 2: the command line or a configuration is
 * wrong; 1: it could not start. */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/collector.h"
#include "daemon/courier_args.h"
#include "daemon/daemon.h"
#include "lib/fs.h"
#include "lib/http/listen.h"
#include "lib/log.h"
#include "lib/service.h"

/* Options that are accepted so that a peer's unit file keeps working */
static void say_ignored(const struct options *o)
{
	if (*o->gomaxprocs)
		log_warn("--runtime.gomaxprocs: ignored, there is no Go runtime here");
	if (o->debug_server)
		log_warn("--web.debug-server: ignored, there is no pprof here");
}

/* A collector that this machine has nothing for is not an error, but may be a
 * mistake. */
static void check_collectors(const struct options *o)
{
	struct err err = {""};
	struct env env = {.options = o};

	env.procfd = fs_opendir_at(AT_FDCWD, o->path_procfs, NULL);
	env.sysfd = fs_opendir_at(AT_FDCWD, o->path_sysfs, NULL);
	for (size_t i = 0; i < collectors_count; i++) {
		const struct collector *c = collectors[i];
		if (c->look && options_collector(o, c->name) && c->look(&env, &err) < 0)
			fprintf(stderr, "ceemsd: warning: %s\n", err.text);
	}
	if (env.procfd >= 0)
		close(env.procfd);
	if (env.sysfd >= 0)
		close(env.sysfd);
}

static enum program_status check_config(const struct options *o)
{
	struct err err = {""};
	int rc = 0;

	if (!o->systemd_socket)
		rc = listen_check((const char *const *)o->listen_addresses.items,
				  o->listen_addresses.count, &err);
	if (rc == 0 && *o->web_config_file)
		rc = web_check_config(o->web_config_file, &err);
	if (rc == 0)
		rc = courier_check(o, &err);
	struct perf_figures figures = {.count = 0};
	if (rc == 0)
		rc = perf_figures_open(o, &figures, &err);
	perf_figures_done(&figures);
	if (rc < 0) {
		fprintf(stderr, "ceemsd: %s\n", err.text);
		return PROGRAM_USAGE;
	}
	check_collectors(o);
	service_check_calls("ceemsd", o->drop_privileges && o->seccomp);
	printf("ceemsd: the configuration is valid\n");
	return PROGRAM_OK;
}

static int serve_daemon(struct daemon *d)
{
	struct err err;
	log_info("ceemsd %s", CEEMS_VERSION);
	say_ignored(&d->options);
	int rc = daemon_open(d, &err);
	if (rc < 0)
		log_error("%s", err.text);
	else
		daemon_run(d);
	daemon_close(d);
	return rc < 0 ? PROGRAM_CANNOT : d->status;
}

static int load_daemon_options(int argc, char *const argv[], void *dst, struct buf *out,
			       struct buf *warnings, struct err *err)
{
	return options_load(argc, argv, dst, out, warnings, err);
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "ceemsd",
		.options = options_table,
		.option_count = options_count,
		.load = load_daemon_options,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct daemon d = {.argc = argc, .argv = argv};
	enum program_status status;

	/* Threads rarely allocate; an arena for each would cost more than it saves. */
	mallopt(M_ARENA_MAX, 1);
	/* Fixed, or one large answer would raise it, and what the next ones took would
	 * never go back. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	if (!program_options(&program, argc, argv, &d.options, &warnings, &status))
		return status;
	program_log("ceemsd", d.options.log_format, d.options.log_level, &warnings);
	if (!d.options.check_config)
		return serve_daemon(&d);
	status = check_config(&d.options);
	options_release(&d.options);
	return status;
}
