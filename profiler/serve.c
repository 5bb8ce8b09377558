/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fd_pass.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/records/child_msg.h"
#include "profiler/output.h"
#include "profiler/pprof.h"
#include "profiler/session.h"
#include "profiler/stack_parts.h"
#include "profiler/stacks.h"
#include "profiler/step_profiles.h"
#include "profiler/unwind_row.h"

#define SAID_MS 1000u

struct server {
	const struct options *options;
	int link;
	struct door door;
	struct session *session;
	struct step_profiles steps;
	struct output output;
	uint64_t dropped, said_ns;
	uint64_t told; /* profile_step.serial */
	struct log_repeat log, page_log;
	int page; /* -1: none */
};

static void keep_stack(void *arg, const struct session_stack *stack)
{
	struct server *s = arg;

	step_profiles_add(&s->steps, stack, session_modules(s->session));
}

/* ---- a profile ------------------------------------------------------------------- */

static size_t list_labels(const struct server *s, const struct profile_step *step,
			  char name[16], struct profile_label *ret)
{
	const struct profile_label all[] = {
		{"service_name", step->unit},
		{"uuid", step->unit},
		{"step", record_step_name(step->step, name)},
		{"manager", record_manager_name((uint8_t)step->manager)},
		{"cluster", s->options->cluster},
		{"hostname", s->options->hostname},
	};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i].value)
			ret[count++] = all[i];
	}
	return count;
}

static int write_parts(struct server *s, const struct stacks *stacks,
		       const struct pprof_time *t, struct profile_record *r,
		       struct err *err)
{
	auto_buf struct buf out = BUF_INIT;
	struct stack_parts parts;
	int rc;

	stack_parts_begin(&parts, stacks, t);
	while ((rc = stack_parts_next(&parts, &out, &r->samples, err)) > 0)
		output_put(&s->output, r, &out);
	s->dropped += parts.dropped;
	return rc;
}

/* raw: p's stacks of one kind */
static int write_step(struct server *s, const struct step_profile *p,
		      const struct raw_stacks *raw, struct err *err)
{
	bool off_cpu = raw == &p->blocked;
	struct profile_record r = {.name = off_cpu ? "off_cpu" : "process_cpu",
				   .from_ns = p->begin_ns,
				   .until_ns = clock_realtime_ns()};
	struct stacks stacks = {0};
	char name[16];

	if (r.until_ns < r.from_ns)
		r.until_ns = r.from_ns; /* the clock was put back */
	const struct pprof_time t = {
		.begin_ns = (int64_t)r.from_ns,
		.duration_ns = (int64_t)(r.until_ns - r.from_ns),
		.period_ns = off_cpu ? 0 : (int64_t)(NSEC_PER_SEC / p->step.hz),
	};
	r.label_count = list_labels(s, &p->step, name, r.labels);
	int rc = stacks_add(&stacks, raw, session_modules(s->session));
	if (rc == 0) {
		stacks_merge(&stacks);
		rc = write_parts(s, &stacks, &t, &r, err);
	}
	stacks_free(&stacks);
	return rc < 0 ? err_set(err, rc, "%s", strerror(-rc)) : 0;
}

static void finish_step(struct server *s, struct step_profile *p)
{
	struct err err = {""};

	session_settle_blocked(s->session, p->step.cgroup, p->ended);
	int rc = p->stacks.count ? write_step(s, p, &p->stacks, &err) : 0;
	if (rc == 0 && p->blocked.count)
		rc = write_step(s, p, &p->blocked, &err);
	if (rc < 0)
		log_warn("unit %s: its profile cannot be written: %s", p->step.unit,
			 err.text);
	s->dropped += p->dropped;
	step_profiles_next(&s->steps, p, clock_boottime_ns(), clock_realtime_ns());
}

/* ---- the page of hot functions --------------------------------------------------- */

static void write_page_row(struct server *s, uint32_t at, const struct step_profile *p)
{
	struct hot_page_row row = {.step = p->step.step,
				   .stepd_pid = p->step.stepd_pid,
				   .hz = p->step.hz,
				   .read_ns = clock_boottime_ns()};

	if (parse_u32(p->step.unit, &row.job) < 0)
		return;
	hottest_fill(p->hottest, session_modules(s->session), &row);
	int rc = hot_page_write(s->page, at, &row);
	if (rc < 0 && log_repeat_due(&s->page_log, clock_boottime_ns()))
		log_warn("%s: %s: --ceems-report does not say which functions are hot",
			 s->options->hot_page, strerror(-rc));
}

static void write_due_page_rows(struct server *s)
{
	struct step_profile *p;

	while (s->page >= 0 &&
	       (p = step_profiles_page_due(&s->steps, clock_boottime_ns())))
		write_page_row(s, (uint32_t)(p - s->steps.all) % HOT_PAGE_ROWS, p);
}

static void open_page(struct server *s)
{
	struct err err;

	s->page = *s->options->hot_page ? hot_page_open(s->options->hot_page, &err)
					: -ENOENT;
	if (*s->options->hot_page && s->page < 0)
		log_warn("%s: --ceems-report does not say which functions are hot",
			 err.text);
}

/* ---- what ceemsd tells and is told ----------------------------------------------- */

static void apply_groups(struct server *s)
{
	static struct profile_group groups[PROFILE_GROUPS_MAX]; /* 16 KiB */
	struct err err = {""};
	size_t count = step_profiles_groups(&s->steps, groups);
	int rc = session_set_groups(s->session, groups, count, &err);

	if (rc < 0 && log_repeat_due(&s->log, clock_boottime_ns()))
		log_warn("%s: no profiles of units that asked for them", err.text);
	else if (rc == 0 && log_repeat_over(&s->log))
		log_info("profiles are taken again");
}

