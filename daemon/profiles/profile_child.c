/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/profiles/profile_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/courier_args.h"
#include "daemon/options.h"
#include "daemon/reports/cluster_name.h"
#include "lib/cleanup.h"
#include "lib/conf/program.h"
#include "lib/exec.h"
#include "lib/log.h"
#include "lib/records/hot_page.h"

#define OPENER_FD 3
#define END_MS 1000u

static int spawn_profile_opener(const char *path, const struct options *o,
				const char *what, int fd, pid_t *ret)
{
	char link[32], tree[4096 + 32], proc[4096 + 32];
	char *const argv[] = {(char *)path, link, tree, proc, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;

	(void)snprintf(link, sizeof(link), "--%s.fd=%d", what, OPENER_FD);
	(void)snprintf(tree, sizeof(tree), "--path.cgroupfs=%s", o->path_cgroupfs);
	(void)snprintf(proc, sizeof(proc), "--path.procfs=%s", o->path_procfs);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	posix_spawnattr_setsigmask(&attr, &none);
	int rc = -posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	if (!rc)
		rc = -posix_spawn_file_actions_adddup2(&actions, fd, OPENER_FD);
	if (!rc)
		rc = -posix_spawn(ret, path, &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Above those that a child is given */
static int move_up(int fd)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, 16);

	close(fd);
	return up < 0 ? -errno : up;
}

int profile_opener_start(const struct options *o, const char *what,
			 struct profile_opener *ret, struct err *err)
{
	char path[4096];
	int pair[2];

	*ret = (struct profile_opener){.fd = -1};
	exec_beside(o->opener_path, "ceems-opener", path, sizeof(path));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, -errno, "socket: %s", strerror(errno));
	int rc = spawn_profile_opener(path, o, what, pair[1], &ret->pid);
	close(pair[1]);
	ret->fd = move_up(pair[0]);
	if (rc == 0)
		rc = ret->fd < 0 ? ret->fd : 0;
	if (rc < 0) {
		ret->pid = 0;
		return err_set(err, rc, "%s: %s", path, strerror(-rc));
	}
	return 0;
}

/* Where the plugin looks for it (spank/report_step.c); "": there is none. */
static void make_hot_page(const struct options *o, uid_t uid, gid_t gid, char *ret,
			  size_t size)
{
	struct err err = {"its path is too long"};
	int n = snprintf(ret, size, "%s/hot", o->path_rundir);
	auto_close int fd =
		n > 0 && (size_t)n < size ? hot_page_create(ret, &err) : -ENAMETOOLONG;

	if (fd >= 0 && (uid == (uid_t)-1 || fchown(fd, uid, gid) == 0))
		return;
	if (fd >= 0)
		(void)err_set(&err, -errno, "change owner: %s", strerror(errno));
	log_warn("%s/hot: %s: --ceems-report does not say which functions are hot",
		 o->path_rundir, err.text);
	*ret = '\0';
}

static int fill_profiler_args(const struct options *o, const char *hostname,
			      const char *hot_page, struct conf_list *ret)
{
	char cluster[CLUSTER_NAME_MAX];
	auto_buf struct buf b = BUF_INIT;
	int rc = 0;

	cluster_name(o->cluster, cluster, sizeof(cluster));
	buf_printf(&b, "--opener.fd=%d\n--log.level=%s\n--cluster=%s\n--hostname=%s\n",
		   4, program_log_levels[o->log_level], cluster, hostname);
	buf_printf(&b, "--profiling.memory=%" PRIu64 "B\n", o->profiling_memory);
	buf_printf(&b, "--profiling.interval=%" PRIu64 "ms\n",
		   o->profiling_interval_ms);
	buf_printf(&b, "--profiling.off-cpu=%s\n",
		   o->profiling_off_cpu == PROFILING_DENY ? "false" : "true");
	buf_printf(&b, "--profiles.spool=%s\n--hot.page=%s\n", o->profiles_spool,
		   hot_page);
	if (courier_fetches_debug_files(o))
		buf_printf(&b, "--debuginfod.folder=%s\n", o->debuginfod_folder);
	if (buf_error(&b))
		return buf_error(&b);
	buf_putc(&b, '\0');
	char *save = NULL;
	for (char *arg = strtok_r(b.data, "\n", &save); arg && rc == 0;
	     arg = strtok_r(NULL, "\n", &save))
		rc = conf_list_add(ret, arg);
	return rc;
}

int profile_child_new(const struct options *o, const char *hostname, uid_t uid,
		      gid_t gid, struct profile_opener *opener, struct child_link **ret,
		      struct err *err)
{
	struct conf_list args = {0};
	char path[4096], hot_page[4096];

	exec_beside(o->profiler_path, "ceems-profiler", path, sizeof(path));
	make_hot_page(o, uid, gid, hot_page, sizeof(hot_page));
	int rc = fill_profiler_args(o, hostname, hot_page, &args);
	if (rc == 0)
		rc = child_link_new("profiler", path, &args, ret, err);
	else
		(void)err_set(err, rc, "%s: %s", path, strerror(-rc));
	conf_list_done(&args);
	if (rc == 0)
		child_link_hand(*ret, steal_fd(&opener->fd));
	return rc;
}

void profile_opener_end(struct profile_opener *p)
{
	const struct timespec pause = {.tv_nsec = 5000000};

	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	for (unsigned ms = 0; p->pid && ms < END_MS; ms += 5) {
		if (waitpid(p->pid, NULL, WNOHANG) != 0)
			p->pid = 0;
		else
			nanosleep(&pause, NULL);
	}
	if (p->pid)
		kill(p->pid, SIGKILL);
	p->pid = 0;
}
