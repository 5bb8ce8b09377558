/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tool/check.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/elfsym.h"
#include "lib/clock.h"
#include "lib/records/ring.h"
#include "test/ring_files.h"
#include "test/unit/unit.h"

/* ---- slurm.conf ------------------------------------------------------------------ */

static char included[64];
static unsigned included_line;

static int note_include(void *data, const char *name, unsigned line)
{
	(void)data;
	snprintf(included, sizeof(included), "%s", name);
	included_line = line;
	return 0;
}

static struct slurmconf parse(const char *text)
{
	struct slurmconf c = {0};
	struct err err = {""};
	assert_int_equal(
		slurmconf_parse(&c, text, strlen(text), "f", note_include, NULL, &err),
		0);
	return c;
}

static const char *value(const struct slurmconf *c, const char *key)
{
	const struct slurmconf_pair *p = slurmconf_get(c, key);
	return p ? p->value : NULL;
}

static void lines_are_read_as_slurm_reads_them(void **state)
{
	(void)state;
	auto_slurmconf struct slurmconf c =
		parse("# Comment=no\n"
		      "NodeName=n1 CPUs=4   Gres=gpu:1\tState=UNKNOWN # Weight=1\n"
		      "Key = spaced\n"
		      "QUOTED=\"a b # not a comment? \"x\n"
		      "long=a,\\\nb,\\\r\nc\r\n"
		      "Twice=1\ntwice=2\n"
		      "Plus+=x\n"
		      "Empty=\n"
		      "  INCLUDE   sub/other.conf # why\n"
		      "Includes=3\n"
		      "=lost\nJustAWord\nlast=\\");
	assert_string_equal(value(&c, "nodename"), "n1");
	assert_string_equal(value(&c, "cpus"), "4");
	assert_string_equal(value(&c, "GRES"), "gpu:1");
	assert_string_equal(value(&c, "state"), "UNKNOWN");
	assert_null(value(&c, "Weight"));
	assert_null(value(&c, "Comment"));
	assert_string_equal(value(&c, "key"), "spaced");
	assert_string_equal(value(&c, "long"), "a,b,c");
	assert_string_equal(value(&c, "Twice"), "2");
	assert_string_equal(value(&c, "plus"), "x");
	assert_string_equal(value(&c, "empty"), "");
	assert_string_equal(value(&c, "includes"), "3");
	assert_null(value(&c, "JustAWord"));
	assert_string_equal(value(&c, "last"), "");
	assert_int_equal(slurmconf_get(&c, "long")->line, 5);
	assert_int_equal(slurmconf_get(&c, "Twice")->line, 9);
	assert_string_equal(included, "sub/other.conf");
	assert_int_equal(included_line, 12);
}

static void number_of_settings_is_bounded(void **state)
{
	(void)state;
	auto_slurmconf struct slurmconf c = {0};
	auto_buf struct buf b = BUF_INIT;
	struct err err = {""};
	for (unsigned i = 0; i < SLURMCONF_PAIRS_MAX; i++)
		buf_puts(&b, "a=1\n");
	assert_int_equal(
		slurmconf_parse(&c, b.data, b.len, "f", note_include, NULL, &err), 0);
	assert_int_equal(slurmconf_parse(&c, "b=2\n", 4, "f", note_include, NULL, &err),
			 -E2BIG);
	assert_string_equal(err.text, "f:1: more than 65536 settings");
}

static void names_match_whole_words_in_any_case(void **state)
{
	(void)state;
	assert_true(slurmconf_names("task/affinity,task/CGROUP", "task/", "cgroup"));
	assert_true(slurmconf_names("affinity, cgroup", "task/", "cgroup"));
	assert_false(slurmconf_names("task/cgroups", "task/", "cgroup"));
	assert_false(slurmconf_names("cgroup/task", "task/", "cgroup"));
	assert_false(slurmconf_names("", "task/", "cgroup"));
	assert_true(slurmconf_names("Alloc,contain", NULL, "Contain"));
	assert_false(slurmconf_names("nocontain", NULL, "Contain"));
}

