/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_PROFILER_FILES_FILE_NAMES_H
#define CEEMS_PROFILER_FILES_FILE_NAMES_H

#include "lib/records/debug_file.h"
#include "profiler/files/inlined.h"
#include "profiler/files/reader_message.h"
#include "profiler/symbols.h"

/* What the functions of an ELF file are called, by all that says so: its .symtab;
 * without one .dynsym, .gnu_debugdata and the file for its build id below
 * /usr/lib/debug, or one that was fetched; and its DWARF, or that file's, for functions
 * that were inlined. */
struct file_names {
	Elf *elf, *debug, *embedded;
	int debug_fd;
	struct build_id id;
	enum reader_debug_file debug_file;
	char *embedded_data;
	struct symbols symbols;
	struct inlined inlined;
};

/* debug_root: "/usr/lib/debug", or another one in tests. fetched: the folder with files
 * that were fetched; NULL: none. Never fails: what cannot be read has no names. Closed
 * in any case; fd stays open for as long. */
void file_names_open(int fd, const char *debug_root, const char *fetched,
		     struct file_names *ret);
/* At an address in the file, the innermost first, as a person writes them. */
void file_names_find(struct file_names *n, uint64_t address, struct reader_names *ret);
void file_names_close(struct file_names *n);

#endif
