/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "opener/profile_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/crc32c.h"
#include "lib/fd_pass.h"
#include "lib/records/record.h"
#include "opener/drm_files.h"
#include "opener/limits.h"
#include "opener/profile.h"
#include "opener/profile_memory.h"

#define FDS_MAX 1024
#define END_MS 20u

/* ---- in the worker --------------------------------------------------------------- */

/* The unit afterwards: a process may move to another one meanwhile, and its number be
 * another process's since it was asked for. */
static int copy_drm_and_unit(int process, struct profile_reply *a, struct err *err)
{
	auto_close int fd = drm_files_copy(process, &a->left_out, err);

	_Static_assert(sizeof(a->text) >= RECORD_CGROUP_MAX, "it has room");
	int rc = fd < 0 ? fd : profile_find_unit(process, a->text, err);
	return rc < 0 ? rc : steal_fd(&fd);
}

/* PROFILE_REQUEST's uid: whose trouble the files of a process are */
static uint32_t tell_user(int process, const char *unit)
{
	uint32_t uid = profile_user(process);
	size_t len = strlen(unit);

	return !len || cgroup_step_len(unit, len)
		       ? uid
		       : PROFILE_UID_OF_UNIT |
				 crc32c(crc32c(0, unit, len), &uid, sizeof(uid));
}

static int do_request(const struct profile_worker *w, const struct profile_request *r,
		      struct profile_reply *a, struct err *err)
{
	auto_close int process = profile_open_process(w->procfd, r->pid, err);
	char unit[RECORD_CGROUP_MAX] = "";

	int rc = process < 0 || w->any_process ? process
					       : profile_find_unit(process, unit, err);
	if (rc < 0)
		return rc;
	a->uid = tell_user(process, unit);
	if (r->kind == PROFILE_REQUEST_MAPS)
		return profile_copy_maps(process, err);
	if (r->kind == PROFILE_REQUEST_DRM)
		return copy_drm_and_unit(process, a, err);
	if (r->kind == PROFILE_REQUEST_MEMORY)
		return profile_memory_copy(process, r->start, r->end, err);
	auto_close int fd =
		r->kind == PROFILE_REQUEST_PERF_MAP
			? profile_open_perf_map(process, err)
			: profile_open_file(process, r->start, r->end, &a->file, err);
	if (fd < 0)
		return fd;
	/* only this process and a reader close a user's file */
	rc = fd_pass_shelve(fd);
	return rc < 0 ? err_set(err, rc, "shelve a file: %s", strerror(-rc)) : rc;
}

static void run_worker(const struct profile_worker *w, int link)
{
	struct profile_request r;
	struct err err = {""};
	int fds[FD_PASS_MAX];
	unsigned count;

	/* nothing of a program for the kernel lives on here */
	for (int fd = STDERR_FILENO + 1; fd < FDS_MAX; fd++) {
		if (fd != link && fd != w->procfd)
			(void)close(fd);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (limits_keep_for_files(&err) < 0)
		_exit(1);
	while (fd_pass_receive(link, &r, sizeof(r), fds, &count, 0) == sizeof(r)) {
		struct profile_reply a = {.serial = r.serial};
		auto_close int fd = do_request(w, &r, &a, &err);
		a.rc = fd < 0 ? fd : 0;
		if (fd < 0)
			(void)snprintf(a.text, sizeof(a.text), "%.*s",
				       (int)sizeof(a.text) - 1, err.text);
		if (fd_pass_send(link, &a, sizeof(a), &fd, fd >= 0, 0) < 0)
			break;
	}
	_exit(0);
}

/* ---- before it ------------------------------------------------------------------- */

static int start_file_worker(struct profile_worker *w)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	w->pid = fork();
	if (w->pid == 0)
		run_worker(w, pair[1]);
	int rc = w->pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc < 0)
		close(pair[0]);
	else
		w->fd = pair[0];
	return rc;
}

static bool has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}

/* The place of one of an owner's that can be given up, or -EBUSY: too many have been.
 */
