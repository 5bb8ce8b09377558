/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Appends records to a spool, as its writer would.
 *
 *	spool_put FOLDER interval|final|job PREFIX COUNT [BYTES]
 *
 * Record i is the class' first type byte (0x12, 0x13, 0x21), PREFIX and i in six
 * digits, then noise to BYTES. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/parse.h"
#include "lib/records/spool.h"

static int class_of(const char *name, char *ret_type)
{
	static const struct {
		const char *name;
		char type;
	} classes[SPOOL_CLASSES] = {{"interval", 0x12}, {"final", 0x13}, {"job", 0x21}};

	for (int i = 0; i < SPOOL_CLASSES; i++) {
		if (strcmp(classes[i].name, name) == 0) {
			*ret_type = classes[i].type;
			return i;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct spool_writer *w = NULL;
	struct err err = {""};
	uint32_t count = 0, bytes = 0;
	uint64_t x = 88172645463325252ull;
	char type = 0;
	int cls = argc > 4 ? class_of(argv[2], &type) : -1;

	if (cls < 0 || parse_u32(argv[4], &count) < 0 ||
	    (argc > 5 && parse_u32(argv[5], &bytes) < 0)) {
		fprintf(stderr, "usage: see test/fake/spool_put.c\n");
		return 2;
	}
	size_t least = strlen(argv[3]) + 8;
	size_t room = bytes > least ? bytes : least;
	char *record = calloc(1, room + 1);
	if (!record)
		return 1;
	int rc = spool_writer_open(argv[1], NULL, &w, &err);
	for (uint32_t i = 1; rc == 0 && i <= count; i++) {
		int n = snprintf(record, room + 1, "%c%s%06u", type, argv[3], i);
		for (size_t k = (size_t)n; k < bytes; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			record[k] = (char)x;
		}
		size_t len = bytes > (size_t)n ? bytes : (size_t)n;
		rc = spool_append(w, (enum spool_class)cls, record, len, NULL, &err);
	}
	if (rc == 0)
		rc = spool_sync(w, &err);
	spool_writer_close(w);
	free(record);
	if (rc < 0)
		fprintf(stderr, "spool_put: %s\n", err_text(&err));
	return rc < 0;
}