static void paths_are_beside_their_file(void **state)
{
	(void)state;
	static const char *const cases[][3] = {{"/a/b.conf", "c", "/a/c"},
					       {"/a/b.conf", "/x/c", "/x/c"},
					       {"b.conf", "c", "c"},
					       {"d/b.conf", "e/c", "d/e/c"}};
	for (size_t i = 0; i < 4; i++) {
		char *p = path_beside(cases[i][0], cases[i][1]);
		assert_string_equal(p, cases[i][2]);
		free(p);
	}
}

/* ---- versions and plugin files --------------------------------------------------- */

static void versions_are_read_whole(void **state)
{
	(void)state;
	char text[32];
	assert_int_equal(check_parse_version("22.05.8"), 0x160508);
	assert_int_equal(check_parse_version("24.11.5\n"), 0x180b05);
	assert_int_equal(check_parse_version("26.05.0-0rc1"), 0x1a0500);
	assert_int_equal(check_parse_version("26.05.4-0pre1"), 0x1a0504);
	static const char *const bad[] = {"",      "22",       "22.05",   "22.05.",
					  "a.b.c", "22.05.8x", "999.1.1", "-1.2.3"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(check_parse_version(bad[i]), 0);
	check_version_text(0x180b05, text);
	assert_string_equal(text, "24.11.5");
}

/* The least shared object: header, one symbol, its name, its value. */
struct object {
	Elf64_Ehdr e;
	Elf64_Shdr s[4]; /* none, .dynsym, .dynstr, .rodata */
	Elf64_Sym sym[2];
	char names[16];
	uint32_t value;
};

static struct object object(void)
{
	struct object o = {.e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
					     ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
				 .e_type = ET_DYN,
				 .e_shoff = offsetof(struct object, s),
				 .e_shentsize = sizeof(Elf64_Shdr),
				 .e_shnum = 4},
			   .s = {[1] = {.sh_type = SHT_DYNSYM,
					.sh_offset = offsetof(struct object, sym),
					.sh_size = sizeof(o.sym),
					.sh_link = 2},
				 [2] = {.sh_type = SHT_STRTAB,
					.sh_offset = offsetof(struct object, names),
					.sh_size = sizeof(o.names)},
				 [3] = {.sh_type = SHT_PROGBITS,
					.sh_addr = 0x5000,
					.sh_offset = offsetof(struct object, value),
					.sh_size = 4}},
			   .sym = {[1] = {.st_name = 1,
					  .st_shndx = 3,
					  .st_value = 0x5000,
					  .st_size = 4}},
			   .names = "\0plugin_version",
			   .value = 0x160508};
	return o;
}

static void symbol_is_read_from_a_shared_object(void **state)
{
	(void)state;
	struct object o = object();
	struct err err = {""};
	uint32_t v = 0;
	assert_int_equal(elfsym_u32(&o, sizeof(o), "plugin_version", &v, &err), 0);
	assert_int_equal(v, 0x160508);
	assert_int_equal(elfsym_u32(&o, sizeof(o), "plugin", &v, &err), -ENOENT);
	assert_int_equal(elfsym_u32(&o, sizeof(o), "plugin_versions", &v, &err),
			 -ENOENT);
	o.sym[1].st_size = 8;
	assert_int_equal(elfsym_u32(&o, sizeof(o), "plugin_version", &v, &err),
			 -ENOENT);
	o = object();
	o.e.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(elfsym_u32(&o, sizeof(o), "plugin_version", &v, &err),
			 -EINVAL);
}

/* Cut anywhere it is refused; with any field changed nothing outside is read (which a
 * sanitizer build sees, and valgrind). */
static void cut_and_changed_objects_are_harmless(void **state)
{
	(void)state;
	struct object o = object();
	uint32_t v;
	for (size_t len = 0; len < offsetof(struct object, value) + 4; len++) {
		char *cut = malloc(len ? len : 1);
		memcpy(cut, &o, len);
		assert_true(elfsym_u32(cut, len, "plugin_version", &v, NULL) < 0);
		free(cut);
	}
	for (size_t at = 0; at < sizeof(o); at++) {
		static const unsigned char bytes[] = {0, 1, 0x7f, 0x80, 0xff};
		for (size_t b = 0; b < sizeof(bytes); b++) {
			unsigned char *p = malloc(sizeof(o));
			memcpy(p, &o, sizeof(o));
			p[at] = bytes[b];
			int rc = elfsym_u32(p, sizeof(o), "plugin_version", &v, NULL);
			assert_true(rc == 0 || rc == -ENOENT || rc == -EINVAL);
			free(p);
		}
	}
}

