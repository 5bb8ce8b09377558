/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/conf/dropins.h"

#include <errno.h>

#include "lib/conf/conf.h"
#include "test/unit/dropins_lab.h"

static struct err err;

struct options {
	char *config_file, *name;
	uint64_t slots;
	struct conf_list listen;
};

#define OFF(m) .off = offsetof(struct options, m)
static const struct conf_opt table[] = {
	{.name = "config.file", .kind = CONF_STRING, OFF(config_file)},
	{.name = "name", .kind = CONF_STRING, OFF(name), .def = "none"},
	{.name = "ring.slots", .kind = CONF_U64, OFF(slots), .def = "1"},
	{.name = "listen", .kind = CONF_LIST, OFF(listen)},
};
#define OPTIONS (sizeof(table) / sizeof(table[0]))

static int load_options(struct options *o, const char *flag)
{
	char file[SCRATCH_PATH + 32], other[64];
	char program[] = "x", *argv[] = {program, file, other, NULL};
	struct buf out = BUF_INIT, warnings = BUF_INIT;

	(void)snprintf(file, sizeof(file), "--config.file=%s", main_file);
	(void)snprintf(other, sizeof(other), "%s", flag ? flag : "");
	*o = (struct options){.slots = 0};
	int rc = conf_load(table, OPTIONS, "x", flag ? 3 : 2, argv, o, &out, &warnings,
			   &err);
	buf_done(&out);
	buf_done(&warnings);
	return rc;
}

static void options_of_the_last_file_win(void **state)
{
	struct options o;

	(void)state;
	put_file("x.yaml", "name: site\nring.slots: 2\nlisten: [a, b]\n");
	put_file("x.d/10-a.yaml", "ring: {slots: 3}\nlisten: [c]\n");
	put_file("x.d/20-b.yaml", "ring.slots: 4\n");
	put_file("x.d/30-c.yaml.dpkg-old", "ring.slots: 5\n");
	put_file("x.d/.40-d.yaml", "ring.slots: 6\n");
	assert_int_equal(load_options(&o, NULL), 0);
	assert_string_equal(o.name, "site");
	assert_int_equal(o.slots, 4);
	assert_int_equal(o.listen.count, 1);
	assert_string_equal(o.listen.items[0], "c");
	conf_release(table, OPTIONS, &o);
	assert_int_equal(load_options(&o, "--ring.slots=9"), 0);
	assert_int_equal(o.slots, 9);
	conf_release(table, OPTIONS, &o);
}

static void an_unknown_option_names_the_dropin_and_its_line(void **state)
{
	struct options o;

	(void)state;
	put_file("x.yaml", "name: site\n");
	put_file("x.d/10-a.yaml", "# ours\nnam: other\n");
	assert_int_equal(load_options(&o, NULL), -EINVAL);
	assert_non_null(strstr(err.text, "/x.d/10-a.yaml:2: "));
}

static void more_files_than_are_read_are_refused(void **state)
{
	struct options o;
	char name[32];

	(void)state;
	put_file("x.yaml", "name: site\n");
	for (int i = 0; i <= DROPINS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "x.d/%d.yaml", i);
		put_file(name, "name: other\n");
	}
	assert_int_equal(load_options(&o, NULL), -E2BIG);
}

static void files_that_others_write_or_read_are_told_apart(void **state)
{
	struct dropins d = {.count = 0};
	char path[SCRATCH_PATH + 16];

	(void)state;
	put_file("x.d/1.yaml", "number: 3\n");
	(void)snprintf(path, sizeof(path), "%s/x.d/1.yaml", folder);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(dropins_read(main_file, &d, &err), 0);
	assert_int_equal(dropins_check_writers(&d, &err), 0);
	assert_int_equal(dropins_check_secret(&d, &err), -EPERM);
	dropins_done(&d);
	assert_int_equal(chmod(path, 0660), 0);
	assert_int_equal(dropins_read(main_file, &d, &err), 0);
	assert_int_equal(dropins_check_writers(&d, &err), -EPERM);
	assert_non_null(strstr(err.text, "1.yaml"));
	dropins_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(options_of_the_last_file_win),
		FOLDER_TEST(an_unknown_option_names_the_dropin_and_its_line),
		FOLDER_TEST(more_files_than_are_read_are_refused),
		FOLDER_TEST(files_that_others_write_or_read_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
