/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a command with a deadline and without a shell. */
#include "lib/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "lib/cleanup.h"
#include "lib/clock.h"

#define FDS_CLOSED_BY_HAND 4096

struct output_stream {
	int fd; /* -1: at end of file */
	struct buf *into;
};

static void close_above_stderr(void)
{
	if (close_range(3, ~0U, 0) == 0)
		return;
	for (int fd = 3; fd < FDS_CLOSED_BY_HAND; fd++)
		close(fd);
}

/* In the child, between fork and exec: only async-signal-safe calls. */
static void __attribute__((noreturn))
run_child(const char *const argv[], const char *const env[], int out, int err,
	  sighandler_t on_sigpipe)
{
	static const char *const plain[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
					    "LC_ALL=C", NULL};
	sigset_t none;
	setpgid(0, 0);
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(127);
	close_above_stderr();
	signal(SIGPIPE, on_sigpipe);
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(argv[0], (char *const *)argv,
	       (char *const *)(env ? env : (const char *const *)plain));
	_exit(127);
}

/* Reads what has arrived. 0, or -EFBIG at the buf's limit. */
static int drain_stream(struct output_stream *s)
{
	char data[4096];
	ssize_t n = read(s->fd, data, sizeof(data));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		close(s->fd);
		s->fd = -1;
		return 0;
	}
	buf_put(s->into, data, (size_t)n);
	return buf_error(s->into);
}

static int collect_streams(struct output_stream streams[2], uint64_t deadline_ns)
{
	while (streams[0].fd >= 0 || streams[1].fd >= 0) {
		struct pollfd p[2] = {{.fd = streams[0].fd, .events = POLLIN},
				      {.fd = streams[1].fd, .events = POLLIN}};
		uint64_t now = clock_boottime_ns();
		if (now >= deadline_ns)
			return -ETIMEDOUT;
		int wait_ms = (int)((deadline_ns - now) / NSEC_PER_MSEC) + 1;
		int n = poll(p, 2, wait_ms);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; n > 0 && i < 2; i++) {
			int rc = p[i].fd >= 0 && p[i].revents
					 ? drain_stream(&streams[i])
					 : 0;
			if (rc < 0)
				return rc;
		}
	}
	return 0;
}

/* A child may close the streams and go on: the deadline applies to it too. */
static int reap_command(pid_t pid, uint64_t deadline_ns, int *ret_status)
{
	for (;;) {
		pid_t got = waitpid(pid, ret_status, WNOHANG);
		if (got == pid)
			return 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (clock_boottime_ns() >= deadline_ns)
			return -ETIMEDOUT;
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}

static int run_with_deadline(const char *const argv[], const char *const env[],
			     sighandler_t on_sigpipe, uint32_t deadline_ms,
			     struct buf *out, struct buf *errout, int *ret_status,
			     struct err *err)
{
	int o[2] = {-1, -1}, e[2] = {-1, -1};
	int status = 0;
	if (argv[0][0] != '/')
		return err_set(err, -EINVAL, "%s: not an absolute path", argv[0]);
	if (access(argv[0], X_OK) < 0)
		return err_set(err, -errno, "%s: %s", argv[0], strerror(errno));
	if (pipe2(o, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	auto_close int o_write = o[1];
	struct output_stream streams[2] = {{o[0], out}, {-1, errout}};
	auto_close int e_write = -1;
	int rc = pipe2(e, O_CLOEXEC) < 0 ? -errno : 0;
	pid_t pid = -1;
	if (rc == 0) {
		streams[1].fd = e[0];
		e_write = e[1];
		pid = fork();
		if (pid == 0)
			run_child(argv, env, o_write, e_write, on_sigpipe);
		rc = pid < 0 ? -errno : 0;
	}
	if (rc == 0) {
		uint64_t deadline = clock_boottime_ns() + deadline_ms * NSEC_PER_MSEC;
		setpgid(pid, pid); /* in parent and child, whichever comes first */
		close(steal_fd(&o_write));
		close(steal_fd(&e_write));
		rc = collect_streams(streams, deadline);
		if (rc == 0)
			rc = reap_command(pid, deadline, &status);
		if (rc < 0) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				continue;
		}
	}
	for (int i = 0; i < 2; i++)
		if (streams[i].fd >= 0)
			close(streams[i].fd);
	if (rc < 0)
		return err_set(err, rc, "%s: %s", argv[0], strerror(-rc));
	*ret_status = status;
	return 0;
}

int exec_run(const char *const argv[], const char *const env[], uint32_t deadline_ms,
	     struct buf *out, struct buf *errout, int *ret_status, struct err *err)
{
	return run_with_deadline(argv, env, SIG_DFL, deadline_ms, out, errout,
				 ret_status, err);
}

int exec_run_sigpipe_ignored(const char *const argv[], const char *const env[],
			     uint32_t deadline_ms, struct buf *out, struct buf *errout,
			     int *ret_status, struct err *err)
{
	return run_with_deadline(argv, env, SIG_IGN, deadline_ms, out, errout,
				 ret_status, err);
}

void exec_beside(const char *configured, const char *name, char *ret, size_t size)
{
	const char *self = (const char *)getauxval(AT_EXECFN);
	auto_free char *real = self ? realpath(self, NULL) : NULL;
	char *slash = real ? strrchr(real, '/') : NULL;

	if (slash)
		slash[1] = '\0';
	if (*configured)
		(void)snprintf(ret, size, "%s", configured);
	else
		(void)snprintf(ret, size, "%s%s", slash ? real : "", name);
}
