/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as an energy page: opening, finding and estimating must end without
 * touching anything outside. The first byte says how much of the header is made right
 * first, so that the checks are passed. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/records/energy_page.h"
#include "lib/records/energy_page_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS ENERGY_PAGE_ROWS_MIN

static char folder[64], path[96];
static struct energy_page_header good;
static int page_fd = -1;

static void clean_up(void)
{
	unlink(path);
	rmdir(folder);
}

static void make_page(void)
{
	struct energy_page_writer *w;
	struct err err;

	if (page_fd >= 0)
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/energy_page_fuzz.XXXXXX");
	if (!mkdtemp(folder))
		abort();
	snprintf(path, sizeof(path), "%s/energy", folder);
	atexit(clean_up);
	if (energy_page_writer_open(path, ROWS, &w, &err) < 0)
		abort();
	energy_page_writer_free(w);
	page_fd = open(path, O_RDWR | O_CLOEXEC);
	if (page_fd < 0 || energy_page_check(page_fd, path, &good, &err) < 0)
		abort();
}

static void use(const struct energy_page *p, const uint8_t *data, size_t size)
{
	struct energy_page_node node;
	struct energy_page_row row;
	struct energy_page_now now = {.boottime_ns = size, .has_cpu = true};
	uint32_t key[3] = {1, 2, 3};
	uint64_t uj;

	if (size >= sizeof(key))
		memcpy(key, data, sizeof(key));
	memset(&row, 0, sizeof(row));
	int rc = energy_page_find(p, key[0], key[1], key[2], &node, &row);
	if (rc > 0)
		abort();
	if (rc < 0 && energy_page_find(p, 0, 0, 0, &node, NULL) < 0)
		return;
	if (rc == 0 && (row.job != key[0] || row.step != key[1]))
		abort();
	for (int d = 0; d < ENERGY_PAGE_DOMAINS; d++)
		if (strnlen(node.source[d], ENERGY_PAGE_SOURCE_MAX) ==
		    ENERGY_PAGE_SOURCE_MAX)
			abort();
	if (strnlen(node.emission_provider, ENERGY_PAGE_SOURCE_MAX) ==
	    ENERGY_PAGE_SOURCE_MAX)
		abort();
	energy_page_estimate(&node, rc == 0 ? &row : NULL, &now, &uj);
	energy_page_total(&node, node.uj);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char file[1 << 16];
	struct energy_page p = ENERGY_PAGE_CLOSED;
	size_t bytes = (size_t)energy_page_bytes(ROWS);
	struct err err;

	make_page();
	if (size < 1 || bytes > sizeof(file))
		return 0;
	unsigned how = data[0] & 3;
	data++;
	size--;
	memset(file, 0, bytes);
	/* 0: these bytes are the file; 1: its header's generation and the halves;
	 * 2, 3: the halves, with a generation that fits the first or the second */
	size_t at = how == 0   ? 0
		    : how == 1 ? offsetof(struct energy_page_header, generation)
		    : how == 2 ? ENERGY_PAGE_UNIT
			       : (size_t)energy_page_half_at(ROWS, 1);
	memcpy(file, &good, how == 0 ? 0 : sizeof(good));
	memcpy(file + at, data, size < bytes - at ? size : bytes - at);
	if (how == 1 && size > 8)
		memcpy(file + ENERGY_PAGE_UNIT, data + 8,
		       size - 8 < bytes - ENERGY_PAGE_UNIT ? size - 8
							   : bytes - ENERGY_PAGE_UNIT);
	if (how >= 2) {
		uint64_t generation = how;
		memcpy(file + at, &generation, sizeof(generation));
		memcpy(file + offsetof(struct energy_page_header, generation),
		       &generation, sizeof(generation));
	}
	if (pwrite(page_fd, file, bytes, 0) != (ssize_t)bytes)
		abort();
	if (energy_page_open(path, &p, &err) < 0)
		return 0;
	use(&p, data, size);
	energy_page_close(&p);
	return 0;
}
