/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The private cluster's folder and its server process. The server gets a signal when
 * the aggregator dies, even by SIGKILL; leftovers are found by their working directory,
 * not by a pid in a file, which may have been reused. */
#include "aggregator/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "aggregator/cluster_files.h"
#include "aggregator/cluster_find.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/exec.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"
#include "lib/pg/pg.h"

#define INITDB_MS 120000
#define READY_MS 120000 /* including recovery after a crash */
#define STOP_MS 60000
#define KILL_MS 10000
#define POLL_MS 20
#define PROCESSES_MAX 256
#define RESTART_MIN_MS 1000
#define RESTART_MAX_MS 60000

struct cluster {
	struct cluster_paths at;
	char bin[PATH_MAX];
	char url[PATH_MAX + 64];
	unsigned connections;
	int lock;
	pid_t pid; /* 0: not running */
	uint64_t restart_ns, gap_ms;
};

static void sleep_ms(unsigned ms)
{
	struct timespec ts = {.tv_sec = ms / 1000,
			      .tv_nsec = (long)(ms % 1000) * 1000000};
	nanosleep(&ts, NULL);
}

static int take_lock(struct cluster *c, struct err *err)
{
	char path[PATH_MAX];

	(void)cluster_path(&c->at, "lock", path);
	c->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->lock < 0) {
		int rc = -errno;
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	if (flock(c->lock, LOCK_EX | LOCK_NB) < 0)
		return err_set(err, -EBUSY,
			       "--data.path=%s is in use by another ceems_aggregator; "
			       "several aggregators need a database server (--db.url)",
			       c->at.data);
	return 0;
}

/* Ends leftovers of a killed aggregator: its server, or children of that. 0: none is
 * left. */
static int end_leftovers(struct cluster *c, struct err *err)
{
	pid_t pids[PROCESSES_MAX];
	bool told = false;
	uint64_t deadline_ns = clock_boottime_ns() + STOP_MS * NSEC_PER_MSEC;

	for (;;) {
		size_t n = cluster_processes(c->at.pgdata, pids, PROCESSES_MAX);
		pid_t postmaster = cluster_postmaster(&c->at, NULL);
		if (n == 0)
			break;
		if (!told)
			log_warn("private database: %zu processes of an earlier run "
				 "are still running: ending them",
				 n);
		bool whole = false;
		for (size_t i = 0; i < n; i++)
			whole |= pids[i] == postmaster;
		/* SIGINT: fast shutdown; orphaned children: SIGTERM */
		for (size_t i = 0; i < n && !told; i++) {
			if (!whole)
				kill(pids[i], SIGTERM);
			else if (pids[i] == postmaster)
				kill(pids[i], SIGINT);
		}
		told = true;
		if (clock_boottime_ns() > deadline_ns)
			return err_set(err, -EBUSY,
				       "%s: process %d of an earlier run does not end",
				       c->at.pgdata, (int)pids[0]);
		sleep_ms(POLL_MS);
	}
	/* A pid file without its process: Postgres would believe it if another process
	 * of ours had that pid now. */
	if (cluster_postmaster(&c->at, NULL) > 0)
		cluster_forget_postmaster(&c->at);
	return 0;
}

static int run_initdb(struct cluster *c, const char *into, struct err *err)
{
	char initdb[PATH_MAX + 16];
	const char *const argv[] = {initdb,  "-D", into,     "-U",
				    "ceems", "-E", "UTF8",   "--locale=C",
				    "-k",    "-A", "reject", "--no-instructions",
				    NULL};
	auto_buf struct buf out = BUF_INIT, errout = BUF_INIT;
	int status = 0;

	snprintf(initdb, sizeof(initdb), "%s/initdb", c->bin);
	int rc = exec_run(argv, NULL, INITDB_MS, &out, &errout, &status, err);
	if (rc < 0)
		return rc;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	const char *why = errout.data ? errout.data : "";
	const char *at = strstr(why, "FATAL:");
	if (!at)
		at = strstr(why, "error:");
	at = at ? at : why;
	return err_set(err, -EIO, "initdb in %s: %.*s", into, (int)strcspn(at, "\n"),
		       at);
}

/* Under another name first, so that an interrupted initdb is not taken for a
 * database. */
