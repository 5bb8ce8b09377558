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
 * by plugins in slurmstepd. Little-endian; the file is
 *
 *	page 0: struct energy_page_header
 *	then twice ("halves", each a multiple of 4096 bytes):
 *		struct energy_page_half, capacity * struct energy_page_row
 *
 * The header's generation says which half is valid: generation & 1. The writer fills
 * the other half, whose own generation is 0 meanwhile, and then updates the header's.
 * If the writer dies at any point, readers still have the last valid half, and its
 * successor rewrites the other one. A reader compares the half's generation before and
 * after reading; it must retry only if two ticks happened meanwhile.
 *
 * Only pread and pwrite are used: a truncated file cannot cause SIGBUS, and no page is
 * charged to a job's memory.
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
	ENERGY_PAGE_OTHER, /* host without its measured parts */
	ENERGY_PAGE_DOMAINS,
};

enum energy_page_flag {
	ENERGY_PAGE_MODELLED = 1 << 0, /* a domain, or a row's total: from the model */
	ENERGY_PAGE_PROVISIONAL =
		1 << 1, /* part of it may change when a slow sensor answers */
	ENERGY_PAGE_STALE = 1 << 2, /* a domain: its source does not answer */
	ENERGY_PAGE_ENDED = 1 << 3, /* a row: ended; add nothing */
};

#define ENERGY_PAGE_AGE_SHIFT 16
#define ENERGY_PAGE_AGE_MAX_S UINT16_MAX

struct energy_page_header {
	char magic[8];
	uint32_t version;
	uint32_t half_bytes; /* sizeof(struct energy_page_half) */
	uint32_t row_bytes;  /* sizeof(struct energy_page_row) */
	uint32_t capacity;   /* rows in each half, ROWS_MIN..ROWS_MAX */
	uint64_t inode;      /* of the file itself, so that a copy is recognised */
	char boot_id[BOOT_ID_BYTES];
	uint64_t generation; /* of the last valid half; 0: there is none yet */
};

/* The node at one tick, and the rates for extrapolating a row from then to now. */
struct energy_page_node {
	uint64_t tick_ns;     /* CLOCK_BOOTTIME at the end of the tick */
	uint64_t interval_ns; /* length of a tick */
	/* Measured (or modelled) since the daemon began to count, in microjoules,
	 * never decreasing; and the mean power in the last tick, in microwatts, 0:
	 * unknown. */
	uint64_t uj[ENERGY_PAGE_DOMAINS];
	uint64_t uw[ENERGY_PAGE_DOMAINS];
	/* Of the domains in total_mask: energy charged to no unit: total = running
	 * units + ended units + idle + system. */
	uint64_t idle_uj, system_uj;
	/* enum energy_page_flag; and, from bit ENERGY_PAGE_AGE_SHIFT on, how many
	 * seconds before the tick the source was read last, 0: less than one or not
	 * known, at most ENERGY_PAGE_AGE_MAX_S */
	uint32_t flags[ENERGY_PAGE_DOMAINS];
	char source[ENERGY_PAGE_DOMAINS][ENERGY_PAGE_SOURCE_MAX]; /* "" none */
	/* The domains that add up to the total, as bits 1 << domain: host if it is
	 * measured, else package, dram and gpu. */
	uint32_t total_mask;
	uint32_t rows_lost; /* rows of this tick for which there was no room */
	/* Rates, over the total. Dynamic: microjoules per CPU-second, which equals
	 * microwatts per busy CPU. Idle: microwatts per allocated CPU. */
	uint64_t dynamic_uj_per_cpu_s;
	uint64_t idle_uw_per_cpu;
	/* Emission factor of this node, in milligrams of CO2 equivalent per kWh, and
	 * its provider (a label value of ceems_emissions_gCo2_kWh); 0 and "" if
	 * unknown. */
	uint32_t emission_mg_per_kwh;
	uint32_t reserved;
	char emission_provider[ENERGY_PAGE_SOURCE_MAX];
};

#define ENERGY_PAGE_JOB UINT32_MAX /* as step: the job's own row */

