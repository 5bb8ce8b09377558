/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a domain's XML, and as a text of /proc/PID/cgroup. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/libvirt/domain_group.h"
#include "contrib/libvirt/domain_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct domain_xml d;
	struct record r;
	struct err err = {""};

	if (domain_xml_parse(text, size, &d, &err) < 0) {
		if (!err.text[0])
			abort();
	} else if (d.device_count > RECORD_DEVICES_MAX ||
		   (d.uuid[0] && strlen(d.uuid) != DOMAIN_UUID_SIZE - 1)) {
		abort();
	}
	record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	(void)domain_group_of_process(text, size, "qemu-5-a", &r);
	for (uint32_t i = 0; i < r.cgroup_count; i++) {
		if (r.cgroups[i].path[0] != '/')
			abort();
	}
	return 0;
}
