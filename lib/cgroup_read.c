/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a control group: CPU time, pressure, tasks, CPUs, IO. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/cgroup_impl.h"
#include "lib/parse.h"

static int read_v2_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	char text[CGROUP_FILE_MAX];

	if (c->without_user)
		cgroup_look_for_user(c);
	ssize_t n = cgroup_read_file(c, CPU_USAGE, text, sizeof(text), err);
	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_cpu_stat(text, (size_t)n, ret, err);
	return rc < 0 ? cgroup_file_error(c, CPU_USAGE, rc, err) : 0;
}

int cgroup_read_stepd_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	char text[CGROUP_FILE_MAX];
	struct cgroup_cpu cpu = {0};
	ssize_t n = cgroup_read_stepd(c, text, sizeof(text), err);
	int rc = n > 0 ? cgroup_parse_cpu_stat(text, (size_t)n, &cpu, err) : (int)n;

	if (rc < 0)
		return rc;
	*ret = cpu;
	return 0;
}

/* How many ticks of user time the two may differ: each number of cpuacct.stat is
 * truncated to a tick, and they are not read at the same time. */
#define TICKS_APART 4

/* Whether user : system is about the same as ticks[0] : ticks[1]. */
static bool is_same_ratio(uint64_t user, uint64_t system, const uint64_t ticks[2])
{
	const double all = (double)ticks[0] + (double)ticks[1];
	const double ours = (double)user / ((double)user + (double)system);

	return fabs(ours * all - (double)ticks[0]) <= TICKS_APART;
}

/* User and system times for the ratio. usage_user and usage_sys have nanoseconds, but
 * before Linux 5.17 they depend on where the kernel was when it charged the time, while
 * cpuacct.stat depends on what was interrupted, as everywhere else: where the two
 * contradict, cpuacct.stat counts. Below a tick only the former have a value. */
static int read_v1_ticks(struct cgroup_fds *c, uint64_t *ret_user, uint64_t *ret_system,
			 struct err *err)
{
	char text[256];
	uint64_t ticks[2] = {0, 0};
	int rc = cgroup_read_number(c, CPU_USER, ret_user, err);

	if (rc == 0)
		rc = cgroup_read_number(c, CPU_SYSTEM, ret_system, err);
	if (rc < 0 && rc != -ENODATA)
		return rc;
	bool known = rc == 0 && (*ret_user || *ret_system);
	ssize_t n = cgroup_read_file(c, CPU_TICKS, text, sizeof(text), err);
	if (n < 0 && n != -ENODATA)
		return (int)n;
	if (n > 0)
		rc = cgroup_parse_cpuacct_stat(text, (size_t)n, &ticks[0], &ticks[1],
					       err);
	if (n > 0 && rc < 0)
		return cgroup_file_error(c, CPU_TICKS, rc, err);
	if (known && is_same_ratio(*ret_user, *ret_system, ticks))
		return 0;
	*ret_user = ticks[0];
	*ret_system = ticks[1];
	return 0;
}

static int read_v1_throttling(struct cgroup_fds *c, struct cgroup_cpu *ret,
			      struct err *err)
{
	char text[1024];

	/* otherwise the file would be searched on v2 */
	if (!c->dir[CPU])
		return 0;
	ssize_t n = cgroup_read_file(c, CPU_THROTTLING, text, sizeof(text), err);
	if (n == -ENODEV && cgroup_forget(c, CPU))
		n = cgroup_read_file(c, CPU_THROTTLING, text, sizeof(text), err);
	/* The hierarchies are removed one after the other; cpuacct decides whether the
	 * group is gone. */
	if (n < 0)
		return n == -ENODATA || n == -ENODEV ? 0 : (int)n;
	int rc = cgroup_parse_throttling(text, (size_t)n, ret, err);
	return rc < 0 ? cgroup_file_error(c, CPU_THROTTLING, rc, err) : 0;
}

/* A group that has run for less than what the two files may differ by has the ratio of
 * its last reading. That is most groups whose tasks wait: three files fewer at each
 * scrape. */
#define RATIO_EXACT_NS (TICKS_APART * UINT64_C(10000000)) /* USER_HZ is 100 */

static bool is_ratio_fresh(const struct cgroup_fds *c, uint64_t usage)
{
	uint64_t since = usage - c->read_at_ns;

	return c->read_at_ns && since < RATIO_EXACT_NS && since <= usage / 16;
}

static int read_v1_ratio(struct cgroup_fds *c, uint64_t usage, uint64_t *ret_user,
			 uint64_t *ret_system, struct err *err)
{
	if (!is_ratio_fresh(c, usage)) {
		uint64_t user = 0, system = 0;
		int rc = read_v1_ticks(c, &user, &system, err);
		if (rc < 0)
			return rc;
		c->read_user = user;
		c->read_system = system;
		c->read_at_ns = usage;
	}
	*ret_user = c->read_user;
	*ret_system = c->read_system;
	return 0;
}

/* The caller's ratio if it covers most of the same time; else from files. */
static int v1_ratio(struct cgroup_fds *c, uint64_t usage, uint64_t *ret_user,
		    uint64_t *ret_system, struct err *err)
{
	uint64_t sum;

	if (__builtin_add_overflow(c->ratio_user, c->ratio_system, &sum) ||
	    sum < usage - usage / 4)
		return read_v1_ratio(c, usage, ret_user, ret_system, err);
	*ret_user = c->ratio_user;
	*ret_system = c->ratio_system;
	return 0;
}