/* ---- rings ----------------------------------------------------------------------- */

static char ring_path[] = "/tmp/ceems-check-test.XXXXXX/ring";

static char *report(int *ret_status)
{
	char *text = NULL;
	size_t len = 0;
	struct findings f = {.out = open_memstream(&text, &len)};
	assert_non_null(f.out);
	check_ring(ring_path, geteuid(), true, &f);
	*ret_status = findings_end(&f);
	fclose(f.out);
	return text;
}

static void expect(int status, const char *what)
{
	int got;
	char *text = report(&got);
	if (!strstr(text, what))
		assert_string_equal(text, what);
	assert_int_equal(got, status);
	free(text);
}

static void ring_report_follows_its_health(void **state)
{
	(void)state;
	struct ring r;
	struct err err;
	bool made;
	int rc = ring_consumer_open(ring_path, RING_SLOTS_MIN, &r, &made, &err);
	assert_string_equal(rc < 0 ? err.text : "", "");
	__atomic_store_n(&r.header->heartbeat_ns, 0, __ATOMIC_RELAXED);
	expect(2, "fail: ");
	expect(2, "ceemsd has never read it");
	__atomic_store_n(&r.header->heartbeat_ns, clock_boottime_ns(),
			 __ATOMIC_RELAXED);
	expect(0, "ceemsd is reading it, 0 of 16 slots in use");
	for (unsigned i = 0; i < RING_SLOTS_MIN + 3; i++)
		(void)ring_send(ring_path, geteuid(), "x", 1, &err);
	__atomic_store_n(&r.header->heartbeat_ns, clock_boottime_ns(),
			 __ATOMIC_RELAXED);
	expect(1, "warn: ");
	expect(1, "3 records were refused because it was full; see that ceemsd");
	expect(1, "16 of 16 slots in use");
	__atomic_store_n(&r.header->torn, 2, __ATOMIC_RELAXED);
	expect(1, "2 records were begun and not finished");
	__atomic_store_n(&r.header->heartbeat_ns,
			 clock_boottime_ns() - 60 * NSEC_PER_SEC, __ATOMIC_RELAXED);
	expect(2, " s ago, 16 records wait, room for 16; start ceemsd");
	ring_consumer_close(&r);
	assert_int_equal(chmod(ring_path, 0644), 0);
	expect(2, "mode 0644");
	assert_int_equal(chmod(ring_path, 0600), 0);
	assert_int_equal(truncate(ring_path, 100), 0);
	expect(2, "restart ceemsd, which replaces it");
	assert_int_equal(remove_ring(ring_path), 0);
	expect(2, "there is no ring; start ceemsd on this node");
}

static void findings_count_and_stay_on_one_line(void **state)
{
	(void)state;
	char *text = NULL;
	size_t len = 0;
	struct findings f = {.out = open_memstream(&text, &len)};
	finding(&f, LEVEL_OK, NULL, "a%cb", '\n');
	finding(&f, LEVEL_WARN, "do \033[1m", "w");
	assert_int_equal(findings_end(&f), 1);
	fclose(f.out);
	assert_string_equal(text, "ok: a?b\nwarn: w; do ?[1m\n"
				  "1 ok, 1 to look at, 0 wrong\n");
	free(text);
}

static int setup(void **state)
{
	(void)state;
	*strrchr(ring_path, '/') = '\0';
	bool made = mkdtemp(ring_path);
	ring_path[strlen(ring_path)] = '/';
	return made ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	remove_ring(ring_path);
	*strrchr(ring_path, '/') = '\0';
	return rmdir(ring_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read_as_slurm_reads_them),
		cmocka_unit_test(number_of_settings_is_bounded),
		cmocka_unit_test(names_match_whole_words_in_any_case),
		cmocka_unit_test(paths_are_beside_their_file),
		cmocka_unit_test(versions_are_read_whole),
		cmocka_unit_test(symbol_is_read_from_a_shared_object),
		cmocka_unit_test(cut_and_changed_objects_are_harmless),
		cmocka_unit_test(ring_report_follows_its_health),
		cmocka_unit_test(findings_count_and_stay_on_one_line),
	};
	return cmocka_run_group_tests_name("cli_check", tests, setup, teardown);
}
