/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/conf/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/unit.h"

struct options {
	char *config_file;
	bool slurm, psi, cpu, later;
	uint64_t slots, linger_ms, room_bytes;
	char *path;
	struct conf_list listen;
	int format;
};

static const char *const formats[] = {"logfmt", "json", NULL};

#define OFF(m) .off = offsetof(struct options, m)
static const struct conf_opt table[] = {
	{.name = "config.file", .kind = CONF_STRING, OFF(config_file)},
	{.name = "collector.slurm",
	 .kind = CONF_BOOL,
	 OFF(slurm),
	 .def = "true",
	 .help = "Slurm jobs"},
	{.name = "collector.slurm.psi-metrics",
	 .kind = CONF_BOOL,
	 OFF(psi),
	 .flags = CONF_RELOAD},
	{.name = "collector.cpu", .kind = CONF_BOOL, OFF(cpu), .def = "true"},
	{.name = "collector.k8s",
	 .kind = CONF_BOOL,
	 OFF(later),
	 .def = "false",
	 .flags = CONF_LATER},
	{.name = "ring.slots",
	 .kind = CONF_U64,
	 OFF(slots),
	 .def = "4096",
	 .min = 16,
	 .max = 65536},
	{.name = "unit.linger",
	 .kind = CONF_DURATION,
	 OFF(linger_ms),
	 .def = "60s",
	 .help = "How long an ended unit stays",
	 .flags = CONF_RELOAD,
	 .min = 1000,
	 .max = 3600000},
	{.name = "spool.size", .kind = CONF_BYTES, OFF(room_bytes), .def = "256MiB"},
	{.name = "path.procfs", .kind = CONF_STRING, OFF(path), .def = "/proc"},
	{.name = "web.listen-address",
	 .kind = CONF_LIST,
	 OFF(listen),
	 .def = ":9010",
	 .env = "CEEMS_TEST_PEER_LISTEN"},
	{.name = "log.format",
	 .kind = CONF_ENUM,
	 OFF(format),
	 .def = "logfmt",
	 .choices = formats},
	{.name = "web.address",
	 .kind = CONF_LIST,
	 OFF(listen),
	 .alias_of = "web.listen-address",
	 .flags = CONF_DEPRECATED},
	{.name = "debug.secret", .kind = CONF_BOOL, OFF(cpu), .flags = CONF_HIDDEN},
};
static char file_name[] = "/tmp/ceems-conf-test.XXXXXX";
#define N (sizeof(table) / sizeof(table[0]))

struct result {
	struct options o;
	struct err err;
	struct buf out, warnings;
	int rc;
};

static void done(struct result *r)
{
	conf_release(table, N, &r->o);
	buf_done(&r->out);
	buf_done(&r->warnings);
}
#define auto_result __attribute__((cleanup(done)))

static struct result load(const char *const *args)
{
	struct result r = {.rc = 0};
	char *argv[16] = {(char *)(uintptr_t) "ceemsd"};
	int argc = 1;

	for (; args && *args; args++)
		argv[argc++] = (char *)(uintptr_t)*args;
	r.rc = conf_load(table, N, "ceemsd", argc, argv, &r.o, &r.out, &r.warnings,
			 &r.err);
	return r;
}
#define LOAD(...) load((const char *const[]){__VA_ARGS__, NULL})

static struct result yaml_n(const char *text, size_t len)
{
	struct result r = {.rc = 0};
	r.rc = conf_load_yaml(table, N, text, len, "c.yaml", &r.o, &r.err);
	return r;
}

static struct result yaml(const char *text)
{
	return yaml_n(text, strlen(text));
}