static int find_place(struct profile_worker *w, const struct worker_owner *o)
{
	unsigned of_user = 0, of_unit = 0;
	int free = -EBUSY;

	for (int i = 0; i < (int)WORKERS_STUCK_MAX; i++) {
		struct worker_stuck *s = &w->stuck[i];
		if (s->pid && has_ended(s->pid))
			s->pid = 0;
		if (!s->pid)
			free = i;
		of_user += s->pid && s->owner.uid == o->uid;
		of_unit += s->pid && *o->unit && strcmp(s->owner.unit, o->unit) == 0;
	}
	return of_user < WORKERS_STUCK_EACH && of_unit < WORKERS_STUCK_EACH ? free
									    : -EBUSY;
}

static void give_worker_up(struct profile_worker *w, const struct worker_owner *o)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int place = find_place(w, o);

	close(w->fd);
	w->fd = -1;
	kill(w->pid, SIGKILL);
	for (unsigned ms = 0; ms < END_MS; ms++) {
		if (has_ended(w->pid))
			return;
		nanosleep(&pause, NULL);
	}
	if (place >= 0)
		w->stuck[place] = (struct worker_stuck){w->pid, *o};
}

static int exchange_with_worker(struct profile_worker *w,
				const struct profile_request *r,
				struct profile_reply *a, int *ret_fd)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	int fds[FD_PASS_MAX];
	unsigned count;

	if (fd_pass_send(w->fd, r, sizeof(*r), NULL, 0, 0) < 0)
		return -EPIPE;
	int rc = poll(&p, 1, PROFILE_REQUEST_OPEN_MS);
	if (rc <= 0)
		return rc < 0 ? -errno : -ETIMEDOUT;
	ssize_t n = fd_pass_receive(w->fd, a, sizeof(*a), fds, &count, 0);
	bool good = n == sizeof(*a) && count == (a->rc == 0);
	for (unsigned i = 0; i < count && !good; i++)
		close(fds[i]);
	if (good && count)
		*ret_fd = fds[0];
	return good ? 0 : -EPIPE;
}

/* Whose process it is, which the kernel tells without waiting; root's where it is gone
 */
static void find_owner(const struct profile_worker *w, uint32_t pid,
		       struct worker_owner *ret)
{
	auto_close int process = profile_open_process(w->procfd, pid, NULL);

	*ret = (struct worker_owner){.uid = 0};
	if (process < 0)
		return;
	if (profile_find_unit(process, ret->unit, NULL) < 0)
		ret->unit[0] = '\0';
	ret->uid = tell_user(process, ret->unit);
	size_t job = cgroup_job_len(ret->unit, strlen(ret->unit));
	if (job)
		ret->unit[job] = '\0';
}

void profile_worker_ask(struct profile_worker *w, const struct profile_request *r,
			struct profile_reply *a, int *ret_fd)
{
	uint64_t begin_ns = clock_boottime_ns();
	struct worker_owner owner;

	find_owner(w, r->pid, &owner);
	int rc = time_share_is_over(&w->time, owner.uid, begin_ns)
			 ? -EBUSY
			 : find_place(w, &owner);
	*ret_fd = -1;
	if (rc >= 0 && w->fd < 0)
		rc = start_file_worker(w);
	if (rc >= 0)
		rc = exchange_with_worker(w, r, a, ret_fd);
	if (w->fd >= 0 && rc < 0 && rc != -EBUSY)
		give_worker_up(w, &owner);
	if (rc != -EBUSY && r->kind != PROFILE_REQUEST_DRM)
		time_share_charge(&w->time, owner.uid, begin_ns, clock_boottime_ns());
	if (rc >= 0)
		return;
	a->rc = rc;
	(void)snprintf(a->text, sizeof(a->text), "%s",
		       rc == -EBUSY ? "too many files do not open, or not in time"
				    : strerror(-rc));
}

void profile_worker_end(struct profile_worker *w)
{
	const struct worker_owner nobody = {.uid = 0};

	if (w->fd >= 0)
		give_worker_up(w, &nobody);
}
