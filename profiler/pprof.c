/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/pprof.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

#include "lib/cleanup.h"
#include "profiler/pprof.pb-c.h"

/* The first strings, then the names of frames */
enum { TEXT_NONE, TEXT_TYPE, TEXT_NANOSECONDS, TEXT_NAMES };

/* All that a profile's messages point to, one function and one location a name */
struct parts {
	Pprof__Function *functions;
	Pprof__Line *lines, **line_of;
	Pprof__Location *locations;
	Pprof__Sample *samples;
	void **pointers; /* to functions, locations and samples, in this order */
	char **texts;
	uint64_t *ids; /* of the locations of all samples */
	int64_t *values;
};

static void free_parts(struct parts *p)
{
	free(p->functions);
	free(p->lines);
	free(p->line_of);
	free(p->locations);
	free(p->samples);
	free(p->pointers);
	free(p->texts);
	free(p->ids);
	free(p->values);
}
#define auto_parts __attribute__((cleanup(free_parts)))

static int allocate_parts(struct parts *p, const struct stacks *s)
{
	size_t names = s->names.count, stacks = s->count;

	p->functions = calloc(names + 1, sizeof(*p->functions));
	p->lines = calloc(names + 1, sizeof(*p->lines));
	p->line_of = calloc(names + 1, sizeof(*p->line_of));
	p->locations = calloc(names + 1, sizeof(*p->locations));
	p->samples = calloc(stacks + 1, sizeof(*p->samples));
	p->pointers = calloc(names * 2 + stacks + 1, sizeof(*p->pointers));
	p->texts = calloc(names + TEXT_NAMES, sizeof(*p->texts));
	p->ids = calloc(s->frame_count + 1, sizeof(*p->ids));
	p->values = calloc(stacks + 1, sizeof(*p->values));
	return p->functions && p->lines && p->line_of && p->locations && p->samples &&
			       p->pointers && p->texts && p->ids && p->values
		       ? 0
		       : -ENOMEM;
}

static void add_names(struct parts *p, const struct frame_names *n, bool off_cpu)
{
	static char none[] = "", nanoseconds[] = "nanoseconds";
	static char cpu[] = "cpu", blocked[] = "off_cpu";

	p->texts[TEXT_NONE] = none;
	p->texts[TEXT_TYPE] = off_cpu ? blocked : cpu;
	p->texts[TEXT_NANOSECONDS] = nanoseconds;
	for (uint32_t i = 0; i < n->count; i++) {
		Pprof__Function *f = &p->functions[i];
		Pprof__Location *l = &p->locations[i];
		pprof__function__init(f);
		pprof__line__init(&p->lines[i]);
		pprof__location__init(l);
		f->id = l->id = p->lines[i].function_id = i + 1;
		f->name = f->system_name = TEXT_NAMES + i;
		p->line_of[i] = &p->lines[i];
		l->n_line = 1;
		l->line = &p->line_of[i];
		p->texts[TEXT_NAMES + i] = n->all[i];
		p->pointers[i] = f;
		p->pointers[n->count + i] = l;
	}
}

static void add_stacks(struct parts *p, const struct stacks *s, int64_t period_ns)
{
	for (size_t i = 0; i < s->frame_count; i++)
		p->ids[i] = s->frames[i] + 1;
	for (size_t i = 0; i < s->count; i++) {
		const struct stack *k = &s->all[i];
		pprof__sample__init(&p->samples[i]);
		p->samples[i].n_location_id = k->frames;
		p->samples[i].location_id = p->ids + k->first;
		p->values[i] = (int64_t)k->samples * (period_ns ? period_ns : 1);
		p->samples[i].n_value = 1;
		p->samples[i].value = &p->values[i];
		p->pointers[s->names.count * 2 + i] = &p->samples[i];
	}
}

int pprof_write(const struct stacks *s, const struct pprof_time *t, struct buf *ret,
		struct err *err)
{
	auto_parts struct parts p = {0};
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	Pprof__ValueType type = PPROF__VALUE_TYPE__INIT, *types[] = {&type};
	size_t names = s->names.count;

	if (allocate_parts(&p, s) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	add_names(&p, &s->names, !t->period_ns);
	add_stacks(&p, s, t->period_ns);
	type.type = TEXT_TYPE;
	type.unit = TEXT_NANOSECONDS;
	profile.n_sample_type = 1;
	profile.sample_type = types;
	profile.n_function = profile.n_location = names;
	profile.function = (Pprof__Function **)p.pointers;
	profile.location = (Pprof__Location **)p.pointers + names;
	profile.n_sample = s->count;
	profile.sample = (Pprof__Sample **)p.pointers + names * 2;
	profile.n_string_table = TEXT_NAMES + names;
	profile.string_table = p.texts;
	profile.time_nanos = t->begin_ns;
	profile.duration_nanos = t->duration_ns;
	profile.period_type = t->period_ns ? &type : NULL;
	profile.period = t->period_ns;
	size_t size = pprof__profile__get_packed_size(&profile);
	char *at = buf_reserve(ret, size);
	if (at)
		buf_commit(ret, pprof__profile__pack(&profile, (uint8_t *)at));
	return buf_error(ret) ? err_set(err, -ENOMEM, "a profile of %zu bytes", size)
			      : 0;
}

int pprof_pack(const struct buf *in, struct buf *ret)
{
	enum { GZIP = 16 };
	z_stream z = {.next_in = (Bytef *)in->data, .avail_in = (uInt)in->len};

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	size_t bound = deflateBound(&z, in->len);
	z.next_out = (Bytef *)buf_reserve(ret, bound);
	z.avail_out = (uInt)bound;
	int rc = z.next_out ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	if (rc == Z_STREAM_END)
		buf_commit(ret, z.total_out);
	(void)deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -ENOMEM;
}
