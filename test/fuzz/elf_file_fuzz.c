/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a program that is profiled: its call frame information, its segments and
 * its names. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/buf.h"
#include "profiler/files/elf_file.h"
#include "profiler/files/file_names.h"
#include "profiler/files/python_layout.h"
#include "profiler/files/unwind_table.h"
#include "profiler/python_codes.h"

#define MOST 4096

static void check_rows(int fd)
{
	struct unwind_table t;
	struct err err;

	if (unwind_table_read(fd, MOST, &t, &err) < 0 && (t.rows || t.count))
		abort();
	if (t.count > MOST)
		abort();
	for (size_t i = 0; i < t.count; i++) {
		if (i && t.rows[i].pc <= t.rows[i - 1].pc)
			abort();
		if (unwind_table_find(&t, t.rows[i].pc) != &t.rows[i])
			abort();
	}
	unwind_table_free(&t);
}

static void check_names(int fd)
{
	struct file_names n;
	struct reader_names names;

	file_names_open(fd, "/none", NULL, &n);
	for (size_t i = 0; i < n.symbols.count && i < MOST; i++) {
		uint32_t ends = 0;
		file_names_find(&n, n.symbols.all[i].address, &names);
		for (uint32_t k = 0; k < names.len; k++)
			ends += !names.text[k];
		if (names.count > READER_NAMES_MAX || names.len > sizeof(names.text) ||
		    ends != names.count)
			abort();
	}
	file_names_find(&n, 0, &names);
	file_names_close(&n);
}

/* The same bytes as what a process says of a Python function */
static void check_python(int fd, const uint8_t *data, size_t size)
{
	struct profile_python python;
	struct python_codes codes = {0};
	struct python_code code = {.word = 0};

	int rc = python_layout_read(fd, &python);
	if (rc == 0 && (python.minor < 9 || python.minor > 14))
		abort();
	memcpy(&code, data, size < sizeof(code) ? size : sizeof(code));
	if (python_codes_add(&codes, &code)) {
		const char *name = python_codes_name(&codes, 0);
		if (!name || !utf8_is_text(name, strlen(name)))
			abort();
	}
	python_codes_free(&codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	struct err err;
	int fd = memfd_create("elf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (elf_file_segments(fd, segments, &err) > ELF_SEGMENTS_MAX)
		abort();
	check_rows(fd);
	check_names(fd);
	check_python(fd, data, size);
	close(fd);
	return 0;
}
