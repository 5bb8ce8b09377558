/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/session.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "profiler/blocked.h"
#include "profiler/learn_queue.h"
#include "profiler/process_maps.h"
#include "profiler/sample_ring.h"
#include "profiler/tables.h"
#include "profiler/unwind_copy.h"

#define LOOK_MS 100  /* the ring holds what comes in a second of these */
#define QUEUE_MS 1   /* while a process waits to be looked at */
#define LINGER_S 60u /* processes are watched, without clocks */
#define LOOKS_SOON 4u
#define SECOND_LOOK_NS UINT64_C(30000000)
#define TAKES_MAX 64 /* processes in one go, between looks at the ring */

struct session {
	struct session_config config;
	int fds[PROFILE_FDS];           /* [0] -1: nothing is loaded */
	int watches[PROFILE_WATCH_FDS]; /* [0] -1: processes are not watched */
	int ticks;                      /* -1: there are no clocks */
	int switches;                   /* -1: nobody asked for blocked time */
	uint32_t hz;
	bool sees_maps;
	uint32_t now_s;   /* CLOCK_BOOTTIME, of session_work() */
	uint64_t idle_ns; /* since when nobody is sampled; 0: somebody is */
	struct sample_ring ring;
	struct tables tables;
	struct modules modules;
	struct learn_queue queue;
	struct blocked blocked;
	struct debug_files debug;
	uint64_t lost_events; /* until now */
	struct session_counts counts;
	struct session_stack stack;
	struct profile_mapping found[PROFILE_MAPPINGS_MAX]; /* in learn_process() */
};

/* ---- processes ------------------------------------------------------------------- */

static void count_users(struct session *s, const struct profile_mapping *mappings,
			uint32_t count, int by)
{
	for (uint32_t i = 0; i < count; i++)
		s->modules.all[mappings[i].module].users += (uint32_t)by;
}

static void process_gone(void *arg, const struct profile_mapping *mappings,
			 uint32_t count)
{
	count_users(arg, mappings, count, -1);
}

/* What its loader has not relocated yet cannot be read: it is looked at again soon, and
 * then later. */
static void look_at_images_again(struct session *s, const struct known_process *k,
				 uint32_t count)
{
	for (uint32_t i = 0; k && k->looks < MODULE_COPIES && i < count; i++) {
		if (!modules_is_unsettled(&s->modules, s->found[i].module))
			continue;
		learn_queue_put(&s->queue, k->pid,
				clock_boottime_ns() +
					(SECOND_LOOK_NS << (2 * k->looks)));
		return;
	}
}

static struct known_process *learn_process(struct session *s, uint32_t pid)
{
	struct err err;

	learn_queue_drop(&s->queue, pid);
	if (!learn_queue_may(&s->queue, clock_boottime_ns())) {
		s->counts.put_off++;
		return NULL;
	}
	s->counts.learnt++;
	int count = process_maps_read(s->config.door, pid, &s->modules, s->now_s,
				      s->found, &err);
	if (count < 0)
		return NULL;
	/* before the old ones go, so that a file of both keeps its user */
	count_users(s, s->found, (uint32_t)count, 1);
	if (tables_put(&s->tables, pid, s->found, (uint32_t)count, s->now_s) < 0) {
		count_users(s, s->found, (uint32_t)count, -1);
		return NULL;
	}
	struct known_process *k = tables_find(&s->tables, pid);
	look_at_images_again(s, k, (uint32_t)count);
	return k;
}

static void learn_due(struct session *s)
{
	uint64_t until_ns = clock_boottime_ns() + LOOK_MS * NSEC_PER_MSEC;

	for (int i = 0; i < TAKES_MAX && clock_boottime_ns() < until_ns; i++) {
		uint32_t pid = learn_queue_take(&s->queue, clock_boottime_ns());
		if (!pid)
			break;
		struct known_process *k = learn_process(s, pid);
		/* its libraries may not have been there yet */
		if (k && k->looks == 1 && !s->sees_maps)
			learn_queue_put(&s->queue, pid,
					clock_boottime_ns() + SECOND_LOOK_NS);
	}
}

