/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_DAEMON_SOURCES_MSR_H
#define CEEMS_DAEMON_SOURCES_MSR_H

#include <stdint.h>

/* Reads a model specific register of a CPU through the kernel's msr driver. Only for
 * root, and with the module loaded; -EIO: the CPU has no such register. struct env
 * carries it as read_msr, since a fixture cannot imitate it. */
int msr_read(unsigned cpu, uint32_t msr, uint64_t *ret);

#endif
