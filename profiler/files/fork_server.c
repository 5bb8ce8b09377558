/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forks children on request from a small process. Only it knows which pids are still
 * its children, so only it kills them. */
#include "profiler/files/fork_server.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fd_pass.h"

enum { KINDS_MAX = 4, ANSWER_S = 10 };

enum request_kind { SPAWN_CHILD, KILL_CHILD };

struct fork_request {
	uint32_t request; /* enum request_kind */
	uint32_t kind;    /* SPAWN_CHILD: of child */
	int32_t pid;      /* KILL_CHILD */
};

struct server_state {
	fork_child *mains[KINDS_MAX];
	unsigned kinds;
	const void *arg;
	int control;
	pid_t children[FORK_CHILDREN_MAX]; /* 0: free */
};

static void close_from(int first)
{
	if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
		return;
	for (int fd = first; fd < 4096; fd++) /* before Linux 5.9 */
		close(fd);
}

static void reap_children(struct server_state *s)
{
	for (int i = 0; i < FORK_CHILDREN_MAX; i++) {
		if (s->children[i] && waitpid(s->children[i], NULL, WNOHANG) != 0)
			s->children[i] = 0;
	}
}

static _Noreturn void become_child(struct server_state *s, unsigned kind, int socket)
{
	/* 3: the descriptors of the server are not its business */
	if (dup2(socket, 3) == 3) {
		close_from(4);
		s->mains[kind](3, s->arg);
	}
	_exit(0);
}

static int32_t spawn_child(struct server_state *s, unsigned kind, int socket)
{
	int at = 0;

	while (at < FORK_CHILDREN_MAX && s->children[at])
		at++;
	if (at == FORK_CHILDREN_MAX)
		return -EAGAIN;
	if (kind >= s->kinds || socket < 0)
		return -EINVAL;
	pid_t pid = fork();
	if (pid == 0)
		become_child(s, kind, socket);
	if (pid < 0)
		return -errno;
	s->children[at] = pid;
	return pid;
}

static void kill_child(struct server_state *s, pid_t pid)
{
	for (int i = 0; i < FORK_CHILDREN_MAX; i++) {
		if (pid > 0 && s->children[i] == pid)
			(void)kill(pid, SIGKILL);
	}
}

/* One that cannot be killed now is left to init. */
static void end_children(struct server_state *s)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < FORK_CHILDREN_MAX; i++)
		kill_child(s, s->children[i]);
	for (int ms = 0; ms < 100; ms++) {
		reap_children(s);
		int left = 0;
		for (int i = 0; i < FORK_CHILDREN_MAX; i++)
			left += s->children[i] != 0;
		if (!left)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

static _Noreturn void serve_forks(struct server_state *s)
{
	struct fork_request r;
	int fds[FD_PASS_MAX];
	unsigned count = 0;

	(void)signal(SIGINT, SIG_IGN); /* it ends with the profiler, not before it */
	(void)signal(SIGTERM, SIG_IGN);
	(void)prctl(PR_SET_NAME, "ceems-prof-fork");
	while (fd_pass_receive(s->control, &r, sizeof(r), fds, &count, 0) ==
	       (ssize_t)sizeof(r)) {
		auto_close int socket = count ? fds[0] : -1;
		reap_children(s);
		if (r.request == SPAWN_CHILD) {
			int32_t answer = spawn_child(s, r.kind, socket);
			(void)fd_pass_send(s->control, &answer, sizeof(answer), NULL, 0,
					   0);
		} else {
			kill_child(s, r.pid);
		}
	}
	end_children(s);
	_exit(0);
}

int fork_server_start(fork_child *const mains[], unsigned count, const void *arg,
		      struct fork_server *ret, struct err *err)
{
	struct server_state s = {.kinds = count, .arg = arg};
	const struct timeval wait = {.tv_sec = ANSWER_S};
	int pair[2];

	if (count > KINDS_MAX)
		return err_set(err, -EINVAL, "%u kinds of children", count);
	memcpy(s.mains, mains, count * sizeof(*mains));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, -errno, "socketpair: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0) {
		/* beside 0 to 2 it has nothing but its socket, as 3 */
		if (dup2(pair[1], 3) != 3)
			_exit(1);
		close_from(4);
		s.control = 3;
		serve_forks(&s);
	}
	int rc = pid < 0 ? -errno : 0;
	close(pair[1]);
	if (rc < 0) {
		close(pair[0]);
		return err_set(err, rc, "fork: %s", strerror(-rc));
	}
	(void)setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	*ret = (struct fork_server){.control = pair[0], .pid = pid};
	return 0;
}

int fork_server_spawn(struct fork_server *s, unsigned kind, pid_t *ret_pid)
{
	const struct fork_request r = {.request = SPAWN_CHILD, .kind = kind};
	int32_t answer = 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	int rc = fd_pass_send(s->control, &r, sizeof(r), &pair[1], 1, 0);
	close(pair[1]);
	if (rc == 0) {
		ssize_t n = recv(s->control, &answer, sizeof(answer), 0);
		rc = n == (ssize_t)sizeof(answer) ? (answer < 0 ? answer : 0)
		     : n < 0                      ? -errno
						  : -EPIPE;
	}
	if (rc < 0) {
		close(pair[0]);
		return rc;
	}
	*ret_pid = answer;
	return pair[0];
}

void fork_server_kill(struct fork_server *s, pid_t pid)
{
	const struct fork_request r = {.request = KILL_CHILD, .pid = pid};

	(void)fd_pass_send(s->control, &r, sizeof(r), NULL, 0, 0);
}

void fork_server_end(struct fork_server *s)
{
	if (!s->pid)
		return;
	close(s->control);
	(void)waitpid(s->pid, NULL, 0);
	*s = (struct fork_server){0};
}
