/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_JOBCOMP_NAMES_H
#define CEEMS_JOBCOMP_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Names of users and groups, cached for ten minutes: a name service may be slow, and a
 * cluster has more jobs than users. One thread. */

#define NAMES_SLOTS 512u
#define NAMES_TEXT_MAX 64u
#define NAMES_KEEP_NS 600000000000ull

struct names {
	struct names_slot {
		uint64_t until_ns; /* CLOCK_BOOTTIME; 0: empty */
		uint32_t id;
		char text[NAMES_TEXT_MAX]; /* "": it has none */
	} users[NAMES_SLOTS], groups[NAMES_SLOTS];
};

/* "" if there is none. Borrowed until the next call. */
const char *names_user(struct names *n, uint32_t uid, uint64_t now_ns);
const char *names_group(struct names *n, uint32_t gid, uint64_t now_ns);

#endif
