/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/process_maps.h"

void stacks_free(struct stacks *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->all[i].text);
	free(s->all);
	*s = (struct stacks){0};
}

/* gfortran: __MODULE_MOD_NAME */
static bool put_fortran_name(struct buf *b, const char *name)
{
	const char *middle = strstr(name, "_MOD_");

	if (strncmp(name, "__", 2) != 0 || !middle || middle == name + 2 || !middle[5])
		return false;
	buf_put(b, name + 2, (size_t)(middle - name) - 2);
	buf_puts(b, "::");
	buf_puts(b, middle + 5);
	return true;
}

static void put_frame(struct buf *b, uint64_t pc, const struct profile_process *p,
		      struct modules *m)
{
	const struct profile_mapping *mapping = p ? process_maps_find(p, pc) : NULL;

	if (!mapping) {
		buf_puts(b, "[unknown]");
		return;
	}
	const char *name = modules_name(m, mapping->module, pc - mapping->base);
	if (!name)
		buf_printf(b, "%s+0x%llx", m->all[mapping->module].name,
			   (unsigned long long)(pc - mapping->base));
	else if (!put_fortran_name(b, name))
		buf_puts(b, name);
}

static int append_stack(struct stacks *s, char *text)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct stack *all = reallocarray(s->all, room, sizeof(*all));
		if (!all)
			return -ENOMEM;
		s->all = all;
		s->room = room;
	}
	s->all[s->count++] = (struct stack){text, 1};
	return 0;
}

int stacks_add(struct stacks *s, const struct sample *sample,
	       const struct profile_process *process, struct modules *m)
{
	struct buf b = BUF_INIT;
	const unsigned long long *pcs = sample->pcs + sample->kernel_frames;

	s->samples++;
	s->ends[sample->end]++;
	for (unsigned i = sample->frames; i-- > 0;) {
		put_frame(&b, i ? pcs[i] - 1 : pcs[i], process, m);
		if (i)
			buf_putc(&b, ';');
	}
	if (sample->kernel_frames)
		buf_puts(&b, b.len ? ";[kernel]" : "[kernel]");
	int rc = buf_error(&b);
	if (rc == 0)
		rc = append_stack(s, b.data);
	if (rc < 0)
		buf_done(&b);
	return rc;
}

static int compare_stacks(const void *a, const void *b)
{
	return strcmp(((const struct stack *)a)->text, ((const struct stack *)b)->text);
}

void stacks_print(struct stacks *s, struct buf *out)
{
	size_t kept = 0;

	if (s->count)
		qsort(s->all, s->count, sizeof(*s->all), compare_stacks);
	for (size_t i = 0; i < s->count; i++) {
		if (kept && strcmp(s->all[kept - 1].text, s->all[i].text) == 0) {
			s->all[kept - 1].samples += s->all[i].samples;
			free(s->all[i].text);
		} else {
			s->all[kept++] = s->all[i];
		}
	}
	s->count = kept;
	for (size_t i = 0; i < kept; i++)
		buf_printf(out, "%s %llu\n", s->all[i].text,
			   (unsigned long long)s->all[i].samples);
}
