/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are no good, read by children that may be lost (reader_test.c). */
#include "profiler/files/reader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"
#include "test/unit/unit.h"

#define ROWS 200000u
enum { ALICE = 1001, BOB };

static struct unwind_row rows[ROWS];

void reader_files_test_marker(void);
__attribute__((noinline)) void reader_files_test_marker(void)
{
	__asm__ volatile("");
}

static uint64_t marker_address(void)
{
	extern const char __executable_start;

	return (uint64_t)(uintptr_t)reader_files_test_marker -
	       (uint64_t)(uintptr_t)&__executable_start;
}

/* A copy of this program on a disk, whose name is gone */
static int copy_self(void)
{
	char path[] = "/tmp/reader_files_test.XXXXXX", all[65536];
	auto_close int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = mkstemp(path);
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	unlink(path);
	while ((n = read(from, all, sizeof(all))) > 0)
		assert_int_equal(write(to, all, (size_t)n), n);
	return to;
}

static Elf64_Ehdr head_of(int fd)
{
	Elf64_Ehdr h;

	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	return h;
}

static void change_head(int fd, const Elf64_Ehdr *h)
{
	assert_int_equal(pwrite(fd, h, sizeof(*h), 0), sizeof(*h));
}

static struct reader *start_reader(void)
{
	struct reader *r = NULL;
	struct err err = {""};

	assert_int_equal(reader_start("", &r, &err), 0);
	return r;
}

static void expect_marker(struct reader *r, int fd, uint32_t uid)
{
	struct reader_names names;

	assert_int_equal(reader_read_names(r, fd, uid, marker_address(), &names), 0);
	assert_true(names.count >= 1);
	assert_string_equal(names.text, "reader_files_test_marker");
}

static void expect_others(struct reader *r)
{
	auto_close int fd = copy_self();
	struct reader_table table;

	assert_int_equal(reader_read_table(r, fd, BOB, ROWS, rows, &table), 0);
	assert_true(table.rows > 100);
	expect_marker(r, fd, BOB);
	reader_forget_file(r, fd);
}

static void a_file_that_is_cut_while_it_is_read_loses_its_names(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = copy_self();
	struct reader_names names;

	(void)state;
	expect_marker(r, fd, ALICE);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(reader_read_names(r, fd, ALICE, marker_address(), &names) < 0);
	assert_int_equal(names.count, 0);
	assert_int_equal(reader_get_counts(r).died, 1);
	expect_others(r);
	assert_int_equal(reader_get_counts(r).died, 1);
	reader_end(r);
}

static void a_sparse_file_of_5_gb_has_its_names(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = copy_self();
	struct reader_table table;

	(void)state;
	assert_int_equal(ftruncate(fd, INT64_C(5) << 30), 0);
	assert_int_equal(reader_read_table(r, fd, ALICE, ROWS, rows, &table), 0);
	assert_true(table.rows > 100);
	expect_marker(r, fd, ALICE);
	/* sections in a hole of it */
	Elf64_Ehdr h = head_of(fd);
	h.e_shoff = UINT64_C(4) << 30;
	change_head(fd, &h);
	reader_forget_file(r, fd);
	(void)reader_read_table(r, fd, ALICE, ROWS, rows, &table);
	expect_others(r);
	reader_end(r);
}

/* As of one that unpacks itself: what its loader reads is not in the file. */
static void drop_segments(int fd, const Elf64_Ehdr *h)
{
	for (unsigned i = 0; i < h->e_phnum; i++) {
		off_t at = (off_t)(h->e_phoff + i * sizeof(Elf64_Phdr));
		Elf64_Phdr p;
		assert_int_equal(pread(fd, &p, sizeof(p), at), sizeof(p));
		if (p.p_type != PT_DYNAMIC && p.p_type != PT_GNU_EH_FRAME)
			continue;
		p.p_type = PT_NULL;
		assert_int_equal(pwrite(fd, &p, sizeof(p), at), sizeof(p));
	}
}

static void a_packed_program_has_its_segments_alone(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = copy_self();
	struct reader_table table;
	struct reader_names names;
	Elf64_Ehdr h = head_of(fd);

	(void)state;
	h.e_shoff = 0;
	h.e_shnum = h.e_shstrndx = 0;
	change_head(fd, &h);
	/* without sections it is read as its loader does */
	assert_int_equal(reader_read_table(r, fd, ALICE, ROWS, rows, &table), 0);
	assert_int_equal(table.rows_status, 0);
	assert_true(table.rows > 100);
	drop_segments(fd, &h);
	reader_forget_file(r, fd);
	assert_int_equal(reader_read_table(r, fd, ALICE, ROWS, rows, &table), 0);
	assert_true(table.segment_count >= 1);
	assert_int_equal(table.rows_status, -ENODATA);
	assert_int_equal(reader_read_names(r, fd, ALICE, marker_address(), &names), 0);
	assert_int_equal(names.count, 0);
	assert_int_equal(reader_get_counts(r).died, 0);
	reader_end(r);
}

