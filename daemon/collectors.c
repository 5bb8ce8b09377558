/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of all collectors. To add one: a line in collectors.h (doc/style.md). */
#include "daemon/collector.h"

#define COLLECTOR(name, on, help) extern const struct collector collector_##name;
#include "daemon/collectors.h"

const struct collector *const collectors[] = {
#define COLLECTOR(name, on, help) &collector_##name,
#include "daemon/collectors.h"
};

const size_t collectors_count = sizeof(collectors) / sizeof(collectors[0]);