static void put_file(const char *text)
{
	auto_close int fd =
		open(file_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
}

static void defaults_fill_every_kind(void **state)
{
	(void)state;
	auto_result struct result r = load(NULL);
	assert_int_equal(r.rc, 0);
	assert_true(r.o.slurm && r.o.cpu && !r.o.psi);
	assert_int_equal(r.o.slots, 4096);
	assert_int_equal(r.o.linger_ms, 60000);
	assert_int_equal(r.o.room_bytes, 256 << 20);
	assert_string_equal(r.o.path, "/proc");
	assert_string_equal(r.o.config_file, "");
	assert_int_equal(r.o.listen.count, 1);
	assert_string_equal(r.o.listen.items[0], ":9010");
	assert_int_equal(r.o.format, 0);
}

static void later_source_wins_over_earlier(void **state)
{
	(void)state;
	put_file("ring: {slots: 64}\nunit: {linger: 2s}\nspool.size: 1KiB\n");
	setenv("CEEMS_RING_SLOTS", "32", 1);
	setenv("CEEMS_UNIT_LINGER", "3s", 1);
	setenv("CEEMS_PATH_PROCFS", "/env/proc", 1);
	auto_result struct result r =
		LOAD("--config.file", file_name, "--ring.slots=128");
	unsetenv("CEEMS_RING_SLOTS");
	unsetenv("CEEMS_UNIT_LINGER");
	unsetenv("CEEMS_PATH_PROCFS");
	assert_string_equal(r.err.text, "");
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.o.slots, 128);           /* flag over file over variable */
	assert_int_equal(r.o.linger_ms, 2000);      /* file over variable */
	assert_string_equal(r.o.path, "/env/proc"); /* variable over default */
	assert_int_equal(r.o.room_bytes, 1024);
}

static void own_variable_wins_over_the_peers(void **state)
{
	(void)state;
	setenv("CEEMS_TEST_PEER_LISTEN", ":1", 1);
	auto_result struct result a = load(NULL);
	setenv("CEEMS_WEB_LISTEN_ADDRESS", " :2 ,:3,", 1);
	auto_result struct result b = load(NULL);
	setenv("CEEMS_WEB_LISTEN_ADDRESS", "", 1);
	auto_result struct result c = load(NULL);
	unsetenv("CEEMS_TEST_PEER_LISTEN");
	unsetenv("CEEMS_WEB_LISTEN_ADDRESS");
	assert_int_equal(a.o.listen.count, 1);
	assert_string_equal(a.o.listen.items[0], ":1");
	assert_int_equal(b.o.listen.count, 2);
	assert_string_equal(b.o.listen.items[0], ":2");
	assert_string_equal(b.o.listen.items[1], ":3");
	assert_string_equal(c.o.listen.items[0], ":1"); /* empty is unset */
}

static void variable_errors_name_the_variable(void **state)
{
	(void)state;
	setenv("CEEMS_RING_SLOTS", "many", 1);
	auto_result struct result r = load(NULL);
	unsetenv("CEEMS_RING_SLOTS");
	assert_int_equal(r.rc, -EINVAL);
	assert_string_equal(r.err.text, "CEEMS_RING_SLOTS: \"many\" is not a number");
}

static void command_line_takes_all_forms(void **state)
{
	(void)state;
	auto_result struct result r =
		LOAD("--ring.slots", "17", "--unit.linger=1m30s", "--no-collector.cpu",
		     "--collector.slurm=false", "--collector.slurm.psi-metrics",
		     "--log.format=json", "--path.procfs=");
	assert_string_equal(r.err.text, "");
	assert_int_equal(r.o.slots, 17);
	assert_int_equal(r.o.linger_ms, 90000);
	assert_true(!r.o.cpu && !r.o.slurm && r.o.psi);
	assert_int_equal(r.o.format, 1);
	assert_string_equal(r.o.path, "");
}

static void last_flag_wins_and_lists_append(void **state)
{
	(void)state;
	auto_result struct result r = LOAD(
		"--ring.slots=17", "--web.listen-address=:1", "--ring.slots=18",
		"--web.listen-address", ":2", "--collector.cpu", "--no-collector.cpu");
	assert_int_equal(r.o.slots, 18);
	assert_int_equal(r.o.listen.count, 2);
	assert_string_equal(r.o.listen.items[0], ":1");
	assert_string_equal(r.o.listen.items[1], ":2");
	assert_false(r.o.cpu);
}

static void command_line_list_replaces_the_files(void **state)
{
	(void)state;
	put_file("web:\n  listen-address: [':1', ':2']\n");
	auto_result struct result a = LOAD("--config.file", file_name);
	auto_result struct result b =
		LOAD("--config.file", file_name, "--web.address=:3");
	assert_int_equal(a.o.listen.count, 2);
	assert_int_equal(b.o.listen.count, 1);
	assert_string_equal(b.o.listen.items[0], ":3");
	assert_string_equal(b.warnings.data,
			    "--web.address: old name, use \"web.listen-address\"\n");
}

