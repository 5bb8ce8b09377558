/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_ENERGY_PAGE_FILE_H
#define CEEMS_LIB_RECORDS_ENERGY_PAGE_FILE_H

#include <sys/types.h>

#include "lib/records/energy_page.h"

/* Shared by reader and writer of the energy page. */

#define ENERGY_PAGE_UNIT 4096u /* size of the header; halves are a multiple */

static inline off_t energy_page_half_bytes(uint32_t capacity)
{
	off_t bytes = (off_t)(sizeof(struct energy_page_half) +
			      (size_t)capacity * sizeof(struct energy_page_row));
	return (bytes + ENERGY_PAGE_UNIT - 1) / ENERGY_PAGE_UNIT * ENERGY_PAGE_UNIT;
}

static inline off_t energy_page_half_at(uint32_t capacity, uint64_t generation)
{
	return (off_t)ENERGY_PAGE_UNIT +
	       (generation & 1 ? energy_page_half_bytes(capacity) : 0);
}

static inline off_t energy_page_bytes(uint32_t capacity)
{
	return (off_t)ENERGY_PAGE_UNIT + 2 * energy_page_half_bytes(capacity);
}

/* Checks that an open file is a page (all but its folder). */
int energy_page_check(int fd, const char *path, struct energy_page_header *ret,
		      struct err *err);
int energy_page_compare(const struct energy_page_row *a,
			const struct energy_page_row *b);

#endif
