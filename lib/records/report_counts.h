/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_REPORT_COUNTS_H
#define CEEMS_LIB_RECORDS_REPORT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"
#include "lib/err.h"
#include "lib/records/tlv.h"

/*
 * What was counted for a unit in its whole life, in its FINAL report
 * (lib/records/report.h): by the kernel programs, and of its GPUs. INTERVAL reports
 * have what performance counters of its GPUs say of their window. A count that is not
 * known is absent: the program was not there, or has not seen all of the unit.
 */

#define COUNT_GPU_FIGURES 7u

/* Numbers on the wire, and the order of report_count_names: never change or reuse one.
 */
enum report_count {
	/* files, by calls: the members of struct io_counts and struct io_names */
	COUNT_READ_BYTES,
	COUNT_READ_CALLS,
	COUNT_READ_ERRORS,
	COUNT_WRITE_BYTES,
	COUNT_WRITE_CALLS,
	COUNT_WRITE_ERRORS,
	COUNT_OPENS,
	COUNT_OPEN_ERRORS,
	COUNT_CREATES,
	COUNT_CREATE_ERRORS,
	COUNT_UNLINKS,
	COUNT_UNLINK_ERRORS,
	/* network: COUNT_NET_OF of each kind, in the order of enum net_kind */
	COUNT_NET,
	/* software events */
	COUNT_MINOR_FAULTS = COUNT_NET + 24,
	COUNT_MAJOR_FAULTS,
	COUNT_CONTEXT_SWITCHES,
	COUNT_CPU_MIGRATIONS,
	/* hardware and cache events, in the order of enum hardware_event; scaled up for
	 * the time in which others had the CPU's counters */
	COUNT_HARDWARE,
	/* of the unit's CPU time: in which these events were enabled, and in which they
	 * had a counter */
	COUNT_EVENTS_ENABLED_NS = COUNT_HARDWARE + 19,
	COUNT_EVENTS_RUNNING_NS,
	/* figures of raw events with these names (daemon/groups/perf_figures.h) */
	COUNT_FP_OPERATIONS,
	COUNT_DRAM_READ_BYTES,
	/* devices and instances (MIG) that the unit holds as a whole
	 * (daemon/units_report.h) */
	COUNT_GPU_IDLE_NS = 64,      /* devices x time in which no kernel ran */
	COUNT_GPU_MEMORY_PEAK_BYTES, /* in use at one time, in all of them together */
	COUNT_GPU_MEMORY_SIZE_BYTES, /* of all of them together */
	/* devices x time in which so much of them was in use, by their performance
	 * counters, in the order of enum unit_gpu_figure */
	COUNT_GPU_FIGURE,
	REPORT_COUNTS = COUNT_GPU_FIGURE + COUNT_GPU_FIGURES
};
#define COUNT_FILES 6u       /* counts that a mount has, the first ones */
#define COUNT_NET_OF_KIND 6u /* received, sent, sent again: bytes, packets of each */

#define REPORT_MOUNTS_MAX 9u /* the ones with most bytes, and one with path "" */
#define REPORT_MOUNT_MAX 408u

struct report_counts {
	uint64_t known[2];              /* a bit for each enum report_count */
	uint64_t values[REPORT_COUNTS]; /* unknown ones are 0 */
};

/* What was read and written below one mount; path "": where it is not known, and of all
 * other mounts. */
struct report_mount {
	char path[REPORT_MOUNT_MAX];
	uint64_t values[COUNT_FILES]; /* by enum report_count */
};

/* "read_bytes", "tcp_ipv4_rx_bytes"; NULL: none of this number */
const char *report_count_name(unsigned count);

void report_count_set(struct report_counts *c, unsigned count, uint64_t value);
bool report_count_known(const struct report_counts *c, unsigned count);
bool report_counts_any(const struct report_counts *c); /* is any known? */

/* As fields of a message; nothing if nothing is known. */
void report_counts_put(struct tlv_out *o, uint16_t id, const struct report_counts *c);
void report_mounts_put(struct tlv_out *o, uint16_t id, const struct report_mount *m,
		       uint32_t count);

/* From a field. Counts of a later version are skipped. -EPROTO with a text. */
int report_counts_get(struct report_counts *ret, const struct tlv_member *f,
		      const struct tlv_value *v, const char *what, struct err *err);
/* *ret_cut is set, never cleared, if the path was too long. Characters that cannot be
 * shown become '?'. */
int report_mount_get(struct report_mount *ret, const struct tlv_member *f,
		     const struct tlv_value *v, const char *what, bool *ret_cut,
		     struct err *err);

/* {"read_bytes":1,...}: what is known, and net_rx_bytes and so on, the sums over all
 * kinds of network. */
void report_counts_put_json(struct buf *out, const struct report_counts *c);
/* [{"path":"/scratch","read_bytes":1,...}] */
void report_mounts_put_json(struct buf *out, const struct report_mount *m,
			    uint32_t count);

#endif
