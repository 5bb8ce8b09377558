/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_NUMBER_FLAGS_H
#define CEEMS_TEST_NUMBER_FLAGS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/parse.h"

/* The command line of the tests' own clients: --NAME NUMBER ... LAST */
struct number_flag {
	const char *name;
	uint32_t *value;
};

/* 0; -EINVAL or -ERANGE: it is none. */
static inline int number_flags_read(int argc, char **argv,
				    const struct number_flag *flags, size_t count,
				    uint32_t *ret_last)
{
	int i = 1;

	for (; i + 1 < argc; i += 2) {
		uint32_t *to = NULL;
		for (size_t k = 0; k < count; k++) {
			if (strcmp(argv[i], flags[k].name) == 0)
				to = flags[k].value;
		}
		if (!to || parse_u32(argv[i + 1], to) < 0)
			return -EINVAL;
	}
	return i + 1 == argc ? parse_u32(argv[i], ret_last) : -EINVAL;
}

#endif