/* ---- samples --------------------------------------------------------------------- */

/* What a process has loaded since is in no mapping that is known; nor is code that it
 * writes itself, for which its mappings are not read more than once a second, but for
 * the first times. A file whose rows have made place is read again. */
static bool is_outdated(const struct session *s, const struct profile_sample *sample,
			const struct known_process *k)
{
	const unsigned long long *pcs = sample->pcs + sample->kernel_frames;
	const struct profile_mapping *last;

	if ((k->learned_s == s->now_s && k->looks >= LOOKS_SOON) || !sample->frames)
		return false;
	if (sample->end == SAMPLE_NO_MAPPING)
		return true;
	if (sample->end != SAMPLE_NO_ROW)
		return false;
	last = tables_mapping(&s->tables, k, pcs[sample->frames - 1]);
	return last && s->modules.all[last->module].evicted;
}

static struct known_process *find_process_of(struct session *s,
					     const struct profile_sample *sample)
{
	struct known_process *k =
		sample->serial ? tables_find_serial(&s->tables, sample->serial) : NULL;

	if (!k)
		k = tables_find(&s->tables, sample->process);
	if (k && !is_outdated(s, sample, k))
		return k;
	struct known_process *fresh = learn_process(s, sample->process);
	if (fresh)
		return fresh;
	/* the old one may have been the one that made place */
	return k && k->pid ? k : NULL;
}

static uint64_t frame_of(struct session *s, const struct known_process *k,
			 uint32_t process, uint64_t pc, bool call)
{
	/* a call may be the last instruction of its function */
	const struct profile_mapping *m =
		k ? tables_mapping(&s->tables, k, call ? pc - 1 : pc) : NULL;

	if (!m) {
		int name = k ? jit_maps_find(&s->modules.jit, s->config.door,
					     s->config.reader, process,
					     call ? pc - 1 : pc, s->now_s)
			     : -ENOENT;
		return name < 0 ? FRAME(FRAME_UNKNOWN, pc)
				: FRAME(FRAME_JIT, (uint32_t)name);
	}
	s->modules.all[m->module].seen_s = s->now_s;
	s->modules.all[m->module].sampled = true;
	return FRAME(m->module, (call ? pc - 1 : pc) - m->base);
}

static uint64_t python_frame_of(const struct session *s,
				const struct profile_sample *sample, uint32_t i)
{
	uint64_t word = sample->pcs[sample->kernel_frames + sample->frames + i];
	int name = python_codes_find(&s->modules.codes, sample->process, word);

	return FRAME(FRAME_PYTHON,
		     (uint32_t)name |
			     (word & PYTHON_WORD_ENTRY ? FRAME_PYTHON_ENTRY : 0));
}

static void take_stack(struct session *s, const struct profile_sample *sample)
{
	struct session_stack *to = &s->stack;
	struct known_process *k = find_process_of(s, sample);
	uint32_t n = 0;

	if (k)
		k->seen_s = s->now_s;
	to->cgroup = sample->cgroup;
	to->process = sample->process;
	to->thread = sample->thread;
	to->end = sample->end;
	for (uint32_t i = 0; i < sample->kernel_frames; i++)
		to->frames[n++] = FRAME(FRAME_KERNEL, sample->pcs[i]);
	for (uint32_t i = 0; i < sample->frames; i++)
		to->frames[n++] =
			frame_of(s, k, sample->process,
				 sample->pcs[sample->kernel_frames + i], i > 0);
	for (uint32_t i = 0; i < sample->python_frames; i++)
		to->frames[n++] = python_frame_of(s, sample, i);
	to->count = n;
	if (sample->since_ns) {
		s->counts.blocked++;
		blocked_begin(&s->blocked, to, sample->since_ns, sample->one_in);
		return;
	}
	s->counts.samples++;
	s->counts.ends[sample->end]++;
	s->config.on_stack(s->config.arg, to);
}

