/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNIT_DROPINS_LAB_H
#define CEEMS_TEST_UNIT_DROPINS_LAB_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

/* A folder for each test, with an x.d for the drop-ins of x.yaml. */

static char folder[SCRATCH_PATH], main_file[SCRATCH_PATH + 16];

static inline int make_folder(void **state)
{
	(void)state;
	scratch_make(folder);
	scratch_mkdir(folder, "x.d");
	(void)snprintf(main_file, sizeof(main_file), "%s/x.yaml", folder);
	return 0;
}

static inline int remove_folder(void **state)
{
	(void)state;
	scratch_remove(folder);
	return 0;
}

static inline void put_file(const char *name, const char *text)
{
	char path[SCRATCH_PATH + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), 0640, NULL), 0);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

#endif
