/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/sample_ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUSY (1u << 31)
#define DISCARDED (1u << 30)
#define HEAD_BYTES 8u
#define BACKLOG_RINGS 2u

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A page that we write, one that the kernel writes, and the data twice in a row, so
 * that none is cut at the end. */
int sample_ring_open(struct sample_ring *r, int fd, uint64_t bytes, struct err *err)
{
	size_t page = page_bytes();

	*r = (struct sample_ring){
		.fd = fd,
		.bytes = bytes,
		.backlog_room = BACKLOG_RINGS * bytes,
	};
	r->backlog = malloc(r->backlog_room); /* touched as far as it is used */
	if (!r->backlog)
		return err_set(err, -ENOMEM, "out of memory");
	void *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (own == MAP_FAILED) {
		int rc = -errno;
		free(r->backlog);
		return err_set(err, rc, "map the samples: %s", strerror(-rc));
	}
	void *theirs =
		mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (theirs == MAP_FAILED) {
		int rc = -errno;
		munmap(own, page);
		free(r->backlog);
		return err_set(err, rc, "map the samples: %s", strerror(-rc));
	}
	r->taken = own;
	r->put = theirs;
	r->data = (const unsigned char *)theirs + page;
	return 0;
}

void sample_ring_close(struct sample_ring *r)
{
	if (!r->taken)
		return;
	munmap(r->taken, page_bytes());
	munmap((void *)r->put, page_bytes() + 2 * r->bytes);
	free(r->backlog);
	*r = (struct sample_ring){.fd = -1};
}

/* A record in the backlog: its size, then its bytes, to a multiple of 8 */
static bool put_in_backlog(struct sample_ring *r, const void *data, uint64_t size)
{
	uint64_t room = HEAD_BYTES + ((size + 7) & ~UINT64_C(7));

	if (room > r->backlog_room - r->backlog_end)
		return false;
	memcpy(r->backlog + r->backlog_end, &size, sizeof(size));
	memcpy(r->backlog + r->backlog_end + HEAD_BYTES, data, size);
	r->backlog_end += room;
	return true;
}

void sample_ring_keep(struct sample_ring *r)
{
	uint64_t at = *r->taken, end = __atomic_load_n(r->put, __ATOMIC_ACQUIRE);

	while (at < end) {
		const unsigned char *record = r->data + (at & (r->bytes - 1));
		uint32_t head =
			__atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		uint32_t size = head & ~(BUSY | DISCARDED);
		if ((head & BUSY) || size > r->bytes)
			break;
		if (!(head & DISCARDED) &&
		    !put_in_backlog(r, record + HEAD_BYTES, size))
			break; /* what is in the ring waits there */
		at += (size + HEAD_BYTES + 7) & ~UINT64_C(7);
		__atomic_store_n(r->taken, at, __ATOMIC_RELEASE);
	}
}

uint64_t sample_ring_take(struct sample_ring *r,
			  void (*take)(void *arg, const void *data, size_t size),
			  void *arg)
{
	uint64_t count = 0, size, end;

	sample_ring_keep(r);
	/* what comes meanwhile is for the next time */
	for (end = r->backlog_end; r->backlog_at < end; count++) {
		const unsigned char *record = r->backlog + r->backlog_at;
		memcpy(&size, record, sizeof(size));
		r->backlog_at += HEAD_BYTES + ((size + 7) & ~UINT64_C(7));
		take(arg, record + HEAD_BYTES, size);
	}
	if (r->backlog_at == r->backlog_end)
		r->backlog_at = r->backlog_end = 0;
	return count;
}
