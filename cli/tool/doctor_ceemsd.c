/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool doctor: ceemsd, its children, its unit table and the energy it writes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/doctor.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"
#include "lib/records/energy_page.h"
#include "lib/records/ring.h"

#define CEEMSD_MAX 8     /* daemons on one host */
#define TASKS_MAX 200000 /* entries of /proc */
#define FDS_MAX 65536    /* of one process */

enum child { CHILD_OPENER, CHILD_COURIER, CHILD_GPU, CHILDREN };

static const char *const child_names[CHILDREN] = {"ceems-opener", "ceems-courier",
						  "ceems-gpu"};

/* Services of their own that write the ring, as Slurm's plugins do. */
enum adapter { ADAPTER_LIBVIRT, ADAPTER_K8S, ADAPTERS };

static const char *const adapter_names[ADAPTERS] = {"ceems-libvirt", "ceems-k8s"};

struct processes {
	struct stat ring;
	bool has_ring;
	uint32_t ceemsd[CEEMSD_MAX]; /* that have the ring open */
	size_t count;
	size_t others; /* processes of that name that have not */
	uint32_t parent[CHILDREN][CEEMSD_MAX]; /* of each child that was found */
	size_t children[CHILDREN];
	bool adapters[ADAPTERS];
};

/* Name and parent, from /proc/PID/stat: "PID (NAME) STATE PPID ...". One that has ended
 * and waits for its parent is gone. */
static int read_process(int procfd, uint32_t pid, char name[32], uint32_t *ret_parent)
{
	char path[64], text[512];

	(void)snprintf(path, sizeof(path), "%" PRIu32 "/stat", pid);
	if (fs_read_at(procfd, path, text, sizeof(text), NULL) <= 0)
		return -ENOENT;
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	if (!open || !close || close < open || close - open > 31 || strlen(close) < 5)
		return -EINVAL;
	memcpy(name, open + 1, (size_t)(close - open - 1));
	name[close - open - 1] = '\0';
	if (close[2] == 'Z')
		return -ESRCH;
	char *parent = close + 4; /* ") S " */
	parent[strcspn(parent, " ")] = '\0';
	return parse_u32(parent, ret_parent);
}

/* Which of the daemons named ceemsd is the one of this run directory. */
static bool holds_ring(const struct processes *p, int procfd, uint32_t pid)
{
	char path[64];
	auto_closedir DIR *dir = NULL;
	const struct dirent *e;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%" PRIu32 "/fd", pid);
	int fd = fs_opendir_at(procfd, path, NULL);
	if (fd < 0 || !(dir = fdopendir(fd))) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (size_t n = 0; n < FDS_MAX && (e = readdir(dir)); n++)
		if (fstatat(dirfd(dir), e->d_name, &st, 0) == 0 &&
		    st.st_ino == p->ring.st_ino && st.st_dev == p->ring.st_dev)
			return true;
	return false;
}

static void note_process(struct processes *p, int procfd, uint32_t pid,
			 const char *name, uint32_t parent)
{
	if (strcmp(name, "ceemsd") == 0) {
		if (p->count < CEEMSD_MAX && p->has_ring && holds_ring(p, procfd, pid))
			p->ceemsd[p->count++] = pid;
		else
			p->others++;
	}
	for (int c = 0; c < CHILDREN; c++)
		if (strcmp(name, child_names[c]) == 0 && p->children[c] < CEEMSD_MAX)
			p->parent[c][p->children[c]++] = parent;
	for (int a = 0; a < ADAPTERS; a++)
		p->adapters[a] |= strcmp(name, adapter_names[a]) == 0;
}

static int find_processes(const struct doctor_paths *paths, struct processes *ret)
{
	auto_closedir DIR *dir = opendir(paths->procfs);
	const struct dirent *e;
	char ring[4096];

	memset(ret, 0, sizeof(*ret));
	(void)snprintf(ring, sizeof(ring), "%s/%s", paths->rundir,
		       strrchr(RING_PATH_DEFAULT, '/') + 1);
	ret->has_ring = stat(ring, &ret->ring) == 0;
	for (size_t n = 0; dir && n < TASKS_MAX && (e = readdir(dir)); n++) {
		char name[32];
		uint32_t pid, parent;
		if (parse_u32(e->d_name, &pid) == 0 &&
		    read_process(dirfd(dir), pid, name, &parent) == 0)
			note_process(ret, dirfd(dir), pid, name, parent);
	}
	return dir ? 0 : -errno;
}

static bool has_child(const struct processes *p, enum child c, uint32_t ceemsd)
{
	for (size_t i = 0; i < p->children[c]; i++)
		if (p->parent[c][i] == ceemsd)
			return true;
	return false;
}

/* A child that its options ask for must be there; the log says why it is not. */
static void check_child(const struct processes *p, enum child c, uint32_t ceemsd,
			bool wanted, const char *consequence, struct findings *f)
{
	if (has_child(p, c, ceemsd))
		finding(f, LEVEL_OK, NULL, "%s is running", child_names[c]);
	else if (wanted)
		finding(f, LEVEL_FAIL, "see ceemsd's log", "%s is not running: %s",
			child_names[c], consequence);
}

