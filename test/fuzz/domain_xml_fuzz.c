/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a domain's XML, as a text of /proc/PID/cgroup and as a domain's name. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/libvirt/domain_group.h"
#include "contrib/libvirt/domain_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The names of the domain's group, without systemd and with it, are found by it, and
 * not by the next domain of that name. */
static void check_name(const char *text, size_t size)
{
	char machine[DOMAIN_MACHINE_SIZE], next[DOMAIN_MACHINE_SIZE];
	char plain[2 * DOMAIN_MACHINE_SIZE],
		scope[8 * DOMAIN_MACHINE_SIZE] = "machine-";
	char *name = strndup(text, size), *end = scope + strlen(scope);

	if (!name)
		return;
	domain_machine_name("qemu", 5, name, machine);
	domain_machine_name("qemu", 6, name, next);
	free(name);
	(void)snprintf(plain, sizeof(plain), "%s.libvirt-qemu", machine);
	for (const char *m = machine; *m; m++) {
		if (*m == '-')
			end = stpcpy(end, "\\x2d");
		else
			*end++ = *m;
	}
	memcpy(end, ".scope", sizeof(".scope"));
	if (!domain_group_is(plain, strlen(plain), machine) ||
	    !domain_group_is(scope, strlen(scope), machine) ||
	    domain_group_is(plain, strlen(plain), next) ||
	    domain_group_is(scope, strlen(scope), next))
		abort();
}

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
	check_name(text, size);
	return 0;
}
