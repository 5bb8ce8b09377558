/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_GPU_HOLD_H
#define CEEMS_LIB_RECORDS_GPU_HOLD_H

/* Files in ceemsd's run directory by which `ceems_tool gpu release` has the driver let
 * go. */

/* While it exists ceems-gpu is ended, and not started. Made and removed by root. */
#define GPU_RELEASE_NAME "gpu-release"
/* Made by ceemsd; ceems-gpu has a shared flock(2) on it as long as it uses the driver.
 */
#define GPU_LOCK_NAME "gpu-lock"

#endif
