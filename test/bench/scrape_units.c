/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a scrape of many jobs costs, on real v1 control groups of its own: the whole way
 * from sampling the steps to the text that a client gets, over one bare pread of each
 * file that the daemon keeps open for it. Both in turn, in one process, so that they
 * meet the same machine. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sample.h"
#include "daemon/units.h"
#include "daemon/web/scrape.h"
#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "test/bench/median.h"

#define UNITS 1000
#define ROUNDS 61
#define ROOT "/sys/fs/cgroup"
#define PREFIX "slurm_bench"

extern const struct collector collector_slurm;

static const char *const trees[] = {"cpuacct", "memory", "cpuset"};
#define TREES (sizeof(trees) / sizeof(trees[0]))

static void result(const char *metric, double value, const char *unit, double reach)
{
	printf("{\"bench\":\"scrape_units\",\"metric\":\"%s\",\"value\":%.4g,"
	       "\"unit\":\"%s\",",
	       metric, value, unit);
	if (reach > 0)
		printf("\"reach\":\"< %g\",\"ok\":%s}\n", reach,
		       value < reach ? "true" : "false");
	else
		printf("\"reach\":null,\"ok\":null}\n");
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the tree -------------------------------------------------------------------- */

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static void make_dir(const char *tree, const char *path)
{
	char full[256], file[288];

	(void)snprintf(full, sizeof(full), ROOT "/%s/%s", tree, path);
	if (mkdir(full, 0755) < 0 && errno != EEXIST)
		die(full);
	if (strcmp(tree, "cpuset") == 0) {
		(void)snprintf(file, sizeof(file), "%s/cpuset.cpus", full);
		(void)write_file(file, "0\n");
		(void)snprintf(file, sizeof(file), "%s/cpuset.mems", full);
		(void)write_file(file, "0\n");
	}
}

static void unit_path(char *out, size_t size, pid_t id, unsigned i, bool step)
{
	(void)snprintf(out, size, PREFIX "%d/job_%u%s", (int)id, i,
		       step ? "/step_0" : "");
}

static void make_trees(pid_t id)
{
	char path[128];

	for (size_t t = 0; t < TREES; t++) {
		(void)snprintf(path, sizeof(path), PREFIX "%d", (int)id);
		make_dir(trees[t], path);
		for (unsigned i = 0; i < UNITS; i++) {
			unit_path(path, sizeof(path), id, i, false);
			make_dir(trees[t], path);
			unit_path(path, sizeof(path), id, i, true);
			make_dir(trees[t], path);
		}
	}
}

static void remove_dir(const char *tree, const char *path)
{
	char full[256];

	(void)snprintf(full, sizeof(full), ROOT "/%s/%s", tree, path);
	if (rmdir(full) < 0 && errno != ENOENT)
		perror(full);
}

static void remove_trees(pid_t id)
{
	char path[128];

	for (size_t t = 0; t < TREES; t++) {
		for (unsigned i = 0; i < UNITS; i++) {
			unit_path(path, sizeof(path), id, i, true);
			remove_dir(trees[t], path);
			unit_path(path, sizeof(path), id, i, false);
			remove_dir(trees[t], path);
		}
		(void)snprintf(path, sizeof(path), PREFIX "%d", (int)id);
		remove_dir(trees[t], path);
	}
}

/* Every step runs and uses memory: a child walks through them. */
static void live_in_all(pid_t id, unsigned n)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid > 0) {
		int status;
		if (waitpid(pid, &status, 0) < 0 || status)
			die("walking through the steps");
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		char step[128], path[256];
		unit_path(step, sizeof(step), id, i, true);
		for (size_t t = 0; t < 2; t++) {
			(void)snprintf(path, sizeof(path), ROOT "/%s/%s/cgroup.procs",
				       trees[t], step);
			if (!write_file(path, "0\n"))
				_exit(1);
		}
		char *page = malloc(1 << 18);
		if (!page)
			_exit(1);
		memset(page, (int)i, 1 << 18);
		free(page);
		/* CPU time is charged when the scheduler looks */
		(void)sched_yield();
	}
	_exit(0);
}

/* ---- a daemon with the first n of them ------------------------------------------- */

struct lab {
	struct options options;
	struct env env;
	char folder[64];
	struct sample *sample;
	struct scrape *scrape;
};

static void prepare(void *arg)
{
	(void)sample_steps(((struct lab *)arg)->sample);
}

