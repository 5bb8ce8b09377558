/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup tree as a second source. A step is a directory step_*; the directories
 * above it give job, user and node. */
#include "daemon/discover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/inhabited.h"
#include "daemon/options.h"
#include "daemon/units.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"

static const uint32_t discover_controllers[] = {
	CGROUP_UNIFIED, CGROUP_CPUACCT, CGROUP_MEMORY,  CGROUP_CPUSET, CGROUP_FREEZER,
	CGROUP_CPU,     CGROUP_PIDS,    CGROUP_DEVICES, CGROUP_BLKIO};
#define CONTROLLERS (sizeof(discover_controllers) / sizeof(discover_controllers[0]))

struct found_step {
	char path[RECORD_CGROUP_MAX]; /* below the hierarchy, from "/" */
	uint32_t controllers;
};

struct walk {
	const struct env *env;
	uint32_t controllers; /* of the hierarchy being walked */
	struct found_step *found;
	size_t count, cap;
	unsigned left; /* directories that may still be visited */
	int rc;
};

static bool path_begins(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);
	return n >= m && strcmp(s + n - m, suffix) == 0;
}

/* step_batch step_extern step_interactive step_N; het components are step_N+M */
static bool step_number(const char *name, uint32_t *ret)
{
	static const struct {
		const char *name;
		uint32_t step;
	} special[] = {{"batch", RECORD_STEP_BATCH},
		       {"extern", RECORD_STEP_EXTERN},
		       {"interactive", RECORD_STEP_INTERACTIVE}};
	if (!path_begins(name, "step_"))
		return false;
	name += strlen("step_");
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		if (strcmp(name, special[i].name) == 0) {
			*ret = special[i].step;
			return true;
		}
	}
	char digits[16];
	size_t n = strspn(name, "0123456789");
	if (!n || n >= sizeof(digits) || (name[n] != '\0' && name[n] != '+'))
		return false;
	memcpy(digits, name, n);
	digits[n] = '\0';
	return parse_u32(digits, ret) == 0;
}

static void add_found(struct walk *w, const char *path)
{
	size_t len = strlen(path);
	if (len >= sizeof(w->found->path))
		return;
	if (w->count == w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 64;
		struct found_step *p = realloc(w->found, cap * sizeof(*p));
		if (!p) {
			w->rc = -ENOMEM;
			return;
		}
		w->found = p;
		w->cap = cap;
	}
	struct found_step *f = &w->found[w->count++];
	memcpy(f->path, path, len + 1);
	f->controllers = w->controllers;
}

/* Whether this is Slurm's directory: on v1 it is at the top of the hierarchy, on v2
 * systemd (or a container's runtime) puts slices above it. */
static bool is_slurm_root(const struct walk *w, const char *name)
{
	if (w->controllers & CGROUP_UNIFIED)
		return ends_with(name, "slurmstepd.scope");
	return strcmp(name, "slurm") == 0 || path_begins(name, "slurm_");
}

/* Visits the directory dirfd (whose ownership it takes), at path in the hierarchy. */
static void walk_dir(struct walk *w, int dirfd, char *path, size_t size, unsigned depth,
		     bool inside)
{
	auto_closedir DIR *dir = fdopendir(dirfd);
	if (!dir) {
		close(dirfd);
		return;
	}
	size_t len = strlen(path);
	struct dirent *e;
	while (w->rc == 0 && (e = readdir(dir))) {
		if (e->d_name[0] == '.' ||
		    (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		if (!inside && cgroup_never_slurm(e->d_name))
			continue;
		bool root = !inside && is_slurm_root(w, e->d_name);
		bool v1_top = !inside && !root && !(w->controllers & CGROUP_UNIFIED);
		if (v1_top)
			continue; /* Slurm's directory is at the top of v1 */
		if (!w->left--) {
			w->left = 0;
			w->rc = -EFBIG;
			return;
		}
		int n = snprintf(path + len, size - len, "/%s", e->d_name);
		uint32_t step;
		if (n < 0 || (size_t)n >= size - len) {
			path[len] = '\0';
			continue;
		}
		if (inside && step_number(e->d_name, &step)) {
			add_found(w, path);
		} else if (depth < DISCOVER_DEPTH_MAX) {
			int fd =
				openat(dirfd, e->d_name,
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
			if (fd >= 0) /* else it has just vanished */
				walk_dir(w, fd, path, size, depth + 1, inside || root);
		}
		path[len] = '\0';
	}
}

/* One directory may serve several controllers (cpu,cpuacct): walk it once. */
static void walk_hierarchies(struct walk *w)
{
	const struct cgroup_layout *l = &w->env->cgroups;
	uint32_t done = 0;
	for (size_t i = 0; i < CONTROLLERS && w->rc == 0; i++) {
		const char *dir = cgroup_dir(l, discover_controllers[i]);
		if (!*dir || (done & discover_controllers[i]) ||
		    (l->unified_only && discover_controllers[i] != CGROUP_UNIFIED))
			continue;
		w->controllers = discover_controllers[i];
		for (size_t k = i + 1; k < CONTROLLERS; k++) {
			if (strcmp(cgroup_dir(l, discover_controllers[k]), dir) == 0 &&
			    !l->unified_only)
				w->controllers |= discover_controllers[k];
		}
		done |= w->controllers;
		int fd = fs_opendir_at(w->env->cgroupfd, dir, NULL);
		if (fd < 0)
			continue;
		char path[RECORD_CGROUP_MAX] = "";
		walk_dir(w, fd, path, sizeof(path), 0, false);
	}
}

static int by_path(const void *a, const void *b)
{
	const struct found_step *x = a, *y = b;
	return strcmp(x->path, y->path);
}

/* ---- a directory as a record ----------------------------------------------------- */

/* ".../uid_U/..." on v1; v2 does not have it: uid stays 0 until a record comes */
static void find_uid(const char *path, struct record *r)
{
	const char *p = strstr(path, "/uid_");
	if (!p)
		return;
	char digits[16];
	p += strlen("/uid_");
	size_t n = strspn(p, "0123456789");
	if (!n || n >= sizeof(digits) || p[n] != '/')
		return;
	memcpy(digits, p, n);
	digits[n] = '\0';
	(void)!parse_u32(digits, &r->uid);
}

static bool our_node(const struct env *env, const char *node)
{
	const struct conf_list *l = &env->options->slurm_nodes;
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->items[i], node) == 0)
			return true;
	}
	return l->count == 0;
}