static int read_v1_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	uint64_t usage = 0, user = 0, system = 0;
	int rc = cgroup_read_number(c, CPU_USAGE, &usage, err);

	/* a group that has not run since has the same ratio */
	if (rc == 0 && usage && usage != c->ticks_at_ns)
		rc = v1_ratio(c, usage, &user, &system, err);
	if (rc == 0)
		rc = read_v1_throttling(c, ret, err);
	if (rc < 0)
		return rc;
	if (usage == c->ticks_at_ns) {
		ret->user_ns = c->user_ns;
		ret->system_ns = c->system_ns;
	} else {
		cgroup_split_usage(usage, user, system, ret);
	}
	return 0;
}

static int read_group_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	struct cgroup_cpu cpu = {0};
	int rc = cgroup_on_v2(c, CPU_USAGE) ? read_v2_cpu(c, &cpu, err)
					    : read_v1_cpu(c, &cpu, err);

	if (rc < 0)
		return rc;
	cgroup_keep_split(c->user_ns, c->system_ns, &cpu);
	c->user_ns = cpu.user_ns;
	c->system_ns = cpu.system_ns;
	c->ticks_at_ns = cpu.user_ns + cpu.system_ns;
	*ret = cpu;
	return 0;
}

int cgroup_read_cpu(struct cgroup_fds *c, struct cgroup_cpu *ret, struct err *err)
{
	int rc = read_group_cpu(c, ret, err);

	if (rc == -ENODEV && cgroup_forget(c, cgroup_tree_of(c, CPU_USAGE)))
		rc = read_group_cpu(c, ret, err);
	return rc;
}

static int read_psi(struct cgroup_fds *c, enum cgroup_file f, struct cgroup_psi *ret,
		    struct err *err)
{
	char text[512];
	ssize_t n = cgroup_read_file(c, f, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_psi(text, (size_t)n, ret, err);
	return rc < 0 ? cgroup_file_error(c, f, rc, err) : 0;
}

int cgroup_read_psi(struct cgroup_fds *c, const char *resource, struct cgroup_psi *ret,
		    struct err *err)
{
	enum cgroup_file f = strcmp(resource, "cpu") == 0      ? PSI_CPU
			     : strcmp(resource, "memory") == 0 ? PSI_MEMORY
							       : PSI_IO;
	int rc = read_psi(c, f, ret, err);

	if (rc == -ENODEV && cgroup_forget(c, UNIFIED))
		rc = read_psi(c, f, ret, err);
	return rc;
}

int cgroup_read_pids(struct cgroup_fds *c, uint64_t *ret, struct err *err)
{
	int rc = cgroup_read_number(c, PIDS_CURRENT, ret, err);

	if (rc == -ENODEV && cgroup_forget(c, cgroup_tree_of(c, PIDS_CURRENT)))
		rc = cgroup_read_number(c, PIDS_CURRENT, ret, err);
	return rc;
}

static int read_group_cpus(struct cgroup_fds *c, uint32_t *ret, struct err *err)
{
	char text[CGROUP_FILE_MAX];
	uint32_t count;
	ssize_t n = cgroup_read_file(c, CPUS, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = parse_list_count(text, (size_t)n, &count);
	if (rc < 0) {
		(void)err_set(err, rc, "not a list of CPUs");
		return cgroup_file_error(c, CPUS, rc, err);
	}
	if (!count) {
		(void)err_set(err, -ENODATA, "empty");
		return cgroup_file_error(c, CPUS, -ENODATA, err);
	}
	*ret = count;
	return 0;
}

int cgroup_read_cpus(struct cgroup_fds *c, uint32_t *ret, struct err *err)
{
	int rc = read_group_cpus(c, ret, err);

	if (rc == -ENODEV && cgroup_forget(c, cgroup_tree_of(c, CPUS)))
		rc = read_group_cpus(c, ret, err);
	return rc;
}

static int read_io(struct cgroup_fds *c, uint64_t *ret_read, uint64_t *ret_written,
		   struct err *err)
{
	char text[CGROUP_FILE_MAX];
	ssize_t n = cgroup_read_file(c, IO_BYTES, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_io(text, (size_t)n, cgroup_on_v2(c, IO_BYTES), ret_read,
				 ret_written, err);
	return rc < 0 ? cgroup_file_error(c, IO_BYTES, rc, err) : 0;
}

int cgroup_read_io(struct cgroup_fds *c, uint64_t *ret_read, uint64_t *ret_written,
		   struct err *err)
{
	int rc = read_io(c, ret_read, ret_written, err);

	if (rc == -ENODEV && cgroup_forget(c, cgroup_tree_of(c, IO_BYTES)))
		rc = read_io(c, ret_read, ret_written, err);
	return rc;
}

static int read_device_file(struct cgroup_fds *c, enum cgroup_file f,
			    struct cgroup_io *io, struct err *err)
{
	char text[CGROUP_FILE_MAX];
	ssize_t n = cgroup_read_file(c, f, text, sizeof(text), err);

	if (n < 0)
		return (int)n;
	int rc = cgroup_parse_io_devices(text, (size_t)n, cgroup_on_v2(c, f),
					 f == IO_COUNTS, io, err);
	return rc < 0 ? cgroup_file_error(c, f, rc, err) : 0;
}

int cgroup_read_io_devices(struct cgroup_fds *c, struct cgroup_io *ret, struct err *err)
{
	struct cgroup_io io = {.count = 0};
	int rc = read_device_file(c, IO_BYTES, &io, err);

	if (rc == -ENODEV && cgroup_forget(c, cgroup_tree_of(c, IO_BYTES)))
		rc = read_device_file(c, IO_BYTES, &io, err);
	if (rc == 0 && !cgroup_on_v2(c, IO_BYTES))
		rc = read_device_file(c, IO_COUNTS, &io, err);
	if (rc == 0)
		*ret = io;
	return rc;
}
