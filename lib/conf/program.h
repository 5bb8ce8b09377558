/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_CONF_PROGRAM_H
#define CEEMS_LIB_CONF_PROGRAM_H

#include <stdbool.h>

#include "lib/conf/conf.h"

/* The first lines of a daemon's main(): its command line, and its log. The rows that
 * all daemons have are in lib/service_options.h. */

enum program_status {
	PROGRAM_OK = 0,
	PROGRAM_CANNOT = 1, /* it could not start */
	PROGRAM_USAGE = 2,  /* the command line or a configuration is wrong */
};

struct program {
	const char *name;
	const struct conf_opt *options;
	size_t option_count;
	/* Loads the options like conf_load(), leaving nothing to free on failure; NULL:
	 * conf_load() itself. */
	int (*load)(int argc, char *const argv[], void *dst, struct buf *out,
		    struct buf *warnings, struct err *err);
};

/* Fills dst (zeroed, the program's struct options). False: the program must exit with
 * *ret_status, because --help, --version or --help-markdown (alone; prints the table of
 * its page in doc/) was given, or because the command line is wrong, which has been
 * reported on stderr; nothing is left to free. warnings is for program_log(). */
bool program_options(const struct program *p, int argc, char *const argv[], void *dst,
		     struct buf *warnings, enum program_status *ret_status);

/* log_init() with the values of log.format and log.level, then one line for each of
 * warnings (NULL: none). name must stay valid. */
void program_log(const char *name, int log_format, int log_level,
		 const struct buf *warnings);

/* Prints b; returns main()'s exit status. */
enum program_status program_print(const struct buf *b);

/* Choices of log.level and log.format. */
extern const char *const program_log_levels[];
extern const char *const program_log_formats[];

#endif
