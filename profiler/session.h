/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_SESSION_H
#define CEEMS_PROFILER_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "profiler/modules.h"
#include "profiler/sample.h"

struct session_request {
	/* directory of cgroup v2 or of v1's cpuacct: it and all below it */
	const char *group;
	const char *procfs;
	struct reader *reader; /* outlives the session */
	uint32_t hz, rows_max;
};

/* A sample as it comes, with the mappings of its process; NULL: not known */
typedef void session_sample(void *arg, const struct sample *s,
			    const struct profile_process *process);

/* The kernel program and what it is told: a process whose first sample arrives is
 * looked at, and known from the next one on. One thread. */
struct session;

int session_open(const struct session_request *r, session_sample *on_sample, void *arg,
		 struct session **ret, struct err *err);
/* Waits for samples, at most wait_ms. */
int session_poll(struct session *s, int wait_ms);
struct modules *session_modules(struct session *s);
/* Samples that nothing had room for */
uint64_t session_lost(const struct session *s);
void session_close(struct session *s);

#endif
