/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_SPOOLVIEW_H
#define CEEMS_CLI_TOOL_SPOOLVIEW_H

#include <stdint.h>

#include "lib/buf.h"

/* One record of a spool as a line of JSON with its newline: reports and completion
 * records; for others, and for those that cannot be decoded, type and length. Counters
 * are integers in the record's units. */
void spoolview_put(struct buf *out, uint64_t seq, const void *data, size_t len);

#endif
