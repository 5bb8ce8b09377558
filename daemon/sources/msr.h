/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_MSR_H
#define CEEMS_DAEMON_SOURCES_MSR_H

#include <stdint.h>

/* A model specific register of a CPU, through the kernel's msr driver. Only root, and
 * only where the module is loaded; -EIO: the processor has no such register. What
 * struct env carries as read_msr, since a folder cannot imitate it. */
int msr_read(unsigned cpu, uint32_t msr, uint64_t *ret);

#endif
