/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/unwind_copy.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool unwind_read(void *memory, unsigned long long at,
			       unsigned long long *ret)
{
	const struct profile_first *f = memory;
	unsigned long long from = at - f->sp;

	if (at < f->sp || f->bytes > PROFILE_STACK_BYTES || f->bytes < sizeof(*ret) ||
	    from > f->bytes - sizeof(*ret))
		return false;
	memcpy(ret, f->stack + from, sizeof(*ret));
	return true;
}
#include "profiler/unwind_step.h"

static const struct unwind_row *
find_row_of(const struct tables *t, const struct profile_mapping *m, uint64_t pc)
{
	const struct profile_module *module = &t->modules[m->module];
	uint64_t address = pc - m->base;
	uint32_t low = 0, high = module->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (t->rows[module->first + middle].pc <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &t->rows[module->first + low - 1] : NULL;
}

void unwind_copy(const struct tables *t, const struct known_process *k,
		 const struct profile_first *first, struct profile_sample *ret)
{
	struct unwind_place at = {
		.pc = ret->pcs[ret->kernel_frames],
		.sp = first->sp,
		.fp = first->fp,
		.lr = first->lr,
	};
	unsigned n = ret->kernel_frames;

	ret->frames = 0;
	for (;;) {
		uint64_t pc = ret->frames ? at.pc - 1 : at.pc;
		ret->end = SAMPLE_TOO_DEEP;
		if (ret->frames == SAMPLE_FRAMES_MAX)
			return;
		ret->pcs[n + ret->frames++] = at.pc;
		const struct profile_mapping *m = tables_mapping(t, k, pc);
		ret->end = SAMPLE_NO_MAPPING;
		if (!m)
			return;
		const struct unwind_row *row = find_row_of(t, m, pc);
		/* what it gets of first is only read */
		int end =
			row ? unwind_step(&at, row, (void *)first) : SAMPLE_NO_ROW + 1;
		if (end == SAMPLE_NO_ROW + 1 && t->modules[m->module].count &&
		    unwind_undescribed(&at))
			end = 0;
		if (end) {
			ret->end = (unsigned char)(end - 1);
			return;
		}
	}
}
