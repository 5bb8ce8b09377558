/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start of each daemon: options, help, log. */
#include "lib/conf/program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/fs.h"
#include "lib/log.h"

const char *const program_log_levels[] = {"debug", "info", "warn", "error", NULL};
const char *const program_log_formats[] = {"logfmt", "json", NULL};

enum program_status program_print(const struct buf *b)
{
	int rc = b->len ? fs_write_all(STDOUT_FILENO, b->data, b->len) : 0;

	if (rc == 0)
		return PROGRAM_OK;
	fprintf(stderr, "%s: cannot write the output: %s\n",
		program_invocation_short_name, strerror(-rc));
	return PROGRAM_CANNOT;
}

/* For its page in doc/, which has this text. */
static enum program_status print_markdown(const struct program *p)
{
	auto_buf struct buf b = BUF_INIT;

	conf_markdown(p->options, p->option_count, &b);
	return buf_error(&b) ? PROGRAM_CANNOT : program_print(&b);
}

bool program_options(const struct program *p, int argc, char *const argv[], void *dst,
		     struct buf *warnings, enum program_status *ret_status)
{
	auto_buf struct buf out = BUF_INIT;
	struct err err = {""};

	if (argc == 2 && strcmp(argv[1], "--help-markdown") == 0) {
		*ret_status = print_markdown(p);
		return false;
	}
	int rc = p->load ? p->load(argc, argv, dst, &out, warnings, &err)
			 : conf_load(p->options, p->option_count, p->name, argc, argv,
				     dst, &out, warnings, &err);
	if (rc == 0)
		return true;
	if (rc < 0)
		fprintf(stderr, "%s: %s\n", p->name, err.text);
	*ret_status = rc < 0 ? PROGRAM_USAGE : program_print(&out);
	return false;
}

void program_log(const char *name, int log_format, int log_level,
		 const struct buf *warnings)
{
	static const int levels[] = {LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERR};

	log_init(name, (enum log_format)log_format, levels[log_level & 3]);
	for (const char *s = warnings ? warnings->data : NULL; s && *s;) {
		size_t n = strcspn(s, "\n");
		log_warn("%.*s", (int)n, s);
		s += n + (s[n] == '\n');
	}
}
