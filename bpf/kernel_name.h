/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_KERNEL_NAME_H
#define CEEMS_BPF_KERNEL_NAME_H

enum { KERNEL_NAME_BYTES = 128 };

/* What the kernel calls the function at an address: "name" or "name [module]"; the
 * address in hexadecimal where it knows none. */
struct kernel_name {
	unsigned long long address;
	char text[KERNEL_NAME_BYTES];
};

#endif