/* One that was not known yet: it is, if it still runs. */
static void take_first(struct session *s, const struct profile_first *first)
{
	struct profile_sample sample;

	memcpy(&sample, &first->sample, sizeof(sample));
	struct known_process *k = tables_find(&s->tables, sample.process);
	if (!k)
		k = learn_process(s, sample.process);
	if (k) {
		unwind_copy(&s->tables, k, first, &sample);
		sample.serial = k->serial;
	}
	take_stack(s, &sample);
}

static void take_woken(struct session *s, const struct profile_woken *w)
{
	blocked_end(&s->blocked, w->head.thread, w->since_ns, w->ns);
}

static bool is_sample_good(const struct profile_sample *s)
{
	return s->end < SAMPLE_ENDS && s->kernel_frames <= SAMPLE_KERNEL_MAX &&
	       s->frames <= SAMPLE_FRAMES_MAX;
}

static void take_record(void *arg, const void *data, size_t size)
{
	struct session *s = arg;
	const struct profile_sample *sample = data;
	size_t pcs = 0;

	if (size < sizeof(struct sample_head))
		return;
	switch (sample->kind) {
	case PROFILE_EXEC:
		jit_maps_forget(&s->modules.jit, s->config.reader, sample->process);
		tables_forget(&s->tables, sample->process);
		learn_queue_put(&s->queue, sample->process, clock_boottime_ns());
		break;
	case PROFILE_MAPPED:
		learn_queue_put(&s->queue, sample->process, clock_boottime_ns());
		break;
	case PROFILE_EXIT:
		learn_queue_drop(&s->queue, sample->process);
		jit_maps_forget(&s->modules.jit, s->config.reader, sample->process);
		tables_forget(&s->tables, sample->process);
		break;
	case PROFILE_PYTHON:
		if (size >= sizeof(struct python_code))
			(void)python_codes_add(&s->modules.codes, data);
		break;
	case PROFILE_WOKEN:
		if (size >= sizeof(struct profile_woken))
			take_woken(s, data);
		break;
	case PROFILE_FIRST:
		if (size >= sizeof(struct profile_first) && is_sample_good(sample))
			take_first(s, data);
		break;
	case PROFILE_SAMPLE:
		if (size < offsetof(struct profile_sample, pcs))
			break;
		pcs = sample->kernel_frames + sample->frames + sample->python_frames;
		if (is_sample_good(sample) && pcs <= SAMPLE_PCS_MAX &&
		    size >= offsetof(struct profile_sample, pcs) +
				    pcs * sizeof(sample->pcs[0]))
			take_stack(s, sample);
		break;
	}
}

/* ---- the program ----------------------------------------------------------------- */

static bool is_loaded(const struct session *s)
{
	return s->fds[0] >= 0;
}

static void stop_clocks(struct session *s)
{
	if (s->ticks >= 0)
		close(s->ticks);
	s->ticks = -1;
	s->hz = 0;
}

static void stop_switches(struct session *s)
{
	if (s->switches >= 0)
		close(s->switches);
	s->switches = -1;
	blocked_forget(&s->blocked, 0);
}

/* Processes that end now are not told of any more, so none is known. reload: there are
 * stacks still that are to be named. */
static void stop_watching(struct session *s, bool reload)
{
	stop_clocks(s);
	stop_switches(s);
	for (unsigned i = 0; s->watches[0] >= 0 && i < PROFILE_WATCH_FDS; i++)
		close(s->watches[i]);
	s->watches[0] = -1;
	tables_forget_all(&s->tables);
	if (reload)
		modules_forget_rows(&s->modules);
	else
		modules_free(&s->modules);
	memset(&s->queue, 0, sizeof(s->queue));
}

static void close_tables(struct session *s)
{
	sample_ring_close(&s->ring);
	tables_close(&s->tables);
	for (unsigned i = 0; i < PROFILE_FDS; i++)
		close(s->fds[i]);
	s->fds[0] = -1;
}

