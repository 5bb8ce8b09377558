/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/output.h"

#include <errno.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "profiler/pprof.h"

static int write_record(struct output *o, struct profile_record *r,
			const struct buf *plain, struct err *err)
{
	const struct spool_limits limits = {.max_bytes = OUTPUT_BYTES_MAX,
					    .segment_bytes = 1u << 20};
	auto_buf struct buf packed = BUF_INIT;
	int rc = 0;

	if (plain->len > PROFILE_PLAIN_MAX)
		return err_set(err, -EMSGSIZE, "a profile of %zu bytes", plain->len);
	if (!o->writer)
		rc = spool_writer_open(o->folder, &limits, &o->writer, err);
	if (rc == 0 && pprof_pack(plain, &packed) < 0)
		rc = err_set(err, -ENOMEM, "out of memory");
	if (rc < 0)
		return rc;
	r->plain_bytes = plain->len;
	r->data = packed.data;
	r->len = packed.len;
	rc = profile_record_put(o->writer, r, err);
	return rc == 0 ? spool_sync(o->writer, err) : rc;
}

void output_put(struct output *o, struct profile_record *r, const struct buf *plain)
{
	struct err err = {""};
	uint64_t now_ns = clock_boottime_ns();

	if (!*o->folder)
		return;
	if (write_record(o, r, plain, &err) == 0) {
		o->written++;
		if (log_repeat_over(&o->log))
			log_info("%s: profiles are written again", o->folder);
		return;
	}
	o->lost++;
	if (log_repeat_due(&o->log, now_ns))
		log_warn("%s: %s: a profile is lost", o->folder, err.text);
}

void output_close(struct output *o)
{
	spool_writer_close(o->writer);
	o->writer = NULL;
}
