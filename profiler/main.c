/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-profiler: where units spend their time. ceemsd starts it (serve.h); by hand, as
 * root, it prints lines "outermost;...;innermost samples" of one control group. Exit
 * status 2: the command line is wrong; 1: it could not start, or there was nothing to
 * see. */
#include <errno.h>
#include <signal.h>

#include "lib/conf/program.h"
#include "lib/log.h"
#include "profiler/by_hand.h"
#include "profiler/options.h"
#include "profiler/push.h"
#include "profiler/serve.h"

#define MEMORY_LEAST (8u << 20)

static enum program_status check_options(const struct options *o)
{
	struct err err = {""};

	if (o->memory_bytes < MEMORY_LEAST) {
		log_error("--profiling.memory: less than 8 MiB");
		return PROGRAM_USAGE;
	}
	if (!o->link_fd != !o->opener_fd) {
		log_error("--link.fd and --opener.fd come together");
		return PROGRAM_USAGE;
	}
	if (o->link_fd)
		return PROGRAM_OK;
	if (!*o->group) {
		log_error("--cgroup names the control group to look at");
		return PROGRAM_USAGE;
	}
	if (*o->push_url && push_check_labels(&o->labels, &err) < 0) {
		log_error("%s", err.text);
		return PROGRAM_USAGE;
	}
	return PROGRAM_OK;
}

static enum program_status run_profiler(const struct options *o)
{
	struct reader *reader = NULL;
	struct err err = {""};
	enum program_status status = PROGRAM_CANNOT;

	if (reader_start(o->debug_folder, &reader, &err) < 0)
		log_error("%s", err.text);
	else
		status = o->link_fd ? serve_daemon(o, reader) : by_hand_run(o, reader);
	reader_end(reader);
	return status;
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "ceems-profiler",
		.options = profiler_options,
		.option_count = profiler_options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct options o = {0};
	enum program_status status;

	if (!program_options(&program, argc, argv, &o, &warnings, &status))
		return status;
	program_log("ceems-profiler", o.log_format, o.log_level, &warnings);
	status = check_options(&o);
	if (status == PROGRAM_OK)
		status = run_profiler(&o);
	conf_release(profiler_options, profiler_options_count, &o);
	return status;
}
