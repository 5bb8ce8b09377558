/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a profile of the spool: an error, or one that survives being written
 * again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/records/profile_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_labels(const struct profile_record *r)
{
	for (size_t i = 0; i < r->label_count; i++) {
		const char *value = r->labels[i].value;
		if (!*r->labels[i].name || !utf8_is_text(value, strlen(value)))
			abort();
	}
	if (!profile_record_label(r, "service_name"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char wire[SPOOL_RECORD_MAX];
	struct profile_record r, again;
	struct err err;

	if (profile_record_decode(data, size, &r, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	check_labels(&r);
	int len = profile_record_encode(&r, wire, sizeof(wire), &err);
	if (len < 0 || profile_record_decode(wire, (size_t)len, &again, &err) < 0)
		abort();
	if (again.len != r.len || memcmp(again.data, r.data, r.len) != 0 ||
	    again.label_count != r.label_count)
		abort();
	profile_record_done(&again);
	profile_record_done(&r);
	return 0;
}