static void wrong_command_lines_say_what_is_wrong(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b, *text;
	} cases[] = {
		{"--ring.slot=1", NULL,
		 "unknown flag \"--ring.slot\" (did you mean \"--ring.slots\"?)"},
		{"--no-colector.cpu", NULL,
		 "unknown flag \"--no-colector.cpu\" (did you mean "
		 "\"--no-collector.cpu\"?)"},
		{"--collector.slrum", NULL,
		 "unknown flag \"--collector.slrum\" (did you mean "
		 "\"--collector.slurm\"?)"},
		{"--xyzzy", NULL, "unknown flag \"--xyzzy\" (see --help)"},
		{"--collector.k8s", NULL,
		 "--collector.k8s: comes with a later release"},
		{"--collector.k8s.psi-metrics", NULL,
		 "--collector.k8s.psi-metrics: comes with a later release"},
		{"--collector.k8", NULL,
		 "unknown flag \"--collector.k8\" (did you mean "
		 "\"--collector.k8s\"?)"},
		{"--ring.slots", NULL, "--ring.slots: needs a value, a number"},
		{"--ring.slots", "--collector.cpu",
		 "--ring.slots: needs a value, a number"},
		{"--ring.slots=", NULL, "--ring.slots: \"\" is not a number"},
		{"--ring.slots=15", NULL,
		 "--ring.slots: \"15\" is too small, the least is 16"},
		{"--ring.slots=65537", NULL,
		 "--ring.slots: \"65537\" is too large, the most is 65536"},
		{"--ring.slots=99999999999999999999", NULL,
		 "--ring.slots: \"99999999999999999999\" is too large"},
		{"--ring.slots=-1", NULL, "--ring.slots: \"-1\" is not a number"},
		{"--no-ring.slots", NULL,
		 "--no-ring.slots: only a switch can be negated"},
		{"--no-collector.cpu=yes", NULL, "--no-collector.cpu: takes no value"},
		{"--collector.cpu=maybe", NULL,
		 "--collector.cpu: \"maybe\" is not true or false"},
		{"--collector.cpu", "true", "unexpected argument \"true\""},
		{"-x", NULL, "unexpected argument \"-x\""},
		{"--", NULL, "unexpected argument \"--\""},
		{"--unit.linger=5", NULL,
		 "--unit.linger: \"5\" is not a duration (such as 15s or 1m30s)"},
		{"--unit.linger=2h", NULL,
		 "--unit.linger: \"2h\" is too large, the most is 3600000ms"},
		{"--spool.size=1XB", NULL,
		 "--spool.size: \"1XB\" is not a size (such as 64KiB or 1GB)"},
		{"--log.format=xml", NULL,
		 "--log.format: \"xml\" is not one of logfmt, json"},
		{"--config.file=/nonexistent/c.yaml", NULL,
		 "config.file: open /nonexistent/c.yaml: No such file or directory"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_result struct result r = LOAD(cases[i].a, cases[i].b);
		assert_true(r.rc < 0);
		assert_string_equal(r.err.text, cases[i].text);
		assert_null(r.o.path); /* released */
	}
}

static void list_is_bounded(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	buf_puts(&b, "web.listen-address:\n");
	for (int i = 0; i < CONF_LIST_MAX; i++)
		buf_printf(&b, "- ':%d'\n", i);
	auto_result struct result full = yaml(b.data);
	assert_int_equal(full.rc, 0);
	assert_int_equal(full.o.listen.count, CONF_LIST_MAX);
	buf_puts(&b, "- one more\n");
	auto_result struct result over = yaml(b.data);
	assert_int_equal(over.rc, -E2BIG);
	assert_string_equal(over.err.text,
			    "c.yaml:258: web.listen-address: more than 256 entries");
}

