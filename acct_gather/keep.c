/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"

#define LOCK_STEP_MS 10
#define MAKE_TRIES 50
#define REMOVE_TRIES 200

/* Slurm locks a hierarchy's root while it creates or removes groups (its
 * common_cgroup_lock()): otherwise an empty group could be removed while somebody is
 * moving into it. */
static int lock_mount(int fd, unsigned tries)
{
	static const struct timespec pause = {.tv_nsec = LOCK_STEP_MS * NSEC_PER_MSEC};

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (!--tries)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* A child forked meanwhile has the descriptor until it execs: closing it here would not
 * unlock. */
static void unlock_mount(int fd)
{
	(void)flock(fd, LOCK_UN);
}

/* without its first slash */
static void name_level(const struct keep *k, int level, char *ret)
{
	memcpy(ret, k->step + 1, k->end[level] - 1);
	ret[k->end[level] - 1] = '\0';
}

/* Removes groups from a level up to the top one; groups in use stay, and so do those
 * above. */
static void remove_levels(const struct keep *k, int mount, int level, int top)
{
	char name[RECORD_CGROUP_MAX];

	for (; level >= top; level--) {
		name_level(k, level, name);
		if (unlinkat(mount, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			return;
	}
}

static int make_levels(const struct keep *k, int mount, struct err *err)
{
	char name[RECORD_CGROUP_MAX];

	for (int level = KEEP_USER; level < KEEP_LEVELS; level++) {
		name_level(k, level, name);
		int rc = mkdirat(mount, name, 0755);
		/* whatever the umask: ceemsd reads what is below */
		if (rc == 0)
			rc = fchmodat(mount, name, 0755, 0);
		if (rc == 0 || errno == EEXIST)
			continue;
		rc = err_set(err, -errno, "%s/%s: %s", k->mount, name, strerror(errno));
		remove_levels(k, mount, level, KEEP_USER);
		return rc;
	}
	return 0;
}

static int set_paths(struct keep *k, const char *slurm, uid_t uid, uint32_t job,
		     struct err *err)
{
	const size_t size = sizeof(k->step);
	size_t len = strlen(slurm);

	if (len < 2 || !cgroup_path_ok(slurm, len))
		return err_set(err, -EINVAL,
			       "'%s' is not one of Slurm's control groups", slurm);
	int user = snprintf(k->step, size, "%s/uid_%u", slurm, (unsigned)uid);
	int all = snprintf(k->step, size, "%s/uid_%u/job_%u/step_extern", slurm,
			   (unsigned)uid, (unsigned)job);
	if (user < 0 || all < 0 || (size_t)all >= size)
		return err_set(err, -EINVAL, "%s/uid_%u/job_%u: path too long", slurm,
			       (unsigned)uid, (unsigned)job);
	k->end[KEEP_USER] = (size_t)user;
	k->end[KEEP_STEP] = (size_t)all;
	k->end[KEEP_JOB] = cgroup_job_len(k->step, (size_t)all);
	return 0;
}

static int find_mount(const char *cgroup, char *ret, size_t size, struct err *err)
{
	struct cgroup_layout layout;

	auto_close int fd = fs_opendir_at(AT_FDCWD, cgroup, err);
	if (fd < 0)
		return -ENODEV;
	if (cgroup_probe(fd, &layout, err) < 0)
		return -ENODEV;
	if (!layout.cpuacct[0])
		return err_set(err, -ENODEV, "%s: no cpuacct of cgroup v1", cgroup);
	int n = snprintf(ret, size, "%s/%s", cgroup, layout.cpuacct);
	return n < 0 || (size_t)n >= size
		       ? err_set(err, -EINVAL, "%s: path too long", cgroup)
		       : 0;
}

int keep_make(struct keep *k, const char *cgroup, const char *slurm, uid_t uid,
	      uint32_t job, struct err *err)
{
	struct keep made = {.owner = getpid()};

	*k = (struct keep){0};
	int rc = set_paths(&made, slurm, uid, job, err);
	if (rc == 0)
		rc = find_mount(cgroup, made.mount, sizeof(made.mount), err);
	if (rc < 0)
		return rc;
	auto_close int mount = fs_opendir_at(AT_FDCWD, made.mount, err);
	if (mount < 0)
		return -ENODEV;
	rc = lock_mount(mount, MAKE_TRIES);
	if (rc < 0)
		return err_set(err, rc, "%s: cannot be locked: %s", made.mount,
			       strerror(-rc));
	rc = make_levels(&made, mount, err);
	unlock_mount(mount);
	if (rc == 0)
		*k = made;
	return rc;
}

void keep_remove(struct keep *k)
{
	if (!k->mount[0] || k->owner != getpid())
		return;
	auto_close int mount = fs_opendir_at(AT_FDCWD, k->mount, NULL);
	if (mount >= 0) {
		bool locked = lock_mount(mount, REMOVE_TRIES) == 0;
		remove_levels(k, mount, KEEP_STEP, locked ? KEEP_USER : KEEP_JOB);
		if (locked)
			unlock_mount(mount);
	}
	k->mount[0] = '\0';
}