static void lab_add(struct lab *l, pid_t id, unsigned i)
{
	struct record r;
	struct err err;
	char path[128];

	record_init(&r, RECORD_STEP_START, MANAGER_SLURM);
	(void)snprintf(r.unit, sizeof(r.unit), "%u", 100000 + i);
	(void)snprintf(r.node, sizeof(r.node), "bench%d", (int)id);
	r.boottime_ns = clock_boottime_ns();
	r.realtime_ns = clock_realtime_ns();
	r.cpus = 4;
	r.memory_bytes = 1 << 30;
	path[0] = '/';
	unit_path(path + 1, sizeof(path) - 1, id, i, true);
	(void)record_add_cgroup(&r, CGROUP_CPUACCT | CGROUP_MEMORY | CGROUP_CPUSET,
				path);
	if (units_apply(l->env.units, &r, i, r.boottime_ns, r.realtime_ns, &err) < 0)
		die(err.text);
}

static void lab_init(struct lab *l, pid_t id, unsigned n)
{
	static char none[] = "";
	static const struct collector *const on[] = {&collector_slurm};
	struct err err;
	bool made;

	*l = (struct lab){.folder = "/tmp/ceems-bench.XXXXXX"};
	l->options.unit_linger_ms = 60000;
	l->options.unit_max_exported = 2 * UNITS;
	l->options.gpu_order_map = l->options.slurmd_path = none;
	l->env.cgroupfd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l->env.procfd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l->env.sysfd = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	l->env.hostname = "bench-node-0001";
	l->env.options = &l->options;
	l->env.realtime_ns = clock_realtime_ns;
	l->env.boottime_ns = clock_boottime_ns;
	if (cgroup_probe(l->env.cgroupfd, &l->env.cgroups, &err) < 0)
		die(err.text);
	if (!mkdtemp(l->folder))
		die("mkdtemp");
	int dir = open(l->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (units_open(dir, 2 * UNITS, &l->env.units, &made, &err) < 0)
		die(err.text);
	(void)unlinkat(dir, UNITS_PATH_NAME, 0);
	close(dir);
	(void)rmdir(l->folder);
	for (unsigned i = 0; i < n; i++)
		lab_add(l, id, i);
	l->sample = sample_new(&l->env);
	const struct scrape_params params = {.env = &l->env,
					     .collectors = on,
					     .count = 1,
					     .prepare = prepare,
					     .arg = l};
	if (!l->sample || scrape_new(&params, &l->scrape, &err) < 0)
		die("scrape_new");
}

static void lab_done(struct lab *l)
{
	scrape_free(l->scrape);
	sample_free(l->sample);
	units_close(l->env.units);
	close(l->env.cgroupfd);
	close(l->env.procfd);
	close(l->env.sysfd);
}

static size_t scrape_once(struct lab *l)
{
	struct scrape_result *r;
	const struct buf *text;
	struct err err;

	if (scrape_get(l->scrape, &r, &err) < 0)
		die(err.text);
	if (scrape_result_body(r, PROM_TEXT, false, &text) < 0)
		die("render");
	size_t len = text->len;
	scrape_result_unref(r);
	return len;
}

/* ---- the baseline ---------------------------------------------------------------- */

/* what a scrape reads only when the usage has changed, or each minute */
static bool is_read_seldom(const char *path)
{
	return strstr(path, "/memory.stat") || strstr(path, "/cpuset.cpus");
}

/* The files of our trees that this process, hence the daemon, has open for each scrape.
 */
static size_t kept_files(pid_t id, int *fds, size_t max)
{
	char mark[64], link[64], target[256];
	size_t n = 0;

	(void)snprintf(mark, sizeof(mark), "/" PREFIX "%d/", (int)id);
	for (int fd = 3; fd < 200000 && n < max; fd++) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t len = readlink(link, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		if (strstr(target, mark) && !is_read_seldom(target))
			fds[n++] = fd;
	}
	return n;
}

static void read_files(const int *fds, size_t n)
{
	char text[8192];

	for (size_t i = 0; i < n; i++) {
		if (pread(fds[i], text, sizeof(text), 0) < 0)
			die("pread");
	}
}

struct figures {
	double scrape_us, bare_us;
	size_t files, bytes;
};

static struct figures measure(pid_t id, unsigned n)
{
	static int fds[32 * UNITS];
	static double scrapes[ROUNDS], bare[ROUNDS];
	struct figures f = {0};
	struct lab l;

	live_in_all(id, n);
	lab_init(&l, id, n);
	f.bytes = scrape_once(&l);
	f.files = kept_files(id, fds, sizeof(fds) / sizeof(fds[0]));
	for (int i = 0; i < ROUNDS; i++) {
		/* so that nothing is as it was at the last scrape */
		live_in_all(id, n);
		uint64_t t0 = clock_boottime_ns();
		read_files(fds, f.files);
		uint64_t t1 = clock_boottime_ns();
		(void)scrape_once(&l);
		uint64_t t2 = clock_boottime_ns();
		bare[i] = (double)(t1 - t0) / 1e3;
		scrapes[i] = (double)(t2 - t1) / 1e3;
	}
	f.scrape_us = median_of(scrapes, ROUNDS);
	f.bare_us = median_of(bare, ROUNDS);
	lab_done(&l);
	return f;
}

static void bench(pid_t id)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &lim);
	}
	make_trees(id);
	struct figures f10 = measure(id, 10), f100 = measure(id, 100),
		       f1000 = measure(id, 1000);
	result("files kept open per unit", (double)f1000.files / 1000, "files", 0);
	result("text of a scrape per unit", (double)f1000.bytes / 1000, "bytes", 0);
	result("bare preads per unit, 10 units, p50", f10.bare_us / 10, "us", 0);
	result("bare preads per unit, 100 units, p50", f100.bare_us / 100, "us", 0);
	result("bare preads per unit, 1000 units, p50", f1000.bare_us / 1000, "us", 0);
	result("scrape per unit, 10 units, p50", f10.scrape_us / 10, "us", 0);
	result("scrape per unit, 100 units, p50", f100.scrape_us / 100, "us", 0);
	result("scrape per unit, 1000 units, p50", f1000.scrape_us / 1000, "us", 0);
	/* what is ours: the rest is the kernel's, also where it grows */
	result("scrape less bare preads per unit, 10 units, p50",
	       (f10.scrape_us - f10.bare_us) / 10, "us", 0);
	result("scrape less bare preads per unit, 1000 units, p50",
	       (f1000.scrape_us - f1000.bare_us) / 1000, "us", 0);
	result("bare preads per unit, 1000 over 10 units",
	       f1000.bare_us / 1000 / (f10.bare_us / 10), "ratio", 0);
	result("scrape of 1000 units over bare preads of the same files",
	       f1000.scrape_us / f1000.bare_us, "ratio", 2.5);
	result("scrape per unit, 1000 over 10 units",
	       f1000.scrape_us / 1000 / (f10.scrape_us / 10), "ratio", 0);
	result("scrape per unit, 1000 over 100 units",
	       f1000.scrape_us / 1000 / (f100.scrape_us / 100), "ratio", 0);
	result("scrape per unit, 1000 over 10 units, over that of bare preads",
	       f1000.scrape_us / f10.scrape_us / (f1000.bare_us / f10.bare_us), "ratio",
	       1.0);
}

