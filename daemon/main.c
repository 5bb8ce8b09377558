/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceemsd: the daemon of a node. Exit status 2: the command line or a configuration is
 * wrong; 1: it could not start. */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/courier_link.h"
#include "daemon/daemon.h"
#include "lib/fs.h"
#include "lib/log.h"

enum { EXIT_OK = 0, EXIT_CANNOT = 1, EXIT_USAGE = 2 };

static int print(const struct buf *b)
{
	if (b->len && fs_write_all(STDOUT_FILENO, b->data, b->len) < 0)
		return EXIT_CANNOT;
	return EXIT_OK;
}

/* For doc/config.md, which is this text. */
static int print_markdown(void)
{
	auto_buf struct buf b = BUF_INIT;
	conf_markdown(options_table, options_count, &b);
	return buf_error(&b) ? EXIT_CANNOT : print(&b);
}

static void log_lines(char *text)
{
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		log_warn("%s", line);
}

/* Options that are accepted so that a peer's unit file keeps working */
static void say_ignored(const struct options *o)
{
	if (*o->gomaxprocs)
		log_warn("--runtime.gomaxprocs: ignored, there is no Go runtime here");
	if (o->debug_server)
		log_warn("--web.debug-server: ignored, there is no pprof here");
	if (o->aggregator_urls.count && !o->reports_enabled)
		log_warn("--aggregator.url: nothing is sent without --reports.enabled");
}

static int check_config(const struct options *o)
{
	struct err err;
	if (*o->web_config_file && web_check_config(o->web_config_file, &err) < 0) {
		fprintf(stderr, "ceemsd: %s\n", err.text);
		return EXIT_USAGE;
	}
	if (courier_check(o, &err) < 0) {
		fprintf(stderr, "ceemsd: %s\n", err.text);
		return EXIT_USAGE;
	}
	printf("ceemsd: the configuration is good\n");
	return EXIT_OK;
}

static int serve(struct daemon *d)
{
	struct err err;
	log_info("ceemsd %s", CEEMS_VERSION);
	say_ignored(&d->options);
	int rc = daemon_open(d, &err);
	if (rc < 0)
		log_error("%s", err.text);
	else
		daemon_run(d);
	daemon_close(d);
	return rc < 0 ? EXIT_CANNOT : EXIT_OK;
}

int main(int argc, char *argv[])
{
	auto_buf struct buf out = BUF_INIT, warnings = BUF_INIT;
	struct daemon d = {.argc = argc, .argv = argv};
	struct err err;

	/* Threads allocate seldom; a heap for each would cost more than it saves. */
	mallopt(M_ARENA_MAX, 1);
	if (argc == 2 && strcmp(argv[1], "--help-markdown") == 0)
		return print_markdown();
	int rc = options_load(argc, argv, &d.options, &out, &warnings, &err);
	if (rc == 1)
		return print(&out);
	if (rc < 0) {
		fprintf(stderr, "ceemsd: %s\n", err.text);
		return EXIT_USAGE;
	}
	log_init("ceemsd", (enum log_format)d.options.log_format,
		 options_log_level(&d.options));
	if (warnings.len)
		log_lines(warnings.data);
	if (d.options.check_config) {
		rc = check_config(&d.options);
		options_release(&d.options);
		return rc;
	}
	return serve(&d);
}
