/* SPDX-License-Identifier: GPL-2.0-or-later */
/* This program has what the profiler looks for in a CPython: _PyRuntime and its
 * version. A copy of it, changed, is another one. */
#include "profiler/files/python_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "profiler/python_codes.h"
#include "test/unit/unit.h"

enum { WORDS = 96, VERSION_3_13 = 0x030d02f0, VERSION_3_14 = 0x030e00f0 };
#define COOKIE 0x7970677562656478ull /* "xdebugpy" */

extern volatile uint64_t _PyRuntime[WORDS];
volatile uint64_t _PyRuntime[WORDS] = {
	COOKIE,     VERSION_3_13, 0,         [5] = 632, [9] = 7344, [21] = 8,
	[23] = 72,  [24] = 152,   [29] = 8,  [30] = 0,  [33] = 70,  [35] = 112,
	[37] = 128, [39] = 68,    [69] = 16, [70] = 40,
};
extern const volatile unsigned long Py_Version;
const volatile unsigned long Py_Version = VERSION_3_13;

/* A copy with other words of _PyRuntime, and another version */
static int open_python(const uint64_t *words, unsigned long version)
{
	auto_close int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(self, &st), 0);
	auto_free char *all = malloc((size_t)st.st_size);
	assert_int_equal(read(self, all, (size_t)st.st_size), st.st_size);
	char *at = memmem(all, (size_t)st.st_size, (const void *)_PyRuntime,
			  sizeof(_PyRuntime));
	assert_non_null(at);
	memcpy(at, words, sizeof(_PyRuntime));
	/* of .rodata: a word of its own */
	unsigned long was = VERSION_3_13;
	for (char *v = all;
	     (v = memmem(v, (size_t)(all + st.st_size - v), &was, sizeof(was)));
	     v += sizeof(was)) {
		if (v < at || v >= at + sizeof(_PyRuntime))
			memcpy(v, &version, sizeof(version));
	}
	int fd = memfd_create("python", MFD_CLOEXEC);
	assert_int_equal(write(fd, all, (size_t)st.st_size), st.st_size);
	return fd;
}

static void copy_words(uint64_t to[WORDS])
{
	for (int i = 0; i < WORDS; i++)
		to[i] = _PyRuntime[i];
}

static void offsets_of_3_13_are_its_own(void **state)
{
	uint64_t words[WORDS];
	struct profile_python p;

	(void)state;
	copy_words(words);
	words[21] = 16;
	auto_close int fd = open_python(words, Py_Version);
	assert_int_equal(python_layout_read(fd, &p), 0);
	assert_int_equal(p.minor, 13);
	assert_int_equal(p.thread_next, 16);
	assert_int_equal(p.thread_frame, 72);
	assert_int_equal(p.thread_id, 152);
	assert_int_equal(p.frame_previous, 8);
	assert_int_equal(p.code_file, 112);
	assert_int_equal(p.code_name, 128);
	assert_int_equal(p.text, 40);
	assert_int_equal(p.entry, PYTHON_ENTRY_SHIM);
	assert_int_equal(p.interpreters & 0xfff, ((uintptr_t)_PyRuntime + 632) & 0xfff);
}

static int read_changed(int word, uint64_t value, unsigned long version)
{
	uint64_t words[WORDS];
	struct profile_python p = {0};

	copy_words(words);
	words[word] = value;
	auto_close int fd = open_python(words, version);
	return python_layout_read(fd, &p);
}

static void free_threads_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_changed(2, 1, Py_Version), -EOPNOTSUPP);
}

static void other_versions_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_changed(3, 0, 0x030f00f0), -EOPNOTSUPP);
	assert_int_equal(read_changed(3, 0, 0x030800f0), -EOPNOTSUPP);
	assert_int_equal(read_changed(3, 0, 0x040900f0), -EOPNOTSUPP);
	/* of 3.14, with the offsets of 3.13 */
	assert_int_equal(read_changed(3, 0, VERSION_3_14), -EOPNOTSUPP);
	assert_int_equal(read_changed(1, VERSION_3_14, Py_Version), -EOPNOTSUPP);
}

