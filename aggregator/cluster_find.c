/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds Postgres on this machine, installed and running. */
#include "aggregator/cluster_find.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/exec.h"
#include "lib/parse.h"

#define COMMAND_MS 10000
#define FOLDERS_MAX 64

/* The first line of a command's stdout. */
static int first_line(const char *const argv[], char *ret, size_t size)
{
	auto_buf struct buf out = BUF_INIT, errout = BUF_INIT;
	int status = 0;

	buf_init(&out, 4096);
	buf_init(&errout, 4096);
	int rc = exec_run(argv, NULL, COMMAND_MS, &out, &errout, &status, NULL);
	if (rc < 0)
		return rc;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !out.len)
		return -ENOENT;
	size_t n = strcspn(out.data, "\n");
	if (n >= size)
		return -ENAMETOOLONG;
	memcpy(ret, out.data, n);
	ret[n] = '\0';
	return 0;
}

/* "postgres (PostgreSQL) 15.18 (Debian ...)" -> 15; 0: not found. */
static unsigned version_of(const char *dir)
{
	char postgres[PATH_MAX], initdb[PATH_MAX], line[256];
	const char *const argv[] = {postgres, "-V", NULL};

	if (snprintf(postgres, sizeof(postgres), "%s/postgres", dir) >=
		    (int)sizeof(postgres) ||
	    snprintf(initdb, sizeof(initdb), "%s/initdb", dir) >= (int)sizeof(initdb) ||
	    access(initdb, X_OK) < 0 || access(postgres, X_OK) < 0 ||
	    first_line(argv, line, sizeof(line)) < 0)
		return 0;
	const char *at = strstr(line, "(PostgreSQL) ");
	uint64_t major;
	if (!at)
		return 0;
	at += strlen("(PostgreSQL) ");
	if (parse_u64_len(at, strspn(at, "0123456789"), &major) < 0 || major > 1000)
		return 0;
	return (unsigned)major;
}

struct cluster_search {
	unsigned want, best, other;
	char *ret;
	size_t size;
};

static void look_at(struct cluster_search *s, const char *dir)
{
	unsigned v = version_of(dir);

	if (v > s->other)
		s->other = v;
	if (v == 0 || (s->want && v != s->want) || v <= s->best ||
	    strlen(dir) >= s->size)
		return;
	s->best = v;
	snprintf(s->ret, s->size, "%s", dir);
}

int cluster_find(unsigned major, char *ret, size_t size, unsigned *ret_other,
		 struct err *err)
{
	static const char *const configs[] = {"/usr/bin/pg_config",
					      "/usr/local/bin/pg_config"};
	static const char *const patterns[] = {
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
		"/usr/bin", "/usr/local/bin"};
	struct cluster_search s = {.want = major, .ret = ret, .size = size};
	char dir[PATH_MAX];

	for (size_t i = 0; i < 2 && !s.best; i++) {
		const char *const argv[] = {configs[i], "--bindir", NULL};
		if (access(configs[i], X_OK) == 0 &&
		    first_line(argv, dir, sizeof(dir)) == 0 && *dir == '/')
			look_at(&s, dir);
	}
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]) && !s.best; i++) {
		glob_t g = {0};
		if (glob(patterns[i], GLOB_ONLYDIR, NULL, &g) == 0) {
			for (size_t n = 0; n < g.gl_pathc && n < FOLDERS_MAX; n++)
				look_at(&s, g.gl_pathv[n]);
		}
		globfree(&g);
	}
	if (ret_other)
		*ret_other = s.other;
	if (s.best)
		return (int)s.best;
	return err_set(
		err, -ENOENT,
		"Postgres is not installed (looked at pg_config "
		"--bindir, /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin): install "
		"postgresql, or name a server by --db.url");
}

size_t cluster_processes(const char *dir, pid_t *ret, size_t max)
{
	auto_closedir DIR *proc = opendir("/proc");
	struct stat want, st;
	struct dirent *e;
	size_t n = 0;

	if (!proc || stat(dir, &want) < 0)
		return 0;
	while (n < max && (e = readdir(proc))) {
		char path[64];
		uint32_t pid;
		if (parse_u32(e->d_name, &pid) < 0 || (pid_t)pid == getpid())
			continue;
		snprintf(path, sizeof(path), "%u/cwd", pid);
		/* other users' processes cannot be read: they are not ours */
		if (fstatat(dirfd(proc), path, &st, 0) == 0 &&
		    st.st_dev == want.st_dev && st.st_ino == want.st_ino)
			ret[n++] = (pid_t)pid;
	}
	return n;
}
