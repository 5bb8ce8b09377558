/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/conf/yaml_merge.h"

#include <errno.h>

#include "lib/conf/yaml_rows.h"
#include "test/unit/dropins_lab.h"

static struct err err;

struct child {
	const char *name, *colour;
};

struct root {
	struct child child;
	const char **names;
	size_t name_count;
	uint64_t number;
};

static const struct yaml_row child_rows[] = {
	YAML_TEXT("name", struct child, name),
	YAML_TEXT("colour", struct child, colour),
	YAML_END,
};

static const struct yaml_row rows[] = {
	YAML_MAP("child", child_rows, struct root, child),
	YAML_LIST("names", &yaml_item_name, struct root, names, name_count, 4),
	YAML_RANGE("number", number, struct root, number, 0, 1, 9),
	YAML_END,
};

static struct arena arena;
static struct root root;

static int read_nested(const char *text)
{
	struct dropins more = {.count = 0};
	struct yaml_reader r = {.w = {.file = main_file, .err = &err, .more = &more},
				.arena = &arena};

	arena_done(&arena);
	root = (struct root){.number = 0};
	int rc = dropins_read(main_file, &more, &err);
	if (rc == 0)
		rc = yaml_rows_read(&r, text, strlen(text), 4096, "it", rows, &root);
	dropins_done(&more);
	return rc;
}

static void mappings_are_merged_and_lists_replaced(void **state)
{
	(void)state;
	put_file("x.d/10.yaml", "child: {colour: blue}\nnames: [c]\n");
	put_file("x.d/20.yaml", "number: 3\nchild: {colour: red}\n");
	assert_int_equal(read_nested("child: {name: ada}\nnames: [a, b]\n"), 0);
	assert_string_equal(root.child.name, "ada");
	assert_string_equal(root.child.colour, "red");
	assert_int_equal(root.name_count, 1);
	assert_string_equal(root.names[0], "c");
	assert_int_equal(root.number, 3);
}

static void a_key_with_nothing_below_it_takes_nothing_away(void **state)
{
	(void)state;
	put_file("x.d/10.yaml", "child:\n  # colour: red\nnames: []\n");
	assert_int_equal(read_nested("child: {colour: blue}\nnames: [a]\n"), 0);
	assert_string_equal(root.child.colour, "blue");
	assert_int_equal(root.name_count, 0);
}

static void an_empty_file_takes_all_from_its_dropins(void **state)
{
	(void)state;
	put_file("x.d/10.yaml", "number: 3\n");
	put_file("x.d/20.yaml", "");
	put_file("x.d/30.yaml", "child: {name: bob}\n");
	assert_int_equal(read_nested("# nothing here\n"), 0);
	assert_int_equal(root.number, 3);
	assert_string_equal(root.child.name, "bob");
}

static void errors_name_the_file_that_they_are_in(void **state)
{
	(void)state;
	put_file("x.d/10.yaml", "child:\n  colour: blue\n");
	put_file("x.d/20.yaml", "child:\n  name: ada\n  size: 3\n");
	assert_int_equal(read_nested("number: 3\n"), -EINVAL);
	assert_non_null(strstr(err.text, "/x.d/20.yaml:3: unknown key"));
	put_file("x.d/20.yaml", "child:\n  name: ada\n");
	assert_int_equal(read_nested("\n\nnumber: 99\n"), -EINVAL);
	assert_non_null(strstr(err.text, "/x.yaml:3: number"));
	put_file("x.d/20.yaml", "number: 99\n");
	assert_int_equal(read_nested("number: 3\n"), -EINVAL);
	assert_non_null(strstr(err.text, "/x.d/20.yaml:1: number"));
	put_file("x.d/20.yaml", "number: [\n");
	assert_int_equal(read_nested("number: 3\n"), -EINVAL);
	assert_non_null(strstr(err.text, "/x.d/20.yaml:"));
}

static void hostile_dropins_are_refused(void **state)
{
	static const char *const texts[] = {
		"number: 3\nnumber: 4\n", /* merging would take the last */
		"child: {name: a, name: b}\n",
		"- a\n",
		"text\n",
		"? [a]\n: b\n",
		"child: &a {name: *a}\n", /* a mapping within itself */
		"a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a]\n"
		"c: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c]\n"
		"e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n",
		"number: 3\n---\nnumber: 4\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put_file("x.d/10.yaml", texts[i]);
		assert_int_equal(read_nested("child: {name: ada}\n"), -EINVAL);
		assert_non_null(strstr(err.text, "x.d/10.yaml"));
	}
	arena_done(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(mappings_are_merged_and_lists_replaced),
		FOLDER_TEST(a_key_with_nothing_below_it_takes_nothing_away),
		FOLDER_TEST(an_empty_file_takes_all_from_its_dropins),
		FOLDER_TEST(errors_name_the_file_that_they_are_in),
		FOLDER_TEST(hostile_dropins_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
