/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where control groups are: the mounted hierarchies and the paths in them.
 * cgroup_parse.c parses their files, cgroup_read.c reads them. Paths always come from
 * the kernel (/proc/PID/cgroup) and are never built from a job's number. */
#include "lib/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define ROOT_ENTRIES_MAX 256
#define UNIT_LEVELS_MAX 32
#define MIRROR_LETTERS 32u /* of an MD5: pkg/kubelet/config/common.go of Kubernetes */

static const struct controller {
	const char *name;
	uint32_t bit;
	size_t offset;
} controllers[] = {
	{"cpuacct", CGROUP_CPUACCT, offsetof(struct cgroup_layout, cpuacct)},
	{"memory", CGROUP_MEMORY, offsetof(struct cgroup_layout, memory)},
	{"cpuset", CGROUP_CPUSET, offsetof(struct cgroup_layout, cpuset)},
	{"cpu", CGROUP_CPU, offsetof(struct cgroup_layout, cpu)},
	{"pids", CGROUP_PIDS, offsetof(struct cgroup_layout, pids)},
	{"freezer", CGROUP_FREEZER, offsetof(struct cgroup_layout, freezer)},
	{"blkio", CGROUP_BLKIO, offsetof(struct cgroup_layout, blkio)},
	{"devices", CGROUP_DEVICES, offsetof(struct cgroup_layout, devices)},
};
#define CONTROLLERS (sizeof(controllers) / sizeof(controllers[0]))
#define DIR_SIZE sizeof(((struct cgroup_layout *)0)->unified)

static const struct controller *controller_named(const char *name, size_t len)
{
	for (size_t i = 0; i < CONTROLLERS; i++) {
		if (strlen(controllers[i].name) == len &&
		    memcmp(controllers[i].name, name, len) == 0)
			return &controllers[i];
	}
	return NULL;
}

/* The next item of a comma separated list; false at its end. */
static bool next_list_item(const char **p, const char *end, const char **ret,
			   size_t *ret_len)
{
	if (!*p)
		return false;
	const char *comma = memchr(*p, ',', (size_t)(end - *p));
	*ret = *p;
	*ret_len = (size_t)((comma ? comma : end) - *p);
	*p = comma ? comma + 1 : NULL;
	return true;
}

/* A hierarchy is mounted in a directory that lists its controllers ("cpu,cpuacct"),
 * mostly with a symlink for each; a mount under the plain name is preferred. */
static void take_entry(struct cgroup_layout *l, const char *name)
{
	const char *end = name + strlen(name), *p = name, *item;
	size_t len;

	if ((size_t)(end - name) >= DIR_SIZE)
		return;
	while (next_list_item(&p, end, &item, &len)) {
		const struct controller *c = controller_named(item, len);
		if (!c)
			continue;
		char *dir = (char *)l + c->offset;
		if (!dir[0] || len == (size_t)(end - name))
			memcpy(dir, name, (size_t)(end - name) + 1);
	}
}

