/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which debug files ceems-profiler asks for, and what it does when they come. */
#include "profiler/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/records/spool.h"
#include "profiler/modules.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

enum { ALICE = 1001, BOB, MODULES = 400 };

/* What readers say: nothing is read here. */
static enum reader_debug_file answer;
static int answer_rc;
static unsigned asked;

int __wrap_reader_read_debug(struct reader *r, int fd, uint32_t uid,
			     struct reader_debug *ret);
int __wrap_reader_read_debug(struct reader *r, int fd, uint32_t uid,
			     struct reader_debug *ret)
{
	(void)r, (void)uid;
	asked++;
	if (answer_rc < 0)
		return answer_rc;
	*ret = (struct reader_debug){
		.file = answer,
		.id = {.len = 8, .bytes = {1, 2, (uint8_t)fd, (uint8_t)(fd >> 8)}}};
	return 0;
}

static unsigned forgotten;
void __wrap_reader_forget_file(struct reader *r, int fd);
void __wrap_reader_forget_file(struct reader *r, int fd)
{
	(void)r, (void)fd;
	forgotten++;
}

static char scratch[SCRATCH_PATH];
static struct debug_files d;
static struct module all[MODULES];
static struct modules m;
static char name[] = "program";

static int begin_test(void **state)
{
	(void)state;
	scratch_make(scratch);
	memset(all, 0, sizeof(all));
	d = (struct debug_files){.folder = scratch};
	m = (struct modules){.all = all, .count = 1};
	all[0] = (struct module){.name = name, .fd = 3, .uid = ALICE, .sampled = true};
	answer = READER_DEBUG_MISSING;
	answer_rc = 0;
	asked = forgotten = 0;
	return 0;
}

static int end_test(void **state)
{
	(void)state;
	name_cache_free(&m.names);
	debug_files_close(&d);
	scratch_remove(scratch);
	return 0;
}

/* What is in the queue since the last call */
static unsigned count_queued(enum debug_file_news news)
{
	char folder[SCRATCH_PATH + 16];
	struct spool_reader *r = NULL;
	struct spool_record record;
	struct build_id id;
	struct err err;
	uint64_t seq = 0;
	unsigned n = 0;

	(void)snprintf(folder, sizeof(folder), "%s/%s", scratch, DEBUG_FILE_QUEUE);
	if (spool_reader_open(folder, &r, &err) < 0)
		return 0;
	while (spool_next(r, &record, &err) > 0) {
		n += debug_file_decode(record.data, record.len, &id) == (int)news;
		seq = record.seq;
	}
	if (seq)
		assert_int_equal(spool_ack(r, seq, &err), 0);
	spool_reader_close(r);
	return n;
}

/* The file for a module's id comes, by another name first as ceems-courier does it. */
static void let_file_come(const char *text)
{
	char path[SCRATCH_PATH + DEBUG_FILE_PATH_BYTES],
		relative[DEBUG_FILE_PATH_BYTES];
	struct err err;

	debug_file_path(&all[0].debug.id, relative);
	(void)snprintf(path, sizeof(path), "%s/.build-id", scratch);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/%.12s", scratch, relative);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/%s", scratch, relative);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), 0600, &err), 0);
}

static void a_missing_file_is_asked_for_once_an_hour(void **state)
{
	(void)state;
	debug_files_look(&d, &m, 1000, false);
	debug_files_look(&d, &m, 1001, false);
	debug_files_look(&d, &m, 1010, false);
	assert_int_equal(asked, 1);
	assert_int_equal(count_queued(DEBUG_FILE_WANTED), 1);
	debug_files_look(&d, &m, 1000 + 3599, false);
	assert_int_equal(count_queued(DEBUG_FILE_WANTED), 0);
	debug_files_look(&d, &m, 1000 + 3602, false);
	assert_int_equal(count_queued(DEBUG_FILE_WANTED), 1);
	assert_int_equal(d.wanted, 2);
}

static void what_was_in_no_stack_or_needs_none_is_not_told(void **state)
{
	(void)state;
	all[0].sampled = false;
	debug_files_look(&d, &m, 1000, false);
	assert_int_equal(asked, 0);
	all[0].sampled = true;
	answer = READER_DEBUG_NEEDLESS;
	debug_files_look(&d, &m, 1010, false);
	debug_files_look(&d, &m, 1020, false);
	assert_int_equal(asked, 1);
	assert_int_equal(count_queued(DEBUG_FILE_WANTED), 0);
	assert_int_equal(d.wanted, 0);
}

static void without_a_folder_nothing_is_looked_at(void **state)
{
	(void)state;
	d.folder = "";
	debug_files_look(&d, &m, 1000, true);
	assert_int_equal(asked, 0);
}

