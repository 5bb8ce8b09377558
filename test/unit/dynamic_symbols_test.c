/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C library as it is, beside a copy without sections. */
#include "profiler/files/dynamic_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "profiler/files/unwind_table.h"
#include "test/unit/unit.h"

#define MOST (1u << 20)

static int open_library(void)
{
	Dl_info info;

	assert_true(dladdr((void *)(uintptr_t)fopen, &info) != 0);
	int fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* moved_by: as a loader does that writes addresses of the process into .dynamic */
static int copy_without_sections(int from, uint64_t moved_by)
{
	static char bytes[1 << 16];
	int fd = memfd_create("copy", MFD_CLOEXEC);
	Elf64_Ehdr head;
	Elf64_Phdr p;
	Elf64_Dyn d;
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(fs_write_all(fd, bytes, (size_t)n), 0);
	assert_int_equal(lseek(from, 0, SEEK_SET), 0);
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	head.e_shoff = head.e_shnum = head.e_shstrndx = 0;
	head.e_entry = moved_by ? moved_by : head.e_entry;
	assert_int_equal(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	for (int i = 0; moved_by && i < head.e_phnum; i++) {
		off_t at = (off_t)(head.e_phoff + (uint64_t)i * sizeof(p));
		assert_int_equal(pread(fd, &p, sizeof(p), at), sizeof(p));
		for (uint64_t o = 0; p.p_type == PT_DYNAMIC && o < p.p_filesz;
		     o += sizeof(d)) {
			at = (off_t)(p.p_offset + o);
			assert_int_equal(pread(fd, &d, sizeof(d), at), sizeof(d));
			if (d.d_tag == DT_SYMTAB || d.d_tag == DT_STRTAB ||
			    d.d_tag == DT_GNU_HASH || d.d_tag == DT_HASH)
				d.d_un.d_ptr += moved_by;
			assert_int_equal(pwrite(fd, &d, sizeof(d), at), sizeof(d));
		}
	}
	return fd;
}

static void check_symbols(uint64_t moved_by)
{
	auto_close int fd = open_library();
	auto_close int copy = copy_without_sections(fd, moved_by);
	struct symbols by_section = {0}, by_segment = {0};

	(void)elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Elf *bare = elf_begin(copy, ELF_C_READ_MMAP, NULL);
	assert_true(symbols_add(&by_section, elf, SHT_DYNSYM, MOST) > 1000);
	assert_true(symbols_add(&by_segment, bare, SHT_DYNSYM, MOST) <= 0);
	assert_int_equal(dynamic_symbols_add(&by_segment, bare, MOST),
			 by_section.count);
	for (size_t i = 0; i < by_section.count; i++) {
		assert_int_equal(by_segment.all[i].address, by_section.all[i].address);
		assert_int_equal(by_segment.all[i].size, by_section.all[i].size);
		assert_string_equal(by_segment.all[i].name, by_section.all[i].name);
	}
	symbols_free(&by_segment);
	assert_int_equal(dynamic_symbols_add(&by_segment, bare, 10), 10);
	symbols_free(&by_segment);
	symbols_free(&by_section);
	(void)elf_end(bare);
	(void)elf_end(elf);
}

static void a_file_without_sections_has_its_names(void **state)
{
	(void)state;
	check_symbols(0);
}

static void addresses_of_a_process_are_those_of_the_file(void **state)
{
	(void)state;
	check_symbols(0x7f0000000000);
}

/* Where frames do not describe the linkage table, a section alone tells of it: the row
 * of it and the one behind. */
#ifdef __x86_64__
#define ROWS_OF_SECTIONS 0
#else
#define ROWS_OF_SECTIONS 2
#endif

static void a_file_without_sections_has_its_rows(void **state)
{
	auto_close int fd = open_library();
	auto_close int copy = copy_without_sections(fd, 0);
	struct unwind_table whole, bare;
	struct err err;
	(void)state;

	assert_int_equal(unwind_table_read(fd, MOST, &whole, &err), 0);
	assert_int_equal(unwind_table_read(copy, MOST, &bare, &err), 0);
	assert_true(whole.count > 1000);
	uint32_t same = 0;
	for (uint32_t i = 0; i < whole.count && same < bare.count; i++)
		same += memcmp(&bare.rows[same], &whole.rows[i], sizeof(*whole.rows)) ==
			0;
	assert_int_equal(same, bare.count);
	assert_int_equal(whole.count - bare.count, ROWS_OF_SECTIONS);
	unwind_table_free(&bare);
	unwind_table_free(&whole);
}

static void a_file_that_is_cut_has_none(void **state)
{
	auto_close int fd = open_library();
	auto_close int copy = copy_without_sections(fd, 0);
	struct symbols s = {0};
	(void)state;

	assert_int_equal(ftruncate(copy, 4096), 0);
	(void)elf_version(EV_CURRENT);
	Elf *bare = elf_begin(copy, ELF_C_READ_MMAP, NULL);
	assert_true(dynamic_symbols_add(&s, bare, MOST) <= 0);
	assert_int_equal(s.count, 0);
	symbols_free(&s);
	(void)elf_end(bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_sections_has_its_names),
		cmocka_unit_test(addresses_of_a_process_are_those_of_the_file),
		cmocka_unit_test(a_file_without_sections_has_its_rows),
		cmocka_unit_test(a_file_that_is_cut_has_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
