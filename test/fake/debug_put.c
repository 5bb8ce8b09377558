/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks for debug files, as ceems-profiler does: appends to its queue.
 *
 *	debug_put FOLDER wanted|used HEX...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/records/debug_file.h"
#include "lib/records/spool.h"

static int read_id(const char *hex, struct build_id *ret)
{
	size_t len = strlen(hex) / 2;

	if (len < BUILD_ID_MIN || len > BUILD_ID_MAX || strlen(hex) % 2)
		return -1;
	ret->len = (uint32_t)len;
	for (size_t i = 0; i < len; i++) {
		const char byte[3] = {hex[2 * i], hex[2 * i + 1]};
		char *end = NULL;
		ret->bytes[i] = (uint8_t)strtoul(byte, &end, 16);
		if (*end)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct spool_writer *w = NULL;
	struct err err = {""};
	int rc = argc < 4 ? -1 : spool_writer_open(argv[1], NULL, &w, &err);

	for (int i = 3; i < argc && rc == 0; i++) {
		uint8_t record[DEBUG_FILE_RECORD_BYTES];
		struct build_id id;
		rc = read_id(argv[i], &id);
		if (rc == 0)
			rc = spool_append(w, SPOOL_INTERVAL, record,
					  debug_file_encode(strcmp(argv[2], "used")
								    ? DEBUG_FILE_WANTED
								    : DEBUG_FILE_USED,
							    &id, record),
					  NULL, &err);
	}
	if (rc < 0)
		fprintf(stderr, "debug_put: %s\n", *err.text ? err.text : "usage");
	spool_writer_close(w);
	return rc < 0;
}