static void no_debug_offsets_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_changed(0, 0, Py_Version), -EOPNOTSUPP);
	assert_int_equal(read_changed(9, 1u << 20, Py_Version), -EOPNOTSUPP);
}

static void older_versions_are_known(void **state)
{
	uint64_t words[WORDS] = {0};
	struct profile_python p;

	(void)state;
	auto_close int fd = open_python(words, 0x030b07f0);
	assert_int_equal(python_layout_read(fd, &p), 0);
	assert_int_equal(p.minor, 11);
	assert_int_equal(p.entry, PYTHON_ENTRY_FLAG);
	assert_int_equal(p.has_cframe, 1);
}

static void a_program_that_is_no_python_has_none(void **state)
{
	struct profile_python p;

	(void)state;
	auto_close int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);
	auto_close int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(python_layout_read(fd, &p), -ENODATA);
	assert_int_equal(python_layout_read(none, &p), -ENODATA);
}

static void a_code_object_has_its_name_and_the_end_of_its_path(void **state)
{
	struct python_codes c = {0};
	struct python_code code = {
		.head.process = 7,
		.word = 0x123000,
		.name = "Solver.step",
		.file = "/opt/app/linalg/__init__.py",
	};

	(void)state;
	assert_int_equal(python_codes_find(&c, 7, code.word), -ENOENT);
	assert_true(python_codes_add(&c, &code));
	int n = python_codes_find(&c, 7, code.word | PYTHON_WORD_ENTRY);
	assert_true(n >= 0);
	assert_string_equal(python_codes_name(&c, (uint32_t)n),
			    "Solver.step (linalg/__init__.py)");
	assert_int_equal(python_codes_find(&c, 8, code.word), -ENOENT);
	assert_null(python_codes_name(&c, 99));
	python_codes_free(&c);
}

static void names_of_any_bytes_are_text(void **state)
{
	struct python_codes c = {0};
	struct python_code code = {.head.process = 7, .word = 16};

	(void)state;
	memset(code.name, 0xff, sizeof(code.name));
	memset(code.file, '/', sizeof(code.file));
	assert_true(python_codes_add(&c, &code));
	const char *name = python_codes_name(&c, 0);
	assert_true(utf8_is_text(name, strlen(name)));
	python_codes_free(&c);
}

static void more_codes_than_there_is_room_keep_the_first(void **state)
{
	struct python_codes c = {0};
	struct python_code code = {.head.process = 7, .name = "f", .file = "a.py"};

	(void)state;
	for (uint64_t i = 0; i < PYTHON_CODES_MAX; i++) {
		code.word = i << 4;
		assert_true(python_codes_add(&c, &code));
	}
	code.word = (uint64_t)PYTHON_CODES_MAX << 4;
	assert_false(python_codes_add(&c, &code));
	assert_true(python_codes_find(&c, 7, 0) >= 0);
	python_codes_free(&c);
}

/* A code of a process whose name is of it, and the number of that name */
static int add_code_of(struct python_codes *c, uint32_t process)
{
	struct python_code code = {
		.head.process = process, .word = 0x7000, .file = "a.py"};

	(void)snprintf(code.name, sizeof(code.name), "f%u", process);
	return python_codes_add(c, &code) ? python_codes_find(c, process, code.word)
					  : -ENOSPC;
}

