/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_SPANK_GPULIST_H
#define CEEMS_SPANK_GPULIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists of GRES indices as in Slurm's environment ("0,2-3"). */

#define GPU_INDEX_MAX 256 /* larger indices are refused: no node has that many */

/* Rewrites list as sorted ranges, so that even the longest real list fits a record. 1:
 * it had to be cut, at a whole range; 0; -EINVAL (ret untouched): empty, or anything
 * but indices and ranges. */
int gpulist_canonical(const char *list, char *ret, size_t size);

/* "shard:N" or "mps:PERCENT" from Slurm's variables; each is NULL or "" if not set.
 * False (ret = ""): neither has a usable value. */
bool gpulist_share(const char *shards, const char *mps_percent, char *ret, size_t size);

#endif