static int make_database(struct cluster *c, struct err *err)
{
	char fresh[PATH_MAX];

	(void)cluster_path(&c->at, "pgdata.new", fresh);
	int rc = cluster_remove(fresh, err);
	if (rc == 0)
		rc = run_initdb(c, fresh, err);
	if (rc == 0)
		rc = cluster_include_settings(fresh, err);
	/* an empty pgdata may exist: a mount point, or made by a package */
	if (rc == 0 && rename(fresh, c->at.pgdata) < 0) {
		rc = -errno;
		rc = err_set(err, rc, "rename %s to %s: %s", fresh, c->at.pgdata,
			     strerror(-rc));
	}
	if (rc == 0)
		log_info("private database: created in %s", c->at.pgdata);
	return rc;
}

static int choose_version(struct cluster *c, unsigned have, struct err *err)
{
	unsigned other = 0;
	char newer[PATH_MAX];
	int rc = cluster_find(have, c->bin, sizeof(c->bin), &other, err);

	if (rc >= 0 || have == 0 || other == 0)
		return rc < 0 ? rc : 0;
	rc = cluster_find(other, newer, sizeof(newer), NULL, err);
	if (rc < 0)
		return rc;
	return err_set(
		err, -EPROTO,
		"%s is of Postgres %u, this machine has %u: as user %u, after 'initdb "
		"-D %s.next -U ceems -E UTF8 --locale=C -k -A peer' and what "
		"doc/aggregator.md says of pg_hba.conf, run '%s/pg_upgrade -U ceems -b "
		"BIN_OF_%u -B %s -d %s -D %s.next', and put %s.next in the place of it",
		c->at.pgdata, have, other, (unsigned)geteuid(), c->at.pgdata, newer,
		have, newer, c->at.pgdata, c->at.pgdata, c->at.pgdata);
}

static void __attribute__((noreturn))
run_server_child(const struct cluster *c, int out, pid_t parent)
{
	char postgres[PATH_MAX + 16];
	const char *const argv[] = {postgres, "-D", c->at.pgdata, NULL};
	static const char *const env[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
					  "LC_ALL=C", NULL};
	sigset_t none;

	snprintf(postgres, sizeof(postgres), "%s/postgres", c->bin);
	setsid(); /* ^C on a terminal is for the aggregator */
	/* a fast shutdown when the aggregator dies */
	if (prctl(PR_SET_PDEATHSIG, SIGINT) < 0 || getppid() != parent)
		_exit(127);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ||
	    chdir(c->at.pgdata) < 0)
		_exit(127);
	if (close_range(3, ~0U, 0) < 0) {
		for (int fd = 3; fd < 4096; fd++)
			close(fd);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execve(postgres, (char *const *)argv, (char *const *)env);
	_exit(127);
}

static int spawn_server(struct cluster *c, struct err *err)
{
	auto_close int out = cluster_open_log(&c->at, err);
	pid_t parent = getpid();

	if (out < 0)
		return out;
	pid_t pid = fork();
	if (pid < 0) {
		int rc = -errno;
		return err_set(err, rc, "fork: %s", strerror(-rc));
	}
	if (pid == 0)
		run_server_child(c, out, parent);
	c->pid = pid;
	return 0;
}

/* Whether it has ended; then there is nothing to wait for any more. */
static bool reap_server(struct cluster *c)
{
	int status;

	if (c->pid && waitpid(c->pid, &status, WNOHANG) == c->pid)
		c->pid = 0;
	return c->pid == 0;
}

static int start_failed(struct cluster *c, struct err *err)
{
	char line[300];
	const char *todo = "restore a backup, or move the folder away "
			   "(doc/aggregator.md)";

	cluster_last_words(&c->at, line, sizeof(line));
	if (strstr(line, "No space left"))
		todo = "make room on its disk";
	else if (strstr(line, "shared memory") || strstr(line, "semaphore"))
		todo = "see the limits of this machine";
	return err_set(err, -EIO, "private database in %s does not start: %s; %s",
		       c->at.pgdata, *line ? line : "it printed nothing", todo);
}

static int wait_ready(struct cluster *c, struct err *err)
{
	uint64_t deadline_ns = clock_boottime_ns() + READY_MS * NSEC_PER_MSEC;
	bool ready = false;

	while (!(cluster_postmaster(&c->at, &ready) == c->pid && ready)) {
		if (reap_server(c))
			return start_failed(c, err);
		if (clock_boottime_ns() > deadline_ns)
			return err_set(err, -ETIMEDOUT,
				       "private database in %s is not ready after %u s",
				       c->at.pgdata, READY_MS / 1000);
		sleep_ms(POLL_MS);
	}
	return 0;
}

