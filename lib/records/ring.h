/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_RING_H
#define CEEMS_LIB_RECORDS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/boot.h"
#include "lib/err.h"

/*
 * The per-node ring: one memory-mapped file, many producers in many processes, one
 * consumer (ceemsd). One record = one slot. Little-endian; the file is
 *
 *	page 0:  struct ring_header (zero-padded to RING_HEADER_BYTES)
 *	then:    slots * RING_SLOT_BYTES, each struct ring_slot
 *
 * A slot's word = lap:20 | state:2 | pid:22 | second:20 (most significant first; lap is
 * the low 20 bits of position / slots, second the low 20 bits of CLOCK_BOOTTIME at
 * reserve). It changes only by compare-and-swap (lib/records/ring_word.h):
 *
 *	free(lap) -> reserved(lap, pid, second) -> published(lap) -> free(lap + 1)
 *
 * A producer reserves the slot at head, helps head on, writes, publishes; it never
 * waits. The consumer takes published slots in order of position. It skips a reserved
 * slot only when its producer is provably gone: no process has the pid in the
 * consumer's pid namespace, or the one that has it started after the reservation. A
 * producer that was wrongly skipped finds its publish failing and counts its record
 * as torn. test/model/ring.pml is the proof of this protocol, test/unit/ring_torture
 * the practice.
 */

#define RING_MAGIC "CEEMSRNG"
#define RING_VERSION 1u
#define RING_HEADER_BYTES 4096u
#define RING_SLOT_BYTES 1024u
#define RING_SLOTS_DEFAULT 4096u
#define RING_SLOTS_MIN 16u
#define RING_SLOTS_MAX 65536u
#define RING_RECORD_MAX (RING_SLOT_BYTES - 16u) /* bytes of record in a slot */
#define RING_PATH_DEFAULT "/run/ceems/ring"
/* The ring has a second name. A sender that finds no ring at the first uses it, so that
 * no record is lost when the ring is removed or overwritten by name. */
#define RING_SPARE ".spare"

struct ring_header {
	char magic[8];
	uint32_t version;
	uint32_t slot_bytes;
	uint32_t slots; /* power of two, RING_SLOTS_MIN..RING_SLOTS_MAX */
	uint32_t pidns; /* inode of the consumer's pid namespace (low 32 bits), 0:
			   unknown */
	uint64_t inode; /* of the ring file itself, so that a copy is recognised */
	char boot_id[BOOT_ID_BYTES];
	uint64_t created_ns; /* CLOCK_REALTIME */
	_Alignas(64) uint64_t
		head; /* next position to reserve (may lag; others advance it) */
	_Alignas(64)
		uint64_t tail; /* next position to consume; written by the consumer */
	_Alignas(64) uint64_t dropped; /* records refused because the ring was full */
	uint64_t torn;         /* slots skipped, and publishes that came too late */
	uint64_t heartbeat_ns; /* CLOCK_BOOTTIME of the consumer's last look */
	uint32_t armed;        /* enum ring_armed, written by the consumer */
	/* Steps whose records are before this position are sampled if they asked for
	 * that; written by the consumer, valid with RING_ARMED_PROFILES. */
	uint64_t profiled_until;
};

/* For which of the CPUs' events a step need not wait, because they are armed or this
 * node has none. 0: the consumer is one that does not say. */
enum ring_armed {
	RING_ARMED_HARDWARE = 1 << 0,
	RING_ARMED_CACHE = 1 << 1,
	RING_ARMED_SAID = 1 << 2,
	RING_ARMED_PROFILES = 1 << 3 /* no kind: profiled_until says it */
};
#define RING_ARMED_ALL (RING_ARMED_HARDWARE | RING_ARMED_CACHE | RING_ARMED_SAID)

struct ring_slot {
	uint64_t word;
	uint32_t len; /* bytes of data used */
	uint32_t crc; /* CRC32C of data[0..len), checked by the consumer */
	unsigned char data[RING_RECORD_MAX];
};

_Static_assert(sizeof(struct ring_header) <= RING_HEADER_BYTES, "ring header");
_Static_assert(sizeof(struct ring_slot) == RING_SLOT_BYTES, "ring slot");

/* ---- producers ------------------------------------------------------------------- */

struct ring {
	struct ring_header *header;
	struct ring_slot *slots;
	uint32_t count; /* from the checked header, constant for the mapping's life */
	uint32_t pid;   /* of the process that mapped it; not inherited by fork */
	size_t bytes;
	uint32_t links; /* names the file had when it was opened; consumer only */
	int fd;         /* consumer only, else -1 */
};

