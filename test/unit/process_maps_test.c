/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes as files in a folder, of files that their opener may not open. */
#include "profiler/process_maps.h"

#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "opener/profile.h"
#include "profiler/map_line.h"
#include "profiler/process_image.h"
#include "test/unit/readers.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

enum { ALICE = 1001, BOB, NOBODY = 65534, ROWS = 100000, NOW_S = 1000 };
#define PAGE UINT64_C(0x1000)
#define MIB (UINT64_C(1) << 20)

static char dir[SCRATCH_PATH];
static pid_t opener;
static struct door door;
static struct modules modules;
static struct unwind_row rows[ROWS];
static struct profile_module told[PROFILE_MODULES_MAX];
static struct profile_mapping found[PROFILE_MAPPINGS_MAX];

static void serve_requests(int link)
{
	const struct profile_service service = {
		.link = link,
		.procfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.requests = PROFILE_REQUESTS_OF_PROFILER,
		.any_process = true,
	};

	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		_exit(1);
	_exit(profile_serve(&service) < 0);
}

static int start_test(void **state)
{
	struct err err;
	int pair[2];
	(void)state;

	scratch_make(dir);
	assert_int_equal(chmod(dir, 0755), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
			 0);
	modules = (struct modules){.rows = rows, .row_room = ROWS, .told = told};
	assert_int_equal(reader_start("", &modules.reader, &err), 0);
	opener = fork();
	if (opener == 0) {
		close(pair[0]);
		serve_requests(pair[1]);
	}
	close(pair[1]);
	door = (struct door){.link = pair[0]};
	return 0;
}

static int stop_test(void **state)
{
	struct reader *reader = modules.reader;
	(void)state;

	close(door.link);
	(void)waitpid(opener, NULL, 0);
	modules_free(&modules);
	reader_end(reader);
	scratch_remove(dir);
	return 0;
}

static void put_file(uint32_t pid, const char *name, const char *text, uint64_t at)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%s/%u/%s", dir, pid, name);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, strlen(text), (off_t)at), strlen(text));
	assert_int_equal(ftruncate(fd, (off_t)(at + strlen(text))), 0);
}

static void make_process(uint32_t pid, uid_t uid)
{
	char path[2 * SCRATCH_PATH];

	(void)snprintf(path, sizeof(path), "%u", pid);
	scratch_mkdir(dir, path);
	(void)snprintf(path, sizeof(path), "%u/map_files", pid);
	scratch_mkdir(dir, path);
	/* nothing of it is found by those who may not look into it */
	(void)snprintf(path, sizeof(path), "%s/%u/map_files", dir, pid);
	assert_int_equal(chmod(path, 0), 0);
	(void)snprintf(path, sizeof(path), "%s/%u", dir, pid);
	if (geteuid() == 0)
		assert_int_equal(chown(path, uid, 0), 0);
}

/* An executable mapping of a file from its beginning on, and what it begins with */
static size_t add_mapping(char *maps, size_t len, size_t room, uint32_t pid,
			  uint64_t start, uint64_t size, unsigned inode,
			  const char *text)
{
	put_file(pid, "mem", text, start);
	put_file(pid, "mem", "", start + size);
	return len + (size_t)snprintf(maps + len, room - len,
				      "%08" PRIx64 "-%08" PRIx64
				      " r-xp 00000000 00:31 %u    /mnt/%u\n",
				      start, start + size, inode, inode);
}

static int look_at(uint32_t pid, const char *maps)
{
	struct err err;

	put_file(pid, "maps", maps, 0);
	return process_maps_read(&door, pid, &modules, NOW_S, found, &err);
}

/* Number of the module of a process's only file, which begins with text */
static uint32_t look_at_one(uint32_t pid, uid_t uid, const char *text)
{
	char maps[256];

	make_process(pid, uid);
	(void)add_mapping(maps, 0, sizeof(maps), pid, 0x10000, PAGE, 12, text);
	/* it may have been copied too early: others are as good */
	for (unsigned i = 0; i < MODULE_COPIES; i++)
		assert_int_equal(look_at(pid, maps), 1);
	return found[0].module;
}

static void ranks_of_a_program_share_it(void **state)
{
	(void)state;
	uint32_t module = look_at_one(71, ALICE, "a program");
	assert_int_equal(look_at_one(72, ALICE, "a program"), module);
	assert_int_equal(modules_image_bytes(&modules), PAGE);
}

static void another_program_is_not_taken_for_one_that_had_its_inode(void **state)
{
	char maps[256];
	(void)state;

	uint32_t module = look_at_one(71, ALICE, "a program");
	make_process(72, ALICE);
	(void)add_mapping(maps, 0, sizeof(maps), 72, 0x10000, PAGE, 12, "another");
	struct err err;
	put_file(72, "maps", maps, 0);
	assert_int_equal(
		process_maps_read(&door, 72, &modules, NOW_S + 61, found, &err), 1);
	assert_int_not_equal(found[0].module, module);
}