/* A step or job on this node, at the tick. Key: job, step, stepd_pid. A plugin in
 * slurmstepd does not know the restart count but knows its own pid: that is in a step's
 * row; a job's row has the pid of its extern step, or 0. A row stays as long as the
 * daemon keeps the unit, which is for a while after its end. */
struct energy_page_row {
	uint32_t job; /* raw job id */
	uint32_t step;
	uint32_t stepd_pid;
	uint32_t flags;                   /* enum energy_page_flag */
	uint64_t uj[ENERGY_PAGE_DOMAINS]; /* settled + provisional, microjoules */
	uint64_t total_uj;                /* of the domains in total_mask */
	uint64_t provisional_uj;          /* part of total_uj that may still change */
	uint64_t cpu_ns;   /* counted in uj: cgroup_read_cpu() of this cgroup (the job's
			      in the job's row), user + system */
	uint64_t extra_uw; /* power not covered by the rates (GPUs) */
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

/* Takes over the page at path if it is valid and of this capacity (its content stays
 * readable until the first commit); otherwise replaces it by rename with a new one:
 * mode 0600, disk space allocated. It belongs to the effective user until chown. */
int energy_page_writer_open(const char *path, uint32_t capacity,
			    struct energy_page_writer **ret, struct err *err);
/* Gives the page to the user the daemon is about to become; as root. */
int energy_page_writer_chown(struct energy_page_writer *w, uid_t uid, gid_t gid,
			     struct err *err);
void energy_page_writer_free(struct energy_page_writer *w); /* NULL-safe */

/* One tick: begin, add the rows in any order, commit. Nothing is written before commit.
 * Rows beyond the capacity are counted in rows_lost (-ENOSPC), so add the most
 * important ones (jobs) first. commit: 0 or negative errno, with which readers keep the
 * previous tick. */
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
 * page's owner can write to, so that the page is the daemon's, whatever its user. A
 * symbolic link is refused. -ENOENT no page, -EPERM owner, mode or type, -EPROTO
 * version, -EBADF anything else. Not inherited by exec. */
int energy_page_open(const char *path, struct energy_page *ret, struct err *err);
void energy_page_close(struct energy_page *p); /* idempotent */

/* Reads the node and the row with that key from the same tick. 0: both. -ENOENT: the
 * node only. -ENODATA: no tick yet. -EAGAIN: no consistent tick in a bounded number of
 * tries. -ESTALE: the file was replaced or removed, reopen it. -EBADF: garbage. Outputs
 * are set for 0 and -ENOENT only. A dozen system calls, no allocation. ret_row may be
 * NULL: only the node is wanted. */
int energy_page_find(const struct energy_page *p, uint32_t job, uint32_t step,
		     uint32_t stepd_pid, struct energy_page_node *ret_node,
		     struct energy_page_row *ret_row);

/* Sum over the domains in total_mask. */
uint64_t energy_page_total(const struct energy_page_node *node,
			   const uint64_t values[ENERGY_PAGE_DOMAINS]);

/* What a reader knows itself about a step or job. */
struct energy_page_now {
	uint64_t boottime_ns;
	uint64_t started_ns; /* boot time at its start; used if there is no row */
	uint64_t cpu_ns;     /* its cgroup's counter now */
	bool has_cpu;        /* cpu_ns is known */
	uint32_t alloc_mcpu; /* used if there is no row, or the row has none yet */
};

/* If the last tick is older than this many intervals, and than this time, the daemon
 * has stopped. */
#define ENERGY_PAGE_DEAD_INTERVALS 5u
#define ENERGY_PAGE_DEAD_NS 10000000000ull

/* Estimates the total now, in microjoules: the row's energy plus, for the time since
 * its tick, the dynamic rate x its CPU time and its idle and extra power. Without a row
 * (it is younger than the tick) its whole life is extrapolated. May be slightly below
 * an earlier estimate: show the largest so far. -ESTALE: the daemon has stopped (see
 * above), keep the previous value; *ret_uj is then the row's energy at the last tick, 0
 * without a row. */
int energy_page_estimate(const struct energy_page_node *node,
			 const struct energy_page_row *row,
			 const struct energy_page_now *now, uint64_t *ret_uj);

#endif
