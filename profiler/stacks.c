/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/session.h"

void stacks_free(struct stacks *s)
{
	frame_names_free(&s->names);
	free(s->frames);
	free(s->all);
	*s = (struct stacks){0};
}

static int add_frame(struct stacks *s, const struct buf *name)
{
	int rc = buf_error(name);

	if (rc == 0 && s->frame_count == s->frame_room) {
		size_t room = s->frame_room ? s->frame_room * 2 : 4096;
		uint32_t *frames = reallocarray(s->frames, room, sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		s->frames = frames;
		s->frame_room = room;
	}
	if (rc == 0)
		rc = frame_names_add(&s->names, name->data, name->len,
				     &s->frames[s->frame_count]);
	if (rc == 0)
		s->frame_count++;
	return rc;
}

static int add_text(struct stacks *s, struct buf *scratch, const char *text)
{
	buf_reset(scratch);
	buf_puts(scratch, text);
	return add_frame(s, scratch);
}

/* What has no name is one function of its file. */
static int add_program_frame(struct stacks *s, struct buf *scratch, uint64_t frame,
			     struct modules *m)
{
	unsigned module = FRAME_MODULE(frame);
	struct name_list list;
	int rc = 0;

	if (module == FRAME_JIT) {
		const char *name =
			jit_maps_name(&m->jit, (uint32_t)FRAME_OFFSET(frame));
		return add_text(s, scratch, name ? name : "[unknown]");
	}
	if (module >= m->count || !m->all[module].name)
		return add_text(s, scratch, "[unknown]");
	if (!modules_find_names(m, module, FRAME_OFFSET(frame), &list)) {
		buf_reset(scratch);
		buf_printf(scratch, "[%s]", m->all[module].name);
		return add_frame(s, scratch);
	}
	for (uint32_t i = 0; i < list.count && rc == 0; i++)
		rc = add_text(s, scratch, list.names[i]);
	return rc;
}

/* ---- Python's frames in place of its interpreter's ------------------------------- */

/* A stack whose frames of the program are being named */
struct stack_frames {
	const uint64_t *native, *python, *end;
	bool loops; /* frames of the interpreter's loop are known by their names */
};

static bool is_loop_frame(uint64_t frame, struct modules *m)
{
	unsigned module = FRAME_MODULE(frame);
	struct name_list list;

	return module < m->count && m->all[module].rows.python &&
	       modules_find_names(m, module, FRAME_OFFSET(frame), &list) &&
	       python_is_loop(list.names[list.count - 1]);
}

static bool is_of_python(uint64_t frame, const struct modules *m)
{
	unsigned module = FRAME_MODULE(frame);

	return module < m->count && m->all[module].rows.python;
}

/* Those of one call of the loop, or all */
static int add_python_frames(struct stacks *s, struct buf *scratch,
			     struct stack_frames *f, bool all, struct modules *m)
{
	int rc = 0;

	for (bool last = false; rc == 0 && !last && f->python < f->end; f->python++) {
		const char *name = python_codes_name(
			&m->codes, (uint32_t)FRAME_OFFSET(*f->python));
		rc = add_text(s, scratch, name ? name : "[python]");
		last = !all && (*f->python & FRAME_PYTHON_ENTRY);
	}
	return rc;
}

static int add_native_frame(struct stacks *s, struct buf *scratch,
			    struct stack_frames *f, uint64_t frame, struct modules *m)
{
	if (f->loops && f->python < f->end && is_loop_frame(frame, m))
		return add_python_frames(s, scratch, f, false, m);
	/* of a stripped interpreter: all at its innermost frame */
	if (!f->loops && f->python < f->end && is_of_python(frame, m))
		return add_python_frames(s, scratch, f, true, m);
	return add_program_frame(s, scratch, frame, m);
}

/* Those that have no names are one frame. */
static int add_kernel_frames(struct stacks *s, struct buf *scratch, const uint64_t **at,
			     const uint64_t *end, struct modules *m)
{
	struct name_list list;
	bool nameless = false;
	int rc = 0;

	for (; rc == 0 && *at < end && FRAME_MODULE(**at) == FRAME_KERNEL; ++*at) {
		bool named = kernel_names_find(&m->kernel, &m->names,
					       FRAME_OFFSET(**at), &list);
		if (named || !nameless)
			rc = add_text(s, scratch, named ? list.names[0] : "[kernel]");
		nameless = !named;
	}
	return rc;
}

static int add_frames(struct stacks *s, const uint64_t *frames, uint32_t count,
		      struct modules *m)
{
	struct stack_frames f = {.native = frames, .end = frames + count};
	auto_buf struct buf scratch = BUF_INIT;
	int rc = 0;

	for (f.python = f.end;
	     f.python > frames && FRAME_MODULE(f.python[-1]) == FRAME_PYTHON;)
		f.python--;
	const uint64_t *native_end = f.python;
	for (const uint64_t *n = frames; n < native_end && f.python < f.end; n++)
		f.loops = f.loops || is_loop_frame(*n, m);
	const uint64_t *k = frames;
	rc = add_kernel_frames(s, &scratch, &k, native_end, m);
	for (; k < native_end && rc == 0; k++)
		rc = add_native_frame(s, &scratch, &f, *k, m);
	return rc < 0 ? rc : add_python_frames(s, &scratch, &f, true, m);
}

static int add_stack(struct stacks *s, const uint64_t *frames, uint32_t count,
		     uint64_t samples, struct modules *m)
{
	size_t first = s->frame_count;

	if (s->frame_count > STACKS_FRAMES_MAX)
		return -E2BIG;
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct stack *all = reallocarray(s->all, room, sizeof(*all));
		if (!all)
			return -ENOMEM;
		s->all = all;
		s->room = room;
	}
	int rc = add_frames(s, frames, count, m);
	if (rc < 0) {
		s->frame_count = first;
		return rc;
	}
	s->all[s->count++] =
		(struct stack){.first = first,
			       .frames = (uint32_t)(s->frame_count - first),
			       .samples = samples};
	s->samples += samples;
	return 0;
}

