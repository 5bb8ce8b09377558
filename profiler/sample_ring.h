/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_SAMPLE_RING_H
#define CEEMS_PROFILER_SAMPLE_RING_H

#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

/* The reading end of a kernel ring buffer (BPF_MAP_TYPE_RINGBUF) without a bpf() call,
 * which a process without privileges may not make: the layout is that of the kernel's
 * kernel/bpf/ringbuf.c, as libbpf reads it. One thread. */
struct sample_ring {
	int fd; /* borrowed; poll(2) tells when the writer wakes us */
	uint64_t *taken;
	const uint64_t *put;
	const unsigned char *data;
	uint64_t bytes; /* a power of two */
	/* records that were taken out and not looked at yet: from backlog_at on */
	unsigned char *backlog;
	uint64_t backlog_room, backlog_at, backlog_end;
};

int sample_ring_open(struct sample_ring *r, int fd, uint64_t bytes, struct err *err);
void sample_ring_close(struct sample_ring *r);
/* Makes room in the ring: what has come is kept until the next sample_ring_take(), up
 * to twice as much as the ring holds. Also from within take. */
void sample_ring_keep(struct sample_ring *r);
/* Gives every record that has been put by now to take, oldest first. How many. */
uint64_t sample_ring_take(struct sample_ring *r,
			  void (*take)(void *arg, const void *data, size_t size),
			  void *arg);

#endif
