/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk is that of daemon/discover.c with less to know: any directory step_* or of a
 * virtual machine or pod that root has made. ceemsd decides whose it is. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/group_slots.h"
#include "opener/adopt.h"

#define DEPTH_MAX 12u
#define PROC_CGROUPS_BYTES 4096

struct adoption {
	int (*found)(void *arg, const struct adopted_group *group);
	void *arg;
	uint32_t hierarchy;
	unsigned left; /* directories that may still be visited */
	char path[GROUP_PATH_BYTES];
};

/* /proc/cgroups: "#subsys_name hierarchy num_cgroups enabled". 0 also for what is not
 * there. */
static uint32_t hierarchy_of(const char *table, const char *controller)
{
	size_t len = strlen(controller);

	for (const char *line = table; line; line = strchr(line, '\n')) {
		uint64_t number;
		const char *p;
		line += *line == '\n';
		if (strncmp(line, controller, len) != 0 || line[len] != '\t')
			continue;
		p = line + len + 1;
		if (scan_u64(&p, p + strcspn(p, "\t\n"), &number) == 0)
			return (uint32_t)number;
	}
	return 0;
}

/* len: of the path of the directory that has it */
static bool is_followed(const struct adoption *a, const char *name, size_t len)
{
	char parent[GROUP_PATH_BYTES], uid[CGROUP_POD_UID_SIZE];

	if (strncmp(name, "step_", strlen("step_")) == 0)
		return true;
	memcpy(parent, a->path, len);
	parent[len] = '\0';
	const char *slash = strrchr(parent, '/');
	const char *above = slash ? slash + 1 : "";
	return cgroup_is_machine(above, name) || cgroup_pod_uid(above, name, uid);
}

/* below: how far below a step's group its entries are; 1: directly, 0: not */
static int visit_directory(struct adoption *a, int fd, size_t len, unsigned depth,
			   unsigned below, bool stepd);

static int visit_entry(struct adoption *a, int dirfd, const char *name, size_t len,
		       unsigned depth, unsigned below, bool stepd)
{
	struct stat st;
	int n = snprintf(a->path + len, sizeof(a->path) - len, "/%s", name);

	if (n < 0 || (size_t)n >= sizeof(a->path) - len || !a->left)
		return 0;
	a->left--;
	auto_close int fd =
		openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0; /* it has just vanished */
	/* a user's own subtree, of which they make as many groups as they like: what is
	 * below a step counts for it without an entry of its own */
	if (st.st_uid != 0)
		return 0;
	bool step = !below && is_followed(a, name, len);
	/* elsewhere the name is a user's */
	stepd = stepd || (below == 1 && !a->hierarchy && strcmp(name, "slurm") == 0);
	if (step || below) {
		struct adopted_group group = {
			.id = st.st_ino,
			.hierarchy = a->hierarchy,
			.path = a->path,
			.step = step,
			.stepd = stepd,
		};
		int rc = a->found(a->arg, &group);
		if (rc < 0)
			return rc;
	}
	if (depth >= DEPTH_MAX)
		return 0;
	return visit_directory(a, steal_fd(&fd), len + (size_t)n, depth + 1,
			       below ? below + 1 : step, stepd);
}

/* Takes ownership of fd. */
static int visit_directory(struct adoption *a, int fd, size_t len, unsigned depth,
			   unsigned below, bool stepd)
{
	auto_closedir DIR *dir = fdopendir(fd);
	struct dirent *e;
	int rc = 0;

	if (!dir) {
		close(fd);
		return 0;
	}
	while (rc == 0 && (e = readdir(dir))) {
		if (e->d_name[0] != '.' &&
		    (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
			rc = visit_entry(a, dirfd(dir), e->d_name, len, depth, below,
					 stepd);
		a->path[len] = '\0';
	}
	return rc;
}

int adopt_walk(int cgroupfd, int procfd,
	       int (*found)(void *arg, const struct adopted_group *group), void *arg,
	       struct err *err)
{
	struct cgroup_layout layout;
	char table[PROC_CGROUPS_BYTES] = "";
	struct adoption a = {.found = found, .arg = arg, .left = ADOPT_DIRECTORIES_MAX};
	int rc = cgroup_probe(cgroupfd, &layout, err);

	if (rc < 0)
		return rc;
	if (!layout.unified_only &&
	    fs_read_at(procfd, "cgroups", table, sizeof(table), err) < 0)
		return -EIO;
	const struct {
		const char *dir, *controller;
	} hierarchies[] = {{layout.unified, ""},
			   {layout.cpuacct, "cpuacct"},
			   {layout.memory, "memory"}};
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		const char *dir = hierarchies[i].dir;
		if (!*dir || (layout.unified_only && i > 0))
			continue;
		uint32_t last = a.hierarchy;
		a.hierarchy = i ? hierarchy_of(table, hierarchies[i].controller) : 0;
		/* both controllers may be in one */
		if (i && (!a.hierarchy || a.hierarchy == last))
			continue;
		int fd = fs_opendir_at(cgroupfd, dir, NULL);
		a.path[0] = '\0';
		if (fd >= 0)
			rc = visit_directory(&a, fd, 0, 0, 0, false);
		if (rc < 0)
			return err_set(err, rc, "%s: %s", a.path, strerror(-rc));
	}
	return 0;
}
