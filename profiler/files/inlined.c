/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profiler/files/inlined.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define RANGES_MAX (1u << 18)
#define UNITS_MAX (1u << 17)
enum { DEPTH_MAX = 48, CHAIN_MAX = 64 };

/* ---- ranges ---------------------------------------------------------------------- */

static int add_range(struct die_ranges *r, uint64_t low, uint64_t high, Dwarf_Off die)
{
	if (low >= high || !low) /* functions that the linker left out begin at 0 */
		return 0;
	if (r->count == RANGES_MAX)
		return -E2BIG;
	if (r->count == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		struct die_range *all = reallocarray(r->all, room, sizeof(*r->all));
		if (!all)
			return -ENOMEM;
		r->all = all;
		r->room = room;
	}
	r->all[r->count++] = (struct die_range){.low = low, .high = high, .die = die};
	return 0;
}

static int add_die(struct die_ranges *r, Dwarf_Die *die)
{
	Dwarf_Addr base = 0, low = 0, high = 0;
	ptrdiff_t at = 0;
	int rc = 0;

	for (unsigned n = 0; rc == 0 && n < RANGES_MAX; n++) {
		at = dwarf_ranges(die, at, &base, &low, &high);
		if (at <= 0)
			break;
		rc = add_range(r, low, high, dwarf_dieoffset(die));
	}
	return rc;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct die_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static void sort_ranges(struct die_ranges *r)
{
	if (r->count)
		qsort(r->all, r->count, sizeof(*r->all), compare_ranges);
}

static const struct die_range *find_range(const struct die_ranges *r, uint64_t address)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (r->all[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < r->all[low - 1].high ? &r->all[low - 1] : NULL;
}

/* ---- functions of a unit --------------------------------------------------------- */

static bool has_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		return true;
	}
	return false;
}

static int add_unit_functions(struct die_ranges *r, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int rc = 0;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);
		if (tag == DW_TAG_subprogram)
			rc = add_die(r, &die);
		if (rc == 0 && has_functions(tag))
			rc = add_unit_functions(r, &die, depth + 1);
	} while (rc == 0 && dwarf_siblingof(&die, &die) == 0);
	return rc;
}

static const struct die_ranges *functions_of(struct inlined *in, Dwarf_Off unit)
{
	Dwarf_Die die;

	for (unsigned i = 0; i < in->seen_count && i < INLINED_UNITS_MAX; i++) {
		if (in->seen[i].unit == unit)
			return &in->seen[i].functions;
	}
	unsigned at = in->seen_count++ % INLINED_UNITS_MAX;
	struct die_ranges *r = &in->seen[at].functions;
	in->seen[at].unit = unit;
	r->count = 0;
	if (dwarf_offdie(in->dwarf, unit, &die))
		(void)add_unit_functions(r, &die,
					 0); /* of a unit too large the first */
	sort_ranges(r);
	return r;
}

/* ---- all ------------------------------------------------------------------------- */

int inlined_open(Elf *elf, struct inlined *ret)
{
	struct inlined in = {.dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL)};
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int rc = 0;

	if (!in.dwarf)
		return -ENODATA;
	for (unsigned n = 0; rc == 0 && n < UNITS_MAX; n++) {
		if (dwarf_get_units(in.dwarf, unit, &unit, NULL, NULL, &die, NULL) != 0)
			break;
		if (dwarf_tag(&die) == DW_TAG_compile_unit)
			rc = add_die(&in.units, &die);
	}
	if (rc == 0 && !in.units.count)
		rc = -ENODATA;
	if (rc < 0) {
		inlined_close(&in);
		return rc;
	}
	sort_ranges(&in.units);
	*ret = in;
	return 0;
}

/* As the linker knows it, else as it is written */
static const char *symbol_of(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &a));

	if (!name)
		name = dwarf_formstring(
			dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a));
	return name ? name : dwarf_diename(die);
}

/* The block or inlined function in *die that has the address; it becomes *die. */
static bool step_into(Dwarf_Die *die, uint64_t address)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    dwarf_haspc(&child, address) == 1) {
			*die = child;
			return true;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

unsigned inlined_find(struct inlined *in, uint64_t address, unsigned most,
		      const char *ret[])
{
	const struct die_range *unit = find_range(&in->units, address);
	const struct die_range *function =
		unit ? find_range(functions_of(in, unit->die), address) : NULL;
	const char *chain[CHAIN_MAX];
	unsigned count = 0;
	Dwarf_Die die;

	if (!function || !dwarf_offdie(in->dwarf, function->die, &die))
		return 0;
	chain[count++] = symbol_of(&die);
	for (unsigned depth = 0; depth < DEPTH_MAX && step_into(&die, address);
	     depth++) {
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine && count < CHAIN_MAX)
			chain[count++] = symbol_of(&die);
	}
	if (count > most)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (!chain[i])
			return 0; /* all or none: a gap would look like a call */
		ret[count - 1 - i] = chain[i];
	}
	return count;
}

void inlined_close(struct inlined *in)
{
	if (in->dwarf)
		(void)dwarf_end(in->dwarf);
	free(in->units.all);
	for (unsigned i = 0; i < INLINED_UNITS_MAX; i++)
		free(in->seen[i].functions.all);
	*in = (struct inlined){0};
}
