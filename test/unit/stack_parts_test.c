/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile that is too large for the store, in parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/profile_record.h"
#include "profiler/stack_parts.h"
#include "test/unit/unit.h"

static const struct pprof_time at = {.begin_ns = 1700000000000000000,
				     .duration_ns = 60000000000,
				     .period_ns = 52631578};

/* count stacks of `frames` frames, the innermost with a name of `length` of its own */
static void make(struct stacks *s, size_t count, uint32_t frames, size_t length)
{
	char *name = malloc(length + 24);

	assert_non_null(name);
	s->all = calloc(count, sizeof(*s->all));
	s->frames = calloc(count * frames, sizeof(*s->frames));
	assert_true(s->all && s->frames);
	for (size_t i = 0; i < count; i++) {
		s->all[i] = (struct stack){s->frame_count, frames, i % 3 + 1};
		s->samples += i % 3 + 1;
		for (uint32_t f = 0; f < frames; f++) {
			int n = f ? snprintf(name, 24, "outer%u", f % 7)
				  : snprintf(name, 24, "leaf%zu_", i);
			memset(name + n, 'x', length);
			assert_int_equal(frame_names_add(&s->names, name,
							 (size_t)n + (f ? 0 : length),
							 &s->frames[s->frame_count++]),
					 0);
		}
	}
	s->count = count;
	free(name);
}

/* How many parts; their samples and what was dropped are all. */
static unsigned parts_of(const struct stacks *s, uint64_t *ret_dropped)
{
	struct stack_parts p;
	struct buf out = BUF_INIT;
	struct err err;
	uint64_t samples, sum = 0;
	unsigned n = 0;

	stack_parts_begin(&p, s, &at);
	while (stack_parts_next(&p, &out, &samples, &err) == 1) {
		assert_true(out.len <= STACK_PARTS_BYTES_MAX);
		assert_true(p.time.begin_ns == at.begin_ns + (int64_t)++n * 1000000);
		sum += samples;
	}
	assert_int_equal(sum + p.dropped, s->samples);
	if (ret_dropped)
		*ret_dropped = p.dropped;
	buf_done(&out);
	return n;
}

static void small_profile_is_one(void **state)
{
	struct stacks s = {0};
	struct stack_parts p;
	struct buf out = BUF_INIT, whole = BUF_INIT;
	struct err err;
	uint64_t samples;

	(void)state;
	make(&s, 100, 5, 4);
	assert_int_equal(parts_of(&s, NULL), 1);
	stack_parts_begin(&p, &s, &at);
	assert_int_equal(stack_parts_next(&p, &out, &samples, &err), 1);
	assert_int_equal(pprof_write(&s, &at, &whole, &err), 0);
	assert_int_equal(out.len, whole.len);
	assert_memory_equal(out.data, whole.data, out.len);
	buf_done(&out);
	buf_done(&whole);
	stacks_free(&s);
}

static void more_stacks_than_the_store_takes_are_several(void **state)
{
	struct stacks s = {0};

	(void)state;
	make(&s, 2 * PROFILE_SAMPLES_MAX + 1, 3, 4);
	assert_int_equal(parts_of(&s, NULL), 3);
	stacks_free(&s);
}

static void long_names_are_several(void **state)
{
	struct stacks s = {0};

	(void)state;
	make(&s, 3000, 3, 2000);
	assert_true(parts_of(&s, NULL) >= 3);
	stacks_free(&s);
}

static void stack_that_is_too_long_alone_is_dropped_and_counted(void **state)
{
	struct stacks s = {0};
	uint64_t dropped;

	(void)state;
	make(&s, 1, 2, STACK_PARTS_BYTES_MAX);
	assert_int_equal(parts_of(&s, &dropped), 0);
	assert_int_equal(dropped, s.samples);
	stacks_free(&s);
}

static void deep_stacks_keep_their_innermost_frames(void **state)
{
	struct stacks deep = {0}, less = {0};

	(void)state;
	make(&deep, 1, 5000, 4);
	make(&less, 1, PROFILE_DEPTH_MAX, 4);
	struct buf a = BUF_INIT, b = BUF_INIT;
	struct stack_parts p;
	struct err err;
	uint64_t samples;
	stack_parts_begin(&p, &deep, &at);
	assert_int_equal(stack_parts_next(&p, &a, &samples, &err), 1);
	assert_int_equal(pprof_write(&less, &at, &b, &err), 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	buf_done(&a);
	buf_done(&b);
	stacks_free(&deep);
	stacks_free(&less);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_profile_is_one),
		cmocka_unit_test(more_stacks_than_the_store_takes_are_several),
		cmocka_unit_test(long_names_are_several),
		cmocka_unit_test(stack_that_is_too_long_alone_is_dropped_and_counted),
		cmocka_unit_test(deep_stacks_keep_their_innermost_frames),
	};
	return cmocka_run_group_tests_name("stack_parts", tests, NULL, NULL);
}
