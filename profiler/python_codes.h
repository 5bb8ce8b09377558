/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_PYTHON_CODES_H
#define CEEMS_PROFILER_PYTHON_CODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/records/profile_sample.h"
#include "profiler/name_generations.h"

/* What code objects of Python are called, as the kernel program has sent it: a number
 * for each name, which a frame bears until the profile is written. */
#define PYTHON_CODES_MAX GENERATION_NAMES_MAX

struct python_slot {
	uint64_t word;
	uint32_t process; /* 0: free */
	uint32_t name;
};

struct python_table {
	struct python_slot *slots; /* [PYTHON_CODES_MAX * 2], made at the first */
	uint32_t used;
};

struct python_codes {
	struct name_generations names;
	struct python_table now, before; /* as names */
};

void python_codes_free(struct python_codes *c);
/* false: there is no room for more until the next turn. What is known then stays, for
 * stacks that wait for their names. */
bool python_codes_add(struct python_codes *c, const struct python_code *code);
/* The number of the name of a word of a sample; -ENOENT */
int python_codes_find(const struct python_codes *c, uint32_t process, uint64_t word);
/* Begins the next generation if it is time (name_generations_may_turn()): then codes of
 * processes are to be sent again. */
bool python_codes_turn(struct python_codes *c, uint32_t since_s, uint32_t now_s);
/* NULL: no such number */
const char *python_codes_name(const struct python_codes *c, uint32_t number);
uint64_t python_codes_bytes(const struct python_codes *c);

/* Whether a function of C is the interpreter's loop: Python's frames stand in its
 * place. */
bool python_is_loop(const char *function);

#endif
