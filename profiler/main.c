/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-profiler: where the processes of a control group spend their time, as lines
 * "outermost;...;innermost samples". Exit status 2: the command line is wrong; 1: it
 * could not start, or there was nothing to see. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/conf/program.h"
#include "lib/log.h"
#include "profiler/options.h"
#include "profiler/session.h"
#include "profiler/stacks.h"

struct profile {
	struct session *session;
	struct stacks stacks;
};

static volatile sig_atomic_t stopped;

static void stop_profile(int signal)
{
	(void)signal;
	stopped = 1;
}

static void count_sample(void *arg, const struct sample *s,
			 const struct profile_process *process)
{
	struct profile *p = arg;

	(void)stacks_add(&p->stacks, s, process, session_modules(p->session));
}

static void print_ends(const struct profile *p)
{
	const struct stacks *s = &p->stacks;

	log_info("%" PRIu64 " samples: %" PRIu64 " whole; cut in code of no known file "
		 "%" PRIu64 ", where a file says nothing %" PRIu64
		 ", at memory that cannot be read %" PRIu64 ", too deep %" PRIu64
		 "; first of a process %" PRIu64 "; lost %" PRIu64,
		 s->samples, s->ends[SAMPLE_COMPLETE], s->ends[SAMPLE_NO_MAPPING],
		 s->ends[SAMPLE_NO_ROW], s->ends[SAMPLE_NO_MEMORY],
		 s->ends[SAMPLE_TOO_DEEP], s->ends[SAMPLE_NEW_PROCESS],
		 session_lost(p->session));
}

static enum program_status run_profile(const struct options *o)
{
	struct profile p = {0};
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};
	const struct session_request r = {
		.group = o->group,
		.procfs = o->path_procfs,
		.by_cpuacct = strstr(o->group, "/cpuacct") != NULL,
		.hz = (uint32_t)o->hz,
		.rows_max = (uint32_t)o->rows,
	};
	int rc = session_open(&r, count_sample, &p, &p.session, &err);

	if (rc < 0) {
		log_error("%s", err.text);
		return PROGRAM_CANNOT;
	}
	uint64_t end = clock_boottime_ns() + o->duration_ms * 1000000;
	while (rc >= 0 && !stopped && clock_boottime_ns() < end)
		rc = session_poll(p.session, 100);
	print_ends(&p);
	stacks_merge(&p.stacks);
	stacks_print(&p.stacks, &out);
	enum program_status status =
		p.stacks.samples ? program_print(&out) : PROGRAM_CANNOT;
	stacks_free(&p.stacks);
	session_close(p.session);
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
	(void)signal(SIGINT, stop_profile);
	(void)signal(SIGTERM, stop_profile);
	if (!*o.group) {
		log_error("--cgroup names the control group to look at");
		status = PROGRAM_USAGE;
	} else {
		status = run_profile(&o);
	}
	conf_release(profiler_options, profiler_options_count, &o);
	return status;
}
