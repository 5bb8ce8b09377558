/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which devices of a virtual machine are GPUs: the host knows it by their class, also
 * of those that its own drivers do not have. */
#include "lib/drm/pci_gpus.h"

#include <stdio.h>
#include <string.h>

#include "lib/fs.h"

#define CLASS_DISPLAY 0x03u
#define CLASS_ACCELERATOR 0x12u

/* "0x030200": base class, sub-class, interface */
static bool is_gpu_class(int sysfd, const char *path)
{
	char text[32] = "";
	unsigned base = 0;

	if (fs_read_at(sysfd, path, text, sizeof(text), NULL) < 8 ||
	    strncmp(text, "0x", 2) != 0)
		return false;
	for (const char *p = text + 2; p < text + 4; p++) {
		const char *at = memchr("0123456789abcdef", *p, 16);
		if (!at)
			return false;
		base = base * 16 + (unsigned)(at - "0123456789abcdef");
	}
	return base == CLASS_DISPLAY || base == CLASS_ACCELERATOR;
}

/* A name that is one folder and no more */
static bool is_folder_name(const char *name, const char *letters)
{
	return *name && strspn(name, letters) == strlen(name) && name[0] != '.';
}

bool pci_gpus_has(int sysfd, const char *address)
{
	char path[96];

	if (!is_folder_name(address, "0123456789abcdef:."))
		return false;
	(void)snprintf(path, sizeof(path), "bus/pci/devices/%s/class", address);
	return is_gpu_class(sysfd, path);
}

bool pci_gpus_has_mdev(int sysfd, const char *uuid)
{
	char path[96];

	if (!is_folder_name(uuid, "0123456789abcdef-"))
		return false;
	/* a link to the device's folder, which is in that of its parent */
	(void)snprintf(path, sizeof(path), "bus/mdev/devices/%s/../class", uuid);
	return is_gpu_class(sysfd, path);
}

uint32_t pci_gpus_count(int sysfd, const struct record *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->device_count && i < RECORD_DEVICES_MAX; i++)
		n += *r->devices[i].pci ? pci_gpus_has(sysfd, r->devices[i].pci)
					: pci_gpus_has_mdev(sysfd, r->devices[i].uuid);
	return n;
}