/* Checks an existing ring and maps it for publishing: regular file, no link but its
 * spare name, owner, mode 0600, exact size, fully allocated, magic, version, inode,
 * boot id, pid namespace. A symbolic link at the last component is refused. Never
 * creates. Leaves no fd open. The mapping is not inherited by fork; a child may call
 * ring_detach(). -ENOENT no ring, -EPERM owner/mode/type, -EPROTO version, -EBADF
 * anything else. */
int ring_attach(const char *path, uid_t owner, struct ring *ret, struct err *err);
/* The same checks except for the pid namespace, mapped read-only: the caller cannot
 * disturb the others. Not for ring_publish() or the consumer's calls. */
int ring_attach_readonly(const char *path, uid_t owner, struct ring *ret,
			 struct err *err);
void ring_detach(struct ring *r); /* NULL-safe, idempotent */

/* Publishes one record of len <= RING_RECORD_MAX bytes. Safe in signal handlers: no
 * lock, no wait, bounded retries. 0; -ENOBUFS: full (counted in dropped); -EMSGSIZE;
 * -ESTALE: the slot was taken away meanwhile (counted in torn). */
int ring_publish(struct ring *r, const void *record, size_t len);

/* attach + publish + detach, for a plugin's hook. A handful of system calls. If there
 * is no valid ring at path, uses its spare name. */
int ring_send(const char *path, uid_t owner, const void *record, size_t len,
	      struct err *err);

/* CLOCK_BOOTTIME of the consumer's last look, every 50 ms; 0: none yet. Of any mapping.
 */
uint64_t ring_heartbeat_ns(const struct ring *r);
/* enum ring_armed, as of now; of any mapping. */
uint32_t ring_armed(const struct ring *r);
/* The position behind all records that are published now; of any mapping. */
uint64_t ring_head(const struct ring *r);
/* Whether a step whose record is before pos need not wait to be sampled: it is, or
 * nobody is, or the consumer does not say. Of any mapping. */
bool ring_is_profiled(const struct ring *r, uint64_t pos);

/* ---- the consumer ---------------------------------------------------------------- */

/* Opens path as the consumer: takes over a valid ring of the same geometry, else
 * replaces it by rename with a new one (allocated and touched page by page, mode 0600).
 * A ring with only its spare name left is put back at path, with its records. A lock on
 * the file excludes a second consumer (-EBUSY). *ret_made_new: a new one was made;
 * err's text then says why the old one was not kept ("" if there was none). The owner
 * is the effective uid. A forked child keeps the lock alive with ret->fd: it must
 * ring_consumer_close() its copy (or exec). */
int ring_consumer_open(const char *path, uint32_t slots, struct ring *ret,
		       bool *ret_made_new, struct err *err);
/* Whether it is still what plugins find at path and at its spare name. False: one of
 * them was removed or replaced, or the ring was moved. */
bool ring_in_place(const struct ring *r, const char *path);
/* Whether head and tail are in a state that the protocol can reach. If not, something
 * else has written to them, and records would be dropped or wait for ever. Consumer
 * only. */
bool ring_is_sound(const struct ring *r);
void ring_consumer_close(struct ring *r);

/* The next record in order. Copies at most RING_RECORD_MAX bytes to buf.
 *  1: a record; *ret_pos is its position; it stays in the ring until ring_release().
 *  0: nothing to take now (empty, or the next slot's producer still lives).
 *  2: position *ret_pos was a hole (producer gone, or bad CRC) and has been skipped,
 *     counted in torn; call again.
 * A consumer that makes its effect durable together with *ret_pos sees each record's
 * effect exactly once over any restart: positions <= the durable one are released, not
 * applied. */
int ring_peek(struct ring *r, void *buf, size_t *ret_len, uint64_t *ret_pos);
void ring_release(struct ring *r, uint64_t pos);
/* armed: enum ring_armed; RING_ARMED_SAID is added. */
void ring_set_armed(struct ring *r, uint32_t armed);
/* All steps of released records that asked are sampled now. */
void ring_set_profiled(struct ring *r);

/* Reads again a record that was released and whose slot has not been reused. Positions
 * are the last ring->count below the header's tail. False: it is gone. */
bool ring_recall(const struct ring *r, uint64_t pos, void *buf, size_t *ret_len);

/* Replaceable for tests: whether the producer (pid, boottime second mod 2^20) is
 * gone. */
extern bool (*ring_producer_gone)(pid_t pid, uint32_t second);

#endif