/* All sections lie over each other, or are as long as the file, or say that they are
 * parts of one another: whatever comes of it, others have their names. */
static void sections_that_overlap_cost_their_file_alone(void **state)
{
	struct reader *r = start_reader();

	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		auto_close int fd = copy_self();
		Elf64_Ehdr h = head_of(fd);
		struct reader_table table;
		struct reader_names names;
		struct stat st;
		unsigned state_of = seed;

		assert_int_equal(fstat(fd, &st), 0);
		for (unsigned i = 1; i < h.e_shnum; i++) {
			Elf64_Shdr s;
			off_t at = (off_t)(h.e_shoff + i * sizeof(s));
			assert_int_equal(pread(fd, &s, sizeof(s), at), sizeof(s));
			switch (rand_r(&state_of) % 6) {
			case 0:
				s.sh_offset = 0;
				break;
			case 1:
				s.sh_size = (uint64_t)st.st_size;
				break;
			case 2:
				s.sh_link = (uint32_t)rand_r(&state_of) % h.e_shnum;
				break;
			case 3:
				s.sh_entsize = (uint64_t)rand_r(&state_of) % 40;
				break;
			case 4:
				s.sh_flags |= SHF_COMPRESSED;
				break;
			}
			assert_int_equal(pwrite(fd, &s, sizeof(s), at), sizeof(s));
		}
		/* each of another user's, or they would have to wait */
		(void)reader_read_table(r, fd, 5000 + seed, ROWS, rows, &table);
		for (uint64_t a = 0; a < 20; a++) {
			if (reader_read_names(r, fd, 5000 + seed,
					      marker_address() + a * 64, &names) < 0)
				break;
		}
		reader_forget_file(r, fd);
	}
	expect_others(r);
	assert_int_equal(reader_get_counts(r).late, 0);
	reader_end(r);
}

static void a_directory_and_a_socket_are_no_files(void **state)
{
	struct reader *r = start_reader();
	auto_close int dir = open("/", O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	struct reader_table table;

	(void)state;
	assert_int_equal(reader_read_table(r, dir, ALICE, ROWS, rows, &table),
			 -ENOEXEC);
	expect_others(r);
	reader_end(r);
}

/* ---- perf maps ------------------------------------------------------------------- */

static int make_map(const char *text)
{
	char path[] = "/tmp/reader_files_test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	return fd;
}

static void code_of_a_perf_map_has_its_name_also_when_it_grows(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = make_map("7f0000001000 40 LazyCompile:~inner a.js:1\n");
	struct reader_names names;
	static const char more[] = "7f0000002000 20 later\n";

	(void)state;
	assert_int_equal(reader_read_jit_name(r, fd, ALICE, 0x7f000000103f, &names), 0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.text, "LazyCompile:~inner a.js:1");
	assert_int_equal(write(fd, more, sizeof(more) - 1), sizeof(more) - 1);
	sleep(1); /* it is looked at once a second */
	assert_int_equal(reader_read_jit_name(r, fd, ALICE, 0x7f0000002000, &names), 0);
	assert_int_equal(names.count, 1);
	assert_string_equal(names.text, "later");
	reader_end(r);
}

static void a_perf_map_that_is_too_large_is_not_read(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = make_map("1000 40 f\n");
	struct reader_names names;

	(void)state;
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_int_equal(reader_read_jit_name(r, fd, ALICE, 0x1000, &names), 0);
	assert_int_equal(names.count, 0);
	reader_end(r);
}

static void a_perf_map_that_is_cut_costs_itself_its_names(void **state)
{
	struct reader *r = start_reader();
	auto_close int fd = make_map("1000 40 f\n");
	struct reader_names names;

	(void)state;
	assert_int_equal(reader_read_jit_name(r, fd, ALICE, 0x1000, &names), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_true(reader_read_jit_name(r, fd, ALICE, 0x1000, &names) < 0);
	assert_int_equal(reader_read_jit_name(r, fd, ALICE, 0x1000, &names), -EBUSY);
	expect_others(r);
	reader_end(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_cut_while_it_is_read_loses_its_names),
		cmocka_unit_test(a_sparse_file_of_5_gb_has_its_names),
		cmocka_unit_test(a_packed_program_has_its_segments_alone),
		cmocka_unit_test(sections_that_overlap_cost_their_file_alone),
		cmocka_unit_test(a_directory_and_a_socket_are_no_files),
		cmocka_unit_test(code_of_a_perf_map_has_its_name_also_when_it_grows),
		cmocka_unit_test(a_perf_map_that_is_too_large_is_not_read),
		cmocka_unit_test(a_perf_map_that_is_cut_costs_itself_its_names),
	};

	return cmocka_run_group_tests_name("reader_files", tests, NULL, NULL);
}