static void what_came_is_read_and_names_are_forgotten(void **state)
{
	const struct reader_names names = {.count = 1, .len = 2, .text = "f"};
	struct name_list found;

	(void)state;
	debug_files_look(&d, &m, 1000, false);
	assert_int_equal(name_cache_add(&m.names, 0, 0x1234, &names), 0);
	let_file_come(""); /* the server has none */
	debug_files_look(&d, &m, 1010, false);
	assert_int_equal(forgotten, 0);
	assert_int_equal(name_cache_find(&m.names, 0, 0x1234, &found), 1);
	let_file_come("\177ELF");
	answer = READER_DEBUG_FETCHED;
	debug_files_look(&d, &m, 1020, false);
	assert_int_equal(forgotten, 1);
	assert_int_equal(name_cache_find(&m.names, 0, 0x1234, &found), 0);
	assert_int_equal(asked, 2);
	assert_int_equal(all[0].debug.file, READER_DEBUG_FETCHED);
	/* that it is used is told, so that it stays */
	(void)count_queued(DEBUG_FILE_WANTED);
	debug_files_look(&d, &m, 5000, false);
	assert_int_equal(count_queued(DEBUG_FILE_USED), 1);
}

static void file_of_another_program_is_tried_once(void **state)
{
	(void)state;
	debug_files_look(&d, &m, 1000, false);
	let_file_come("\177ELF of another build");
	for (uint32_t s = 1010; s < 1100; s += 10)
		debug_files_look(&d, &m, s, false);
	assert_int_equal(asked, 2);
	assert_int_equal(forgotten, 1);
	let_file_come("\177ELF of another one");
	for (uint32_t s = 1100; s < 1200; s += 10)
		debug_files_look(&d, &m, s, false);
	assert_int_equal(asked, 3);
}

static void fetched_file_that_costs_a_reader_is_given_up(void **state)
{
	(void)state;
	debug_files_look(&d, &m, 1000, false);
	assert_false(debug_files_give_up(&all[0].debug)); /* there was none */
	let_file_come("\177ELF");
	answer = READER_DEBUG_FETCHED;
	debug_files_look(&d, &m, 1010, false);
	assert_true(debug_files_give_up(&all[0].debug));
	assert_false(debug_files_give_up(&all[0].debug));
	for (uint32_t s = 1020; s < 1100; s += 10)
		debug_files_look(&d, &m, s, false);
	assert_int_equal(asked, 2);
	assert_true(all[0].debug.refused);
	let_file_come("\177ELF that is another");
	debug_files_look(&d, &m, 1100, false);
	assert_int_equal(asked, 3);
	assert_false(all[0].debug.refused);
}

static void reader_that_is_lost_is_asked_no_more(void **state)
{
	(void)state;
	answer_rc = -EBUSY; /* the user has to wait */
	debug_files_look(&d, &m, 1000, false);
	answer_rc = -ETIMEDOUT;
	debug_files_look(&d, &m, 1010, false);
	debug_files_look(&d, &m, 1020, false);
	assert_int_equal(asked, 2);
	assert_int_equal(count_queued(DEBUG_FILE_WANTED), 0);
}

static void one_user_cannot_ask_for_everything(void **state)
{
	uint32_t now_s = 1000;

	(void)state;
	m.count = MODULES;
	for (int i = 0; i < MODULES; i++)
		all[i] = (struct module){.name = name,
					 .fd = 3 + i,
					 .uid = i == MODULES - 1 ? BOB : ALICE,
					 .sampled = true};
	for (unsigned i = 0; i <= MODULES / 16; i++)
		debug_files_look(&d, &m, now_s += 2, false);
	assert_int_equal(asked, MODULES); /* no more than 16 in one go */
	assert_int_equal(d.wanted, DEBUG_FILES_AN_HOUR + 1);
	assert_int_equal(all[MODULES - 1].debug.tell_s > now_s + 3000, 1);
	assert_true(d.refused > 0);
	/* the next hour the others have their turn */
	debug_files_look(&d, &m, now_s + 3600, false);
	assert_true(d.wanted > DEBUG_FILES_AN_HOUR + 100);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		T(a_missing_file_is_asked_for_once_an_hour),
		T(what_was_in_no_stack_or_needs_none_is_not_told),
		T(without_a_folder_nothing_is_looked_at),
		T(what_came_is_read_and_names_are_forgotten),
		T(file_of_another_program_is_tried_once),
		T(fetched_file_that_costs_a_reader_is_given_up),
		T(reader_that_is_lost_is_asked_no_more),
		T(one_user_cannot_ask_for_everything),
	};
	return cmocka_run_group_tests_name("debug_files_test", tests, NULL, NULL);
}
