/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/drm/drm_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/inhabited.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fd_pass.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/periodic.h"
#include "lib/records/profile_request.h"
#include "lib/wait.h"

#define STACK_BYTES ((size_t)512 << 10)
#define BUSY_SHARE 10u /* rests so many times as long as it worked */
#define ANSWER_MS (4 * PROFILE_REQUEST_OPEN_MS)
#define STALE_MS 60000u
#define END_MS (2 * ANSWER_MS)

/* A step that runs, and whose it is */
struct drm_step {
	struct drm_owner owner;
	uint32_t cgroup_count;
	struct record_cgroup cgroups[RECORD_CGROUPS_MAX];
};

/* One round of the thread */
struct drm_round {
	struct drm_step *steps;
	uint32_t count, room;
	uint64_t pids[DRM_PROCESSES_MAX];
	char texts[PROFILE_DRM_TEXT_MAX + 1];
	bool whole;
	struct err err; /* "": nothing failed */
};

struct drm_reader {
	const struct env *env;
	pthread_mutex_t *units_lock;
	int link;
	uint32_t serial; /* of the last request */
	uint64_t made_ns;
	struct periodic periodic;
	bool started;
	struct log_repeat failing; /* of the thread */
	pthread_mutex_t mutex;     /* protects what follows */
	struct drm_uses uses;
	struct drm_left_out left_out;
	uint64_t ended_ns, took_ns; /* of the last round; 0: there is none */
};

int drm_reader_new(const struct env *env, pthread_mutex_t *lock, int link,
		   struct drm_reader **ret, struct err *err)
{
	struct drm_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		close(link);
		return err_set(err, -ENOMEM, "out of memory");
	}
	r->env = env;
	r->units_lock = lock;
	r->link = link;
	r->made_ns = env->boottime_ns();
	periodic_init(&r->periodic);
	pthread_mutex_init(&r->mutex, NULL);
	*ret = r;
	return 0;
}

void drm_reader_free(struct drm_reader *r)
{
	if (!r)
		return;
	const struct timespec deadline = wait_in(END_MS);
	periodic_ask_stop(&r->periodic);
	if (periodic_join(&r->periodic, &deadline) < 0)
		return; /* it still uses r */
	periodic_done(&r->periodic);
	pthread_mutex_destroy(&r->mutex);
	close(r->link);
	drm_uses_done(&r->uses);
	free(r);
}

/* ---- the thread ------------------------------------------------------------------ */

static int add_drm_step(struct drm_round *round, const struct units *u, uint32_t unit,
			const struct step *s, uint64_t made_ns)
{
	if (round->count == round->room) {
		uint32_t room = round->room ? 2 * round->room : 16;
		struct drm_step *more = reallocarray(round->steps, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		round->steps = more;
		round->room = room;
	}
	struct drm_step *to = &round->steps[round->count++];
	to->owner = (struct drm_owner){
		.unit = unit,
		.serial = unit_serial(u, unit),
		.is_older = s->started_boottime_ns < made_ns,
	};
	to->cgroup_count = s->cgroup_count;
	memcpy(to->cgroups, s->cgroups, sizeof(to->cgroups));
	return 0;
}

static int list_drm_steps(const struct drm_reader *r, struct drm_round *round)
{
	struct units *u = r->env->units;
	int rc = 0;

	pthread_mutex_lock(r->units_lock);
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE && rc == 0;
	     i = units_next(u, i + 1)) {
		for (uint32_t s = units_first_step(u, i); s != UNITS_NONE && rc == 0;
		     s = steps_after(u, s)) {
			const struct step *step = steps_get(u, s);
			if (step->state == UNIT_RUNNING)
				rc = add_drm_step(round, u, i, step, r->made_ns);
		}
	}
	pthread_mutex_unlock(r->units_lock);
	return rc;
}

/* Its answer, of those that come; an earlier request may have been given up. */
static int await_opener(struct drm_reader *r, struct profile_reply *a, int *ret_fd)
{
	struct pollfd p = {.fd = r->link, .events = POLLIN};
	int fds[FD_PASS_MAX];
	unsigned count = 0;

	for (;;) {
		int rc = poll(&p, 1, ANSWER_MS);
		if (rc <= 0)
			return rc < 0 ? -errno : -ETIMEDOUT;
		ssize_t n = fd_pass_receive(r->link, a, sizeof(*a), fds, &count, 0);
		bool is_whole = n == sizeof(*a) && a->magic == PROFILE_REQUEST_MAGIC;
		if (is_whole && a->serial == r->serial && count == (a->rc == 0)) {
			*ret_fd = count ? fds[0] : -1;
			return 0;
		}
		while (count)
			close(fds[--count]);
		if (n <= 0)
			return n < 0 ? (int)n : -ENOTCONN;
		if (is_whole && a->serial == PROFILE_REQUEST_DIED)
			return -EPIPE;
	}
}

/* 0: a says what came of it. Errors: the opener does not answer. */
static int ask_about_process(struct drm_reader *r, uint32_t pid,
			     struct profile_reply *a, int *ret_fd)
{
	const struct profile_request q = {
		.magic = PROFILE_REQUEST_MAGIC,
		.kind = PROFILE_REQUEST_DRM,
		.serial = ++r->serial ? r->serial : ++r->serial,
		.pid = pid,
	};
	int rc = fd_pass_send(r->link, &q, sizeof(q), NULL, 0, MSG_DONTWAIT);

	return rc < 0 ? rc : await_opener(r, a, ret_fd);
}

