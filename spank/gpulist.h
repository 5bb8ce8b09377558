/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_SPANK_GPULIST_H
#define CEEMS_SPANK_GPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists of gres indices as Slurm's environment has them ("0,2-3"). */

#define GPU_INDEX_MAX 256 /* indices above are refused: no node has that many */

/* Rewrites list as sorted ranges, so that even the longest list of a real node fits a
 * record. Returns 1 when it had to be cut at a whole range, else 0; -EINVAL (ret
 * untouched) when list is empty or is anything but indices and ranges. */
int gpulist_canonical(const char *list, char *ret, size_t size);

/* "shard:N" or "mps:PERCENT" from Slurm's own variables, each NULL or "" when not set.
 * false (ret = "") when neither says anything sensible. */
bool gpulist_share(const char *shards, const char *mps_percent, char *ret, size_t size);

#endif
