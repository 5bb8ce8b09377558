/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a ring file, then as the memory of an opened ring: attaching,
 * publishing, consuming and looking must end, without touching anything outside. The
 * first byte says how much of the header is made right first, so that the checks are
 * passed. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/ringview.h"
#include "lib/records/ring.h"
#include "test/ring_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SLOTS 16u
#define BYTES (RING_HEADER_BYTES + SLOTS * RING_SLOT_BYTES)

static char folder[64], path[96];

static void clean_up(void)
{
	remove_ring(path);
	rmdir(folder);
}

static void make_folder(void)
{
	if (folder[0])
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/ring_fuzz.XXXXXX");
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/ring", folder);
	atexit(clean_up);
}

static bool nobody_gone(pid_t pid, uint32_t second)
{
	return (pid ^ (pid_t)second) & 1; /* no system calls: any answer will do */
}

/* Spreads the input over header and slot words, which are what the code reads. */
static void scribble(unsigned char *file, const uint8_t *data, size_t size, size_t from)
{
	for (size_t i = 0, at = from; i < size && at < BYTES; i++, at++) {
		file[at] = data[i];
		if (at >= RING_HEADER_BYTES && at % RING_SLOT_BYTES == 24)
			at += RING_SLOT_BYTES - 25;
		if (at == sizeof(struct ring_header))
			at = RING_HEADER_BYTES - 1;
	}
}

static void use(struct ring *producer, struct ring *consumer)
{
	unsigned char buf[RING_RECORD_MAX];
	auto_buf struct buf out = BUF_INIT;
	struct ringview v;
	uint64_t pos, first, end;
	size_t len = 0;

	for (int i = 0; i < 40; i++) {
		ring_publish(producer, "record", 6);
		int rc = ring_peek(consumer, buf, &len, &pos);
		if (rc < 0 || rc > 2 || (rc == 1 && len > sizeof(buf)))
			abort();
		if (rc == 1 && i % 3)
			ring_release(consumer, pos);
	}
	ringview_range(consumer, &first, &end);
	for (uint64_t i = 0; i < 2 * SLOTS; i++) {
		ringview_look(consumer, first + i, &v);
		ringview_put_json(&out, &v);
	}
	ringview_put_state(&out, path, consumer, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char file[BYTES];
	struct ring consumer, producer;
	struct err err;
	bool made;

	make_folder();
	ring_producer_gone = nobody_gone;
	unsigned how = size ? data[0] & 3 : 0;
	remove_ring(path);
	if (ring_consumer_open(path, SLOTS, &consumer, &made, &err) < 0)
		abort();
	if (how ==
	    0) { /* a file of these bytes: taken over or replaced, never trusted */
		ring_consumer_close(&consumer);
		int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
		if (fd < 0 || write(fd, data, size) != (ssize_t)size)
			abort();
		close(fd);
		if (ring_attach(path, geteuid(), &producer, &err) == 0)
			abort(); /* it cannot know this file's inode */
		return 0;
	}
	if (ring_attach(path, geteuid(), &producer, &err) < 0)
		abort();
	memcpy(file, consumer.header, BYTES);
	/* from head on, from the first slot on */
	scribble(file, data + 1, size - 1,
		 how == 1 ? offsetof(struct ring_header, head) : RING_HEADER_BYTES);
	memcpy(consumer.header, file, BYTES);
	use(&producer, &consumer);
	ring_detach(&producer);
	ring_consumer_close(&consumer);
	/* what is left is taken over, or replaced, and works */
	if (ring_consumer_open(path, SLOTS, &consumer, &made, &err) < 0 ||
	    ring_attach(path, geteuid(), &producer, &err) < 0)
		abort();
	use(&producer, &consumer);
	ring_detach(&producer);
	ring_consumer_close(&consumer);
	return 0;
}
