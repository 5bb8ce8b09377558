/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Device plugins and drivers name devices as they like; records have little room. */
#include "contrib/k8s/device_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/siphash.h"

#define HASH_CHARS 17u /* '#' and 16 digits */

void device_name_put(char ret[RECORD_DEVICE_ID_MAX], const char *name, size_t len)
{
	/* who names devices is root on the node: the hash needs no secret */
	static const uint64_t key[2];
	const size_t room = RECORD_DEVICE_ID_MAX - 1 - HASH_CHARS;

	memset(ret, 0, RECORD_DEVICE_ID_MAX);
	if (len < RECORD_DEVICE_ID_MAX) {
		memcpy(ret, name, len);
		return;
	}
	memcpy(ret, name, room);
	(void)snprintf(ret + room, HASH_CHARS + 1, "#%016" PRIx64,
		       siphash13(key, name, len));
}

/* "MIG-GPU-UUID/1/0": too long for a record, which has room for the parts. */
static bool split_old_instance(const char *id, size_t len, struct record_device *ret)
{
	const char *slash = memchr(id, '/', len);

	if (strncmp(id, "MIG-GPU-", 8) != 0 || !slash)
		return false;
	size_t gpu = (size_t)(slash - id) - 4, instance = len - gpu - 5;
	if (gpu >= sizeof(ret->uuid) || !instance || instance >= sizeof(ret->mig))
		return false;
	memcpy(ret->uuid, id + 4, gpu);
	memcpy(ret->mig, slash + 1, instance);
	return true;
}

void device_name_of_plugin(const char *id, struct record_device *ret)
{
	const char *replica = strstr(id, "::");
	size_t len = replica ? (size_t)(replica - id) : strlen(id);
	const char *colon = strchr(id, ':');
	bool pci = colon && colon - id >= 4 && colon[1] && colon[1] != ':' &&
		   len < sizeof(ret->pci);

	*ret = (struct record_device){.share_permille = replica ? 0 : 1000};
	if (pci)
		(void)snprintf(ret->pci, sizeof(ret->pci), "%.*s", (int)len, id);
	else if (!split_old_instance(id, len, ret))
		device_name_put(ret->uuid, id, len);
}
