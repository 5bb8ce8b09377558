/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_UNWIND_STEP_H
#define CEEMS_PROFILER_UNWIND_STEP_H

/* From a frame to its caller by a row (unwind_row.h), as the kernel program does it
 * and, with a copy of the stack, the profiler. No libc here. Defined before it:
 *
 *	static inline bool unwind_read(void *memory, unsigned long long at,
 *				       unsigned long long *ret);
 *
 * which reads a word of the program's memory. */
#include "lib/records/profile_sample.h"
#include "profiler/unwind_row.h"

struct unwind_place {
	unsigned long long pc, sp, fp;
	unsigned long long lr; /* arm64: the link register, of the innermost frame */
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

/* Where registers are saved, from the CFA on */
static inline long long unwind_saved_words(const struct unwind_row *row)
{
	return row->fp_words - (row->rule & UNWIND_FROM_REGISTER ? row->cfa_words : 0);
}

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
/* What pointer authentication signs return addresses with lies above the addresses that
 * programs have, unless they ask mmap() for others
 * (Documentation/arch/arm64/memory.rst) */
#define UNWIND_ADDRESS_BITS 48

static inline bool unwind_return(struct unwind_place *w, const struct unwind_row *row,
				 unsigned long long cfa, void *memory)
{
	unsigned rule = UNWIND_RULE_FP(row->rule);
	long long words = unwind_saved_words(row) + (rule == UNWIND_FP_AT_CFA);

	w->pc = w->lr;
	w->lr = 0;
	if (rule != UNWIND_FP_AT_CFA && rule != UNWIND_RA_AT_CFA) {
		if (!w->pc)
			return false;
	} else if (!unwind_read(memory, cfa + (unsigned long long)(words * 8),
				&w->pc)) {
		return false;
	}
	w->pc &= (1ull << UNWIND_ADDRESS_BITS) - 1;
	return true;
}

/* Code that a file with rows says nothing of is an entry of the procedure linkage
 * table, which leaves all as it was called with. false: not the innermost frame */
static inline bool unwind_undescribed(struct unwind_place *w)
{
	if (!w->lr)
		return false;
	w->pc = w->lr & ((1ull << UNWIND_ADDRESS_BITS) - 1);
	w->lr = 0;
	return true;
}
#else
static inline bool unwind_return(struct unwind_place *w, const struct unwind_row *row,
				 unsigned long long cfa, void *memory)
{
	(void)row;
	return unwind_read(memory, cfa - 8, &w->pc);
}

static inline bool unwind_undescribed(struct unwind_place *w)
{
	(void)w;
	return false;
}
#endif

/* 0: go on; else enum sample_end + 1 */
static inline int unwind_step(struct unwind_place *w, const struct unwind_row *row,
			      void *memory)
{
	unsigned long long cfa = unwind_cfa(w, row, memory), at = 0, fp = w->fp;
	unsigned long long offset = (unsigned long long)(unwind_saved_words(row) * 8);

	if (UNWIND_RULE_CFA(row->rule) == UNWIND_CFA_END)
		return SAMPLE_COMPLETE + 1;
	if (!cfa)
		return SAMPLE_NO_ROW + 1;
	if (UNWIND_RULE_FP(row->rule) == UNWIND_FP_AT_CFA)
		at = cfa + offset;
	else if (UNWIND_RULE_FP(row->rule) == UNWIND_FP_AT_FP)
		at = fp + offset;
	if ((at && !unwind_read(memory, at, &fp)) ||
	    !unwind_return(w, row, cfa, memory))
		return SAMPLE_NO_MEMORY + 1;
	w->sp = cfa;
	w->fp = fp;
	return w->pc ? 0 : SAMPLE_COMPLETE + 1;
}

#endif