int stacks_add(struct stacks *s, const struct raw_stacks *r, struct modules *m)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->count && rc == 0; i++)
		rc = add_stack(s, &r->frames[r->all[i].first], r->all[i].count,
			       r->all[i].samples, m);
	return rc;
}

/* From the outermost frame on, so that what has one beginning comes together */
static int compare_stacks(const void *a, const void *b, void *arg)
{
	const struct stack *x = a, *y = b;
	const struct stacks *s = arg;

	for (uint32_t i = 1; i <= x->frames && i <= y->frames; i++) {
		uint32_t f = s->frames[x->first + x->frames - i],
			 g = s->frames[y->first + y->frames - i];
		if (f != g)
			return f < g ? -1 : 1;
	}
	return x->frames < y->frames ? -1 : x->frames > y->frames;
}

void stacks_merge(struct stacks *s)
{
	size_t kept = 0;

	if (s->count)
		qsort_r(s->all, s->count, sizeof(*s->all), compare_stacks, s);
	for (size_t i = 0; i < s->count; i++) {
		if (kept && compare_stacks(&s->all[kept - 1], &s->all[i], s) == 0)
			s->all[kept - 1].samples += s->all[i].samples;
		else
			s->all[kept++] = s->all[i];
	}
	s->count = kept;
}

void stacks_print(const struct stacks *s, struct buf *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct stack *k = &s->all[i];
		for (uint32_t n = k->frames; n-- > 0;) {
			buf_puts(out, s->names.all[s->frames[k->first + n]]);
			buf_putc(out, n ? ';' : ' ');
		}
		buf_put_u64(out, k->samples);
		buf_putc(out, '\n');
	}
}
