/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a segment and as the counters of a spool. The first byte says of which
 * kind, and whether checksums are put right first, without which nothing but the first
 * check would ever be reached. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/crc32c.h"
#include "lib/records/spool_segment.h"

#define CRC_OF(p, member) crc32c(0, (p), offsetof(__typeof__(*(p)), member))

static void repair(uint8_t *data, size_t size)
{
	struct record_header h;

	for (size_t at = 0; at + sizeof(h) <= size; at += 8) {
		memcpy(&h, data + at, sizeof(h));
		if (h.magic != RECORD_MAGIC)
			continue;
		if (h.pad & 1 && h.len <= size - at - sizeof(h))
			h.crc = crc32c(0, data + at + sizeof(h), h.len);
		h.header_crc = CRC_OF(&h, header_crc);
		memcpy(data + at, &h, sizeof(h));
	}
}

static void walk(int fd, enum segment_kind kind, size_t size)
{
	struct segment_walk w;
	struct buf payload = BUF_INIT;
	uint64_t off = sizeof(struct segment_header), seq = 0;
	int step;

	segment_walk_start(&w, fd, kind);
	for (;;) {
		step = segment_step(&w, &payload);
		if (step == STEP_END || step < 0)
			break;
		if (w.off <= off || w.off > size)
			abort();
		off = w.off;
		if (step != STEP_RECORD)
			continue;
		if (w.seq <= seq || payload.len != w.header.len ||
		    payload.len > SPOOL_RECORD_MAX ||
		    crc32c(0, payload.data, payload.len) != w.header.crc)
			abort();
		seq = w.seq;
	}
	/* the end stays the end */
	if (step < 0 || segment_step(&w, &payload) != STEP_END)
		abort();
	buf_done(&payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct losses losses;

	if (!size)
		return 0;
	uint8_t mode = data[0];
	int fd = memfd_create("segment", MFD_CLOEXEC);
	uint8_t *copy = malloc(size);
	if (fd >= 0 && copy) {
		memcpy(copy, data + 1, --size);
		if (mode & 1)
			repair(copy, size);
		if (write(fd, copy, size) == (ssize_t)size) {
			walk(fd, mode & 2 ? SEGMENT_KEEP : SEGMENT_INTERVAL, size);
			if (losses_read(fd, &losses) < 0)
				abort();
		}
	}
	free(copy);
	if (fd >= 0)
		close(fd);
	return 0;
}
