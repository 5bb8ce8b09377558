/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_OPENER_LOAD_H
#define CEEMS_OPENER_LOAD_H

#include <stdint.h>

#include "lib/err.h"

/* What all loaders of kernel programs share. */

/* Named to libbpf, so that it does not look for old names of structures among the
 * modules, which takes CAP_SYS_ADMIN; CAP_BPF and CAP_PERFMON are enough for all else.
 */
#define LOAD_KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* Before an object is opened: -ENOENT where the kernel does not describe itself. What
 * libbpf says is kept for load_refused() from here on. */
int load_prepare(struct err *err);
/* How many stripes a counter has: the possible CPUs, at most max, as a power of two. */
int load_stripes(uint32_t max, uint32_t *ret);
/* Returns rc, with what was being done and the kernel's reason in one line. */
int load_refused(struct err *err, int rc, const char *what);

#endif
