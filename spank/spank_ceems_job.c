/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_ceems_job.so: UNIT_START and UNIT_STOP from slurmd's prolog and epilog, for
 * sites without PrologFlags=Contain that want a job's edges also where it runs no step.
 * A plugin of its own because these two symbols alone make slurmd fork a slurmstepd
 * twice per job (28 ms measured). The environment here is slurmctld's and slurmd's:
 * facts; the user's own variables come in only with the prefix SPANK_, which is never
 * read. */
/* exports.map exports the hooks, which spank.h declares, and the plugin's names */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(ceems_job, 1)
#pragma GCC visibility pop

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/err.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/plugin/spank_options.h"
#include "spank/gpulist.h"
#include "spank/step.h"

#define SLICE_ENTRIES_MAX 4096u /* looked at in the unified hierarchy */
#define SLICE_DEPTH_MAX 4u

static uint32_t env_u32(const char *name, uint32_t otherwise)
{
	uint32_t v;
	const char *s = getenv(name);
	return s && parse_u32(s, &v) == 0 ? v : otherwise;
}

static void env_text(struct record *r, const char *name, char *dst, size_t size)
{
	const char *s = getenv(name);
	if (s)
		record_set(r, dst, size, s);
}

static void take_job_gpus(struct record *r)
{
	const char *list = getenv("SLURM_JOB_GPUS");
	int rc = list ? gpulist_canonical(list, r->gpus, sizeof(r->gpus)) : -ENOENT;
	if (rc < 0)
		return;
	r->flags |= RECORD_GPUS_TRUSTED | (rc > 0 ? RECORD_CUT : 0);
}

/* Whether a slice below dirfd, which it closes, has that scope. systemd puts a-b.slice
 * into a.slice. */
static bool has_scope_below(int dirfd, const char *scope, unsigned depth,
			    unsigned *left)
{
	auto_closedir DIR *dir = fdopendir(dirfd);
	const struct dirent *e;

	if (!dir) {
		close(dirfd);
		return false;
	}
	while ((e = readdir(dir)) && *left) {
		const char *dot = strrchr(e->d_name, '.');
		--*left;
		if (!dot || strcmp(dot, ".slice") != 0)
			continue;
		auto_close int fd =
			openat(dirfd, e->d_name,
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (faccessat(fd, scope, F_OK, 0) == 0 ||
		    (depth < SLICE_DEPTH_MAX &&
		     has_scope_below(steal_fd(&fd), scope, depth + 1, left)))
			return true;
	}
	return false;
}

/* On v2 in the slice that CgroupSlice= names (default system.slice). */
static bool has_scope_of(int rootfd, const char *node)
{
	char scope[RECORD_CGROUP_MAX];
	unsigned left = SLICE_ENTRIES_MAX;
	int n = snprintf(scope, sizeof(scope), "%s_slurmstepd.scope", node);
	int fd = n > 0 && (size_t)n < sizeof(scope) ? fs_opendir_at(rootfd, ".", NULL)
						    : -1;

	return fd >= 0 && has_scope_below(fd, scope, 1, &left);
}

/* Steps take their node name from their cgroup path, which has one only if Slurm was
 * built for several slurmds per host; otherwise a job would become two units. A prolog
 * has no such path, so it checks the directories that slurmd creates at its start. */
static bool has_root_of(int rootfd, const struct cgroup_layout *l, const char *node)
{
	static const uint32_t hierarchies[] = {CGROUP_FREEZER, CGROUP_MEMORY,
					       CGROUP_CPUSET, CGROUP_CPUACCT,
					       CGROUP_DEVICES};
	char path[RECORD_CGROUP_MAX];
	int n;

	if (l->unified_only)
		return has_scope_of(rootfd, node);
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		const char *dir = cgroup_dir(l, hierarchies[i]);
		if (!*dir)
			continue;
		n = snprintf(path, sizeof(path), "%s/slurm_%s", dir, node);
		if (n > 0 && (size_t)n < sizeof(path) &&
		    faccessat(rootfd, path, F_OK, 0) == 0)
			return true;
	}
	return false;
}

static void take_node(struct record *r)
{
	const char *node = getenv("SLURMD_NODENAME");
	struct cgroup_layout layout;
	auto_close int rootfd = fs_opendir_at(AT_FDCWD, step_host.cgroup, NULL);

	if (!node || !*node || strchr(node, '/') || rootfd < 0 ||
	    cgroup_probe(rootfd, &layout, NULL) < 0)
		return;
	if (has_root_of(rootfd, &layout, node))
		record_set(r, r->node, sizeof(r->node), node);
}

static void publish_unit(spank_t sp, enum record_type type, int ac, char *argv[])
{
	struct policy policy;
	struct record r;
	struct err err;
	uint32_t job = 0;
	uid_t uid;
	gid_t gid;
	bool failed = false;

	policy_init(&policy);
	for (int i = 0; i < ac; i++)
		if (policy_apply(&policy, argv[i], &err) < 0)
			slurm_verbose("ceems_job: plugstack.conf: %s, ignored",
				      err.text);
	if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS || !job)
		return;
	record_init(&r, type, MANAGER_SLURM);
	snprintf(r.unit, sizeof(r.unit), "%u", job);
	r.uid = spank_get_item(sp, S_JOB_UID, &uid) == ESPANK_SUCCESS ? (uint32_t)uid
								      : 0;
	r.gid = spank_get_item(sp, S_JOB_GID, &gid) == ESPANK_SUCCESS ? (uint32_t)gid
								      : 0;
	r.restarts = env_u32("SLURM_RESTART_COUNT", 0);
	r.het_job = env_u32("SLURM_HET_JOB_ID", RECORD_NO_VAL);
	take_node(&r);
	env_text(&r, "SLURM_JOB_ACCOUNT", r.account, sizeof(r.account));
	env_text(&r, "SLURM_JOB_PARTITION", r.partition, sizeof(r.partition));
	env_text(&r, "SLURM_JOB_USER", r.user, sizeof(r.user));
	env_text(&r, "SLURM_JOB_SLUID", r.sluid, sizeof(r.sluid));
	take_job_gpus(&r);
	if (type == RECORD_UNIT_STOP) {
		r.exit_status = env_u32("SLURM_JOB_EXIT_CODE", 0);
		r.flags |= RECORD_LAST;
		if (WIFSIGNALED(r.exit_status))
			r.flags |= RECORD_SIGNALLED;
	}
	step_publish(&r, type, &policy, &failed);
}

int slurm_spank_job_prolog(spank_t sp, int ac, char *argv[])
{
	publish_unit(sp, RECORD_UNIT_START, ac, argv);
	return ESPANK_SUCCESS;
}

int slurm_spank_job_epilog(spank_t sp, int ac, char *argv[])
{
	publish_unit(sp, RECORD_UNIT_STOP, ac, argv);
	return ESPANK_SUCCESS;
}
