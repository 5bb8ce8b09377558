/* SPDX-License-Identifier: GPL-2.0-or-later */
/* file_names FILE [DEBUG-ROOT [FETCHED]]: names of the functions at the addresses
 * (hexadecimal) that come on stdin, one line each, the innermost first, separated by
 * " < ". */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "profiler/files/file_names.h"

int main(int argc, char *argv[])
{
	struct file_names n;
	char line[64];

	auto_close int fd = argc < 2 ? -1 : open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		perror(argc < 2 ? "file_names FILE" : argv[1]);
		return 1;
	}
	file_names_open(fd, argc > 2 ? argv[2] : "/usr/lib/debug",
			argc > 3 ? argv[3] : NULL, &n);
	while (fgets(line, sizeof(line), stdin)) {
		struct reader_names a;
		file_names_find(&n, strtoull(line, NULL, 16), &a);
		const char *at = a.text;
		for (uint32_t i = 0; i < a.count; i++, at += strlen(at) + 1)
			(void)printf("%s%s", i ? " < " : "", at);
		(void)putchar('\n');
	}
	file_names_close(&n);
	return 0;
}