/* initdb creates only "postgres" and the templates. */
static int make_ceems(struct cluster *c, struct err *err)
{
	char url[sizeof(c->url)];
	const struct pg_params params = {.url = url};
	auto_pg struct pg *pg = NULL;
	auto_pgresult PGresult *r = NULL;

	cluster_make_url(&c->at, "postgres", url, sizeof(url));
	int rc = pg_new(&params, &pg, err);
	if (rc == 0)
		rc = pg_exec(pg, "SELECT FROM pg_database WHERE datname = 'ceems'", &r,
			     err);
	if (rc == 0 && PQntuples(r) == 0)
		rc = pg_exec(pg, "CREATE DATABASE ceems", NULL, err);
	return rc;
}

static int start_cluster(struct cluster *c, struct err *err)
{
	unsigned have = 0;
	int rc = take_lock(c, err);

	if (rc == 0)
		rc = cluster_version(&c->at, &have, err);
	if (rc == 0)
		rc = choose_version(c, have, err);
	if (rc == 0 && have == 0)
		rc = make_database(c, err);
	if (rc == 0)
		rc = cluster_write_settings(&c->at, c->connections, err);
	if (rc == 0)
		rc = end_leftovers(c, err);
	if (rc == 0)
		rc = spawn_server(c, err);
	if (rc == 0)
		rc = wait_ready(c, err);
	return rc < 0 ? rc : make_ceems(c, err);
}

int cluster_start(const char *data_path, unsigned connections, struct cluster **ret,
		  struct err *err)
{
	struct cluster *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->lock = -1;
	c->connections = connections;
	c->gap_ms = RESTART_MIN_MS;
	int rc = cluster_paths_of(data_path, &c->at, err);
	if (rc == 0)
		rc = start_cluster(c, err);
	if (rc < 0) {
		cluster_stop(c);
		return rc;
	}
	cluster_make_url(&c->at, "ceems", c->url, sizeof(c->url));
	*ret = c;
	return 0;
}

int cluster_url_of(const char *data_path, char *ret, size_t size, struct err *err)
{
	struct cluster_paths at;
	int rc = cluster_paths_of(data_path, &at, err);

	if (rc == 0)
		cluster_make_url(&at, "ceems", ret, size);
	return rc;
}

bool cluster_exists(const char *data_path)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/pgdata/PG_VERSION", data_path);

	return n > 0 && (size_t)n < sizeof(path) &&
	       (access(path, F_OK) == 0 || errno != ENOENT);
}

const char *cluster_url(const struct cluster *c)
{
	return c->url;
}

void cluster_tick(struct cluster *c)
{
	uint64_t now_ns = clock_boottime_ns();
	struct err err = {""};
	char line[300];

	cluster_bound_log(&c->at);
	if (c->pid && !reap_server(c)) {
		if (now_ns > c->restart_ns)
			c->gap_ms = RESTART_MIN_MS;
		return;
	}
	if (now_ns < c->restart_ns)
		return;
	cluster_last_words(&c->at, line, sizeof(line));
	log_error("private database: the server stopped (%s): restarting it",
		  *line ? line : "it printed nothing");
	/* a server that keeps dying is restarted less and less often */
	c->restart_ns = now_ns + c->gap_ms * NSEC_PER_MSEC;
	c->gap_ms = c->gap_ms * 2 < RESTART_MAX_MS ? c->gap_ms * 2 : RESTART_MAX_MS;
	if (end_leftovers(c, &err) < 0 || spawn_server(c, &err) < 0)
		log_error("private database: %s", err.text);
}

static bool wait_end(struct cluster *c, unsigned ms)
{
	uint64_t deadline_ns = clock_boottime_ns() + ms * NSEC_PER_MSEC;

	while (!reap_server(c)) {
		if (clock_boottime_ns() > deadline_ns)
			return false;
		sleep_ms(POLL_MS);
	}
	return true;
}

void cluster_stop(struct cluster *c)
{
	if (!c)
		return;
	if (c->pid && !reap_server(c)) {
		kill(c->pid, SIGINT);
		if (!wait_end(c, STOP_MS)) {
			log_warn("private database: does not stop, killing it");
			kill(c->pid, SIGQUIT);
			if (!wait_end(c, KILL_MS))
				kill(c->pid, SIGKILL);
		}
	}
	if (c->lock >= 0)
		close(c->lock);
	free(c);
}
