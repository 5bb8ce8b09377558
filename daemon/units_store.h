/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_STORE_H
#define CEEMS_DAEMON_UNITS_STORE_H

#include "daemon/units.h"
#include "daemon/units_energy.h"
#include "daemon/units_found.h"
#include "daemon/units_report.h"
#include "lib/boot.h"

/*
 * Below units.c: the mapped file, its redo log of one transaction, slots, and the
 * look-up tables in private memory that are rebuilt at open. It knows nothing about the
 * meaning of records.
 *
 * The file: header | log | tombstones | energy | units | steps | accounts of units |
 * accounts of steps | reports of units | names of steps | what units had used before |
 * their GPUs, each on a page of its own. A transaction is a list of (place, bytes)
 * written to the log; then `valid` is set, the bytes are copied to their places, and
 * `valid` is cleared. Whoever finds `valid` set copies again. Stores survive a killed
 * process in program order, so compiler barriers suffice.
 */

#define STORE_MANAGERS 4 /* enum record_manager; 0: records of no known manager */
#define STORE_LOG_BYTES 16384u
#define STORE_TOMBSTONES 512u

struct store_header {
	char magic[8];
	uint32_t version;
	uint32_t capacity, steps_capacity;
	uint32_t unit_bytes, step_bytes; /* sizes of the structs */
	char boot_id[BOOT_ID_BYTES];
	uint64_t ring_id, ring_pos;
	uint32_t units_backed, steps_backed; /* slots that have disk space */
	uint32_t tombstone_next;
	uint32_t energy_generation; /* the active one of the two generations: 0 or 1 */
	uint64_t alive_ns;          /* CLOCK_BOOTTIME: units_set_alive() */
	struct node_totals node[STORE_MANAGERS];
	uint64_t anew_ns; /* units_set_anew(); before version 7: 0 */
};

struct store_log {
	uint32_t valid, bytes;
	unsigned char data[STORE_LOG_BYTES - 8];
};

struct unit_accounts {
	struct unit_energy generation[2];
};
struct step_accounts {
	struct step_energy generation[2];
};

/* A step that left the table before its last stop record came */
struct tombstone {
	uint64_t key; /* 0: none */
	struct unit_totals totals;
};

/* Multimap from hash to index, open addressing, grows; the owner compares keys */
struct index {
	struct index_slot {
		uint32_t hash, value; /* value + 1; 0: empty */
	} * slots;
	uint32_t mask, used;
};
/* Doubly linked list over slot numbers, oldest first; entries are number + 1 */
struct links {
	uint32_t *next, *prev;
	uint32_t head, tail;
};
/* A step's keys in the look-ups, and its unit */
struct step_place {
	uint32_t unit, next, prev; /* the unit's list of steps; numbers + 1, 0: none */
	uint32_t hash, paths;
	bool part; /* runs: state UNIT_PART */
	uint32_t path_hash[RECORD_CGROUPS_MAX];
};

struct units {
	int fd;
	unsigned char *map;
	size_t bytes;
	struct store_header *h;
	struct store_log *log;
	struct tombstone *tombstones;
	struct unit *units;
	struct step *steps;
	struct energy_state *energy; /* the two generations */
	struct unit_accounts *unit_energy;
	struct step_accounts *step_energy;
	struct unit_report *unit_reports;
	struct step_name *step_names;
	struct unit_before *befores;
	struct unit_gpu_use *gpu_uses;
	struct unit_gpu_profile *gpu_profiles;

	/* Private, rebuilt at open. Indices are taken from here and never from the
	 * file, which may be damaged at any moment: then counters are wrong, but
	 * nothing else. */
	uint32_t capacity, steps_capacity;
	uint32_t units_backed, steps_backed;
	uint64_t ring_pos;
	int back_errno;       /* why the last slot got no disk space, 0: it got it */
	struct store_log txn; /* valid: one is open */
	uint64_t mended;      /* values of the file that were out of bounds */
	uint32_t *first_step; /* of each unit, number + 1 */
	uint32_t *unit_hash;
	struct step_place *places;
	uint64_t *units_taken, *steps_taken; /* bitmaps */
	uint32_t units_count, steps_count;
	uint64_t gpus_charged_ns; /* units_energy_gpus() */
	bool energy_ticking, reporting, recalling;
	uint64_t left_untold;
	uint32_t discovered; /* units with UNIT_DISCOVERED */
	uint32_t unread;     /* with UNIT_UNREAD */
	uint64_t *unit_serials, *step_serials;
	uint64_t *steps_told; /* serial of the step that a report contains */
	uint64_t next_serial, generation;
	struct links units_ended, steps_ended;
	struct index by_unit, by_step, by_path, by_tombstone;
};

void txn_begin(struct units *u);
/* dst lies in the mapping. All puts of one transaction (a few units, steps and totals)
 * fit the log by construction. */
void txn_put(struct units *u, void *dst, const void *src, size_t len);
void txn_commit(struct units *u);

/* A free slot with disk space behind it, lowest first; UNITS_NONE: none. store_*_take()
 * takes it after the commit. */
uint32_t store_unit_free(struct units *u);
uint32_t store_step_free(struct units *u);
void store_unit_take(struct units *u, uint32_t i);
void store_unit_drop(struct units *u, uint32_t i);
void store_step_take(struct units *u, uint32_t i, uint32_t unit);
void store_step_drop(struct units *u, uint32_t i);
/* Before and after a change of what the look-ups depend on (id; cgroups) */
void store_unit_index(struct units *u, uint32_t i, bool on);
void store_step_index(struct units *u, uint32_t i, bool on);

void store_tombstone_index(struct units *u, uint32_t i, bool on);
struct tombstone *store_tombstone_find(const struct units *u, uint64_t key);

/* ---- units_index.c --------------------------------------------------------------- */

/* Memory for the file's capacity. index_done() frees it, even if incomplete. */
int index_init(struct units *u, struct err *err);
void index_done(struct units *u);
/* Checks that every slot in use is sound and every step is in its own unit's list
 * exactly once; if not, the file is damaged (-EBADMSG) and not used. */
int index_rebuild(struct units *u, struct err *err);
/* The lowest slot that is not taken, UNITS_NONE: none */
uint32_t index_unit_free(const struct units *u);
uint32_t index_step_free(const struct units *u);

void links_append(struct links *l, uint32_t i);
void links_remove(struct links *l, uint32_t i); /* also when it is not in the list */
uint32_t links_first(const struct links *l);
uint32_t links_after(const struct links *l, uint32_t i);

bool links_have(const struct links *l, uint32_t i);

/* ---- units_sound.c --------------------------------------------------------------- */

/* Whether a unit and a step of a file that we did not write are well formed */
bool unit_is_sound(const struct units *u, const struct unit *unit);
bool step_is_sound(const struct units *u, const struct step *s);
/* Corrects values in the file that lead out of bounds: lists, states, ends of texts. */
void store_mend_unit(struct units *u, uint32_t i);
void store_mend_step(struct units *u, uint32_t i);
/* The node's totals of a manager, even an unknown one */
struct node_totals *store_node(const struct units *u, uint32_t manager);
/* Limits the number of paths that a step claims to have */
uint32_t store_paths(const struct step *s);

uint64_t store_key(uint32_t manager, const char *node, const char *id);
uint64_t store_mix(uint64_t h, uint64_t v);

#endif
