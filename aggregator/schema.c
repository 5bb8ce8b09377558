/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL files from the sources, linked in, so that only the program needs to be
 * installed. The build makes the list. */
#include "aggregator/schema.h"

/* SQL_FILE(number, symbol, "name"); paths are from the root, where the compiler runs */
#define SQL_FILE(number, symbol, name)                                                 \
	__asm__(".pushsection .rodata,\"a\",%progbits\n" #symbol ":\n"                 \
		".incbin \"aggregator/sql/" name "\"\n"                                \
		".byte 0\n"                                                            \
		".popsection\n");                                                      \
	extern const char symbol[] __attribute__((visibility("hidden")));
#include <aggregator/sql_files.h>
#undef SQL_FILE

const struct pg_migration schema_migrations[] = {
#define SQL_FILE(number, symbol, name) {number, name, symbol},
#include <aggregator/sql_files.h>
#undef SQL_FILE
};
const size_t schema_migration_count =
	sizeof(schema_migrations) / sizeof(schema_migrations[0]);
