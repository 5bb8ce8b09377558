/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/conf/yaml_rows.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

struct child {
	const char *name, *secret, *path;
	size_t line;
};

struct root {
	struct child child;
	size_t child_line;
	struct child *children;
	size_t child_count;
	bool flag;
	uint16_t port;
	uint32_t seconds;
	uint64_t ms, bytes;
	enum { COLOUR_RED, COLOUR_GREEN, COLOUR_BLUE } colour;
	struct yaml_header *headers;
	size_t header_count;
};

static const struct yaml_row child_rows[] = {
	YAML_ROW("name", yaml_read_name, struct child, name, ),
	YAML_SECRET("secret", struct child, secret),
	YAML_PATH("path", struct child, path),
	YAML_END,
};

static int check_child(struct yaml_reader *r, const char *key, yaml_node_t *v, void *at)
{
	const struct child *c = at;

	return c->name ? 0 : yaml_walk_fail(&r->w, v, key, "needs a name");
}

static const struct yaml_row child_item = {.read = yaml_read_map,
					   .rows = child_rows,
					   .check = check_child,
					   .given = offsetof(struct child, line)};

static const struct yaml_row rows[] = {
	YAML_MAP("child", child_rows, struct root, child,
		 .given = offsetof(struct root, child_line)),
	YAML_LIST("children", &child_item, struct root, children, child_count, 3),
	YAML_BOOL("flag", struct root, flag),
	YAML_RANGE("port", number, struct root, port, 80, 1, 65535),
	YAML_RANGE("seconds", seconds, struct root, seconds, 60, 1000, 3600000),
	YAML_RANGE("ms", ms, struct root, ms, 500, 1, 60000),
	YAML_RANGE("bytes", bytes, struct root, bytes, 0, 1, 1 << 20),
	YAML_ROW("colour", yaml_read_word, struct root, colour,
		 .words = "red green blue"),
	YAML_HEADERS("headers", struct root, headers, header_count, 4),
	{.key = "http2", .read = yaml_read_unused_bool, .note = "HTTP/1.1 is used"},
	YAML_SKIPPED("old", .note = "has no effect here"),
	YAML_REFUSED("oauth2"),
	YAML_END,
};

static struct arena arena;
static struct root root;
static struct err err;
static struct buf notes, files;
static bool has_secret;

static int read_text(const char *text, bool empty_is_absent)
{
	struct yaml_reader r = {.w = {.file = "dir/f.yaml", .err = &err},
				.arena = &arena,
				.empty_is_absent = empty_is_absent,
				.notes = &notes,
				.files = &files};

	root = (struct root){.flag = false};
	err.text[0] = '\0';
	yaml_rows_default(rows, &root);
	int rc = yaml_rows_read(&r, text, strlen(text), 4096, "the file", rows, &root);

	has_secret = r.has_secret;
	return rc;
}

static int free_all(void **state)
{
	(void)state;
	arena_done(&arena);
	buf_done(&notes);
	buf_done(&files);
	return 0;
}

static void each_kind_of_row_fills_its_member(void **state)
{
	(void)state;
	assert_int_equal(read_text("child:\n  {name: a, secret: s, path: x/y}\n"
				   "children: [{name: b}, {name: c, path: /z}]\n"
				   "flag: true\nport: 65535\nseconds: 2m\nms: 1s\n"
				   "bytes: 64KiB\ncolour: blue\nhttp2: true\nold: []\n"
				   "headers: {X-A: {files: [f], values: [v, w]}, "
				   "X-B: {secrets: [s]}}\n",
				   false),
			 0);
	assert_string_equal(root.child.name, "a");
	assert_string_equal(root.child.path, "dir/x/y");
	assert_int_equal(root.child_line, 2);
	assert_true(has_secret);
	assert_int_equal(root.child_count, 2);
	assert_string_equal(root.children[1].name, "c");
	assert_string_equal(root.children[1].path, "/z");
	assert_null(root.children[0].path);
	assert_int_equal(root.children[1].line, 3);
	assert_true(root.flag);
	assert_int_equal(root.port, 65535);
	assert_int_equal(root.seconds, 120);
	assert_int_equal(root.ms, 1000);
	assert_int_equal(root.bytes, 65536);
	assert_int_equal(root.colour, COLOUR_BLUE);
	assert_int_equal(root.header_count, 4);
	assert_string_equal(root.headers[1].value, "w");
	assert_string_equal(root.headers[2].file, "dir/f");
	assert_string_equal(root.headers[3].name, "X-B");
	assert_string_equal(notes.data, "http2: HTTP/1.1 is used\n"
					"old: has no effect here\n");
	assert_string_equal(files.data, "dir/x/y\n/z\ndir/f\n");
}

