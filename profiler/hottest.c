/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/hottest.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/session.h"

#define PLACE_PROBES 8u
#define NAMED_MAX 256u /* addresses, the most frequent ones */

/* ---- as samples come ------------------------------------------------------------- */

static bool is_in_python(const struct modules *m, uint64_t frame)
{
	unsigned module = FRAME_MODULE(frame);

	return module < m->count && m->all[module].rows.python;
}

static uint64_t innermost_python(const struct session_stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		if (FRAME_MODULE(stack->frames[i]) == FRAME_PYTHON)
			return stack->frames[i] & ~FRAME_PYTHON_ENTRY;
	}
	return 0;
}

static bool is_place_of(const struct hot_place *p, uint64_t frame, uint64_t python)
{
	return p->samples && p->frame == frame && p->python == python;
}

void hottest_add(struct hottest *h, const struct session_stack *stack,
		 const struct modules *m)
{
	struct hot_place *least = NULL;

	if (!stack->count)
		return;
	uint64_t frame = stack->frames[0];
	uint64_t python = is_in_python(m, frame) ? innermost_python(stack) : 0;
	uint64_t hash = (frame ^ python << 7) * UINT64_C(0x9e3779b97f4a7c15);
	h->samples++;
	for (uint32_t i = 0; i < PLACE_PROBES; i++) {
		struct hot_place *p =
			&h->all[((hash >> 40) + i) & (HOTTEST_PLACES - 1)];
		if (is_place_of(p, frame, python)) {
			p->samples++;
			return;
		}
		if (!least || p->samples < least->samples)
			least = p;
	}
	*least = (struct hot_place){frame, python, 1};
}

/* ---- names ----------------------------------------------------------------------- */

struct hot_names {
	struct hot_function all[NAMED_MAX];
	uint32_t count, asked;
};

static void copy_hot_name(char to[HOT_NAME_BYTES], const char *from)
{
	(void)snprintf(to, HOT_NAME_BYTES, "%s", from);
}

static void name_program_frame(struct modules *m, const struct hot_place *p, bool ask,
			       char ret[HOT_NAME_BYTES])
{
	unsigned module = FRAME_MODULE(p->frame);
	const struct module *o = &m->all[module];
	struct name_list list;
	const char *python = NULL;

	bool named = ask ? modules_find_names(m, module, FRAME_OFFSET(p->frame), &list)
			 : name_cache_find(&m->names, module, FRAME_OFFSET(p->frame),
					   &list) &&
				     list.count;
	if (named && p->python && python_is_loop(list.names[list.count - 1]))
		python =
			python_codes_name(&m->codes, (uint32_t)FRAME_OFFSET(p->python));
	if (python || named)
		copy_hot_name(ret, python ? python : list.names[0]);
	else
		(void)snprintf(ret, HOT_NAME_BYTES, "[%.40s+0x%" PRIx64 "]", o->name,
			       FRAME_OFFSET(p->frame));
}

static void name_hot_place(struct modules *m, const struct hot_place *p, bool ask,
			   char ret[HOT_NAME_BYTES])
{
	unsigned module = FRAME_MODULE(p->frame);
	struct name_list list = {0};
	const char *jit = NULL;

	if (module == FRAME_JIT)
		jit = jit_maps_name(&m->jit, (uint32_t)FRAME_OFFSET(p->frame));
	if (module == FRAME_KERNEL && ask)
		(void)kernel_names_find(&m->kernel, &m->names, FRAME_OFFSET(p->frame),
					&list);
	else if (module == FRAME_KERNEL)
		(void)name_cache_find(&m->names, module, FRAME_OFFSET(p->frame), &list);
	if (module == FRAME_KERNEL)
		copy_hot_name(ret, list.count ? list.names[0] : "[kernel]");
	else if (module < m->count && m->all[module].name)
		name_program_frame(m, p, ask, ret);
	else
		copy_hot_name(ret, jit ? jit : "[unknown]");
}

static void add_to_names(struct hot_names *n, const struct hot_function *f)
{
	for (uint32_t i = 0; i < n->count; i++) {
		if (strcmp(n->all[i].name, f->name) == 0) {
			n->all[i].samples += f->samples;
			return;
		}
	}
	n->all[n->count++] = *f;
}

static int compare_hot_places(const void *a, const void *b)
{
	const struct hot_place *x = *(const struct hot_place *const *)a,
			       *y = *(const struct hot_place *const *)b;

	return x->samples < y->samples ? 1 : -(x->samples > y->samples);
}

static int compare_hot_functions(const void *a, const void *b)
{
	const struct hot_function *x = a, *y = b;

	return x->samples < y->samples   ? 1
	       : x->samples > y->samples ? -1
					 : strcmp(x->name, y->name);
}

static bool needs_asking(const struct modules *m, uint64_t frame)
{
	struct name_list list;

	return (FRAME_MODULE(frame) < m->count ||
		FRAME_MODULE(frame) == FRAME_KERNEL) &&
	       !name_cache_find(&m->names, FRAME_MODULE(frame), FRAME_OFFSET(frame),
				&list);
}

void hottest_fill(const struct hottest *h, struct modules *m, struct hot_page_row *ret)
{
	const struct hot_place *places[HOTTEST_PLACES];
	static struct hot_names names; /* 22 KiB */
	uint32_t count = 0;

	names.count = names.asked = 0;
	for (uint32_t i = 0; i < HOTTEST_PLACES; i++) {
		if (h->all[i].samples)
			places[count++] = &h->all[i];
	}
	qsort(places, count, sizeof(places[0]), compare_hot_places);
	for (uint32_t i = 0; i < count && i < NAMED_MAX; i++) {
		struct hot_function f = {.samples = places[i]->samples};
		bool ask = needs_asking(m, places[i]->frame) &&
			   names.asked < HOTTEST_NEW_NAMES;
		names.asked += ask;
		name_hot_place(m, places[i], ask, f.name);
		add_to_names(&names, &f);
	}
	qsort(names.all, names.count, sizeof(names.all[0]), compare_hot_functions);
	ret->samples = h->samples;
	ret->count = names.count < HOT_FUNCTIONS ? names.count : HOT_FUNCTIONS;
	memcpy(ret->functions, names.all, ret->count * sizeof(names.all[0]));
}