bool discover_describe(const struct env *env, const char *path, struct record *r)
{
	struct units *u = env->units;
	char job[RECORD_CGROUP_MAX];
	snprintf(job, sizeof(job), "%s", path);
	char *slash = strrchr(job, '/');
	record_init(r, RECORD_STEP_START, MANAGER_SLURM);
	if (!slash || !step_number(slash + 1, &r->step))
		return false;
	*slash = '\0';

	uint32_t sibling = steps_find_job_path(u, job);
	if (sibling != UNITS_NONE) {
		/* a record has named the unit of this directory */
		const struct unit *unit = units_get(u, steps_unit(u, sibling));
		record_set(r, r->unit, sizeof(r->unit), unit->id);
		record_set(r, r->node, sizeof(r->node), unit->node);
		r->restarts = unit->restarts;
		r->uid = unit->uid;
		r->gid = unit->gid;
	} else {
		const char *name = strrchr(job, '/');
		name = name ? name + 1 : job;
		if (path_begins(name, "job_"))
			name += strlen("job_");
		if (!*name)
			return false;
		record_set(r, r->unit, sizeof(r->unit), name);
		(void)cgroup_slurm_node(path, r->node, sizeof(r->node));
		find_uid(path, r);
	}
	r->boottime_ns = env->boottime_ns();
	r->realtime_ns = env->realtime_ns();
	return our_node(env, r->node);
}

static int add_step(const struct env *env, const char *path, uint32_t bits)
{
	struct record r;
	struct err err = {""};
	char name[16];

	if (steps_find_path(env->units, path) != UNITS_NONE ||
	    !discover_describe(env, path, &r))
		return 0;
	for (size_t i = 0; i < CONTROLLERS; i++) {
		if (bits & discover_controllers[i])
			record_add_cgroup(&r, discover_controllers[i], path);
	}
	if (!inhabited_by_tasks(env, r.cgroups, r.cgroup_count))
		return 0;
	int rc = units_apply(env->units, &r, UINT64_MAX, r.boottime_ns, r.realtime_ns,
			     &err);
	if (rc < 0) {
		log_debug("discover: %s: %s", path, err_text(&err));
		return 0;
	}
	log_info("unit %s step %s: found by its control group", r.unit,
		 record_step_name(r.step, name));
	return 1;
}

int discover_walk(const struct env *env, struct err *err)
{
	struct walk w = {.env = env, .left = DISCOVER_ENTRIES_MAX};
	int added = 0;

	walk_hierarchies(&w);
	if (w.count)
		qsort(w.found, w.count, sizeof(*w.found), by_path);
	for (size_t i = 0, k; i < w.count; i = k) {
		uint32_t bits = 0;
		for (k = i;
		     k < w.count && strcmp(w.found[k].path, w.found[i].path) == 0; k++)
			bits |= w.found[k].controllers;
		added += add_step(env, w.found[i].path, bits);
	}
	free(w.found);
	if (w.rc == -EFBIG)
		return err_set(
			err, w.rc,
			"more than %u directories of control groups: the rest was "
			"not looked at (%d steps were found)",
			DISCOVER_ENTRIES_MAX, added);
	if (w.rc < 0)
		return err_set(err, w.rc, "walk of the control groups: out of memory");
	return added;
}
