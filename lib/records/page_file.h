/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_RECORDS_PAGE_FILE_H
#define CEEMS_LIB_RECORDS_PAGE_FILE_H

#include <stdint.h>

#include "lib/err.h"

/* A file of a header and rows of one size, which ceemsd or a child of it writes and
 * plugins read at a step's end (counts_page.h, hot_page.h). It never changes its size,
 * and a row has a checksum in its first four bytes, since the reader may meet the
 * writer in the middle of one. Only pread and pwrite are used. */

struct page_file_header {
	char magic[8];
	uint32_t version, row_bytes, rows, reserved;
};

/* Creates it anew, with rows of zeros and mode 0600: the descriptor, to be closed, or
 * negative errno. */
int page_file_create(const char *path, const struct page_file_header *h,
		     struct err *err);
/* Opens and checks it for reading; never blocks. what: "of counts". -ENOENT: there is
 * none; -EBADF, -EPERM, -EPROTO: it cannot be trusted. */
int page_file_open(const char *path, const struct page_file_header *h, const char *what,
		   struct err *err);
/* Sets the checksums of rows, and writes them from the row at on. 0 or negative errno.
 */
int page_file_write(int fd, const struct page_file_header *h, void *rows, uint32_t at,
		    uint32_t count);
/* Copies rows from at on: 0, or -EBADF. */
int page_file_read(int fd, const struct page_file_header *h, void *rows, uint32_t at,
		   uint32_t count);
/* What a row should begin with */
uint32_t page_file_crc(const struct page_file_header *h, const void *row);

#endif