static void check_adapter(const struct processes *p, enum adapter a, bool wanted,
			  const char *units, struct findings *f)
{
	char todo[64];

	(void)snprintf(todo, sizeof(todo), "systemctl enable --now %s",
		       adapter_names[a]);
	if (wanted && p->adapters[a])
		finding(f, LEVEL_OK, NULL, "%s is running", adapter_names[a]);
	else if (wanted)
		finding(f, LEVEL_FAIL, todo, "%s is not running: ceemsd hears of no %s",
			adapter_names[a], units);
}

static void check_processes(const struct doctor_paths *paths,
			    const struct doctor_config *config, struct findings *f)
{
	struct processes p;
	int rc = find_processes(paths, &p);

	check_adapter(&p, ADAPTER_LIBVIRT, config->libvirt, "virtual machines", f);
	check_adapter(&p, ADAPTER_K8S, config->k8s, "pods", f);
	if (rc < 0 || p.count == 0) {
		finding(f, LEVEL_FAIL,
			p.others ? "run this as root; or name its run directory by "
				   "--path.rundir"
				 : "systemctl start ceemsd",
			p.others ? "no process ceemsd has the ring of %s open"
				 : "ceemsd is not running: the ring of %s keeps "
				   "records until it is full",
			paths->rundir);
		return;
	}
	for (size_t i = 0; i < p.count; i++) {
		finding(f, LEVEL_OK, NULL, "ceemsd is running (pid %" PRIu32 ")",
			p.ceemsd[i]);
		check_child(&p, CHILD_OPENER, p.ceemsd[i], config->perf || config->ebpf,
			    "nothing is counted by collector.perf and collector.ebpf",
			    f);
		check_child(&p, CHILD_COURIER, p.ceemsd[i],
			    config->aggregator_urls.count > 0,
			    "records stay in the spool", f);
		check_child(&p, CHILD_GPU, p.ceemsd[i], false, "", f);
	}
}

static void check_table(const char *rundir, struct findings *f)
{
	auto_close int dir = open(rundir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0 || fstatat(dir, "units", &st, AT_SYMLINK_NOFOLLOW) < 0)
		finding(f, LEVEL_FAIL, "start ceemsd, which makes it",
			"%s/units: there is no table of units", rundir);
	else if (!S_ISREG(st.st_mode) || st.st_mode & 077 || st.st_size == 0)
		finding(f, LEVEL_FAIL, "restart ceemsd, which replaces it",
			"%s/units: not a regular file that is its owner's alone",
			rundir);
	else
		finding(f, LEVEL_OK, NULL, "%s/units: the table of units, %lld KiB",
			rundir, (long long)st.st_size / 1024);
}

static void check_domain(const struct energy_page_node *node, int domain,
			 struct findings *f)
{
	static const char *const names[ENERGY_PAGE_DOMAINS] = {
		"package", "dram", "psys", "gpu", "host", "other"};
	uint32_t flags = node->flags[domain];

	if (!node->source[domain][0])
		return;
	if (flags & ENERGY_PAGE_STALE)
		finding(f, LEVEL_WARN, "look at the sensor and ceemsd's log",
			"energy of %s: its source, %.*s, does not answer",
			names[domain], ENERGY_PAGE_SOURCE_MAX, node->source[domain]);
	else
		finding(f, LEVEL_OK, NULL,
			"energy of %s: by %.*s%s, %" PRIu64 ".%" PRIu64
			" W now, read %" PRIu32 " s ago",
			names[domain], ENERGY_PAGE_SOURCE_MAX, node->source[domain],
			flags & ENERGY_PAGE_MODELLED ? " (an estimate)" : "",
			node->uw[domain] / 1000000, node->uw[domain] / 100000 % 10,
			flags >> ENERGY_PAGE_AGE_SHIFT);
}

static void check_energy_now(const char *rundir, struct findings *f)
{
	char path[4096];
	struct energy_page page;
	struct energy_page_node node;
	struct err err = {""};

	(void)snprintf(path, sizeof(path), "%s/%s", rundir,
		       strrchr(ENERGY_PAGE_PATH_DEFAULT, '/') + 1);
	if (energy_page_open(path, &page, &err) < 0) {
		finding(f, LEVEL_WARN, "see ceemsd's log, as root", "%s", err.text);
		return;
	}
	int rc = energy_page_find(&page, 0, 0, 0, &node, NULL);
	energy_page_close(&page);
	if (rc < 0 && rc != -ENOENT) {
		finding(f, LEVEL_WARN, "see ceemsd's log: does it have a sensor?",
			"%s: no energy has been written yet", path);
		return;
	}
	uint64_t now = clock_boottime_ns();
	uint64_t age_ns = now > node.tick_ns ? now - node.tick_ns : 0;
	uint64_t age_s = age_ns / NSEC_PER_SEC;

	if (age_ns > ENERGY_PAGE_DEAD_NS &&
	    age_ns > ENERGY_PAGE_DEAD_INTERVALS * node.interval_ns)
		finding(f, LEVEL_FAIL, "start ceemsd",
			"%s: the last energy is %" PRIu64 " s old", path, age_s);
	if (!node.total_mask)
		finding(f, LEVEL_WARN,
			"see energy.md: a sensor, or the model (energy.model)",
			"no sensor of this node gives energy: jobs have no joules");
	for (int d = 0; d < ENERGY_PAGE_DOMAINS; d++)
		check_domain(&node, d, f);
}

void doctor_ceemsd(const struct doctor_paths *paths, const struct doctor_config *config,
		   struct findings *f)
{
	check_processes(paths, config, f);
	check_table(paths->rundir, f);
	check_energy_now(paths->rundir, f);
}
