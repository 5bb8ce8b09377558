/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-profiler: where the processes of a control group spend their time, as lines
 * "outermost;...;innermost samples". Exit status 2: the command line is wrong; 1: it
 * could not start, or there was nothing to see. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "lib/clock.h"
#include "lib/conf/program.h"
#include "lib/log.h"
#include "profiler/options.h"
#include "profiler/pprof.h"
#include "profiler/push.h"
#include "profiler/session.h"
#include "profiler/stacks.h"

struct profile {
	struct session *session;
	struct stacks stacks;
	uint64_t begin_ns; /* Unix time */
	uint64_t no_room;  /* samples that are not in stacks */
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

	if (stacks_add(&p->stacks, s, process, session_modules(p->session)) < 0)
		p->no_room++;
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
		 session_lost(p->session) + p->no_room);
}

static int write_profile(const struct profile *p, const struct options *o,
			 struct buf *out, struct err *err)
{
	const struct pprof_time t = {
		.begin_ns = (int64_t)p->begin_ns,
		.duration_ns = (int64_t)(clock_realtime_ns() - p->begin_ns),
		.period_ns = (int64_t)(NSEC_PER_SEC / o->hz),
	};

	if (*o->push_url || o->format == PROFILE_PPROF)
		return pprof_write(&p->stacks, &t, out, err);
	stacks_print(&p->stacks, out);
	return buf_error(out) ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static enum program_status show_profile(struct profile *p, const struct options *o)
{
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};

	print_ends(p);
	if (!p->stacks.samples)
		return PROGRAM_CANNOT;
	stacks_merge(&p->stacks);
	int rc = write_profile(p, o, &out, &err);
	if (rc == 0 && *o->push_url)
		rc = push_profile(o->push_url, &o->labels, &out, &err);
	if (rc < 0)
		log_error("%s", err.text);
	if (rc < 0 || *o->push_url)
		return rc < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
	return program_print(&out);
}

static enum program_status run_profile(const struct options *o, struct reader *reader)
{
	struct profile p = {.begin_ns = clock_realtime_ns()};
	struct err err = {""};
	const struct session_request r = {
		.group = o->group,
		.procfs = o->path_procfs,
		.reader = reader,
		.hz = (uint32_t)o->hz,
		.rows_max = (uint32_t)o->rows,
	};
	int rc = session_open(&r, count_sample, &p, &p.session, &err);

	if (rc < 0) {
		log_error("%s", err.text);
		return PROGRAM_CANNOT;
	}
	uint64_t end = clock_boottime_ns() + o->duration_ms * NSEC_PER_MSEC;
	while (rc >= 0 && !stopped && clock_boottime_ns() < end)
		rc = session_poll(p.session, 100);
	enum program_status status = show_profile(&p, o);
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
	struct reader *reader = NULL;
	struct err err = {""};
	enum program_status status;

	if (!program_options(&program, argc, argv, &o, &warnings, &status))
		return status;
	program_log("ceems-profiler", o.log_format, o.log_level, &warnings);
	(void)signal(SIGINT, stop_profile);
	(void)signal(SIGTERM, stop_profile);
	if (!*o.group) {
		log_error("--cgroup names the control group to look at");
		status = PROGRAM_USAGE;
	} else if (*o.push_url && push_check_labels(&o.labels, &err) < 0) {
		log_error("%s", err.text);
		status = PROGRAM_USAGE;
	} else if (reader_start(&reader, &err) < 0) {
		log_error("%s", err.text);
		status = PROGRAM_CANNOT;
	} else {
		status = run_profile(&o, reader);
	}
	reader_end(reader);
	conf_release(profiler_options, profiler_options_count, &o);
	return status;
}
