/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_ENERGY_PAGE_H
#define CEEMS_LIB_RECORDS_ENERGY_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/boot.h"
#include "lib/err.h"

/*
 * The energy page: one file of fixed size, written by ceemsd at each energy tick, read
 * by what runs in slurmstepd. Little-endian; the file is
 *
 *	page 0: struct energy_page_header
 *	then twice ("halves", each a multiple of 4096 bytes):
 *		struct energy_page_half, capacity * struct energy_page_row
 *
 * The header's generation says which half is whole: generation & 1. The writer fills
 * the other one, whose own generation is 0 meanwhile, and then moves the header's. A
 * writer that dies at any point leaves the last whole half to its readers; one that
 * goes on later begins the other half afresh. A reader compares the half's generation
 * before and after; it retries only when two ticks happened meanwhile.
 *
 * Everything goes by pread and pwrite: nobody can get SIGBUS from a file that somebody
 * else has cut, and no page is charged to a job's memory.
 */

#define ENERGY_PAGE_MAGIC "CEEMSNRG"
#define ENERGY_PAGE_VERSION 2u
#define ENERGY_PAGE_PATH_DEFAULT "/run/ceems/energy"
#define ENERGY_PAGE_ROWS_DEFAULT 4096u
#define ENERGY_PAGE_ROWS_MIN 16u
#define ENERGY_PAGE_ROWS_MAX 65536u
#define ENERGY_PAGE_SOURCE_MAX 24 /* the longest is cray_pm_counters */

enum energy_page_domain {
	ENERGY_PAGE_PACKAGE,
	ENERGY_PAGE_DRAM,
	ENERGY_PAGE_PSYS, /* contains package */
	ENERGY_PAGE_GPU,
	ENERGY_PAGE_HOST,  /* the whole node */
	ENERGY_PAGE_OTHER, /* what host has beyond its parts */
	ENERGY_PAGE_DOMAINS,
};

enum energy_page_flag {
	ENERGY_PAGE_MODELLED = 1 << 0, /* a domain, or a row's total: from the model */
	ENERGY_PAGE_PROVISIONAL =
		1 << 1, /* some of it may still change when a slow sensor answers */
	ENERGY_PAGE_STALE = 1 << 2, /* a domain: its source does not answer now */
	ENERGY_PAGE_ENDED = 1 << 3, /* a row: it has stopped, nothing is to be added */
};

struct energy_page_header {
	char magic[8];
	uint32_t version;
	uint32_t half_bytes; /* sizeof(struct energy_page_half) */
	uint32_t row_bytes;  /* sizeof(struct energy_page_row) */
	uint32_t capacity;   /* rows in each half, ROWS_MIN..ROWS_MAX */
	uint64_t inode;      /* of the file itself: a copy is not a page */
	char boot_id[BOOT_ID_BYTES];
	uint64_t generation; /* last whole half; 0: there never was one */
};

/* The node at one tick, and what carries a row from it to now. */
struct energy_page_node {
	uint64_t tick_ns;     /* CLOCK_BOOTTIME at the end of the tick */
	uint64_t interval_ns; /* length of a tick */
	/* Measured (or modelled) since the daemon began to count, never falling; and
	 * the mean power of the last tick, 0 where there is none. Microjoules,
	 * microwatts. */
	uint64_t uj[ENERGY_PAGE_DOMAINS];
	uint64_t uw[ENERGY_PAGE_DOMAINS];
	/* Of the domains in total_mask: what no unit was charged with, so that
	 * total = units that live + units that have ended + idle + system. */
	uint64_t idle_uj, system_uj;
	uint32_t flags[ENERGY_PAGE_DOMAINS]; /* enum energy_page_flag */
	char source[ENERGY_PAGE_DOMAINS][ENERGY_PAGE_SOURCE_MAX]; /* "" none */
	/* Domains whose sum is "the energy" as 1 << domain: host where there is one,
	 * else package, dram and gpu. */
	uint32_t total_mask;
	uint32_t rows_lost; /* rows of this tick that had no room */
	/* The rate card, of the total. Dynamic: microjoules per CPU-second, the same
	 * number as microwatts per busy CPU. Idle: microwatts per allocated CPU. */
	uint64_t dynamic_uj_per_cpu_s;
	uint64_t idle_uw_per_cpu;
	/* What a kilowatt-hour emits here, in milligrams of CO2 equivalent, and who
	 * says so (a label value of ceems_emissions_gCo2_kWh); 0 and "" when not known.
	 */
	uint32_t emission_mg_per_kwh;
	uint32_t reserved;
	char emission_provider[ENERGY_PAGE_SOURCE_MAX];
};

#define ENERGY_PAGE_JOB UINT32_MAX /* as step: the row of the job itself */

/* One step, or one job, on this node, at the tick. Key: job, step, stepd_pid. A plugin
 * in slurmstepd knows no restart count, but its own pid: rows of steps have it, the row
 * of the job has that of its extern step, 0 where the job has none. A row stays for as
 * long as the daemon knows the unit, so also for a while after its end. */
