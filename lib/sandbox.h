/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_SANDBOX_H
#define CEEMS_LIB_SANDBOX_H

#include <stddef.h>

#include "lib/err.h"

/* Makes the kernel refuse (EPERM) system calls that none of our programs needs once it
 * serves, to this process, all its threads and the programs it starts: systemd's groups
 * @privileged, @clock, @cpu-emulation, @debug, @keyring, @module, @mount, @obsolete,
 * @raw-io, @reboot and @swap, namespaces, io_uring, userfaultfd, the memory of other
 * processes, the kernel's log, and any call by another architecture's numbers. All
 * others stay allowed, for name services, libraries and future kernels. Programs may
 * still be started.
 *
 * After privileges_limit() (no_new_privs) and privileges_drop(). Each refusal is in the
 * kernel's audit log (Linux 4.14). 0; -ENOSYS: this kernel or machine has no filters;
 * else negative errno, and nothing is refused. seccomp(2). */
int sandbox_filter_calls(struct err *err);

/* Makes the kernel refuse all system calls but these, and of these: opening a file for
 * writing, and making memory executable (open, openat, mmap and mprotect are allowed
 * without being listed). For a small program that is known to the last call. Nothing is
 * refused in a build with a sanitizer, which has calls of its own. After no_new_privs.
 * Same errors. */
int sandbox_allow_only(const int *calls, size_t count, struct err *err);

/* Whether sandbox_filter_calls() is supported here: 0 or -ENOSYS. Changes nothing. */
int sandbox_probe_calls(struct err *err);

#endif
