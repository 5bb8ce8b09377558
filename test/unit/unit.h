/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNIT_H
#define CEEMS_TEST_UNIT_H
/* cmocka wants these before it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/magic.h>
#include <sys/vfs.h>

/* Files there are of this boot, whatever they say: boot ids are not compared. */
static inline bool is_tmpfs(const char *path)
{
	struct statfs fs;
	return statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

#endif