static void unload_program(struct session *s, bool reload)
{
	struct err err;

	if (!is_loaded(s))
		return;
	stop_watching(s, reload);
	s->counts.lost += s->tables.control->lost;
	s->counts.forgotten += s->tables.forgotten;
	close_tables(s);
	(void)door_unload(s->config.door, &err);
}

int session_load(struct session *s, struct err *err)
{
	const struct profile_room *room = &s->config.room;

	if (is_loaded(s))
		return 0;
	int rc = door_load(s->config.door, room, s->fds, &s->sees_maps, err);
	if (rc < 0) {
		s->fds[0] = -1;
		return rc;
	}
	s->tables.gone = process_gone;
	s->tables.arg = s;
	s->lost_events = 0;
	rc = tables_open(&s->tables, s->fds, room, err);
	if (rc == 0)
		rc = sample_ring_open(&s->ring, s->fds[PROFILE_FD_SAMPLES],
				      room->ring_bytes, err);
	if (rc < 0)
		close_tables(s);
	return rc;
}

static int start_watching(struct session *s, struct err *err)
{
	if (s->watches[0] >= 0)
		return 0;
	int rc = door_watch(s->config.door, s->watches, err);
	if (rc < 0) {
		s->watches[0] = -1;
		return rc;
	}
	s->modules.rows = s->tables.rows;
	s->modules.row_room = s->config.room.rows;
	s->modules.told = s->tables.modules;
	s->modules.pythons = s->tables.pythons;
	s->tables.control->python_generation++; /* names are sent anew */
	return 0;
}

static int start_clocks(struct session *s, uint32_t hz, struct err *err)
{
	if (hz == s->hz)
		return 0;
	int fd = hz ? door_ticks(s->config.door, hz, err) : -1;
	if (hz && fd < 0)
		return fd;
	stop_clocks(s);
	s->ticks = fd;
	s->hz = hz;
	return 0;
}

static int start_switches(struct session *s, bool wanted, struct err *err)
{
	if (wanted == (s->switches >= 0) || (wanted && !s->config.room.threads))
		return 0;
	if (!wanted) {
		stop_switches(s);
		return 0;
	}
	int fd = door_switches(s->config.door, err);
	if (fd < 0)
		return fd;
	s->switches = fd;
	return 0;
}

static int start_program(struct session *s, const struct profile_group *groups,
			 size_t count, uint32_t hz, struct err *err)
{
	bool off_cpu = false;
	int rc = session_load(s, err);

	if (rc == 0)
		rc = start_watching(s, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < count; i++)
		off_cpu = off_cpu || groups[i].off_cpu;
	if (tables_set_groups(&s->tables, groups, count, hz) < 0)
		rc = err_set(err, -E2BIG, "no place for all of %zu control groups",
			     count);
	int begun = start_clocks(s, hz, err);
	if (begun == 0)
		begun = start_switches(s, off_cpu, err);
	return begun < 0 ? begun : rc;
}

int session_set_groups(struct session *s, const struct profile_group *groups,
		       size_t count, struct err *err)
{
	uint32_t hz = 0;

	s->idle_ns = count ? 0 : clock_boottime_ns();
	for (size_t i = 0; i < count; i++)
		hz = groups[i].hz > hz ? groups[i].hz : hz;
	if (!count && !is_loaded(s))
		return 0;
	if (!count) {
		(void)tables_set_groups(&s->tables, groups, 0, 0);
		stop_clocks(s);
		stop_switches(s);
		return 0;
	}
	int rc = start_program(s, groups, count, hz, err);
	if (rc != -ENODEV)
		return rc;
	unload_program(s, true); /* the opener that had it has been started again */
	return start_program(s, groups, count, hz, err);
}

/* ---- the session ----------------------------------------------------------------- */

