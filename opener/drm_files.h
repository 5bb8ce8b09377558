/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_DRM_FILES_H
#define CEEMS_OPENER_DRM_FILES_H

#include <stdint.h>

#include "lib/err.h"

/* What DRM drivers tell of the files that a process has open below /dev/dri, in a file
 * in memory as PROFILE_REQUEST_DRM has it: its descriptor. -ENODATA: there are none. To
 * *left_out it adds the files that are beyond the bounds or cannot be read, whatever it
 * returns. The kernel may let it wait for as long as a driver hangs. */
int drm_files_copy(int process, uint32_t *left_out, struct err *err);

#endif
