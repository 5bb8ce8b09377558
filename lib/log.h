/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_LOG_H
#define CEEMS_LIB_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

#include "lib/err.h"

/* Programs log; lib/ does not. One line per failure: object, cause, consequence. Never
 * a token, password, cookie or query string. Thread safe (one write per line). */

enum log_format { LOG_LOGFMT, LOG_JSON };

/* program must stay valid. level is syslog's (LOG_ERR .. LOG_DEBUG). Lines go to
 * stderr; with JOURNAL_STREAM or INVOCATION_ID in the environment they carry "<n>". */
void log_init(const char *program, enum log_format format, int level);

void log_at(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define log_error(...) log_at(LOG_ERR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

/* Limits a repeated failure to a line at first, after 1, 2, 4 ... 64 minutes, and when
 * it is over. Zero-initialise. Not thread safe. */
struct log_repeat {
	uint64_t next_ns;
	uint64_t gap_ns;
	uint64_t skipped; /* since the last line */
	uint64_t hidden;  /* between the last line and the one before */
	bool failing;
};

/* True: log now; r->hidden occurrences since the line before were not logged. */
bool log_repeat_due(struct log_repeat *r, uint64_t now_ns);
/* True once after a series of failures: log that it is over. */
bool log_repeat_over(struct log_repeat *r);

#endif
