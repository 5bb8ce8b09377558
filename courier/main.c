/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-courier: see courier/courier.h. Exit status 2: the command line is wrong; 1: it
 * could not start or, with --once, a server could not be read. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "courier/courier.h"
#include "courier/ship.h"
#include "lib/cleanup.h"
#include "lib/conf/program.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/service.h"
#include "lib/signals.h"

static void find_hostname(struct courier *c)
{
	const char *name = getenv("NODE_NAME");

	if (name && *name)
		(void)snprintf(c->hostname, sizeof(c->hostname), "%s", name);
	else if (gethostname(c->hostname, sizeof(c->hostname) - 1) < 0)
		(void)snprintf(c->hostname, sizeof(c->hostname), "localhost");
}

/* The node daemon is protected from the OOM killer; a process that talks to servers
 * need not be. Not possible once the process is not dumpable. */
static void take_usual_oom_score(void)
{
	char text[16] = "";
	auto_close int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && text[0] == '-' &&
	    pwrite(fd, "0", 1, 0) != 1)
		log_debug("oom_score_adj: %s", strerror(errno));
}

static int check_link(struct courier *c)
{
	int type = 0;
	socklen_t len = sizeof(type);

	c->link = -1;
	if (!c->options.link_fd)
		return 0;
	int fd = (int)c->options.link_fd;
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    type != SOCK_SEQPACKET) {
		log_error("--link.fd=%d: not a socket of ceemsd", fd);
		return -EINVAL;
	}
	c->link = fd;
	return 0;
}

static void say_hello(struct courier *c)
{
	struct child_hello m = {0};

	(void)snprintf(m.program, sizeof(m.program), "%s", CEEMS_VERSION);
	courier_send(c, &m.head, CHILD_HELLO, "ceems-courier", 0, sizeof(m));
}

/* Until ceemsd ends; alone, until a signal. A signal to all of a service's processes is
 * for ceemsd, which then ends us. */
static void wait_for_end(const struct courier *c, int signals)
{
	struct pollfd p[2] = {{.fd = signals, .events = POLLIN},
			      {.fd = c->link, .events = POLLIN}};

	for (;;) {
		struct signalfd_siginfo si;
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return;
		if (p[1].revents) /* ceemsd sends nothing: it is gone */
			return;
		if (p[0].revents && read(signals, &si, sizeof(si)) == sizeof(si) &&
		    si.ssi_signo != SIGHUP && c->link < 0)
			return;
	}
}

/* Opening a task reads its files and contacts nobody. */
static enum program_status check_config(struct courier *c)
{
	enum program_status status = PROGRAM_OK;

	for (size_t i = 0; i < tasks_count; i++) {
		void *state = NULL;
		struct err err = {""};
		int rc = tasks[i]->open(c, &state, &err);
		if (rc < 0 && rc != -ENODEV) {
			fprintf(stderr, "ceems-courier: %s: %s\n", tasks[i]->name,
				err.text);
			status = PROGRAM_USAGE;
		}
		tasks[i]->close(state);
	}
	const struct conf_list *spools = &c->options.ship_spools;
	for (size_t i = 0; i < spools->count; i++) {
		struct err err = {""};
		/* ceemsd creates it with its first report, so this need not be a
		 * mistake */
		if (ship_spool_check(spools->items[i], &err) < 0)
			fprintf(stderr, "ceems-courier: warning: %s\n", err.text);
	}
	service_check_calls("ceems-courier", c->options.seccomp);
	if (status == PROGRAM_OK)
		printf("ceems-courier: the configuration is valid\n");
	return status;
}

static const struct task *find_task(const char *name)
{
	for (size_t i = 0; i < tasks_count; i++) {
		if (strcmp(tasks[i]->name, name) == 0)
			return tasks[i];
	}
	return NULL;
}

static enum program_status run_courier(struct courier *c, int signals)
{
	struct task_threads *threads = NULL;
	struct err err;
	enum program_status status = PROGRAM_OK;

	say_hello(c);
	if (c->link < 0)
		(void)notify_send("READY=1");
	if (task_threads_start(c, tasks, tasks_count, &threads, &err) < 0) {
		log_error("%s", err.text);
		return PROGRAM_CANNOT;
	}
	if (task_threads_size(threads) == 0)
		log_info("no option gives it anything to do: exiting");
	else if (c->options.once)
		status = task_threads_once(threads) < 0 ? PROGRAM_CANNOT : PROGRAM_OK;
	else
		wait_for_end(c, signals);
	if (!task_threads_end(threads)) {
		log_warn("a server does not answer: exiting without waiting for it");
		_exit(status);
	}
	return status;
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "ceems-courier",
		.options = courier_options,
		.option_count = courier_options_count,
		.load = courier_load,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct courier c = {.link = -1};
	enum program_status status;
	struct err err;

	if (!program_options(&program, argc, argv, &c.options, &warnings, &status))
		return status;
	program_log("ceems-courier", c.options.log_format, c.options.log_level,
		    &warnings);
	if (c.options.link_fd)
		take_usual_oom_score();
	/* it holds passwords: no core file, no access by the user's other processes */
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* ceemsd's filter applies to its child */
	if (!c.options.link_fd && !c.options.check_config)
		(void)service_filter_calls(c.options.seccomp);
	find_hostname(&c);
	int signals = -1;
	status = PROGRAM_CANNOT;
	if (signals_open(&signals, &err) < 0)
		log_error("%s", err.text);
	else if (c.options.check_config)
		status = check_config(&c);
	else if (c.options.flush)
		status = courier_flush(&c, find_task("ship"));
	else if (check_link(&c) == 0)
		status = run_courier(&c, signals);
	if (signals >= 0)
		close(signals);
	conf_release(courier_options, courier_options_count, &c.options);
	return status;
}
