/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_event_open(2)'s names for the events. In a file of its own: a test without such
 * hardware has other events in its place. */
#include <linux/perf_event.h>

#include "opener/hardware.h"

#define CACHE(what, how, result)                                                       \
	(PERF_COUNT_HW_CACHE_##what | PERF_COUNT_HW_CACHE_OP_##how << 8 |              \
	 PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* What CEEMS calls hits are the kernel's accesses. The last level's pairs are apart:
 * Intel has two registers for what such an event selects. */
const struct hardware_source hardware_sources[HARDWARE_NAMED] = {
	[HARDWARE_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true},
	[HARDWARE_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS,
				   false},
	[HARDWARE_REF_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES,
				 false},
	[HARDWARE_CACHE_REFS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES,
				 true},
	[HARDWARE_CACHE_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES,
				   false},
	[HARDWARE_BRANCHES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
			       true},
	[HARDWARE_BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES,
				    false},
	[HARDWARE_L1D_READS] = {PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS), true},
	[HARDWARE_L1D_READ_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS),
				      false},
	[HARDWARE_L1D_WRITES] = {PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, ACCESS), true},
	[HARDWARE_L1I_READ_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS), true},
	[HARDWARE_LL_READS] = {PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS), true},
	[HARDWARE_LL_READ_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), false},
	[HARDWARE_LL_WRITES] = {PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, ACCESS), true},
	[HARDWARE_LL_WRITE_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, MISS),
				      false},
	[HARDWARE_ITLB_READS] = {PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, ACCESS), true},
	[HARDWARE_ITLB_READ_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS),
				       false},
	[HARDWARE_BPU_READS] = {PERF_TYPE_HW_CACHE, CACHE(BPU, READ, ACCESS), true},
	[HARDWARE_BPU_READ_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(BPU, READ, MISS),
				      false},
};