struct energy_page_row {
	uint32_t job; /* raw job id */
	uint32_t step;
	uint32_t stepd_pid;
	uint32_t flags;                   /* enum energy_page_flag */
	uint64_t uj[ENERGY_PAGE_DOMAINS]; /* settled + provisional, microjoules */
	uint64_t total_uj;                /* of the domains in total_mask */
	uint64_t provisional_uj;          /* of total_uj: what may still change */
	uint64_t cpu_ns;   /* that is in it: cgroup_read_cpu() of this very cgroup (the
			      job's for the job's row), user + system */
	uint64_t extra_uw; /* power of what the rate card does not cover (GPUs) */
	uint32_t alloc_mcpu; /* thousandths of a CPU that idle power is charged for */
	uint32_t reserved;
};

/* Begins each half; the rows, in order of their keys, follow. */
struct energy_page_half {
	uint64_t generation; /* 0: being written */
	uint32_t rows;
	uint32_t reserved;
	struct energy_page_node node;
};

_Static_assert(sizeof(struct energy_page_header) == 80, "energy page header");
_Static_assert(sizeof(struct energy_page_row) == 104, "energy page row");
_Static_assert(sizeof(struct energy_page_half) == 368, "energy page half");

/* ---- the writer: ceemsd ---------------------------------------------------------- */

struct energy_page_writer;

/* Takes over the page at path when it is a sound one of this capacity (its content then
 * stays readable until the first commit), else puts a new one in its place by rename:
 * mode 0600, disk space allocated. It belongs to the effective user until chown. */
int energy_page_writer_open(const char *path, uint32_t capacity,
			    struct energy_page_writer **ret, struct err *err);
/* To the user the daemon is going to be; as root. */
int energy_page_writer_chown(struct energy_page_writer *w, uid_t uid, gid_t gid,
			     struct err *err);
void energy_page_writer_free(struct energy_page_writer *w); /* NULL-safe */

/* One tick: begin, add the rows in any order, commit. Nothing is written before commit;
 * rows beyond the capacity are counted in rows_lost, so those that matter most (jobs)
 * come first. -ENOSPC from add says so. commit: 0 or negative errno, then readers keep
 * the tick before. */
void energy_page_begin(struct energy_page_writer *w,
		       const struct energy_page_node *node);
int energy_page_add(struct energy_page_writer *w, const struct energy_page_row *row);
int energy_page_commit(struct energy_page_writer *w, struct err *err);

/* ---- readers --------------------------------------------------------------------- */

struct energy_page {
	int fd; /* -1: closed */
	uint32_t capacity;
};
#define ENERGY_PAGE_CLOSED ((struct energy_page){.fd = -1})

/* Opens and checks: regular file, one link, mode 0600, exact size, allocated, magic,
 * version, its own inode, this boot; in a folder that only root, the caller or the
 * page's owner can write to (so the page is the daemon's, whoever that is). A symbolic
 * link is refused. -ENOENT no page, -EPERM owner, mode or type, -EPROTO version, -EBADF
 * anything else. Not inherited by exec. */
int energy_page_open(const char *path, struct energy_page *ret, struct err *err);
void energy_page_close(struct energy_page *p); /* idempotent */

/* The node, and the row with that key, of one and the same tick. 0: both. -ENOENT: the
 * node only. -ENODATA: no tick yet. -EAGAIN: no whole tick could be read in a bounded
 * number of tries. -ESTALE: the file has been replaced or removed, open it anew.
 * -EBADF: garbage. For all but 0 and -ENOENT outputs are untouched. A dozen system
 * calls, no allocation. ret_row may be NULL: only the node is wanted. */
int energy_page_find(const struct energy_page *p, uint32_t job, uint32_t step,
		     uint32_t stepd_pid, struct energy_page_node *ret_node,
		     struct energy_page_row *ret_row);

/* Sum over the domains of the total. */
uint64_t energy_page_total(const struct energy_page_node *node,
			   const uint64_t values[ENERGY_PAGE_DOMAINS]);

/* What a reader knows of a step or job by itself. */
struct energy_page_now {
	uint64_t boottime_ns;
	uint64_t started_ns; /* boot time at which it began; used without a row */
	uint64_t cpu_ns;     /* its cgroup's counter now */
	bool has_cpu;        /* cpu_ns is known */
	uint32_t alloc_mcpu; /* used without a row, or where the row has none yet */
};

/* A tick older than this many intervals, and than this time, is the last one of a
 * daemon that has stopped. */
#define ENERGY_PAGE_DEAD_INTERVALS 5u
#define ENERGY_PAGE_DEAD_NS 10000000000ull

/* The total in microjoules now: what the row has, and for the time since its tick
 * the rate card x its CPU time + its idle and extra power. Without a row (younger than
 * the tick) all of its life is such time. May be a little less than an earlier
 * estimate: show the largest so far. -ESTALE: the daemon has stopped (see above), keep
 * what there was; *ret_uj is then the row's energy at the last tick, 0 without a row.
 */
int energy_page_estimate(const struct energy_page_node *node,
			 const struct energy_page_row *row,
			 const struct energy_page_now *now, uint64_t *ret_uj);

#endif
