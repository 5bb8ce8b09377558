/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a completion record: an error, or a job that survives being written
 * again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/records/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *s)
{
	for (size_t len = strlen(s), i = 0, n; i < len; i += n) {
		n = utf8_len(s + i, len - i);
		if (!n)
			abort();
	}
}

static void check_names(const struct job *j)
{
	char sluid[16];
	uint64_t v;

	if (j->event < JOB_EVENT_ENDED || j->event >= JOB_EVENTS || !*j->cluster)
		abort();
	job_event_name(j->event);
	job_state_name(j->state);
	job_sluid_text(j->sluid, sluid);
	job_part_s(j);
	if (job_tres_get(j->tres_allocated, "mem", &v) == 0 && v % 1024 &&
	    v > 1ull << 60)
		return;
	check_text(j->name);
	check_text(j->nodes);
	check_text(j->gres);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char wire[JOB_RECORD_MAX], second[JOB_RECORD_MAX];
	struct job j, again;
	struct err err;

	if (job_decode(data, size, &j, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	check_names(&j);
	/* what an older writer would not have written so long is cut once */
	int len = job_encode(&j, wire, sizeof(wire));
	if (len < 0 || job_decode(wire, (size_t)len, &again, &err) < 0)
		abort();
	if (job_encode(&again, second, sizeof(second)) != len ||
	    memcmp(wire, second, (size_t)len) != 0 || again.job_id != j.job_id)
		abort();
	job_done(&again);
	job_done(&j);
	return 0;
}
