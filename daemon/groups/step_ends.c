/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One inotify descriptor for all groups: a descriptor for each would take from those
 * that are kept open for reading counters. */
#include "daemon/groups/step_ends.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sample.h"
#include "daemon/units.h"
#include "lib/cgroup.h"
#include "lib/fs.h"
#include "lib/log.h"

#define EVENTS_BYTES 4096
#define READS_MAX 64u /* in one turn */
/* slurmstepd's group stays inhabited as long as that lives; the tasks' is beside it */
#define TASKS "/user"
#define FILE_NAME "/cgroup.events"

struct step_watch {
	uint64_t serial; /* step_serial() of whom it is */
	int wd;          /* 0: none */
};

struct step_ends {
	const struct env *env;
	struct sample *sample;
	int fd;
	struct step_watch *watches; /* by step */
	uint32_t count, top;        /* top: above the highest that was ever used */
	uint64_t generation;        /* of the table when it was last looked through */
	bool looked, full_said;
};

int step_ends_new(const struct env *env, struct sample *s, struct step_ends **ret,
		  struct err *err)
{
	struct step_ends *e = calloc(1, sizeof(*e));

	if (e) {
		e->env = env;
		e->sample = s;
		e->count = steps_capacity(env->units);
		e->watches = calloc(e->count, sizeof(*e->watches));
		e->fd = -1;
	}
	if (!e || !e->watches) {
		step_ends_free(e);
		return err_set(err, -ENOMEM, "out of memory");
	}
	e->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (e->fd < 0) {
		int rc = -errno;
		step_ends_free(e);
		return err_set(err, rc, "inotify: %s", strerror(-rc));
	}
	*ret = e;
	return 0;
}

void step_ends_free(struct step_ends *e)
{
	if (!e)
		return;
	if (e->fd >= 0)
		close(e->fd);
	free(e->watches);
	free(e);
}

int step_ends_fd(const struct step_ends *e)
{
	return e->fd;
}

/* Below --path.cgroupfs: the step's group of v2, of its tasks if there is one. False:
 * it has none, or it is gone. */
static bool events_path(const struct step_ends *e, const struct step *step, char *ret,
			size_t size)
{
	static const char *const below[] = {TASKS, ""};
	const char *dir = cgroup_dir(&e->env->cgroups, CGROUP_UNIFIED);

	for (uint32_t c = 0; *dir && c < step->cgroup_count; c++) {
		if (!(step->cgroups[c].controllers & CGROUP_UNIFIED))
			continue;
		for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
			int n = snprintf(ret, size, "%s%s%s" FILE_NAME, dir,
					 step->cgroups[c].path, below[i]);
			if (n > 0 && (size_t)n < size &&
			    faccessat(e->env->cgroupfd, ret, R_OK, 0) == 0)
				return true;
		}
	}
	return false;
}

static void look_at_group(struct step_ends *e, uint32_t i)
{
	struct step *step = steps_get(e->env->units, i);
	char path[RECORD_CGROUP_MAX + 64], text[256];

	if (!step || step->state != UNIT_RUNNING ||
	    e->watches[i].serial != step_serial(e->env->units, i) ||
	    !events_path(e, step, path, sizeof(path)) ||
	    fs_read_at(e->env->cgroupfd, path, text, sizeof(text), NULL) < 0)
		return;
	if (!strstr(text, "populated 0"))
		step->flags &= ~STEP_POLLED;
	else if (sample_step_last(e->sample, i))
		step->flags |= STEP_POLLED;
}

static void watch_step(struct step_ends *e, uint32_t i, const struct step *step)
{
	struct step_watch *w = &e->watches[i];
	char path[RECORD_CGROUP_MAX + 64], whole[PATH_MAX];

	if (w->wd > 0)
		(void)inotify_rm_watch(e->fd, w->wd);
	*w = (struct step_watch){.serial = step_serial(e->env->units, i)};
	if (!events_path(e, step, path, sizeof(path)))
		return;
	int n = snprintf(whole, sizeof(whole), "%s/%s", e->env->options->path_cgroupfs,
			 path);
	if (n < 0 || (size_t)n >= sizeof(whole))
		return;
	int wd = inotify_add_watch(e->fd, whole, IN_MODIFY);
	if (wd < 0 && errno == ENOSPC && !e->full_said)
		log_warn("no more control groups can be watched "
			 "(fs.inotify.max_user_watches): steps whose slurmstepd is "
			 "killed end with the counters that were read last");
	e->full_said = e->full_said || (wd < 0 && errno == ENOSPC);
	w->wd = wd;
	e->top = i < e->top ? e->top : i + 1;
	look_at_group(e, i);
}

static void watch_new_steps(struct step_ends *e)
{
	struct units *u = e->env->units;

	if (e->looked && e->generation == units_generation(u))
		return;
	e->looked = true;
	e->generation = units_generation(u);
	for (uint32_t i = steps_next(u, 0); i != UNITS_NONE && i < e->count;
	     i = steps_next(u, i + 1)) {
		const struct step *step = steps_get(u, i);
		if (step->state == UNIT_RUNNING &&
		    e->watches[i].serial != step_serial(u, i))
			watch_step(e, i, step);
	}
}

static void take_event(struct step_ends *e, const struct inotify_event *event)
{
	for (uint32_t i = 0; i < e->top; i++) {
		struct step_watch *w = &e->watches[i];
		bool all = event->mask & IN_Q_OVERFLOW;
		if (w->wd <= 0 || (!all && w->wd != event->wd))
			continue;
		if (event->mask & IN_IGNORED)
			w->wd = 0;
		else
			look_at_group(e, i);
	}
}

void step_ends_tick(struct step_ends *e)
{
	_Alignas(struct inotify_event) char buf[EVENTS_BYTES];
	ssize_t n;

	for (unsigned k = 0; k < READS_MAX && (n = read(e->fd, buf, sizeof(buf))) > 0;
	     k++) {
		for (size_t at = 0; at + sizeof(struct inotify_event) <= (size_t)n;) {
			const struct inotify_event *event = (const void *)&buf[at];
			take_event(e, event);
			at += sizeof(*event) + event->len;
		}
	}
	watch_new_steps(e);
}
