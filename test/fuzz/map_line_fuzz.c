/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line of /proc/PID/maps, in which a user chose the path. */
#include "profiler/map_line.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct map_line l;
	char *line = malloc(size + 1);

	if (!line)
		return 0;
	if (size)
		memcpy(line, data, size);
	line[size] = '\0';
	if (map_line_parse(line, &l)) {
		if (l.end <= l.start || l.path < line || l.path > line + size)
			abort();
		if (map_line_is_vdso(&l) != (strcmp(l.path, MAP_LINE_VDSO) == 0))
			abort();
		if (!map_line_is_vdso(&l) && (*l.path != '/' || !l.key.inode))
			abort();
	}
	free(line);
	return 0;
}