static void nobody_gets_names_from_another_users_closed_file(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	uint32_t module = look_at_one(71, ALICE, "a program");
	assert_int_not_equal(look_at_one(72, BOB, "a program"), module);
	/* nor from one that not even its process can read */
	make_process(73, ALICE);
	make_process(74, BOB);
	assert_int_equal(
		look_at(73, "20000-21000 r-xp 00000000 00:31 13    /mnt/alices\n"), 1);
	module = found[0].module;
	assert_int_equal(look_at(74, "20000-21000 r-xp 00000000 00:31 13    /mnt/b\n"),
			 1);
	assert_string_equal(modules.all[found[0].module].name, "b");
	assert_int_not_equal(found[0].module, module);
}

static void all_copies_of_memory_together_are_bounded(void **state)
{
	char maps[1024];
	size_t len = 0;
	(void)state;

	make_process(71, ALICE);
	for (unsigned i = 0; i < 3; i++)
		len = add_mapping(maps, len, sizeof(maps), 71,
				  0x10000000 + i * 16 * MIB, 10 * MIB, i + 1, "file");
	assert_int_equal(look_at(71, maps), 3);
	assert_int_equal(modules_image_bytes(&modules), 20 * MIB);
	/* a smaller one fits still */
	(void)add_mapping(maps, 0, sizeof(maps), 71, 0x10000000, 3 * MIB, 4, "file");
	assert_int_equal(look_at(71, maps), 1);
	assert_int_equal(modules_image_bytes(&modules), 23 * MIB);
	assert_true(modules_image_bytes(&modules) <= MODULES_IMAGES_MAX);
}

static void no_user_keeps_all_memory_for_copies(void **state)
{
	char maps[1024];
	size_t len = 0;
	(void)state;

	if (geteuid() != 0)
		skip();
	make_process(71, ALICE);
	for (unsigned i = 0; i < 3; i++)
		len = add_mapping(maps, len, sizeof(maps), 71,
				  0x10000000 + i * 16 * MIB, 8 * MIB, i + 1, "file");
	assert_int_equal(look_at(71, maps), 3);
	assert_int_equal(modules_image_bytes(&modules), MODULES_IMAGES_MAX);
	make_process(72, BOB);
	(void)add_mapping(maps, 0, sizeof(maps), 72, 0x10000000, 8 * MIB, 4, "file");
	assert_int_equal(look_at(72, maps), 1);
	assert_true(modules.all[found[0].module].fd >= 0);
	assert_true(modules_image_bytes(&modules) <= MODULES_IMAGES_MAX);
	/* who had most gets what is left, and no more */
	make_process(73, ALICE);
	(void)add_mapping(maps, 0, sizeof(maps), 73, 0x10000000, 10 * MIB, 5, "file");
	assert_int_equal(look_at(73, maps), 1);
	assert_true(modules.all[found[0].module].fd < 0);
}

static uint64_t size_of_our_vdso(void)
{
	auto_fclose FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	struct map_line l;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (map_line_parse(line, &l) && map_line_is_vdso(&l))
			return l.end - l.start;
	}
	return 0;
}

static void the_vdso_is_the_kernels_whatever_a_process_says(void **state)
{
	uint64_t size = size_of_our_vdso();
	struct stat st;
	(void)state;

	if (!size)
		skip();

	make_process(71, ALICE);
	assert_int_equal(look_at(71, "10000-10800 r-xp 00000000 00:00 0    [vdso]\n"),
			 1);
	const struct module *o = &modules.all[found[0].module];
	assert_true(o->fd >= 0 && fstat(o->fd, &st) == 0);
	assert_true(o->segment_count > 0);
	assert_true((uint64_t)st.st_size <= size);
	assert_true((uint64_t)st.st_size + PAGE > size);
}

/* behind: so many mappings of no file */
static void list_many(char *maps, size_t room, unsigned behind, unsigned count)
{
	size_t len = 0;

	for (unsigned i = 0; i < behind; i++)
		len += (size_t)snprintf(maps + len, room - len,
					"00001000-00001001 rw-p 00000000 00:00 0 \n");
	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(maps + len, room - len,
					"%08" PRIx64 "-%08" PRIx64
					" r-xp 00000000 00:31 %u    /mnt/%u\n",
					MIB + i * PAGE, MIB + (i + 1) * PAGE, i + 1, i);
}

/* Such a process of a file that opens, from its beginning on: the library that has a
 * function */
