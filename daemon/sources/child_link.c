/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that starts the child, reads its messages and waits for its end. A child
 * that sends garbage is ended as if it had crashed: it is the part that talks to
 * strangers. */
#include "daemon/sources/child_link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/log.h"

#define CHILD_FD 3
#define HANDED_FD 4
#define GAP_MIN_MS 1000u
#define GAP_MAX_MS 60000u
#define SETTLED_NS                                                                     \
	(60 * NSEC_PER_SEC) /* a child that lived so long starts anew at once */
#define END_MS 4000u        /* for a child that was asked to end */
#define KILL_MS 1000u       /* for one that was killed */
#define STUCK_MS 1000u
#define KEPT_MAX 200u /* three of each of CHILD_GPUS_MAX devices, and a few */
#define READS_MAX 64u /* in one go */
#define STACK_BYTES ((size_t)256 << 10)

struct kept_message {
	struct child_head *message; /* owned */
};

struct child_link {
	const char *name; /* in the log */
	char **argv;      /* owned, with argv[0] and --link.fd */
	pthread_t thread;
	bool has_thread;
	int handed; /* -1, or what the child has as HANDED_FD; owned */
	int wake;   /* eventfd: check the flags below */
	atomic_bool ending, again, held;

	/* of the thread */
	int fd; /* -1: no child; changed under the mutex */
	pid_t pid;
	/* killed, but in a call of the kernel that cannot be interrupted: it is not
	 * waited for, and there is no second one meanwhile. 0: none */
	pid_t stuck;
	uint64_t started_ns, gap_ms;
	struct log_repeat log;
	union {
		struct child_head head;
		uint64_t align;
		char bytes[CHILD_MESSAGE_MAX + 1];
	} in;

	pthread_mutex_t mutex;
	struct kept_message kept[KEPT_MAX];
	size_t kept_count;
	uint64_t starts;
};

static int make_argv(struct child_link *l, const char *path, struct conf_list *args)
{
	l->argv = calloc(args->count + 3, sizeof(*l->argv));
	if (!l->argv)
		return -ENOMEM;
	l->argv[0] = strdup(path);
	if (!l->argv[0] || asprintf(&l->argv[1], "--link.fd=%d", CHILD_FD) < 0) {
		l->argv[1] = NULL;
		return -ENOMEM;
	}
	for (size_t i = 0; i < args->count; i++)
		l->argv[i + 2] = steal_ptr(&args->items[i]);
	args->count = 0;
	return 0;
}

int child_link_new(const char *name, const char *path, struct conf_list *args,
		   struct child_link **ret, struct err *err)
{
	if (access(path, X_OK) < 0) {
		int rc = -errno;
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	struct child_link *l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->name = name;
	pthread_mutex_init(&l->mutex, NULL);
	l->fd = l->handed = -1;
	l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->wake < 0 || make_argv(l, path, args) < 0) {
		child_link_free(l);
		return err_set(err, -ENOMEM, "%s: out of memory or files", path);
	}
	*ret = l;
	return 0;
}

/* Keeps fd across exec; all other files are O_CLOEXEC. */
static int spawn_child(struct child_link *l, int fd)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, pipe;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipe);
	int rc = -posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
							  POSIX_SPAWN_SETSIGDEF);
	if (!rc)
		rc = -posix_spawn_file_actions_addopen(&actions, 0, "/dev/null",
						       O_RDONLY, 0);
	/* dup2 of fd 3 to itself clears its close-on-exec too */
	if (!rc)
		rc = -posix_spawn_file_actions_adddup2(&actions, fd, CHILD_FD);
	if (!rc && l->handed >= 0)
		rc = -posix_spawn_file_actions_adddup2(&actions, l->handed, HANDED_FD);
	if (!rc)
		rc = -posix_spawn(&l->pid, l->argv[0], &actions, &attr, l->argv,
				  environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static void grow_gap(struct child_link *l)
{
	l->gap_ms = l->gap_ms * 2 < GAP_MIN_MS ? GAP_MIN_MS : l->gap_ms * 2;
	if (l->gap_ms > GAP_MAX_MS)
		l->gap_ms = GAP_MAX_MS;
}

static void start_child(struct child_link *l)
{
	int pair[2];
	int rc = 0;

	l->started_ns = clock_boottime_ns();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		rc = -errno;
	} else {
		rc = spawn_child(l, pair[1]);
		close(pair[1]);
		if (rc < 0)
			close(pair[0]);
	}
	if (rc < 0) {
		grow_gap(l);
		if (log_repeat_due(&l->log, l->started_ns))
			log_warn("%s: start %s: %s", l->name, l->argv[0],
				 strerror(-rc));
		return;
	}
	pthread_mutex_lock(&l->mutex);
	l->fd = pair[0];
	l->starts++;
	pthread_mutex_unlock(&l->mutex);
}

