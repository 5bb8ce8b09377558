/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_PG_SERVER_H
#define CEEMS_TEST_PG_SERVER_H

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

#include "lib/pg/pg.h"
#include "test/unit/scratch.h"

/* A real Postgres of a test program's own (test/rig/pg). Where there is none the
 * program is skipped. */
struct pg_server {
	char dir[SCRATCH_PATH];
	char url[256];
	pid_t guard;
};

static inline int pg_server_do(const struct pg_server *s, const char *what,
			       const char *options)
{
	char command[512];

	(void)snprintf(command, sizeof(command), "test/rig/pg %s %s/pg %s 1>&2", what,
		       s->dir, options);
	return system(command);
}

/* A test that is killed ends no server: this process does, whom the kernel tells of its
 * death. In a session of its own, since timeout(1) kills the test's whole group. */
static inline pid_t pg_server_guard(const struct pg_server *s)
{
	pid_t test = getpid(), pid = fork();
	sigset_t death;
	int got;

	if (pid != 0)
		return pid;
	(void)sigemptyset(&death);
	(void)sigaddset(&death, SIGTERM);
	if (setsid() < 0 || sigprocmask(SIG_BLOCK, &death, NULL) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		_exit(1);
	while (getppid() == test)
		(void)sigwait(&death, &got);
	(void)sigprocmask(SIG_UNBLOCK, &death, NULL);
	(void)pg_server_do(s, "stop", "2>/dev/null");
	(void)nftw(s->dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

/* For main(), before cmocka: false when the program cannot run here, which is said. */
static inline bool pg_server_start(struct pg_server *s, const char *options)
{
	if (system("test/rig/pg possible >&2") != 0) {
		printf("1..0 # SKIP Postgres is not installed\n");
		return false;
	}
	(void)snprintf(s->dir, sizeof(s->dir), "/tmp/ceems-test.XXXXXX");
	if (!mkdtemp(s->dir) || chmod(s->dir, 0711) < 0 ||
	    (s->guard = pg_server_guard(s)) < 0 ||
	    pg_server_do(s, "start", options) != 0) {
		printf("1..1\nnot ok 1 - Postgres starts\n");
		exit(1);
	}
	(void)snprintf(s->url, sizeof(s->url),
		       "postgresql://ceems@/ceems?host=%s/pg/s&port=5432", s->dir);
	return true;
}

static inline void pg_server_stop(struct pg_server *s)
{
	(void)pg_server_do(s, "stop", "");
	(void)nftw(s->dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	(void)kill(s->guard, SIGKILL);
	(void)waitpid(s->guard, NULL, 0);
}

#endif
