/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/drm/drm_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/inhabited.h"
#include "daemon/running_steps.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fd_pass.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/periodic.h"
#include "lib/records/profile_request.h"

#define STACK_BYTES ((size_t)512 << 10)
#define BUSY_SHARE 10u /* rests so many times as long as it worked */
#define ANSWER_MS (4 * PROFILE_REQUEST_OPEN_MS)
#define STALE_MS 60000u
#define END_MS (2 * ANSWER_MS)
#define SHARES_MAX 4u

/* One round of the thread */
struct drm_round {
	struct running_steps steps;
	uint32_t unit;          /* that is asked about */
	uint64_t unit_until_ns; /* the rest of it waits for the next round then */
	uint64_t pids[DRM_PROCESSES_MAX];
	char texts[PROFILE_DRM_TEXT_MAX + 1];
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
	if (!r || periodic_done_within(&r->periodic, END_MS) < 0)
		return; /* the thread still uses r */
	pthread_mutex_destroy(&r->mutex);
	close(r->link);
	drm_uses_done(&r->uses);
	free(r);
}

/* ---- the thread ------------------------------------------------------------------ */

static int begin_drm_round(struct drm_reader *r, struct drm_round *round)
{
	struct units *u = r->env->units;

	pthread_mutex_lock(r->units_lock);
	int rc = running_steps_take(&round->steps, u, NULL, NULL);
	pthread_mutex_lock(&r->mutex);
	drm_uses_settle(&r->uses, u); /* nobody may scrape */
	drm_uses_begin(&r->uses);
	pthread_mutex_unlock(&r->mutex);
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

/* The process is gone, is of no unit any more, or has no client. */
static bool is_told_nothing(int rc)
{
	return rc == -ENODATA || rc == -ESRCH || rc == -ENOENT;
}

/* Whose process it was when it was looked at: numbers are used again. */
static bool is_of_step(const struct running_step *s, const char *group)
{
	for (uint32_t i = 0; i < s->cgroup_count; i++) {
		if (strcmp(s->cgroups[i].path, group) == 0)
			return true;
	}
	return false;
}

enum drm_told {
	TOLD_ALL,
	TOLD_IN_PART,
	TOLD_BY_NOBODY /* there is no opener to ask */
};

static enum drm_told ask_for_process(struct drm_reader *r, struct drm_round *round,
				     const struct running_step *s,
				     const struct drm_owner *owner, uint32_t pid)
{
	struct profile_reply a = {.rc = 0};
	auto_close int fd = -1;
	int rc = ask_about_process(r, pid, &a, &fd);
	bool is_answered = rc == 0;
	uint64_t now_ns = r->env->boottime_ns();

	if (is_answered)
		rc = a.rc;
	else
		a = (struct profile_reply){.rc = rc}; /* an earlier request's */
	ssize_t n = rc < 0 ? rc : fs_pread(fd, round->texts, sizeof(round->texts));
	if (n < 0 && is_answered && is_told_nothing((int)n))
		n = 0;
	a.text[sizeof(a.text) - 1] = '\0';
	pthread_mutex_lock(&r->mutex);
	if (n > 0 && is_of_step(s, a.text))
		take_drm_texts(r, owner, round->texts, (size_t)n, now_ns);
	r->left_out.refused += n < 0;
	r->left_out.files += a.left_out;
	pthread_mutex_unlock(&r->mutex);
	if (n < 0)
		(void)err_set(&round->err, (int)n, "process %u: %s", pid,
			      *a.text ? a.text : strerror((int)-n));
	if (n == -ETIMEDOUT)
		round->unit_until_ns = 0;
	if (!is_answered)
		return TOLD_BY_NOBODY;
	return n < 0 || a.left_out ? TOLD_IN_PART : TOLD_ALL;
}

static bool is_unit_late(const struct drm_reader *r, const struct drm_round *round)
{
	return r->env->boottime_ns() > round->unit_until_ns;
}

/* About at most max processes; *left goes down by how many that were. */
static enum drm_told ask_for_step(struct drm_reader *r, struct drm_round *round,
				  const struct running_step *s,
				  const struct drm_owner *owner, size_t max,
				  size_t *left)
{
	enum drm_told told = TOLD_ALL;
	bool cut = is_unit_late(r, round);
	size_t n = cut ? 0
		       : inhabited_list_all(r->env, s->cgroups, s->cgroup_count,
					    round->pids, max, &cut);

	*left -= n;
	for (size_t k = 0; k < n; k++) {
		if (atomic_load(&r->periodic.stopping))
			return TOLD_BY_NOBODY;
		if (is_unit_late(r, round)) {
			cut = true;
			break;
		}
		enum drm_told now =
			ask_for_process(r, round, s, owner, (uint32_t)round->pids[k]);
		if (now == TOLD_BY_NOBODY)
			return now;
		told = now > told ? now : told;
	}
	if (!cut)
		return told;
	pthread_mutex_lock(&r->mutex);
	r->left_out.processes++;
	pthread_mutex_unlock(&r->mutex);
	return TOLD_IN_PART;
}

/* False: there is no opener to ask. A step gets a quarter of what processes are left
 * while there are others to come, a unit five seconds, and one wait for a driver:
 * nobody can have a round to himself. */
static bool ask_for_steps(struct drm_reader *r, struct drm_round *round)
{
	size_t left = DRM_PROCESSES_MAX, count = round->steps.count;

	round->unit = UNITS_NONE;
	for (size_t i = 0; i < count; i++) {
		const struct running_step *s = &round->steps.step[i];
		const struct drm_owner owner = {
			.unit = s->unit,
			.serial = s->serial,
			.is_older = s->started_boottime_ns < r->made_ns,
		};
		size_t shares = count - i < SHARES_MAX ? count - i : SHARES_MAX;
		if (s->unit != round->unit)
			round->unit_until_ns =
				r->env->boottime_ns() + DRM_PERIOD_MS * NSEC_PER_MSEC;
		round->unit = s->unit;
		enum drm_told told =
			ask_for_step(r, round, s, &owner, left / shares, &left);
		if (told == TOLD_BY_NOBODY)
			return false;
		pthread_mutex_lock(&r->mutex);
		drm_uses_note_step(&r->uses, &owner, told == TOLD_ALL);
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

	if (round && begin_drm_round(r, round) == 0) {
		bool is_answered = ask_for_steps(r, round);
		uint64_t now_ns = r->env->boottime_ns();
		pthread_mutex_lock(&r->mutex);
		drm_uses_end(&r->uses, is_answered);
		r->ended_ns = is_answered ? now_ns : r->ended_ns;
		r->took_ns = is_answered ? now_ns - begun_ns : r->took_ns;
		pthread_mutex_unlock(&r->mutex);
		say_failing(r, &round->err);
	}
	if (round)
		running_steps_done(&round->steps);
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