static void processes_come_and_go_for_ever_and_have_names(void **state)
{
	enum { INTERVAL_S = 10 };
	struct python_codes c = {0};
	uint32_t process = 0, now_s = 1000;
	char wanted[64];
	int turns = 0;
	(void)state;

	for (int interval = 0; interval < 40; interval++, now_s += INTERVAL_S) {
		int numbers[2] = {-1, -1};
		uint32_t first = process + 1;
		for (unsigned i = 0; i < PYTHON_CODES_MAX / 4; i++) {
			int n = add_code_of(&c, ++process);
			assert_true(n >= 0);
			numbers[i > 0] = n;
		}
		/* its stacks are written; nobody has numbers of before */
		for (unsigned i = 0; i < 2; i++) {
			(void)snprintf(wanted, sizeof(wanted), "f%u (a.py)",
				       i ? process : first);
			assert_string_equal(python_codes_name(&c, (uint32_t)numbers[i]),
					    wanted);
		}
		turns += python_codes_turn(&c, now_s, now_s + INTERVAL_S);
	}
	assert_true(turns > 5);
	python_codes_free(&c);
}

static void long_names_are_bounded_together(void **state)
{
	struct name_generations g = {0};
	char name[1024];
	unsigned count = 0;
	(void)state;

	memset(name, 'x', sizeof(name));
	while (count < GENERATION_NAMES_MAX) {
		(void)snprintf(name, 16, "%08x", count);
		name[8] = 'x'; /* no NUL */
		if (name_generations_add(&g, name, sizeof(name)) < 0)
			break;
		count++;
	}
	assert_int_equal(count, GENERATION_TEXT_MAX / (sizeof(name) + 1) + 1);
	assert_true(name_generations_may_turn(&g, count, 1));
	name_generations_turn(&g, 1);
	assert_true(name_generations_add(&g, name, sizeof(name)) >= 0);
	name_generations_free(&g);
	assert_int_equal(name_generations_bytes(&g), 0);
}

static void a_number_of_long_ago_has_no_other_name(void **state)
{
	struct python_codes c = {0};
	uint32_t process = 1, now_s = 10;
	int old = add_code_of(&c, 1);
	(void)state;

	for (int turn = 0; turn < 3; turn++, now_s += 10) {
		assert_false(python_codes_turn(&c, now_s + 5, now_s)); /* no need */
		while (add_code_of(&c, ++process) >= 0)
			;
		/* there are stacks of before the last turn */
		assert_false(turn && python_codes_turn(&c, now_s - 10, now_s));
		assert_true(python_codes_turn(&c, now_s - 5, now_s));
		const char *name = python_codes_name(&c, (uint32_t)old);
		if (turn == 0)
			assert_string_equal(name, "f1 (a.py)");
		else
			assert_null(name);
	}
	python_codes_free(&c);
}

static void the_loop_is_known_by_its_name(void **state)
{
	(void)state;
	assert_true(python_is_loop("_PyEval_EvalFrameDefault"));
	assert_true(python_is_loop("_PyEval_EvalFrameDefault.cold"));
	assert_true(python_is_loop("_TAIL_CALL_BINARY_OP"));
	assert_false(python_is_loop("_PyEval_EvalFrame"));
	assert_false(python_is_loop(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_of_3_13_are_its_own),
		cmocka_unit_test(free_threads_are_refused),
		cmocka_unit_test(other_versions_are_refused),
		cmocka_unit_test(no_debug_offsets_are_refused),
		cmocka_unit_test(older_versions_are_known),
		cmocka_unit_test(a_program_that_is_no_python_has_none),
		cmocka_unit_test(a_code_object_has_its_name_and_the_end_of_its_path),
		cmocka_unit_test(names_of_any_bytes_are_text),
		cmocka_unit_test(more_codes_than_there_is_room_keep_the_first),
		cmocka_unit_test(processes_come_and_go_for_ever_and_have_names),
		cmocka_unit_test(a_number_of_long_ago_has_no_other_name),
		cmocka_unit_test(long_names_are_bounded_together),
		cmocka_unit_test(the_loop_is_known_by_its_name),
	};

	return cmocka_run_group_tests_name("python_layout", tests, NULL, NULL);
}
