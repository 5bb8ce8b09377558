/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CONTRIB_K8S_DEVICE_NAME_H
#define CEEMS_CONTRIB_K8S_DEVICE_NAME_H

#include <stddef.h>

#include "lib/records/record.h"

/* What devices are called in records. */

/* The first len bytes of name, whole where a record has room for them. Of a longer one
 * the beginning, '#' and a hash of all of it, the same on each node and at each start:
 * cut off, two devices would have one name. */
void device_name_put(char ret[RECORD_DEVICE_ID_MAX], const char *name, size_t len);

/* A device of a device plugin, by its id: "GPU-UUID", a replica of it for time slicing
 * "GPU-UUID::3", a MIG instance "MIG-UUID", or "MIG-GPU-UUID/1/0" of a driver before
 * 470; AMD's by PCI address "0000:3b:00.0". */
void device_name_of_plugin(const char *id, struct record_device *ret);

#endif