static void close_link(struct child_link *l)
{
	pthread_mutex_lock(&l->mutex);
	close(l->fd); /* tells it to end */
	l->fd = -1;
	pthread_mutex_unlock(&l->mutex);
}

/* Under the mutex */
static struct kept_message *find_kept_message(struct child_link *l, unsigned kind,
					      const char *name)
{
	for (size_t i = 0; i < l->kept_count; i++) {
		const struct child_head *h = l->kept[i].message;
		if (h->kind == kind && strcmp(h->name, name) == 0)
			return &l->kept[i];
	}
	return NULL;
}

static int keep_message(struct child_link *l, size_t len)
{
	struct child_head *copy = malloc(len);
	int rc = 0;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, &l->in, len);
	pthread_mutex_lock(&l->mutex);
	struct kept_message *k = find_kept_message(l, copy->kind, copy->name);
	if (!k && l->kept_count < KEPT_MAX) {
		k = &l->kept[l->kept_count++];
		k->message = NULL;
	}
	if (k) {
		struct child_head *old = k->message;
		k->message = copy;
		copy = old;
	} else {
		rc = -EOVERFLOW;
	}
	pthread_mutex_unlock(&l->mutex);
	free(copy);
	return rc;
}

/* 0: nothing more for now; -EPIPE: it is gone; -EBADMSG: garbage */
static int receive_messages(struct child_link *l, struct err *err)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		ssize_t n = recv(l->fd, &l->in, sizeof(l->in), MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n <= 0)
			return err_set(err, -EPIPE, "ended");
		int rc = child_msg_check(&l->in, (size_t)n, err);
		if (rc < 0)
			return rc;
		rc = keep_message(l, (size_t)n);
		if (rc < 0)
			return err_set(err, rc, "sends too much: %s", strerror(-rc));
	}
	return 0;
}

