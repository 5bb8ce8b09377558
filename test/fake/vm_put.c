/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells a ring of a virtual machine, as ceems-libvirt does: no libvirt and no device
 * is behind it.
 *
 *	vm_put RING start|stop UUID [PCI-ADDRESS|mdev=UUID|cgroup=PATH|pod]...
 *
 * cgroup=: its control group, in all hierarchies; pod: it is no machine but a pod. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/records/record.h"
#include "lib/records/ring.h"

static void add_device(struct record *r, const char *name)
{
	const char *mdev = strncmp(name, "mdev=", 5) == 0 ? name + 5 : NULL;

	if (strcmp(name, "pod") == 0) {
		r->manager = MANAGER_K8S;
		return;
	}
	if (strncmp(name, "cgroup=", 7) == 0) {
		(void)record_add_cgroup(
			r, CGROUP_UNIFIED | CGROUP_CPUACCT | CGROUP_CPU | CGROUP_MEMORY,
			name + 7);
		return;
	}
	(void)record_add_device(r, mdev, mdev ? NULL : name, NULL, mdev ? 0 : 1000);
}

int main(int argc, char **argv)
{
	struct err err = {""};
	struct record r;

	if (argc < 4) {
		fprintf(stderr, "vm_put RING start|stop UUID [DEVICE]...\n");
		return 2;
	}
	bool starts = strcmp(argv[2], "start") == 0;
	record_init(&r, starts ? RECORD_STEP_START : RECORD_STEP_STOP, MANAGER_LIBVIRT);
	record_set(&r, r.unit, sizeof(r.unit), argv[3]);
	record_set(&r, r.name, sizeof(r.name), "vm_put");
	r.cpus = r.step_cpus = 1;
	r.memory_bytes = 1 << 26;
	r.realtime_ns = clock_realtime_ns();
	r.boottime_ns = clock_boottime_ns();
	for (int i = 4; i < argc; i++)
		add_device(&r, argv[i]);
	if (!starts) {
		r.counters.source = COUNTERS_CGROUP_V1;
		r.flags |= RECORD_LAST;
	}
	unsigned char data[RING_RECORD_MAX];
	int len = record_encode(&r, data, sizeof(data));
	int rc = len < 0 ? len : ring_send(argv[1], geteuid(), data, (size_t)len, &err);
	if (rc < 0)
		fprintf(stderr, "vm_put: %s\n", err.text);
	return rc < 0;
}