static void nested_and_dotted_keys_are_the_same(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"collector.slurm.psi-metrics: true\ncollector.slurm: false\n",
		"collector:\n  slurm:\n    enabled: false\n    psi-metrics: true\n",
		"collector:\n  slurm: no\n  slurm.psi-metrics: yes\n",
		"collector.slurm: {enabled: off, psi-metrics: on}\n",
		"collector: {slurm.enabled: 'false'}\n"
		"collector.slurm: {psi-metrics: 1}\n",
		"# text\n---\n{\"collector\": {\"slurm\": {\"enabled\": false, "
		"\"psi-metrics\": true}}}\n...\n",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		auto_result struct result r = {.o = {.slurm = true}};
		r.rc = conf_load_yaml(table, N, texts[i], strlen(texts[i]), "c.yaml",
				      &r.o, &r.err);
		assert_string_equal(r.err.text, "");
		assert_int_equal(r.rc, 0);
		assert_false(r.o.slurm);
		assert_true(r.o.psi);
	}
}

static void empty_values_leave_the_default(void **state)
{
	(void)state;
	static const char *const texts[] = {"",
					    "\n",
					    "# only a comment\n",
					    "---\n",
					    "---\n...\n",
					    "{}\n",
					    "null\n",
					    "collector:\n# slurm: true\nring:\n",
					    "ring.slots:\n",
					    "ring: {slots: ~}\n",
					    "web.listen-address: null\n"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		auto_result struct result r = {.o = {.slots = 99}};
		r.rc = conf_load_yaml(table, N, texts[i], strlen(texts[i]), "c.yaml",
				      &r.o, &r.err);
		assert_string_equal(r.err.text, "");
		assert_int_equal(r.rc, 0);
		assert_int_equal(r.o.slots, 99);
	}
}