static uint32_t look_at_library(uint32_t pid, uid_t uid, const void *function)
{
	char path[2 * SCRATCH_PATH], maps[128];
	struct err err;
	Dl_info info;

	make_process(pid, uid);
	(void)snprintf(path, sizeof(path), "%s/%u/map_files", dir, pid);
	assert_int_equal(chmod(path, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/%u/map_files/10000-11000", dir, pid);
	assert_true(dladdr(function, &info) != 0);
	assert_int_equal(symlink(info.dli_fname, path), 0);
	(void)snprintf(maps, sizeof(maps),
		       "00010000-00011000 r-xp 00000000 00:31 %" PRIuPTR
		       "    /library\n",
		       (uintptr_t)info.dli_fbase >> 12);
	put_file(pid, "maps", maps, 0);
	assert_int_equal(process_maps_read(&door, pid, &modules, NOW_S, found, &err),
			 1);
	return found[0].module;
}

static const void *in_c_library(void)
{
	return (const void *)(uintptr_t)fopen;
}

static void lose_reader_of(uid_t uid)
{
	auto_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct reader_names names;

	assert_int_equal(reader_read_names(modules.reader, fd, uid, 0, &names), 0);
	assert_int_equal(signal_readers(SIGKILL), 1);
	assert_true(reader_read_names(modules.reader, fd, uid, 0, &names) < 0);
}

static void a_user_who_has_to_wait_makes_no_other_wait_for_rows(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	lose_reader_of(ALICE);
	uint32_t module = look_at_library(71, ALICE, in_c_library());
	assert_int_equal(told[module].count, 0);
	assert_int_equal(look_at_library(72, BOB, in_c_library()), module);
	assert_true(told[module].count > 0);
}

static unsigned meanwhiles;

static void count_meanwhile(void *arg)
{
	(void)arg;
	meanwhiles++;
}

static void a_look_at_one_process_takes_its_time_from_no_other(void **state)
{
	enum { FILES = 1500 };
	static char maps[1 << 22];
	struct err err;
	int first, second = 0;
	(void)state;

	make_process(71, ALICE);
	list_many(maps, sizeof(maps), 30000, FILES); /* which takes long each time */
	put_file(71, "maps", maps, 0);
	put_file(71, "mem", "", MIB + FILES * PAGE);
	door.meanwhile = count_meanwhile;
	meanwhiles = 0;
	first = process_maps_read(&door, 71, &modules, NOW_S, found, &err);
	assert_true(first > 0 && first < FILES);
	/* samples of others have been taken in again and again */
	assert_true(meanwhiles >= (unsigned)first);
	/* what is copied from memory is once more for some looks */
	for (unsigned i = 0; i <= MODULE_COPIES && second <= first; i++)
		second = process_maps_read(&door, 71, &modules, NOW_S, found, &err);
	assert_true(second > first);
}

static void who_has_most_rows_makes_room_for_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	uint32_t large = look_at_library(71, ALICE, in_c_library());
	assert_true(told[large].count > 0);
	modules.row_room = told[large].count + 1; /* all is seen at present */
	uint32_t small = look_at_library(72, BOB, (const void *)(uintptr_t)dwarf_begin);
	assert_true(told[small].count > 1);
	assert_int_equal(told[large].count, 0);
	/* who has less is not driven out again */
	assert_int_equal(look_at_library(73, ALICE, in_c_library()), large);
	assert_int_equal(told[large].count, 0);
	assert_true(told[small].count > 1);
}

static void a_process_that_hides_is_its_users_not_roots(void **state)
{
	(void)state;
	make_process(71, 0); /* as prctl(PR_SET_DUMPABLE, 0) makes it */
	put_file(71, "status", "Name:\tx\nUid:\t1001\t1001\t1001\t1001\n", 0);
	assert_int_equal(
		look_at(71, "20000-21000 r-xp 00000000 00:31 13    /mnt/file\n"), 1);
	if (geteuid() != 0)
		skip();
	assert_int_equal(modules.all[found[0].module].uid, ALICE);
}

/* As often as there is more to be seen */
static int look_at_all(uint32_t pid, const char *maps)
{
	int count = 0, last;

	do {
		last = count;
		count = look_at(pid, maps);
	} while (count > last);
	return count;
}

static void no_user_has_all_places_for_files(void **state)
{
	static char maps[1 << 20];
	(void)state;

	if (geteuid() != 0)
		skip();
	list_many(maps, sizeof(maps), 0, PROFILE_MAPPINGS_MAX);
	make_process(71, ALICE);
	assert_int_equal(look_at_all(71, maps), PROFILE_MODULES_MAX / 2);
	make_process(72, BOB);
	assert_int_equal(look_at_all(72, maps), PROFILE_MODULES_MAX / 4);
	assert_int_equal(look_at_all(71, maps), PROFILE_MODULES_MAX / 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start_test, stop_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ranks_of_a_program_share_it),
		TEST(another_program_is_not_taken_for_one_that_had_its_inode),
		TEST(nobody_gets_names_from_another_users_closed_file),
		TEST(all_copies_of_memory_together_are_bounded),
		TEST(no_user_keeps_all_memory_for_copies),
		TEST(the_vdso_is_the_kernels_whatever_a_process_says),
		TEST(a_look_at_one_process_takes_its_time_from_no_other),
		TEST(a_user_who_has_to_wait_makes_no_other_wait_for_rows),
		TEST(who_has_most_rows_makes_room_for_another_user),
		TEST(no_user_has_all_places_for_files),
		TEST(a_process_that_hides_is_its_users_not_roots),
	};
	return cmocka_run_group_tests_name("process_maps_test", tests, NULL, NULL);
}
