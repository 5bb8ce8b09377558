/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/sample_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUSY (1u << 31)
#define DISCARDED (1u << 30)
#define HEAD_BYTES 8u

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A page that we write, one that the kernel writes, and the data twice in a row, so
 * that none is cut at the end. */
int sample_ring_open(struct sample_ring *r, int fd, uint64_t bytes, struct err *err)
{
	size_t page = page_bytes();

	*r = (struct sample_ring){.fd = fd, .bytes = bytes};
	void *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (own == MAP_FAILED)
		return err_set(err, -errno, "map the samples: %s", strerror(errno));
	void *theirs =
		mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (theirs == MAP_FAILED) {
		int rc = -errno;
		munmap(own, page);
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
	*r = (struct sample_ring){.fd = -1};
}

uint64_t sample_ring_take(struct sample_ring *r,
			  void (*take)(void *arg, const void *data, size_t size),
			  void *arg)
{
	uint64_t at = *r->taken, end = __atomic_load_n(r->put, __ATOMIC_ACQUIRE);
	uint64_t count = 0;

	while (at < end) {
		const unsigned char *record = r->data + (at & (r->bytes - 1));
		uint32_t head =
			__atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		uint32_t size = head & ~(BUSY | DISCARDED);
		if ((head & BUSY) || size > r->bytes)
			break;
		if (!(head & DISCARDED)) {
			take(arg, record + HEAD_BYTES, size);
			count++;
		}
		at += (size + HEAD_BYTES + 7) & ~UINT64_C(7);
		__atomic_store_n(r->taken, at, __ATOMIC_RELEASE);
	}
	return count;
}
