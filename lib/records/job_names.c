/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the numbers of a completion record. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/parse.h"
#include "lib/records/job.h"

uint64_t job_part_s(const struct job *j)
{
	return j->resize_s ? j->resize_s : j->start_s ? j->start_s : j->end_s;
}

#define REQUEUES                                                                       \
	(JOB_FLAG_REQUEUE | JOB_FLAG_REQUEUE_HOLD | JOB_FLAG_SPECIAL_EXIT |            \
	 JOB_FLAG_REQUEUE_FED)

enum job_event job_event_of(uint32_t state, bool ran, bool array)
{
	if (state & JOB_FLAG_REVOKED)
		return JOB_EVENT_REVOKED;
	if (state & JOB_FLAG_RESIZING)
		return JOB_EVENT_RESIZED;
	if (state & REQUEUES)
		return JOB_EVENT_REQUEUED;
	if (ran)
		return JOB_EVENT_ENDED;
	return array ? JOB_EVENT_ARRAY_REMAINDER : JOB_EVENT_CANCELLED_PENDING;
}

const char *job_event_name(uint8_t event)
{
	static const char *const names[JOB_EVENTS] = {
		"?",
		"ended",
		"requeued",
		"resized",
		"cancelled_pending",
		"array_remainder",
		"revoked",
		"started",
	};

	return event < JOB_EVENTS ? names[event] : "?";
}

const char *job_state_name(uint32_t state)
{
	static const char *const names[] = {
		"PENDING",   "RUNNING",   "SUSPENDED", "COMPLETED",
		"CANCELLED", "FAILED",    "TIMEOUT",   "NODE_FAIL",
		"PREEMPTED", "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY",
	};
	uint32_t base = state & JOB_STATE_BASE_MASK;

	if (state & JOB_FLAG_REVOKED)
		return "REVOKED";
	if (state & JOB_FLAG_RESIZING)
		return "RESIZING";
	if (state & REQUEUES)
		return "REQUEUED";
	return base < sizeof(names) / sizeof(names[0]) ? names[base] : "?";
}

const char *job_flags_text(uint32_t flags, char ret[JOB_FLAGS_SIZE])
{
	const char *by = "", *received = "";

	if (flags & JOB_DB_FLAG_NOTSET)
		by = "SchedNotSet";
	else if (flags & JOB_DB_FLAG_SUBMIT)
		by = "SchedSubmit";
	else if (flags & JOB_DB_FLAG_SCHED)
		by = "SchedMain";
	else if (flags & JOB_DB_FLAG_BACKFILL)
		by = "SchedBackfill";
	if (flags & JOB_DB_FLAG_START_R)
		received = *by ? ",StartReceived" : "StartReceived";
	(void)snprintf(ret, JOB_FLAGS_SIZE, "%s%s", by, received);
	return ret;
}

/* Crockford's base 32, most significant first (Slurm's src/common/sluid.c) */
const char *job_sluid_text(uint64_t sluid, char ret[16])
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

	memset(ret, 0, 16);
	if (!sluid)
		return ret;
	ret[0] = 's';
	for (unsigned i = 0; i < 13; i++)
		ret[13 - i] = digits[sluid >> (5 * i) & 31];
	return ret;
}

/* Slurm's mebibytes with a unit: "50M", "1.50G" never, "2T" */
static int parse_mem(const char *s, size_t len, uint64_t *ret)
{
	static const char units[] = "KMGTP";
	const char *unit = len ? memchr(units, s[len - 1], sizeof(units) - 1) : NULL;
	unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
	uint64_t v;
	int rc = parse_u64_len(s, unit ? len - 1 : len, &v);

	if (rc < 0)
		return -EINVAL;
	if (v > UINT64_MAX >> shift)
		return -EINVAL;
	*ret = v << shift;
	return 0;
}

int job_tres_get(const char *tres, const char *name, uint64_t *ret)
{
	size_t name_len = strlen(name);

	for (const char *p = tres; *p;) {
		size_t len = strcspn(p, ",");
		if (len > name_len && p[name_len] == '=' &&
		    memcmp(p, name, name_len) == 0) {
			const char *v = p + name_len + 1;
			size_t n = len - name_len - 1;
			if (strcmp(name, "mem") == 0)
				return parse_mem(v, n, ret);
			return parse_u64_len(v, n, ret) < 0 ? -EINVAL : 0;
		}
		p += len + (p[len] == ',');
	}
	return -ENODATA;
}
