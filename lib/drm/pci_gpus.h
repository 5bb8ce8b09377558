/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_DRM_PCI_GPUS_H
#define CEEMS_LIB_DRM_PCI_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/records/record.h"

/* Whether the PCI function at this address is a GPU, or a virtual function of one: a
 * display controller or a processing accelerator by its class (PCI Code and ID
 * Assignment Specification; Documentation/ABI/testing/sysfs-bus-pci: class). sysfd: an
 * open /sys, or a fixture. False also where the host does not have it. */
bool pci_gpus_has(int sysfd, const char *address);
/* Whether the mediated device of this UUID is a part of such a function
 * (Documentation/driver-api/vfio-mediated-device.rst). */
bool pci_gpus_has_mdev(int sysfd, const char *uuid);

/* The GPUs among the devices that r names: how many there are. */
uint32_t pci_gpus_count(int sysfd, const struct record *r);

#endif
