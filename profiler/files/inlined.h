/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_INLINED_H
#define CEEMS_PROFILER_FILES_INLINED_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

/* Functions that were inlined, by DWARF (5, 3.3.8). Which unit and which function an
 * address is in is looked up in tables of ours: compilers leave .debug_aranges out, and
 * libdw's dwarf_getscopes() does not look into namespaces, where Rust has all
 * functions. */
struct die_range {
	uint64_t low, high;
	Dwarf_Off die;
};

struct die_ranges {
	struct die_range *all; /* sorted by low */
	size_t count, room;
};

enum { INLINED_UNITS_MAX = 64 };

struct inlined {
	Dwarf *dwarf;
	struct die_ranges units;
	struct {
		Dwarf_Off unit;
		struct die_ranges functions;
	} seen[INLINED_UNITS_MAX]; /* units that were asked for, the last over the first
				    */
	unsigned seen_count;
};

/* elf: with .debug_info, stays open. 0, -ENODATA: there is none; -ENOMEM, -E2BIG. */
int inlined_open(Elf *elf, struct inlined *ret);
/* Symbols of the functions that are inlined at an address, the innermost first, and
 * last that of the function that they are in. Returns how many; more than most: 0.
 * Valid until it is closed. */
unsigned inlined_find(struct inlined *in, uint64_t address, unsigned most,
		      const char *ret[]);
void inlined_close(struct inlined *in);

#endif
