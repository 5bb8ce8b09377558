/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups by path and by watch descriptor. */
#include <stdio.h>
#include <stdlib.h>

#include "contrib/k8s/group_index.h"
#include "test/unit/unit.h"

#define COUNT 20000u /* more than there are buckets */

struct group {
	struct group_entry entry;
	char path[32];
};

static struct group_index x;
static struct group *groups[COUNT];

static struct group *group_of_path(const char *path)
{
	return (struct group *)group_index_find(&x, path);
}

static int fill_index(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		groups[i] = calloc(1, sizeof(*groups[i]));
		assert_non_null(groups[i]);
		(void)snprintf(groups[i]->path, sizeof(groups[i]->path), "/pod%u", i);
		group_index_add(&x, &groups[i]->entry, groups[i]->path);
		group_index_watch(&x, &groups[i]->entry, (int)i + 1);
	}
	return 0;
}

static int empty_index(void **state)
{
	(void)state;
	group_index_free(&x);
	x = (struct group_index){0};
	return 0;
}

static unsigned count_all(void)
{
	unsigned n = 0;

	for (struct group_entry *e = group_index_next(&x, NULL); e;
	     e = group_index_next(&x, e))
		n++;
	return n;
}

static void each_is_found_by_path_and_by_watch(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		assert_ptr_equal(group_of_path(groups[i]->path), groups[i]);
		assert_ptr_equal(group_index_of_watch(&x, (int)i + 1), groups[i]);
	}
	assert_null(group_of_path("/pod"));
	assert_null(group_index_of_watch(&x, COUNT + 1));
	assert_null(group_index_of_watch(&x, -1));
	assert_int_equal(count_all(), COUNT);
}

static void one_that_is_removed_leaves_the_others(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT; i += 2) {
		group_index_remove(&x, &groups[i]->entry);
		free(groups[i]);
	}
	for (unsigned i = 0; i < COUNT; i++) {
		char path[32];
		(void)snprintf(path, sizeof(path), "/pod%u", i);
		assert_ptr_equal(group_of_path(path), i % 2 ? groups[i] : NULL);
		assert_ptr_equal(group_index_of_watch(&x, (int)i + 1),
				 i % 2 ? groups[i] : NULL);
	}
	assert_int_equal(count_all(), COUNT / 2);
}

static void another_watch_takes_the_place_of_the_one_before(void **state)
{
	(void)state;
	struct group_entry *e = &groups[7]->entry;
	group_index_watch(&x, e, COUNT + 100);
	assert_null(group_index_of_watch(&x, 8));
	assert_ptr_equal(group_index_of_watch(&x, COUNT + 100), e);
	group_index_watch(&x, e, -1);
	assert_null(group_index_of_watch(&x, COUNT + 100));
	assert_null(group_index_of_watch(&x, -1));
	assert_ptr_equal(group_of_path("/pod7"), e);
	group_index_watch(&x, e, 8);
	assert_ptr_equal(group_index_of_watch(&x, 8), e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_is_found_by_path_and_by_watch,
						fill_index, empty_index),
		cmocka_unit_test_setup_teardown(one_that_is_removed_leaves_the_others,
						fill_index, empty_index),
		cmocka_unit_test_setup_teardown(
			another_watch_takes_the_place_of_the_one_before, fill_index,
			empty_index),
	};

	return cmocka_run_group_tests_name("group_index", tests, NULL, NULL);
}
