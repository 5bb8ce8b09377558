/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SLURMCONF_H
#define CEEMS_LIB_SLURMCONF_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"
#include "lib/err.h"

/* Slurm's configuration files as Slurm reads them (src/common/parse_config.c): "#"
 * comments, "\" at the end of a line, Key=Value pairs with optional double quotes, keys
 * in any case, "Include file" relative to the folder of the first file. Bounded:
 * 64 files, 8 levels, 4 MiB each, 65536 pairs. */

#define SLURMCONF_FILES_MAX 64
#define SLURMCONF_DEPTH_MAX 8
#define SLURMCONF_BYTES_MAX (4u << 20)
#define SLURMCONF_PAIRS_MAX 65536u

struct slurmconf_pair {
	char *key, *value;
	const char *file; /* borrowed from the slurmconf */
	unsigned line;
};

struct slurmconf {
	struct slurmconf_pair *pairs;
	size_t count;
	char *files[SLURMCONF_FILES_MAX]; /* read, in order; [0] is the first one */
	size_t file_count;
};

/* -ENOENT and others with a text. A missing include is an error too, because Slurm
 * stops at it. Zero-initialise; call slurmconf_done() in any case. */
int slurmconf_read(struct slurmconf *c, const char *path, struct err *err);
void slurmconf_done(struct slurmconf *c);
#define auto_slurmconf __attribute__((cleanup(slurmconf_done)))

/* The last pair with the key (case does not matter), which is the one Slurm uses. NULL:
 * none. */
const struct slurmconf_pair *slurmconf_get(const struct slurmconf *c, const char *key);

/* Whether a comma-separated value names word, with or without Slurm's "type/" prefix
 * (may be NULL), in any case. */
bool slurmconf_names(const char *value, const char *prefix, const char *word);

/* Parses one file's text, for the fuzzer: includes are passed to include() instead of
 * being read. */
int slurmconf_parse(struct slurmconf *c, const char *text, size_t len, const char *file,
		    int (*include)(void *data, const char *name, unsigned line),
		    void *data, struct err *err);

/* Reads a logical line at *p: continuation lines are joined into line (NUL-terminated),
 * comments removed. *line_no is the first physical line's number; *p and *next_no
 * advance. False: the end. */
bool slurmconf_line(const char **p, const char *end, unsigned *next_no,
		    unsigned *line_no, struct buf *line);

/* name, relative to the folder of path. The caller frees. */
char *path_beside(const char *path, const char *name);

#endif
