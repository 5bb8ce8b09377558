/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses /proc/PID/cgroup to the paths of a record: one line per hierarchy,
 * "4:memory:/slurm_n1/uid_0/job_3/step_0/task_0", and "0::/..." for v2. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define CGROUP_LINES_MAX 64
#define PROC_CGROUP_BYTES 8192

/* appended by the kernel if the group was removed under a zombie */
static const char deleted[] = " (deleted)";

static bool is_deleted(const char *path, size_t len)
{
	size_t n = sizeof(deleted) - 1;

	return len >= n && memcmp(path + len - n, deleted, n) == 0;
}

/* One line "ID:CONTROLLERS:PATH"; the path may itself contain colons. */
static bool split_hierarchy_line(const char *line, size_t len, uint32_t *ret_bits,
				 const char **ret_path, size_t *ret_len)
{
	const char *p = line, *end = line + len;
	uint64_t id;

	if (scan_u64(&p, end, &id) < 0 || p == end || *p != ':')
		return false;
	const char *names = p + 1;
	const char *colon = memchr(names, ':', (size_t)(end - names));
	if (!colon)
		return false;
	size_t names_len = (size_t)(colon - names);
	*ret_bits = id == 0 && names_len == 0
			    ? (uint32_t)CGROUP_UNIFIED
			    : cgroup_controller_bits(names, names_len);
	*ret_path = colon + 1;
	*ret_len = (size_t)(end - *ret_path);
	if (is_deleted(*ret_path, *ret_len))
		*ret_len -= sizeof(deleted) - 1;
	return true;
}

static bool slurm_node(const char *path, size_t len, char *ret, size_t size)
{
	char copy[RECORD_CGROUP_MAX];

	if (len >= sizeof(copy))
		len = sizeof(copy) - 1;
	memcpy(copy, path, len);
	copy[len] = '\0';
	return cgroup_slurm_node(copy, ret, size);
}

static void add_path(struct record *r, uint32_t bits, const char *path, size_t len)
{
	/* one byte more than fits, so that record_add_cgroup() notices an overlong
	 * path */
	char copy[RECORD_CGROUP_MAX + 1];

	if (len > RECORD_CGROUP_MAX)
		len = RECORD_CGROUP_MAX;
	memcpy(copy, path, len);
	copy[len] = '\0';
	for (uint32_t bit = 1; bit && bit <= bits; bit <<= 1) {
		if (bits & bit)
			(void)record_add_cgroup(r, bit, copy);
	}
}

int cgroup_record_paths(const char *text, size_t len, struct record *r)
{
	const char *p = text, *end = text + len, *line, *path;
	/* one byte more than fits, so that record_set() notices an overlong name */
	char node[RECORD_NAME_MAX + 1];
	size_t line_len, path_len;
	uint32_t bits;
	int found = 0;

	for (int i = 0; i < CGROUP_LINES_MAX && scan_line(&p, end, &line, &line_len);
	     i++) {
		if (!split_hierarchy_line(line, line_len, &bits, &path, &path_len) ||
		    !bits)
			continue;
		size_t step_len = cgroup_step_len(path, path_len);
		if (!step_len || !cgroup_path_ok(path, step_len) ||
		    !slurm_node(path, step_len, node, sizeof(node)))
			continue;
		add_path(r, bits, path, step_len);
		if (!r->node[0])
			record_set(r, r->node, sizeof(r->node), node);
		found++;
	}
	return found;
}

void cgroup_record_share_cpuacct(int rootfd, const struct cgroup_layout *layout,
				 struct record *r)
{
	char path[sizeof(layout->cpuacct) + RECORD_CGROUP_MAX];
	const char *known = record_cgroup(r, CGROUP_MEMORY);

	if (!known || !layout->cpuacct[0] || record_cgroup(r, CGROUP_CPUACCT))
		return;
	int n = snprintf(path, sizeof(path), "%s%s", layout->cpuacct, known);
	if (n < 0 || (size_t)n >= sizeof(path) || faccessat(rootfd, path, F_OK, 0) < 0)
		return;
	char copy[RECORD_CGROUP_MAX];
	memcpy(copy, known, strlen(known) + 1); /* known points into the record */
	record_add_cgroup(r, CGROUP_CPUACCT, copy);
}

static size_t read_groups_of_pid(int procfd, uint32_t pid, char *ret, size_t size)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "%u/cgroup", pid);
	ssize_t n = fs_read_at(procfd, path, ret, size, NULL);
	return n > 0 ? (size_t)n : 0;
}

/* False, ret untouched: it has no step's path. */
static bool find_step_path(const char *text, size_t len, char *ret)
{
	struct record r;

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	if (cgroup_record_paths(text, len, &r) <= 0 || !r.cgroup_count)
		return false;
	memcpy(ret, r.cgroups[0].path, RECORD_CGROUP_MAX);
	return true;
}

static void find_machine_or_pod(const char *text, size_t len, char *ret)
{
	const char *p = text, *line, *path;
	size_t line_len, path_len;
	uint32_t bits;

	for (int i = 0;
	     i < CGROUP_LINES_MAX && scan_line(&p, text + len, &line, &line_len); i++) {
		if (!split_hierarchy_line(line, line_len, &bits, &path, &path_len))
			continue;
		size_t n = cgroup_machine_or_pod_len(path, path_len);
		if (!n || n >= RECORD_CGROUP_MAX || !cgroup_path_ok(path, n))
			continue;
		memcpy(ret, path, n);
		ret[n] = '\0';
		return;
	}
}

void cgroup_unit_of_text(const char *text, size_t len, char *ret)
{
	*ret = '\0';
	if (!find_step_path(text, len, ret))
		find_machine_or_pod(text, len, ret);
}

void cgroup_unit_of_pid(int procfd, uint32_t pid, char *ret)
{
	char text[PROC_CGROUP_BYTES];

	cgroup_unit_of_text(text, read_groups_of_pid(procfd, pid, text, sizeof(text)),
			    ret);
}