static void take_drm_texts(struct drm_reader *r, const struct drm_owner *owner,
			   const char *texts, size_t len, uint64_t now_ns)
{
	const char *at = texts, *end = texts + len;
	struct drm_fdinfo f;

	while (at < end) {
		size_t n = strnlen(at, (size_t)(end - at));
		if (drm_fdinfo_parse(at, n, &f) == 0)
			drm_uses_take(&r->uses, owner, &f, now_ns);
		at += n + 1;
	}
}

/* The process is gone, has moved out of the unit, or has no client. */
static bool is_told_nothing(int rc)
{
	return rc == -ENODATA || rc == -ESRCH || rc == -ENOENT;
}

/* False: nobody answers any more in this round. */
static bool ask_for_owner(struct drm_reader *r, struct drm_round *round,
			  const struct drm_owner *owner, uint32_t pid)
{
	struct profile_reply a = {.rc = 0};
	auto_close int fd = -1;
	int rc = ask_about_process(r, pid, &a, &fd);
	bool is_answered = rc == 0;
	uint64_t now_ns = r->env->boottime_ns();

	if (is_answered)
		rc = a.rc;
	ssize_t n = rc < 0 ? rc : fs_pread(fd, round->texts, sizeof(round->texts));
	if (is_answered && is_told_nothing((int)n))
		return true;
	pthread_mutex_lock(&r->mutex);
	if (n >= 0)
		take_drm_texts(r, owner, round->texts, (size_t)n, now_ns);
	r->left_out.refused += n < 0;
	r->left_out.files += a.left_out;
	pthread_mutex_unlock(&r->mutex);
	round->whole &= n >= 0 && !a.left_out;
	if (n < 0)
		(void)err_set(&round->err, (int)n, "process %u: %s", pid,
			      strerror((int)-n));
	return is_answered;
}

/* False: there is no opener to ask. */
static bool ask_for_steps(struct drm_reader *r, struct drm_round *round)
{
	size_t left = DRM_PROCESSES_MAX;

	for (uint32_t i = 0; i < round->count; i++) {
		const struct drm_step *s = &round->steps[i];
		bool cut;
		size_t n = inhabited_list_all(r->env, s->cgroups, s->cgroup_count,
					      round->pids, left, &cut);
		for (size_t k = 0; k < n; k++) {
			if (atomic_load(&r->periodic.stopping) ||
			    !ask_for_owner(r, round, &s->owner,
					   (uint32_t)round->pids[k])) {
				round->whole = false;
				return false;
			}
		}
		left -= n;
		if (!cut)
			continue;
		round->whole = false;
		pthread_mutex_lock(&r->mutex);
		r->left_out.processes++;
		pthread_mutex_unlock(&r->mutex);
	}
	return true;
}

static void say_failing(struct drm_reader *r, const struct err *why)
{
	if (*why->text && log_repeat_due(&r->failing, r->env->boottime_ns()))
		log_warn("drm: %s: what it uses of GPUs is not counted", why->text);
	else if (!*why->text && log_repeat_over(&r->failing))
		log_info("drm: all processes of units can be asked about again");
}

static uint64_t read_round(void *arg)
{
	struct drm_reader *r = arg;
	uint64_t begun_ns = r->env->boottime_ns();
	struct drm_round *round = calloc(1, sizeof(*round));

	if (round && list_drm_steps(r, round) == 0) {
		round->whole = true;
		pthread_mutex_lock(&r->mutex);
		drm_uses_begin(&r->uses);
		pthread_mutex_unlock(&r->mutex);
		bool is_answered = ask_for_steps(r, round);
		uint64_t now_ns = r->env->boottime_ns();
		pthread_mutex_lock(&r->mutex);
		drm_uses_end(&r->uses, round->whole);
		r->ended_ns = is_answered ? now_ns : r->ended_ns;
		r->took_ns = is_answered ? now_ns - begun_ns : r->took_ns;
		pthread_mutex_unlock(&r->mutex);
		say_failing(r, &round->err);
	}
	if (round)
		free(round->steps);
	free(round);
	uint64_t took_ms = (r->env->boottime_ns() - begun_ns) / NSEC_PER_MSEC;
	return took_ms * BUSY_SHARE > DRM_PERIOD_MS ? took_ms * BUSY_SHARE
						    : DRM_PERIOD_MS;
}

/* ---- scrapes --------------------------------------------------------------------- */

int drm_reader_take(struct drm_reader *r, struct drm_uses **ret,
		    struct drm_left_out *ret_left_out, struct err *err)
{
	int rc = r->started ? 0
			    : periodic_start(&r->periodic, STACK_BYTES, read_round,
					     NULL, r);

	if (rc < 0)
		return err_set(err, rc, "no thread");
	r->started = true;
	pthread_mutex_lock(&r->mutex);
	uint64_t now_ns = r->env->boottime_ns();
	uint64_t most_ns = STALE_MS * NSEC_PER_MSEC + 3 * BUSY_SHARE * r->took_ns;
	if (!r->ended_ns)
		rc = -EAGAIN;
	else if (now_ns > r->ended_ns + most_ns)
		rc = err_set(
			err, -ETIMEDOUT, "ceems-opener has not answered for %llu s",
			(unsigned long long)((now_ns - r->ended_ns) / NSEC_PER_SEC));
	if (rc < 0) {
		pthread_mutex_unlock(&r->mutex);
		return rc;
	}
	*ret = &r->uses;
	*ret_left_out = r->left_out;
	return 0;
}

void drm_reader_give(struct drm_reader *r)
{
	pthread_mutex_unlock(&r->mutex);
}
