/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's answers about RDMA: the first byte chooses the question, of which the
 * number is 1. */
#include "daemon/rdma/rdma_message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(void *arg, const struct rdma_entry *e)
{
	size_t *left = arg;

	if (!(*left)--)
		abort(); /* more entries than there are bytes */
	if (strnlen(e->name, sizeof(e->name)) == sizeof(e->name) ||
	    e->has >> RDMA_COUNTERS)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t left = size;

	if (!size)
		return 0;
	int rc = rdma_message_read(data[0] % RDMA_KINDS, 1, data + 1, size - 1,
				   check_entry, &left);
	if (rc > 1 || rc < -4095)
		abort();
	return 0;
}