static pid_t child;

static void forward(int sig)
{
	(void)sig;
	if (child > 0)
		kill(child, SIGKILL);
}

static bool possible(void)
{
	struct cgroup_layout l;
	int fd = open(ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool ok = fd >= 0 && cgroup_probe(fd, &l, NULL) == 0 && !l.unified_only &&
		  strcmp(l.cpuacct, "cpuacct") == 0 && strcmp(l.memory, "memory") == 0;

	if (fd >= 0)
		close(fd);
	return ok && geteuid() == 0;
}

int main(void)
{
	if (!possible()) {
		printf("{\"bench\":\"scrape_units\",\"metric\":\"skipped: needs root "
		       "and "
		       "cgroup v1\",\"value\":null,\"unit\":\"\",\"reach\":null,"
		       "\"ok\":null}\n");
		return 0;
	}
	log_init("scrape_units", LOG_LOGFMT, LOG_ERR);
	/* whatever becomes of the child, the parent removes what it made */
	signal(SIGINT, forward);
	signal(SIGTERM, forward);
	signal(SIGHUP, forward);
	pid_t id = getpid();
	fflush(stdout);
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0) {
		signal(SIGINT, SIG_DFL);
		bench(id);
		return 0;
	}
	int status = 1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	remove_trees(id);
	return status != 0;
}