/* False: ceemsd is gone. */
static bool take_told(struct server *s)
{
	struct profile_step told;
	int fds[FD_PASS_MAX];
	unsigned count;

	for (;;) {
		ssize_t n = fd_pass_receive(s->link, &told, sizeof(told), fds, &count,
					    MSG_DONTWAIT);
		if (n == -EAGAIN || n == -EINTR)
			return true;
		if (n <= 0)
			return false;
		while (count)
			close(fds[--count]);
		if (n != sizeof(told))
			continue;
		if (step_profiles_told(&s->steps, &told, clock_boottime_ns(),
				       clock_realtime_ns()) > 0)
			apply_groups(s);
		s->told = told.serial;
		s->said_ns = 0; /* the step waits for this */
	}
}

static void say_counts(struct server *s)
{
	uint64_t now_ns = clock_boottime_ns();
	struct child_profile m = {.steps = (uint32_t)s->steps.count};
	struct session_counts c;

	if (s->said_ns && now_ns < s->said_ns + SAID_MS * NSEC_PER_MSEC)
		return;
	s->said_ns = now_ns;
	session_get_counts(s->session, &c);
	m.hz = c.hz;
	m.processes = c.processes;
	m.files = c.modules;
	m.samples = c.samples;
	m.whole = c.ends[SAMPLE_COMPLETE];
	m.cut = c.samples - c.ends[SAMPLE_COMPLETE];
	m.lost = c.lost;
	m.blocked = c.blocked;
	m.blocked_lost = c.blocked_lost;
	m.dropped = s->dropped + s->steps.no_place;
	m.coarse = s->steps.cuts;
	m.evictions = c.evictions + c.forgotten;
	m.profiles = s->output.written;
	m.unwritten = s->output.lost;
	m.told = s->told;
	m.openers = door_deaths(&s->door);
	m.debug_wanted = c.debug_wanted;
	m.debug_refused = c.debug_refused;
	m.memory_bytes = c.table_bytes + c.module_bytes + s->steps.bytes;
	child_msg_head(&m.head, CHILD_PROFILE, "profiler", 0, sizeof(m));
	(void)send(s->link, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the loop -------------------------------------------------------------------- */

static int least_wait(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void finish_due(struct server *s)
{
	struct step_profile *p;
	bool written = false, ended = false;

	while ((p = step_profiles_due(&s->steps, clock_boottime_ns()))) {
		written = true;
		ended = ended || p->ended;
		session_look_for_debug_files(s->session);
		finish_step(s, p);
	}
	if (written)
		session_turn_names(s->session, step_profiles_since_s(&s->steps));
	if (ended) {
		apply_groups(s);
		modules_let_go(session_modules(s->session),
			       step_profiles_since_s(&s->steps));
	}
}

/* The first step that asks is sampled from its beginning. */
static void load_early(struct server *s)
{
	struct err err = {""};

	if (session_load(s->session, &err) < 0 &&
	    log_repeat_due(&s->log, clock_boottime_ns()))
		log_warn("%s: no profiles of units that ask for them", err.text);
}

static void run_server(struct server *s)
{
	bool there = true;

	load_early(s);
	say_counts(s);
	while (there) {
		struct pollfd p[2] = {{.fd = s->link, .events = POLLIN},
				      {.fd = session_fd(s->session), .events = POLLIN}};
		int wait_ms = least_wait(
			session_wait_ms(s->session),
			step_profiles_wait_ms(&s->steps, clock_boottime_ns()));
		if (poll(p, 2, wait_ms) < 0 && errno != EINTR)
			break;
		/* what was sampled until now is in the ring, before an end is told */
		bool told = p[0].revents;
		if (told)
			there = take_told(s);
		session_work(s->session);
		write_due_page_rows(s);
		finish_due(s);
		say_counts(s);
	}
	for (size_t i = 0; i < s->steps.count; i++)
		s->steps.all[i].ended = true;
	finish_due(s);
}

struct profile_room serve_room(uint64_t bytes, bool off_cpu)
{
	struct profile_room r = {
		.rows = (uint32_t)(bytes / 4 / sizeof(struct unwind_row)),
		.processes = 1024,
		.mappings = (uint32_t)(bytes / 16 / sizeof(struct profile_mapping)),
		.ring_bytes = 2u << 20,
		.threads = off_cpu ? 16384 : 0,
	};

	while (r.processes < 32768 && r.processes < r.mappings / 8)
		r.processes *= 2;
	return r;
}

enum program_status serve_daemon(const struct options *o, struct reader *reader)
{
	auto_free struct server *s = calloc(1, sizeof(*s));
	struct err err = {"out of memory"};
	const struct session_config c = {
		.door = s ? &s->door : NULL,
		.reader = reader,
		.debug_folder = o->debug_folder,
		.room = serve_room(o->memory_bytes, o->off_cpu),
		.on_stack = keep_stack,
		.arg = s,
	};
	int rc = s ? 0 : -ENOMEM;

	(void)prctl(PR_SET_DUMPABLE, 0);
	if (rc == 0) {
		s->options = o;
		s->output.folder = o->profiles_spool;
		s->link = (int)o->link_fd;
		s->door.link = (int)o->opener_fd;
		s->steps.interval_ns = o->interval_ms * NSEC_PER_MSEC;
		s->steps.bytes_max = o->memory_bytes / 4;
		rc = session_new(&c, &s->session, &err);
	}
	if (rc < 0) {
		log_error("%s", err.text);
		return PROGRAM_CANNOT;
	}
	open_page(s);
	run_server(s);
	if (s->page >= 0)
		close(s->page);
	output_close(&s->output);
	session_free(s->session);
	step_profiles_free(&s->steps);
	return PROGRAM_OK;
}
