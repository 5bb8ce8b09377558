/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_CACCT_WHEN_H
#define CEEMS_CLI_CACCT_WHEN_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "lib/err.h"

/* Times and durations as sacct's users read and write them. Local time by TZ. */

#define WHEN_TEXT_MAX 64

/* A moment, in sacct's words (parse_time() of Slurm, looking into the past):
 *   HH:MM[:SS] [AM|PM]   MMDD[YY]   MM/DD[/YY]   MM.DD[.YY]
 *   YYYY-MM-DD[THH:MM[:SS]]   today tomorrow   midnight noon fika elevenses teatime
 *   now[{+|-}COUNT[seconds|minutes|hours|days|weeks]]   utsSECONDS
 * ignoring case; a date and a time may be combined in either order. A time alone is
 * today's; a month still to come is last year's. -EINVAL with the text: none of these;
 * -ERANGE: before 1970 or not representable. */
int when_parse(const char *text, time_t now, time_t *ret, struct err *err);

/* Midnight before now, local time. */
time_t when_midnight(time_t now);

#define WHEN_SIZE 32 /* fits the results of the functions below with their NUL */

/* "2026-11-21T23:59:01", local time. */
void when_print(time_t t, char ret[WHEN_SIZE]);

/* Converts seconds from a number of any size, for when_print_span(). */
static inline uint64_t when_seconds(double s)
{
	return !(s > 0) ? 0 : s < 1e15 ? (uint64_t)s : (uint64_t)1e15;
}

/* "[D-]HH:MM:SS", as Slurm writes elapsed times. */
void when_print_span(uint64_t seconds, char ret[WHEN_SIZE]);

#endif