/* Other names of controllers are symlinks; only those need a closer look. */
static bool is_dir(int dirfd, const struct dirent *e)
{
	struct stat st;

	if (e->d_type == DT_DIR)
		return true;
	if (e->d_type != DT_LNK && e->d_type != DT_UNKNOWN)
		return false;
	return fstatat(dirfd, e->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

int cgroup_probe(int rootfd, struct cgroup_layout *ret, struct err *err)
{
	struct cgroup_layout l = {0};

	if (faccessat(rootfd, "cgroup.controllers", F_OK, 0) == 0) {
		l.unified_only = true;
		strncpy(l.unified, ".", DIR_SIZE);
		*ret = l;
		return 0;
	}
	auto_close int fd = fs_opendir_at(rootfd, ".", err);
	if (fd < 0)
		return fd;
	auto_closedir DIR *dir = fdopendir(fd);
	if (!dir)
		return err_set(err, -ENOMEM, "cgroup root: no memory");
	(void)steal_fd(&fd);
	bool any = false;
	for (int i = 0; i < ROOT_ENTRIES_MAX; i++) {
		struct dirent *e = readdir(dir);
		if (!e)
			break;
		if (e->d_name[0] != '.' && is_dir(rootfd, e))
			take_entry(&l, e->d_name);
	}
	for (size_t i = 0; i < CONTROLLERS; i++)
		any = any || ((char *)&l + controllers[i].offset)[0];
	if (faccessat(rootfd, "unified/cgroup.controllers", F_OK, 0) == 0) {
		strncpy(l.unified, "unified", DIR_SIZE);
		any = true;
	}
	if (!any)
		return err_set(err, -ENODEV,
			       "no control groups: neither cgroup.controllers (v2) nor "
			       "a directory of a v1 controller");
	*ret = l;
	return 0;
}

bool cgroup_guess(const struct record_cgroup *paths, size_t count,
		  struct cgroup_layout *ret)
{
	struct cgroup_layout l = {.unified = "unified"};
	uint32_t seen = 0;

	for (size_t i = 0; i < count; i++)
		seen |= paths[i].controllers;
	if (!(seen & ~(uint32_t)CGROUP_UNIFIED))
		return false;
	for (size_t i = 0; i < CONTROLLERS; i++)
		memcpy((char *)&l + controllers[i].offset, controllers[i].name,
		       strlen(controllers[i].name) + 1);
	*ret = l;
	return true;
}

const char *cgroup_dir(const struct cgroup_layout *l, uint32_t controller)
{
	if (controller == CGROUP_UNIFIED)
		return l->unified;
	for (size_t i = 0; i < CONTROLLERS; i++) {
		if (controllers[i].bit == controller)
			return (const char *)l + controllers[i].offset;
	}
	return "";
}

/* Walks the components of a path: [*p, end) without its slashes. */
static bool next_component(const char **p, const char *end, const char **ret,
			   size_t *ret_len)
{
	while (*p < end && **p == '/')
		(*p)++;
	if (*p == end)
		return false;
	const char *slash = memchr(*p, '/', (size_t)(end - *p));
	*ret = *p;
	*ret_len = (size_t)((slash ? slash : end) - *p);
	*p = slash ? slash : end;
	return true;
}

static bool slice_begins(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && memcmp(s, with, n) == 0;
}

static bool slice_ends(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && memcmp(s + len - n, with, n) == 0;
}

/* The last component that begins "step_", by its start and end in the path. */
static bool find_step_component(const char *path, size_t len, size_t *ret_start,
				size_t *ret_end)
{
	const char *p = path, *end = path + len, *c;
	size_t n;
	bool found = false;

	while (next_component(&p, end, &c, &n)) {
		if (slice_begins(c, n, "step_")) {
			*ret_start = (size_t)(c - path);
			*ret_end = *ret_start + n;
			found = true;
		}
	}
	return found;
}

size_t cgroup_step_len(const char *path, size_t len)
{
	size_t start, end;

	return find_step_component(path, len, &start, &end) ? end : 0;
}

size_t cgroup_job_len(const char *path, size_t len)
{
	size_t start, end;

	if (!find_step_component(path, len, &start, &end))
		return 0;
	while (start > 0 && path[start - 1] == '/')
		start--;
	return start;
}

bool cgroup_job_sluid(const char *path, char ret[CGROUP_SLUID_SIZE])
{
	/* Crockford's base 32, as src/common/sluid.c has it */
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	const size_t len = CGROUP_SLUID_SIZE - 1;
	static const char scope[] = "slurmstepd.scope/";
	size_t job = cgroup_job_len(path, strlen(path));

	if (job <= len || !slice_ends(path, job - len, scope) ||
	    path[job - len] != 's' || strspn(path + job - len + 1, digits) != len - 1)
		return false;
	memcpy(ret, path + job - len, len);
	ret[len] = '\0';
	return true;
}

/* slurmd's node name in one component; NULL when the component is not a Slurm root.
 * Both spellings are Slurm's own (xcgroup and cgroup/v2's scope). */
static const char *node_of(const char *c, size_t len, size_t *ret_len)
{
	static const char scope[] = "slurmstepd.scope";

	if (slice_begins(c, len, "slurm") && (len == 5 || c[5] == '_')) {
		*ret_len = len == 5 ? 0 : len - 6;
		return len == 5 ? c : c + 6;
	}
	if (!slice_ends(c, len, scope))
		return NULL;
	len -= sizeof(scope) - 1;
	if (len > 0 && c[len - 1] != '_')
		return NULL;
	*ret_len = len ? len - 1 : 0;
	return c;
}

static const char *find_node(const char *path, size_t path_len, size_t *ret_len)
{
	const char *p = path, *end = path + path_len, *c;
	size_t n;

	/* below the step a group is called "slurm" too (v2: step_0/slurm) */
	while (next_component(&p, end, &c, &n) && !slice_begins(c, n, "step_")) {
		const char *node = node_of(c, n, ret_len);
		if (node)
			return node;
	}
	return NULL;
}

bool cgroup_slurm_node(const char *path, char *ret, size_t size)
{
	size_t len;
	const char *node = find_node(path, strlen(path), &len);

	if (!node || !size)
		return false;
	if (len >= size)
		len = size - 1;
	memcpy(ret, node, len);
	ret[len] = '\0';
	return true;
}

static bool machine_begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

bool cgroup_is_machine(const char *parent, const char *name)
{
	if (machine_begins(name, "machine-qemu") || machine_begins(name, "machine-lxc"))
		return true;
	return strcmp(parent, "machine") == 0 &&
	       (machine_begins(name, "qemu-") || machine_begins(name, "lxc-"));
}

size_t cgroup_machine_or_pod_len(const char *path, size_t len)
{
	char parent[NAME_MAX + 1] = "", name[NAME_MAX + 1], uid[CGROUP_POD_UID_SIZE];
	const char *p = path, *end = path + len, *c;
	size_t n;

	if (!len || *path != '/')
		return 0;
	for (int depth = 0; depth < UNIT_LEVELS_MAX && next_component(&p, end, &c, &n);
	     depth++) {
		if (n > NAME_MAX)
			return 0;
		memcpy(name, c, n);
		name[n] = '\0';
		if (strcmp(name, "user.slice") == 0)
			return 0;
		if (cgroup_is_machine(parent, name) ||
		    cgroup_pod_uid(parent, name, uid))
			return (size_t)(c + n - path);
		memcpy(parent, name, n + 1);
	}
	return 0;
}

bool cgroup_never_slurm(const char *name)
{
	return strcmp(name, "user.slice") == 0 || strcmp(name, "machine.slice") == 0 ||
	       slice_begins(name, strlen(name), "kubepods");
}

bool cgroup_path_ok(const char *path, size_t len)
{
	const char *p = path, *end = path + len, *c;
	size_t n;

	if (!len || path[0] != '/' || memchr(path, '\0', len))
		return false;
	while (next_component(&p, end, &c, &n)) {
		if (n == 2 && c[0] == '.' && c[1] == '.')
			return false;
	}
	return true;
}

uint32_t cgroup_controller_bits(const char *s, size_t len)
{
	const char *p = s, *end = s + len, *item;
	uint32_t bits = 0;
	size_t n;

	while (next_list_item(&p, end, &item, &n)) {
		const struct controller *c = controller_named(item, n);
		if (c)
			bits |= c->bit;
	}
	return bits;
}

/* ---- pods (kubelet, pkg/kubelet/cm/cgroup_manager_linux.go) ---------------------- */

#define PODS_SLICE_END ".slice"
#define PODS "kubepods"
#define POD_OF_SLICE "-pod"

/* A manifest may name any UID for a static pod. */
static bool is_uid_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || c == '-' || c == '.';
}

/* systemd reads '-' in a slice's name as a level, so kubelet writes '_'. */
static bool copy_uid(const char *s, size_t len, bool slice, char *ret)
{
	if (!len || len >= CGROUP_POD_UID_SIZE)
		return false;
	for (size_t i = 0; i < len; i++) {
		ret[i] = slice && s[i] == '_' ? '-' : s[i];
		if (!is_uid_char(ret[i]))
			return false;
	}
	ret[len] = '\0';
	return true;
}

static bool pod_name_begins(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* What follows "[kubelet-]kubepods" in a name, NULL: it is another one */
static const char *after_pods(const char *name)
{
	if (pod_name_begins(name, "kubelet-"))
		name += strlen("kubelet-");
	return pod_name_begins(name, PODS) ? name + strlen(PODS) : NULL;
}

static bool slice_uid(const char *name, char *ret)
{
	static const char *const classes[] = {"-burstable", "-besteffort"};
	size_t len = strlen(name), end = strlen(PODS_SLICE_END);
	const char *p = after_pods(name);

	if (!p || len < end || strcmp(name + len - end, PODS_SLICE_END) != 0)
		return false;
	for (size_t i = 0; i < 2; i++) {
		if (pod_name_begins(p, classes[i])) {
			p += strlen(classes[i]);
			break;
		}
	}
	if (!pod_name_begins(p, POD_OF_SLICE))
		return false;
	p += strlen(POD_OF_SLICE);
	return p < name + len - end &&
	       copy_uid(p, (size_t)(name + len - end - p), true, ret);
}

bool cgroup_pod_uid(const char *parent, const char *name, char ret[CGROUP_POD_UID_SIZE])
{
	char uid[CGROUP_POD_UID_SIZE];
	bool found = slice_uid(name, uid);

	if (!found && pod_name_begins(name, "pod") &&
	    (strcmp(parent, PODS) == 0 || strcmp(parent, "burstable") == 0 ||
	     strcmp(parent, "besteffort") == 0))
		found = copy_uid(name + 3, strlen(name + 3), false, uid);
	if (found)
		memcpy(ret, uid, sizeof(uid));
	return found;
}

bool cgroup_mirror_uid(const char *mirror, const char *hash,
		       char ret[CGROUP_POD_UID_SIZE])
{
	if (!mirror || !hash || strcmp(mirror, hash) != 0 ||
	    strlen(hash) != MIRROR_LETTERS)
		return false;
	for (const char *p = hash; *p; p++) {
		if (parse_hex_digit(*p) < 0)
			return false;
	}
	memcpy(ret, hash, MIRROR_LETTERS + 1);
	return true;
}

bool cgroup_container_id(const char *name, char ret[CGROUP_CONTAINER_ID_SIZE])
{
	const size_t digits = CGROUP_CONTAINER_ID_SIZE - 1, end = strlen(".scope");
	const char *monitor = "conmon-";
	size_t len = strlen(name), before = 0;

	if (len > digits + end && strcmp(name + len - end, ".scope") == 0) {
		before = len - end - digits;
		if (name[before - 1] != '-' ||
		    (before >= strlen(monitor) &&
		     pod_name_begins(name + before - strlen(monitor), monitor)))
			return false;
	} else if (len != digits) {
		return false;
	}
	if (strspn(name + before, "0123456789abcdef") < digits)
		return false;
	memcpy(ret, name + before, digits);
	ret[digits] = '\0';
	return true;
}
