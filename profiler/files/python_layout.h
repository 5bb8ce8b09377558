/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_PYTHON_LAYOUT_H
#define CEEMS_PROFILER_FILES_PYTHON_LAYOUT_H

#include "lib/records/profile_sample.h"

/* How frames of the CPython that an ELF file has in it are found: from 3.13 on as its
 * _Py_DebugOffsets says, of 3.9 to 3.12 as we know. 0; -ENODATA: it has none;
 * -EOPNOTSUPP: of another version, or one with free threads, whose ret->minor is set.
 */
int python_layout_read(int fd, struct profile_python *ret);

#endif