static void keys_that_are_not_given_leave_the_defaults(void **state)
{
	(void)state;
	assert_int_equal(read_text("child:\nchildren:\nhttp2: false\n", false), 0);
	assert_int_equal(root.port, 80);
	assert_int_equal(root.seconds, 60);
	assert_int_equal(root.ms, 500);
	assert_int_equal(root.child_count, 0);
	assert_null(root.child.name);
	assert_int_equal(root.child_line, 1);
	assert_false(has_secret);
	assert_null(notes.data);
	assert_int_equal(read_text("", false), 0);
	assert_int_equal(root.child_line, 0);
}

static void empty_texts_can_count_as_not_given(void **state)
{
	(void)state;
	assert_int_equal(read_text("child: {secret: '', path: ''}\ncolour: ''\n", true),
			 0);
	assert_null(root.child.secret);
	assert_null(root.child.path);
	assert_false(has_secret);
	assert_int_equal(read_text("child: {path: ''}\n", false), -EINVAL);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const char *const cases[][2] = {
		{"flag: true\nchidl: {}\n",
		 "dir/f.yaml:2: unknown key: chidl (known here: "
		 "child, "},
		{"chidl: {}\n", ", did you mean child?"},
		{"child:\n  nam: a\n",
		 ":2: unknown key: nam (known here: name, secret, "
		 "path), did you mean name?"},
		{"flag: true\nflag: true\n", ":2: key given twice: flag"},
		{"flag: maybe\n", ":1: flag: must be true or false"},
		{"child: [1]\n", ":1: child: must be a mapping"},
		{"children: {name: a}\n", ":1: children: must be a list"},
		{"children:\n  - name: a\n  - path: b\n", ":3: children: needs a name"},
		{"children: [{name: a}, {name: a}, {name: a}, {name: a}]\n",
		 ":1: children: too many entries"},
		{"child: {name: ''}\n", ":1: name: empty"},
		{"child: {name: [a]}\n", ":1: name: must be a single value"},
		{"port: 0\n", ":1: port: must be from 1 to 65535"},
		{"port: x\n", ":1: port: not a number"},
		{"ms: 5\n", ":1: ms: not a duration"},
		{"ms: 2m\n", ":1: ms: must be from 1 to 60000 ms"},
		{"bytes: many\n", ":1: bytes: not a size (64KiB)"},
		{"colour: pink\n", ":1: colour: must be red, green or blue"},
		{"oauth2: {}\n", ":1: not supported: oauth2"},
		{"headers: [a]\n", ":1: headers: must be a mapping"},
		{"headers: {X-A: {values: [1, 2, 3, 4, 5]}}\n",
		 ":1: too many headers: X-A"},
		{"headers: {X-A: {value: [1]}}\n", "did you mean values?"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_text(cases[i][0], false), -EINVAL);
		if (!strstr(err.text, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], err.text);
	}
	assert_int_equal(read_text("zzzzzzzz: 1\n", false), -EINVAL);
	assert_null(strstr(err.text, "did you mean"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(each_kind_of_row_fills_its_member, free_all),
		cmocka_unit_test_teardown(keys_that_are_not_given_leave_the_defaults,
					  free_all),
		cmocka_unit_test_teardown(empty_texts_can_count_as_not_given, free_all),
		cmocka_unit_test_teardown(what_is_wrong_is_told_with_its_line,
					  free_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
