/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/groups/io_paths.h"

#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

static void a_path_is_held_once_as_long_as_it_is_used(void **state)
{
	(void)state;
	struct io_paths *p = NULL;

	assert_int_equal(io_paths_new(&p), 0);
	struct io_path *a = io_paths_take(p, "/home"),
		       *b = io_paths_take(p, "/scratch");
	assert_non_null(a);
	assert_non_null(b);
	assert_ptr_equal(io_paths_take(p, "/home"), a);
	assert_ptr_not_equal(a, b);
	assert_int_equal(io_paths_count(p), 2);
	io_paths_hold(a);
	io_paths_drop(p, a);
	io_paths_drop(p, a);
	assert_int_equal(io_paths_count(p), 2);
	assert_string_equal(a->text, "/home");
	io_paths_drop(p, a);
	assert_int_equal(io_paths_count(p), 1);
	io_paths_drop(p, NULL);
	assert_ptr_equal(io_paths_take(p, "/scratch"), b);
	io_paths_free(p);
}

static void its_label_is_as_a_scrape_has_it(void **state)
{
	(void)state;
	struct io_paths *p = NULL;

	assert_int_equal(io_paths_new(&p), 0);
	struct io_path *a = io_paths_take(p, "/a\"b"), *none = io_paths_take(p, "");
	assert_non_null(a);
	assert_non_null(none);
	assert_int_equal(a->label_len, strlen("mountpoint=\"/a\\\"b\"}"));
	assert_memory_equal(a->label, "mountpoint=\"/a\\\"b\"}", a->label_len);
	assert_memory_equal(none->label, "mountpoint=\"\"}", none->label_len);
	io_paths_free(p);
}

static void many_paths_are_told_apart(void **state)
{
	(void)state;
	static struct io_path *paths[5000];
	struct io_paths *p = NULL;
	char text[32];

	assert_int_equal(io_paths_new(&p), 0);
	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(text, sizeof(text), "/mnt/%u", i);
		paths[i] = io_paths_take(p, text);
		assert_non_null(paths[i]);
	}
	assert_int_equal(io_paths_count(p), 5000);
	for (unsigned i = 0; i < 5000; i += 2)
		io_paths_drop(p, paths[i]);
	for (unsigned i = 1; i < 5000; i += 2) {
		(void)snprintf(text, sizeof(text), "/mnt/%u", i);
		assert_string_equal(paths[i]->text, text);
		assert_ptr_equal(io_paths_take(p, text), paths[i]);
	}
	assert_int_equal(io_paths_count(p), 2500);
	io_paths_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_held_once_as_long_as_it_is_used),
		cmocka_unit_test(its_label_is_as_a_scrape_has_it),
		cmocka_unit_test(many_paths_are_told_apart),
	};
	return cmocka_run_group_tests_name("io_paths", tests, NULL, NULL);
}