/* What is waited for may be a user's file that has been made to take long. */
static void keep_samples(void *arg)
{
	struct session *s = arg;

	if (is_loaded(s))
		sample_ring_keep(&s->ring);
}

int session_new(const struct session_config *c, struct session **ret, struct err *err)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->config = *c;
	s->modules.reader = c->reader;
	s->modules.fetches = *c->debug_folder != '\0';
	s->debug.folder = c->debug_folder;
	reader_set_meanwhile(c->reader, keep_samples, s);
	c->door->meanwhile = keep_samples;
	c->door->meanwhile_arg = s;
	s->modules.kernel.door = c->door;
	s->fds[0] = s->watches[0] = s->ticks = s->switches = -1;
	s->blocked.on_stack = c->on_stack;
	s->blocked.arg = c->arg;
	*ret = s;
	return 0;
}

int session_fd(const struct session *s)
{
	return s->fds[0] < 0 ? -1 : s->ring.fd;
}

int session_wait_ms(const struct session *s)
{
	if (s->watches[0] < 0)
		return -1;
	if (s->queue.count)
		return QUEUE_MS;
	return s->idle_ns ? 1000 : LOOK_MS;
}

void session_work(struct session *s)
{
	s->now_s = (uint32_t)(clock_boottime_ns() / NSEC_PER_SEC);
	if (s->watches[0] < 0)
		return;
	(void)sample_ring_take(&s->ring, take_record, s);
	learn_due(s);
	debug_files_look(&s->debug, &s->modules, s->now_s, false);
	if (s->idle_ns && clock_boottime_ns() > s->idle_ns + LINGER_S * NSEC_PER_SEC)
		stop_watching(s, false);
}

void session_look_for_debug_files(struct session *s)
{
	debug_files_look(&s->debug, &s->modules, s->now_s, true);
}

void session_turn_names(struct session *s, uint32_t since_s)
{
	if (modules_turn_names(&s->modules, since_s, s->now_s) && is_loaded(s))
		s->tables.control->python_generation++;
}

void session_look_at(struct session *s, uint32_t pid)
{
	learn_queue_put(&s->queue, pid, clock_boottime_ns());
}

void session_settle_blocked(struct session *s, uint64_t cgroup, bool ended)
{
	uint64_t lost_events =
		is_loaded(s) ? __atomic_load_n(&s->tables.control->lost_events,
					       __ATOMIC_RELAXED)
			     : s->lost_events;

	/* who knows which of them are blocked still */
	if (lost_events != s->lost_events)
		blocked_lose(&s->blocked);
	s->lost_events = lost_events;
	/* since_ns of samples is CLOCK_MONOTONIC */
	blocked_settle(&s->blocked, cgroup, clock_read_ns(CLOCK_MONOTONIC));
	if (ended)
		blocked_forget(&s->blocked, cgroup);
}

bool session_is_settled(const struct session *s)
{
	return !s->queue.count;
}

struct modules *session_modules(struct session *s)
{
	return &s->modules;
}

void session_get_counts(const struct session *s, struct session_counts *ret)
{
	*ret = s->counts;
	ret->without_rows = s->modules.without_rows;
	ret->evictions = s->modules.evictions;
	ret->module_bytes = modules_bytes(&s->modules);
	ret->modules = s->modules.count;
	ret->hz = s->hz;
	ret->blocked_lost = s->blocked.lost;
	ret->debug_wanted = s->debug.wanted;
	ret->debug_refused = s->debug.refused;
	if (s->fds[0] < 0)
		return;
	ret->lost += __atomic_load_n(&s->tables.control->lost, __ATOMIC_RELAXED);
	ret->forgotten += s->tables.forgotten;
	ret->processes = s->tables.known_count;
	ret->table_bytes = tables_bytes(&s->config.room);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	reader_set_meanwhile(s->config.reader, NULL, NULL);
	s->config.door->meanwhile = NULL;
	unload_program(s, false);
	debug_files_close(&s->debug);
	free(s);
}
