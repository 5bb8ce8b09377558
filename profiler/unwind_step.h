/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_UNWIND_STEP_H
#define CEEMS_PROFILER_UNWIND_STEP_H

/* From a frame to its caller by a row (unwind_row.h), as the kernel program does it
 *and, with a copy of the stack, the profiler. No libc here. Who includes it has defined
 *
 *	static inline bool unwind_read(void *memory, unsigned long long at,
 *				       unsigned long long *ret);
 *
 * which reads a word of the program's memory. */
#include "lib/records/profile_sample.h"
#include "profiler/unwind_row.h"

struct unwind_place {
	unsigned long long pc, sp, fp;
};

static inline unsigned long long unwind_cfa(const struct unwind_place *w,
					    const struct unwind_row *row, void *memory)
{
	unsigned long long cfa = 0;
	long long offset = (long long)row->cfa_words * 8;

	switch (UNWIND_RULE_CFA(row->rule)) {
	case UNWIND_CFA_SP:
		return w->sp + (unsigned long long)offset;
	case UNWIND_CFA_FP:
		return w->fp + (unsigned long long)offset;
	case UNWIND_CFA_AT_FP:
		return unwind_read(memory, w->fp + (unsigned long long)offset, &cfa)
			       ? cfa
			       : 0;
	case UNWIND_CFA_PLT:
		return w->sp + 8 + ((w->pc & 15) >= 11) * 8;
	}
	return 0;
}

/* 0: go on; else enum sample_end + 1 */
static inline int unwind_step(struct unwind_place *w, const struct unwind_row *row,
			      void *memory)
{
	unsigned long long cfa = unwind_cfa(w, row, memory), at = 0, fp = w->fp;
	unsigned long long offset = (unsigned long long)((long long)row->fp_words * 8);

	if (UNWIND_RULE_CFA(row->rule) == UNWIND_CFA_END)
		return SAMPLE_COMPLETE + 1;
	if (!cfa)
		return SAMPLE_NO_ROW + 1;
	if (UNWIND_RULE_FP(row->rule) == UNWIND_FP_AT_CFA)
		at = cfa + offset;
	else if (UNWIND_RULE_FP(row->rule) == UNWIND_FP_AT_FP)
		at = fp + offset;
	if ((at && !unwind_read(memory, at, &fp)) ||
	    !unwind_read(memory, cfa - 8, &w->pc))
		return SAMPLE_NO_MEMORY + 1;
	w->sp = cfa;
	w->fp = fp;
	return w->pc ? 0 : SAMPLE_COMPLETE + 1;
}

#endif
