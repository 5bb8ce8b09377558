/* SPDX-License-Identifier: GPL-2.0-or-later */
/* logfmt or JSON lines on stderr; journald picks the level from the "<n>" prefix. */
#include "lib/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/fs.h"

/* Set at start; format and level again at a reload, while other threads log. */
static struct {
	const char *program;
	enum log_format format;
	int level;
	bool prefix;
} log_state = {.program = "ceems", .level = LOG_INFO};

static const char *const level_names[] = {"error", "error",  "error", "error",
					  "warn",  "notice", "info",  "debug"};

void log_init(const char *program, enum log_format format, int level)
{
	bool prefix = getenv("JOURNAL_STREAM") || getenv("INVOCATION_ID");

	__atomic_store_n(&log_state.program, program, __ATOMIC_RELAXED);
	__atomic_store_n(&log_state.format, format, __ATOMIC_RELAXED);
	__atomic_store_n(&log_state.level, level, __ATOMIC_RELAXED);
	__atomic_store_n(&log_state.prefix, prefix, __ATOMIC_RELAXED);
}

void log_at(int level, const char *fmt, ...)
{
	if (level > __atomic_load_n(&log_state.level, __ATOMIC_RELAXED))
		return;

	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);

	struct timespec ts;
	struct tm tm;
	char when[32];
	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);

	auto_buf struct buf b;
	buf_init(&b, 8192);
	if (__atomic_load_n(&log_state.prefix, __ATOMIC_RELAXED))
		buf_printf(&b, "<%d>", level);
	bool json = __atomic_load_n(&log_state.format, __ATOMIC_RELAXED) == LOG_JSON;
	buf_printf(&b,
		   json ? "{\"ts\":\"%s.%03ldZ\",\"level\":\"%s\",\"program\":\"%s\","
			  "\"msg\":"
			: "ts=%s.%03ldZ level=%s program=%s msg=",
		   when, ts.tv_nsec / 1000000, level_names[level & 7],
		   __atomic_load_n(&log_state.program, __ATOMIC_RELAXED));
	buf_put_json(&b, text, strlen(text));
	buf_puts(&b, json ? "}\n" : "\n");
	if (!buf_error(&b))
		(void)!fs_write_all(STDERR_FILENO, b.data, b.len);
}

#define MINUTE_NS 60000000000ull

bool log_repeat_due(struct log_repeat *r, uint64_t now_ns)
{
	if (r->failing && now_ns < r->next_ns) {
		r->skipped++;
		return false;
	}
	if (!r->failing)
		r->gap_ns = MINUTE_NS;
	else if (r->gap_ns < 64 * MINUTE_NS)
		r->gap_ns *= 2;
	r->failing = true;
	r->next_ns = now_ns + r->gap_ns;
	r->hidden = r->skipped;
	r->skipped = 0;
	return true;
}

bool log_repeat_over(struct log_repeat *r)
{
	if (!r->failing)
		return false;
	*r = (struct log_repeat){0};
	return true;
}
