/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's own build and resource use, under the names that every Prometheus client
 * library gives them. */
#include "daemon/web/self.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define FDS_MAX (1u << 20) /* limit of directory entries read */

struct self {
	const struct env *env;
	uint64_t start_ns; /* CLOCK_REALTIME; 0: not known */
	uint64_t hz, page_bytes;
	bool size_counts_fds; /* st_size of self/fd is their number (Linux 6.2 on) */
};

/* Field n (from 1) of /proc/PID/stat; the name in field 2 may contain blanks and
 * parentheses, so counting starts after the last ')'. */
static int stat_field(const char *text, size_t len, unsigned n, uint64_t *ret)
{
	const char *end = text + len;
	const char *p = memrchr(text, ')', len);
	const char *word;
	size_t word_len;

	if (!p)
		return -EINVAL;
	p++;
	for (unsigned i = 3; scan_word(&p, end, &word, &word_len); i++) {
		if (i == n)
			return scan_u64(&word, word + word_len, ret);
	}
	return -ENODATA;
}

static int read_start(struct self *s)
{
	char text[1024];
	uint64_t ticks;
	ssize_t n = fs_read_at(s->env->procfd, "self/stat", text, sizeof(text), NULL);

	if (n < 0)
		return (int)n;
	int rc = stat_field(text, (size_t)n, 22, &ticks);
	if (rc < 0)
		return rc;
	uint64_t since_boot_ns = ticks * (NSEC_PER_SEC / s->hz);
	uint64_t boot_ns = s->env->realtime_ns() - s->env->boottime_ns();
	s->start_ns = boot_ns + since_boot_ns;
	return 0;
}

static DIR *open_fd_dir(const struct self *s)
{
	int fd = fs_opendir_at(s->env->procfd, "self/fd", NULL);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !d)
		close(fd);
	return d;
}

static uint64_t count_entries(DIR *d)
{
	uint64_t n = 0;

	for (struct dirent *e; n < FDS_MAX && (e = readdir(d));)
		n += e->d_name[0] != '.';
	return n;
}

/* Checked once: if st_size equals the number of entries, it is used from then on.
 * Listing them, with files of many jobs open, took an eighth of a scrape. */
static bool size_counts_fds(const struct self *s)
{
	struct stat st;
	auto_closedir DIR *d = open_fd_dir(s);

	return d && fstat(dirfd(d), &st) == 0 && st.st_size > 0 &&
	       (uint64_t)st.st_size == count_entries(d);
}

/* 0, or -errno if /proc does not tell */
static int count_fds(const struct self *s, uint64_t *ret)
{
	struct stat st;

	if (s->size_counts_fds) {
		if (fstatat(s->env->procfd, "self/fd", &st, 0) < 0)
			return -errno;
		*ret = (uint64_t)st.st_size;
		return 0;
	}
	auto_closedir DIR *d = open_fd_dir(s);
	if (!d)
		return -ENODATA;
	uint64_t n = count_entries(d);
	*ret = n ? n - 1 : 0; /* one of them is this directory */
	return 0;
}

int self_new(const struct env *env, struct self **ret)
{
	struct self *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->env = env;
	long hz = sysconf(_SC_CLK_TCK);
	s->hz = hz > 0 ? (uint64_t)hz : 100;
	long page = sysconf(_SC_PAGESIZE);
	s->page_bytes = page > 0 ? (uint64_t)page : 4096;
	(void)read_start(s);
	s->size_counts_fds = size_counts_fds(s);
	*ret = s;
	return 0;
}

void self_free(struct self *s)
{
	free(s);
}

static void put_self_value(struct prom *out, const struct prom_family *family,
			   uint64_t v, unsigned decimals)
{
	prom_family(out, family);
	prom_put_scaled(out, NULL, 0, v, decimals);
}

static void put_memory(struct self *s, struct prom *out)
{
	static const struct prom_family virtual = {"process_virtual_memory_bytes",
						   PROM_GAUGE,
						   "Virtual memory size in bytes."};
	static const struct prom_family resident = {"process_resident_memory_bytes",
						    PROM_GAUGE,
						    "Resident memory size in bytes."};
	char text[256];
	ssize_t n = fs_read_at(s->env->procfd, "self/statm", text, sizeof(text), NULL);
	if (n < 0)
		return;
	const char *p = text, *end = text + n;
	uint64_t size, rss;
	if (scan_u64(&p, end, &size) < 0 || !scan_blank(&p, end) ||
	    scan_u64(&p, end, &rss) < 0)
		return;
	put_self_value(out, &virtual, size * s->page_bytes, 0);
	put_self_value(out, &resident, rss * s->page_bytes, 0);
}

static void put_fds(struct self *s, struct prom *out)
{
	static const struct prom_family open_family = {
		"process_open_fds", PROM_GAUGE, "Number of open file descriptors."};
	static const struct prom_family max_family = {
		"process_max_fds", PROM_GAUGE,
		"Maximum number of open file descriptors."};
	struct rlimit limit;
	uint64_t n = 0;

	if (count_fds(s, &n) == 0)
		put_self_value(out, &open_family, n, 0);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		put_self_value(out, &max_family, limit.rlim_cur, 0);
}

void self_put_process(struct self *s, struct prom *out)
{
	static const struct prom_family cpu = {
		"process_cpu_seconds_total", PROM_COUNTER,
		"Total user and system CPU time spent in seconds."};
	static const struct prom_family start = {
		"process_start_time_seconds", PROM_GAUGE,
		"Start time of the process since unix epoch in seconds."};
	struct rusage ru;

	if (getrusage(RUSAGE_SELF, &ru) == 0)
		put_self_value(
			out, &cpu,
			(uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000 +
				(uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec),
			6);
	put_memory(s, out);
	put_fds(s, out);
	if (s->start_ns)
		put_self_value(out, &start, s->start_ns / NSEC_PER_MSEC, 3);
}

#if defined(__x86_64__)
#define ARCH "amd64"
#elif defined(__aarch64__)
#define ARCH "arm64"
#elif defined(__powerpc64__)
#define ARCH "ppc64le"
#elif defined(__riscv)
#define ARCH "riscv64"
#elif defined(__i386__)
#define ARCH "386"
#else
#define ARCH ""
#endif

void self_put_build_info(struct prom *out)
{
	static const struct prom_family info = {
		"ceems_exporter_build_info", PROM_GAUGE,
		"Constant 1, labelled by the version and architecture of the build"};
	static const struct prom_label labels[] = {{"branch", ""},
						   {"goarch", ARCH},
						   {"goos", "linux"},
						   {"goversion", ""},
						   {"revision", ""},
						   {"tags", ""},
						   {"version", CEEMS_VERSION}};

	prom_family(out, &info);
	prom_put_u64(out, labels, sizeof(labels) / sizeof(labels[0]), 1);
}

void self_put_sandbox(const struct env *env, struct prom *out)
{
	static const struct prom_family sandbox = {
		"ceems_exporter_sandbox_active", PROM_GAUGE,
		"1 where the kernel keeps the program to what it needs, by kind"};
	static const struct prom_label seccomp = {"kind", "seccomp"};

	prom_family(out, &sandbox);
	prom_put_u64(out, &seccomp, 1, env->calls_filtered);
}