static void wrong_files_name_line_and_key(void **state)
{
	(void)state;
	static const struct {
		const char *yaml, *text;
	} cases[] = {
		{"ring:\n  slots: 64\n  slotz: 1\n",
		 "c.yaml:3: unknown key \"ring.slotz\" (did you mean "
		 "\"ring.slots\"?)"},
		{"xyzzy: 1\n", "c.yaml:1: unknown key \"xyzzy\""},
		{"\ncollectr:\n  cpu: true\n",
		 "c.yaml:2: unknown key \"collectr\" (did you mean \"collector\"?)"},
		{"ring.slots.more: 1\n", "c.yaml:1: unknown key \"ring.slots.more\""},
		{"ring.enabled: 1\n", "c.yaml:1: unknown key \"ring.enabled\""},
		{"a: [1]\n", "c.yaml:1: unknown key \"a\""},
		{"ring: {slots: abc}\n",
		 "c.yaml:1: ring.slots: \"abc\" is not a number"},
		{"ring: {slots: 3}\n",
		 "c.yaml:1: ring.slots: \"3\" is too small, the least is 16"},
		{"ring: {slots: [64]}\n",
		 "c.yaml:1: ring.slots: wants a number, not a list"},
		{"ring: {slots: {a: 1}}\n",
		 "c.yaml:1: ring.slots: wants a number, not a mapping"},
		{"web.listen-address: {a: 1}\n",
		 "c.yaml:1: web.listen-address: wants a list, not a mapping"},
		{"web:\n  listen-address:\n  - ':1'\n  - [':2']\n",
		 "c.yaml:4: web.listen-address: entries of the list must be plain "
		 "values"},
		{"ring: 5\n", "c.yaml:1: ring: must be a mapping, not a value"},
		{"ring.slots: 64\nring:\n  slots: 65\n",
		 "c.yaml:3: duplicate key \"ring.slots\", set before in line 1"},
		{"collector.slurm: 1\ncollector.slurm.enabled: 1\n",
		 "c.yaml:2: duplicate key \"collector.slurm.enabled\", set before in "
		 "line 1"},
		{"web.address: ':1'\nweb.listen-address: ':1'\n",
		 "c.yaml:2: duplicate key \"web.listen-address\", set before in line "
		 "1"},
		{"a: &x 1\n",
		 "c.yaml:1: anchors and aliases (&, *) are not supported here"},
		{"ring:\n  slots: *x\n",
		 "c.yaml:2: anchors and aliases (&, *) are not supported here"},
		{"ring.slots: !!int 64\n",
		 "c.yaml:1: tags (\"tag:yaml.org,2002:int\") are not supported here"},
		{"ring.slots: 64\n---\nring.slots: 65\n",
		 "c.yaml:2: a second document, only one is allowed"},
		{"- 1\n", "c.yaml:1: the file must contain \"key: value\" lines"},
		{"just text\n", "c.yaml:1: the file must contain \"key: value\" lines"},
		{"? [1]\n: 2\n", "c.yaml:1: a key must be a word"},
		{"'': 2\n", "c.yaml:1: empty key"},
		{"path.procfs: \"a\\0b\"\n", "c.yaml:1: NUL in a text"},
		{"config.file: x\n",
		 "c.yaml:1: config.file: only on the command line or in the "
		 "environment"},
		{"ring:\n  slots: \"64\n",
		 "c.yaml:3: found unexpected end of stream, while scanning a quoted "
		 "scalar"},
		{"ring:\n\tslots: 1\n",
		 "c.yaml:2: found character that cannot start any token ("
		 "indent YAML with spaces, not with tabs)"},
		{"path.procfs: b: c\n",
		 "c.yaml:1: mapping values are not allowed in this context"},
		{"ring:\n  slots: \xff\xfe\n", "c.yaml:2: invalid leading UTF-8 octet"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		auto_result struct result r = yaml(cases[i].yaml);
		assert_string_equal(r.err.text, cases[i].text);
		assert_true(r.rc < 0);
	}
}

/* A table whose names are deeper than any of ours. */
static void nesting_is_bounded(void **state)
{
	(void)state;
	static const struct conf_opt deep[] = {
		{.name = "a.a.a.a.a.a.a.a", .kind = CONF_U64},
		{.name = "a.a.a.a.a.a.a.a.a", .kind = CONF_U64},
	};
	static const char at[] = "{a: {a: {a: {a: {a: {a: {a: {a: 1}}}}}}}}";
	static const char over[] = "{a: {a: {a: {a: {a: {a: {a: {a: {a: 1}}}}}}}}}";
	struct err err = {0};
	uint64_t v = 0;
	assert_int_equal(conf_load_yaml(deep, 2, at, strlen(at), "d", &v, &err), 0);
	assert_int_equal(v, 1);
	assert_int_equal(conf_load_yaml(deep, 2, over, strlen(over), "d", &v, &err),
			 -EINVAL);
	assert_string_equal(err.text, "d:1: nested deeper than 8");
	auto_buf struct buf b = BUF_INIT;
	for (int i = 0; i < 500000; i++)
		buf_puts(&b, "[");
	auto_result struct result r = yaml(b.data);
	assert_int_equal(r.rc, -EINVAL);
}

static void overlong_files_and_keys_are_refused(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	while (b.len < (1u << 20))
		buf_puts(&b, "# nothing to see here\n");
	auto_result struct result r = yaml(b.data);
	assert_int_equal(r.rc, -EFBIG);
	assert_string_equal(r.err.text, "c.yaml: longer than 1048576 bytes");
	put_file(b.data);
	auto_result struct result f = LOAD("--config.file", file_name);
	assert_int_equal(f.rc, -EFBIG);
	assert_non_null(strstr(f.err.text, "longer than 1048576 bytes"));
	buf_reset(&b);
	buf_puts(&b, "ring:\n  ");
	for (int i = 0; i < 200; i++)
		buf_putc(&b, 'k');
	buf_puts(&b, ": 1\n");
	auto_result struct result k = yaml(b.data);
	assert_int_equal(k.rc, -EINVAL);
	assert_non_null(strstr(k.err.text, "c.yaml:2: unknown key \"ring.kkk"));
}

static void help_groups_and_hides(void **state)
{
	(void)state;
	auto_result struct result r = LOAD("--xyzzy", "--help");
	assert_int_equal(r.rc, 1);
	assert_non_null(strstr(r.out.data, "Usage: ceemsd "));
	assert_non_null(strstr(r.out.data, "\ncollector:\n  --[no-]collector.slurm\n"
					   "        Slurm jobs (default: true)\n"));
	assert_non_null(strstr(r.out.data, "--log.format=logfmt|json"));
	assert_non_null(strstr(r.out.data, "--unit.linger=DURATION\n"));
	assert_null(strstr(r.out.data, "debug.secret"));
	assert_null(strstr(r.out.data, "web.address"));
	for (char *p = r.out.data, *nl; (nl = strchr(p, '\n')); p = nl + 1)
		assert_true(nl - p <= 80);
}

static void version_names_the_program(void **state)
{
	(void)state;
	auto_result struct result r = LOAD("--version");
	assert_int_equal(r.rc, 1);
	assert_string_equal(r.out.data, "ceemsd, version " CEEMS_VERSION "\n");
}

static void markdown_has_one_row_per_option(void **state)
{
	(void)state;
	auto_buf struct buf b = BUF_INIT;
	conf_markdown(table, N, &b);
	size_t rows = 0;
	for (const char *p = b.data; (p = strchr(p, '\n')); p++)
		rows++;
	assert_int_equal(rows, N - 1 + 2); /* what comes later is in none */
	assert_non_null(strstr(b.data,
			       "| `unit.linger` | duration | `60s` | "
			       "`CEEMS_UNIT_LINGER` | How long an ended unit stays "
			       "Changes at SIGHUP. |\n"));
	assert_non_null(strstr(b.data, "| `log.format` | logfmt\\|json | `logfmt` |"));
	assert_non_null(strstr(b.data, "Same as `web.listen-address`."));
}

static void equal_tells_options_apart(void **state)
{
	(void)state;
	auto_result struct result a = load(NULL);
	auto_result struct result b =
		LOAD("--unit.linger=61s", "--path.procfs=/p", "--log.format=json",
		     "--web.listen-address=:1", "--no-collector.cpu");
	static const bool same[N] = {true, true,  true,  false, true,  true, false,
				     true, false, false, false, false, false};
	for (size_t i = 0; i < N; i++) {
		assert_true(conf_equal(&table[i], &a.o, &a.o));
		assert_int_equal(conf_equal(&table[i], &a.o, &b.o), same[i]);
	}
}

static void file_that_is_missing_at_its_default_place_is_fine(void **state)
{
	(void)state;
	static const struct conf_opt with_default[] = {
		{.name = "config.file",
		 .kind = CONF_STRING,
		 .def = "/nonexistent/ceems/x.yaml"},
	};
	char *file = NULL;
	struct err err = {0};
	char *argv[] = {(char *)(uintptr_t) "p", NULL};
	assert_int_equal(
		conf_load(with_default, 1, "p", 1, argv, &file, NULL, NULL, &err), 0);
	assert_string_equal(file, "/nonexistent/ceems/x.yaml");
	conf_release(with_default, 1, &file);
}

static void broken_table_is_an_error_not_a_crash(void **state)
{
	(void)state;
	static const struct conf_opt bad[] = {
		{.name = "x", .kind = CONF_U64, .alias_of = "nothing"}};
	uint64_t v = 0;
	struct err err = {0};
	char *argv[] = {(char *)(uintptr_t) "p", (char *)(uintptr_t) "--x=1", NULL};
	assert_int_equal(conf_load(bad, 1, "p", 2, argv, &v, NULL, NULL, &err),
			 -EINVAL);
	assert_string_equal(err.text, "default of x: wrong option table");
}

static int setup(void **state)
{
	(void)state;
	int fd = mkstemp(file_name);
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(file_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_fill_every_kind),
		cmocka_unit_test(later_source_wins_over_earlier),
		cmocka_unit_test(own_variable_wins_over_the_peers),
		cmocka_unit_test(variable_errors_name_the_variable),
		cmocka_unit_test(command_line_takes_all_forms),
		cmocka_unit_test(last_flag_wins_and_lists_append),
		cmocka_unit_test(command_line_list_replaces_the_files),
		cmocka_unit_test(wrong_command_lines_say_what_is_wrong),
		cmocka_unit_test(list_is_bounded),
		cmocka_unit_test(nested_and_dotted_keys_are_the_same),
		cmocka_unit_test(empty_values_leave_the_default),
		cmocka_unit_test(wrong_files_name_line_and_key),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(overlong_files_and_keys_are_refused),
		cmocka_unit_test(help_groups_and_hides),
		cmocka_unit_test(version_names_the_program),
		cmocka_unit_test(markdown_has_one_row_per_option),
		cmocka_unit_test(equal_tells_options_apart),
		cmocka_unit_test(file_that_is_missing_at_its_default_place_is_fine),
		cmocka_unit_test(broken_table_is_an_error_not_a_crash),
	};
	return cmocka_run_group_tests_name("conf", tests, setup, teardown);
}
