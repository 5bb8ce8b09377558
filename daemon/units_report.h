/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_UNITS_REPORT_H
#define CEEMS_DAEMON_UNITS_REPORT_H

#include "daemon/energy.h"
#include "daemon/units.h"
#include "lib/records/report.h"

/*
 * The state of each unit's reports, in the unit table's file: what has been reported,
 * and the contents of the report that is being written.
 *
 * A window is closed in the table first, which fixes its contents (REPORT_PENDING),
 * then written to the spool, then `told` moves on. A daemon killed in between writes
 * the same interval again. The caller serialises, as for the table.
 */

/* Cumulative since the unit began; an interval is the difference of two of these. */
struct report_sums {
	uint64_t cpu_user_ns, cpu_system_ns, throttled_ns;
	uint64_t oom_kills;
	uint64_t io_read_bytes, io_write_bytes;
	uint64_t memory_kib_ms, memory_ms; /* resident x time, and that time */
	uint64_t observed_ns;
	uint64_t uj[REPORT_ENERGIES_MAX]; /* by unit_report.energy */
};

enum report_mark {
	REPORT_PENDING = 1 << 0, /* [t0, t1) is closed; `next` is the sums at its end */
	REPORT_TOLD = 1 << 1,    /* at least one window */
	REPORT_FINISHED = 1 << 2,  /* the final report is in the spool, durably */
	REPORT_FINISHING = 1 << 3, /* a provisional one is */
};

struct unit_report {
	uint64_t instance;
	uint32_t marks; /* enum report_mark */
	uint32_t energies;
	struct {
		uint32_t domain,
			source; /* enum energy_domain, tag of daemon/sources/meters.h
				 */
	} energy[REPORT_ENERGIES_MAX];
	uint64_t seen_uj[ENERGY_DOMAINS]; /* part of the unit's account that is in
					     `live` */
	uint64_t live_uj[REPORT_ENERGIES_MAX];
	uint64_t live_kib_ms, live_ms; /* memory, as in report_sums */
	uint64_t window_peak_bytes, pending_peak_bytes, peak_bytes;
	uint64_t unobserved_ns; /* time of its life without a daemon */
	uint64_t t0_ns, t1_ns;  /* realtime; t0 0: the unit's start */
	struct report_sums told, next;
};
_Static_assert(sizeof(struct unit_report) == 656, "part of a file format");

/* Devices that the unit holds as a whole, from readings at which it held them. Each
 * stands for the time since the one before: GPUs x time. */
struct unit_gpu_sums {
	uint64_t busy_of_ns, busy_ns, idle_ns; /* of that time: no kernel ran */
	uint64_t memory_of_ms, memory_kib_ms;
};

/* Means of performance counters: multiprocessors with a warp, warps on them, units and
 * bandwidth in use, of what there is. Part of a file format. */
enum unit_gpu_figure {
	UNIT_GPU_SM,
	UNIT_GPU_OCCUPANCY,
	UNIT_GPU_TENSOR,
	UNIT_GPU_FP64,
	UNIT_GPU_FP32,
	UNIT_GPU_FP16,
	UNIT_GPU_DRAM,
	UNIT_GPU_FIGURES
};

/* Of readings that tell memory, too: figure x time, in parts per million x ms, and that
 * time; of_ms 0: it was not told. */
struct unit_gpu_figures {
	uint64_t ppm_ms[UNIT_GPU_FIGURES], of_ms[UNIT_GPU_FIGURES];
};

struct unit_gpu_use {
	struct unit_gpu_sums live, told, next; /* as in struct unit_report */
	/* of all its devices together */
	uint64_t memory_peak_kib, memory_size_kib;
	/* In tables of version 8 alone, instead of struct unit_gpu_profile: ppm x ms
	 * over live.memory_of_ms, plus 1; 0: not known */
	uint64_t figure_ppm_ms[UNIT_GPU_FIGURES];
};
_Static_assert(sizeof(struct unit_gpu_use) == 192, "part of a file format");

struct unit_gpu_profile {
	struct unit_gpu_figures live, told, next;
};
_Static_assert(sizeof(struct unit_gpu_profile) == 336, "part of a file format");

/* Borrowed; i: a slot in use */
const struct unit_report *unit_report(const struct units *u, uint32_t i);

/* Adds what the accounts have settled since to live_uj, under these sources (by domain;
 * UINT32_MAX: not reported). One transaction, or none if there is nothing. */
void unit_report_take_energy(struct units *u, uint32_t i,
			     const uint32_t sources[ENERGY_DOMAINS]);

/* A reading of resident memory that held for ms. Plain stores. */
void unit_report_memory(struct units *u, uint32_t i, uint64_t bytes, uint64_t ms);
/* Readings of its devices; used_kib, size_kib: of all of them together, 0: not known.
 * Plain stores. */
void unit_report_gpus(struct units *u, uint32_t i, const struct unit_gpu_sums *more,
		      const struct unit_gpu_figures *figures, uint64_t used_kib,
		      uint64_t size_kib);
const struct unit_gpu_use *unit_gpu_use(const struct units *u, uint32_t i);
const struct unit_gpu_profile *unit_gpu_profile(const struct units *u, uint32_t i);
/* No daemon ran for so long. */
void unit_report_unobserved(struct units *u, uint32_t i, uint64_t ns);

/* All that is known now, as sums. now_boottime_ns: for a running unit. */
void unit_report_now(const struct units *u, uint32_t i, uint64_t now_boottime_ns,
		     struct report_sums *ret);
/* Whether something has happened that no interval has reported. */
bool unit_report_grew(const struct units *u, uint32_t i);

/* Whether all that ever will be known of an ended unit is known: its energy is divided,
 * and no stop record or further step is expected. */
bool unit_report_settled(const struct units *u, uint32_t i, uint64_t now_boottime_ns);

/* Closes the window at t1_ns, which is after t0. One transaction. Not while one is
 * pending. */
void unit_report_close(struct units *u, uint32_t i, uint64_t t1_ns,
		       uint64_t now_boottime_ns);
/* The pending window is in the spool. */
void unit_report_move_on(struct units *u, uint32_t i);
/* Sets and clears marks */
void unit_report_mark(struct units *u, uint32_t i, uint32_t set, uint32_t clear);

/* ---- keeping units and steps until they are reported ---------------------------- */

/* Whether reports are being written: then an ended unit stays until it is reported, for
 * UNITS_REPORT_MS at most, unless room is needed. Not stored in the file; false at
 * first. */
void units_reporting(struct units *u, bool on);
/* Whether the unit, which has been known to have ended for gone_ms, must stay because
 * its final report is not in the spool. i: a slot in use */
bool report_is_owed(const struct units *u, uint32_t i, uint64_t gone_ms);
/* An ended step is in a report. i: its slot */
void units_step_told(struct units *u, uint32_t i);
bool units_step_is_told(const struct units *u, uint32_t i);
/* Units that left the table unreported since it was opened */
uint64_t units_left_untold(const struct units *u);
/* CLOCK_BOOTTIME when a daemon was last alive, 0: never. Stored in the file. */
uint64_t units_alive_ns(const struct units *u);
void units_set_alive(struct units *u, uint64_t now_boottime_ns);

/* ---- for the files of the unit table only ---------------------------------------- */

/* Within a transaction: a slot that is being taken */
void report_put_unit(struct units *u, uint32_t i);
bool report_step_is_owed(const struct units *u, uint32_t i);
/* The unit leaves. */
void report_leaves(struct units *u, uint32_t i);
bool report_is_sound(const struct units *u);

#endif