/* Waits for the child's end, so long. */
static bool await_end(pid_t pid, uint64_t wait_ms, int *status)
{
	uint64_t end_ns = clock_boottime_ns() + wait_ms * NSEC_PER_MSEC;
	struct timespec pause = {.tv_nsec = 5 * NSEC_PER_MSEC};

	while (waitpid(pid, status, WNOHANG) == 0) {
		if (clock_boottime_ns() >= end_ns)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Its wait status, or -1 if it does not even end when it is killed */
static int reap_child(struct child_link *l)
{
	int status = 0;

	if (await_end(l->pid, END_MS, &status))
		return status;
	kill(l->pid, SIGKILL);
	if (await_end(l->pid, KILL_MS, &status))
		return status;
	l->stuck = l->pid;
	log_warn("%s: process %d is killed but does not end: no other is started until "
		 "it has",
		 l->name, (int)l->stuck);
	return -1;
}

static void look_after_stuck(struct child_link *l)
{
	int status;

	if (!l->stuck || waitpid(l->stuck, &status, WNOHANG) == 0)
		return;
	log_info("%s: process %d has ended", l->name, (int)l->stuck);
	l->stuck = 0;
}

static void child_gone(struct child_link *l, int rc, const struct err *err)
{
	uint64_t now_ns = clock_boottime_ns();
	bool settled = now_ns - l->started_ns > SETTLED_NS;

	close_link(l);
	if (rc != -EPIPE)
		kill(l->pid, SIGKILL);
	int status = reap_child(l);
	l->gap_ms = settled ? 0 : l->gap_ms;
	grow_gap(l);
	l->started_ns = now_ns; /* the back-off counts from here */
	if (status < 0 || !log_repeat_due(&l->log, now_ns))
		return;
	log_warn("%s: %s (%s %d): its data will get old, restarting it in %llu s",
		 l->name, err->text, WIFSIGNALED(status) ? "signal" : "status",
		 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		 (unsigned long long)l->gap_ms / 1000);
}

static int wait_ms(const struct child_link *l)
{
	uint64_t now_ns = clock_boottime_ns();
	uint64_t due_ns = l->started_ns + l->gap_ms * NSEC_PER_MSEC;

	if (l->fd >= 0)
		return -1;
	if (l->stuck)
		return STUCK_MS;
	if (atomic_load(&l->held))
		return -1;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / NSEC_PER_MSEC) + 1 : 0;
}

static void take_wake(struct child_link *l)
{
	uint64_t times;

	if (read(l->wake, &times, sizeof(times)) < 0 ||
	    !atomic_exchange(&l->again, false))
		return;
	if (l->fd >= 0) {
		close_link(l);
		(void)reap_child(l);
	}
	l->gap_ms = 0;
}

static void *child_thread_main(void *arg)
{
	struct child_link *l = arg;

	for (;;) {
		struct pollfd p[2] = {{.fd = l->wake, .events = POLLIN},
				      {.fd = l->fd, .events = POLLIN}};
		struct err err = {""};
		if (poll(p, 2, wait_ms(l)) < 0 && errno != EINTR)
			break;
		if (atomic_load(&l->ending))
			break;
		if (p[0].revents)
			take_wake(l);
		look_after_stuck(l);
		if (l->fd < 0 && wait_ms(l) == 0)
			start_child(l);
		int rc = p[1].revents && p[1].fd == l->fd ? receive_messages(l, &err)
							  : 0;
		if (rc < 0)
			child_gone(l, rc, &err);
		else if (l->fd >= 0 &&
			 clock_boottime_ns() - l->started_ns > SETTLED_NS &&
			 log_repeat_over(&l->log))
			log_info("%s: works again", l->name);
	}
	if (l->fd >= 0) {
		close_link(l);
		(void)reap_child(l);
	}
	return NULL;
}

int child_link_start(struct child_link *l, struct err *err)
{
	pthread_attr_t attr;

	l->started_ns = clock_boottime_ns();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	int rc = -pthread_create(&l->thread, &attr, child_thread_main, l);
	pthread_attr_destroy(&attr);
	l->has_thread = rc == 0;
	return rc ? err_set(err, rc, "%s: thread: %s", l->name, strerror(-rc)) : 0;
}

int child_link_get(struct child_link *l, enum child_kind kind, const char *name,
		   void *buf, size_t size)
{
	int rc = -EAGAIN;

	pthread_mutex_lock(&l->mutex);
	const struct kept_message *k = find_kept_message(l, kind, name);
	if (k && k->message->bytes > size)
		rc = -EFBIG;
	else if (k)
		rc = (int)k->message->bytes;
	if (rc > 0)
		memcpy(buf, k->message, (size_t)rc);
	pthread_mutex_unlock(&l->mutex);
	return rc;
}

void child_link_hand(struct child_link *l, int fd)
{
	l->handed = fd;
}

int child_link_send(struct child_link *l, const void *message, size_t size,
		    uint64_t *ret_starts)
{
	pthread_mutex_lock(&l->mutex);
	int rc = l->fd < 0 ? -ENOTCONN : 0;
	*ret_starts = l->starts;
	if (rc == 0 && send(l->fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		rc = -errno;
	pthread_mutex_unlock(&l->mutex);
	return rc;
}

static void wake_link_thread(struct child_link *l, atomic_bool *why, bool is)
{
	uint64_t one = 1;

	atomic_store(why, is);
	if (write(l->wake, &one, sizeof(one)) < 0)
		return; /* that many wake-ups are pending already */
}

void child_link_restart(struct child_link *l)
{
	if (l && l->has_thread)
		wake_link_thread(l, &l->again, true);
}

void child_link_hold(struct child_link *l, bool held)
{
	if (!l || atomic_load(&l->held) == held)
		return;
	log_info("%s: %s", l->name, held ? "held: ending it" : "no longer held");
	atomic_store(&l->again, true);
	wake_link_thread(l, &l->held, held);
}

uint64_t child_link_starts(struct child_link *l)
{
	pthread_mutex_lock(&l->mutex);
	uint64_t n = l->starts;
	pthread_mutex_unlock(&l->mutex);
	return n;
}

void child_link_free(struct child_link *l)
{
	if (!l)
		return;
	if (l->has_thread) {
		wake_link_thread(l, &l->ending, true);
		pthread_join(l->thread, NULL);
	}
	if (l->wake >= 0)
		close(l->wake);
	if (l->handed >= 0)
		close(l->handed);
	for (size_t i = 0; i < l->kept_count; i++)
		free(l->kept[i].message);
	for (char **a = l->argv; a && *a; a++)
		free(*a);
	free(l->argv);
	pthread_mutex_destroy(&l->mutex);
	free(l);
}
