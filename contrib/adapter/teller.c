/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "contrib/adapter/teller.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/clock.h"
#include "lib/records/ring.h"

const uint32_t teller_hierarchies[TELLER_HIERARCHIES] = {
	CGROUP_UNIFIED, CGROUP_MEMORY, CGROUP_CPUACCT, CGROUP_CPU,
	CGROUP_BLKIO,   CGROUP_CPUSET, CGROUP_PIDS,    CGROUP_FREEZER};

void teller_init(struct teller *t, enum record_manager manager, const char *ring)
{
	*t = (struct teller){.manager = manager, .ring = ring};
}

void teller_begin(struct record *r, enum record_type type, enum record_manager manager)
{
	record_init(r, type, manager);
	r->realtime_ns = clock_realtime_ns();
	r->boottime_ns = clock_boottime_ns();
}

int teller_send_to(const char *ring, const struct record *r, struct err *err)
{
	unsigned char data[RING_RECORD_MAX];
	int len = record_encode(r, data, sizeof(data));

	return len < 0 ? err_set(err, len, "a record of %s does not fit", r->unit)
		       : ring_send(ring, geteuid(), data, (size_t)len, err);
}

bool teller_send(struct teller *t, const struct record *r)
{
	struct err err;

	if (teller_send_to(t->ring, r, &err) < 0) {
		t->refused++;
		if (log_repeat_due(&t->log, clock_boottime_ns()))
			log_warn("%s: ceemsd is not told: tried again", err.text);
		return false;
	}
	t->sent++;
	if (log_repeat_over(&t->log))
		log_info("the ring takes records again");
	return true;
}

void teller_hello(struct teller *t)
{
	struct record r;

	teller_begin(&r, RECORD_HELLO, t->manager);
	(void)teller_send(t, &r);
}

bool teller_ring_is_new(struct teller *t)
{
	struct ring ring;

	if (ring_attach_readonly(t->ring, geteuid(), &ring, NULL) < 0)
		return false;
	uint64_t made_ns = ring.header->created_ns, before_ns = t->ring_made_ns;
	ring_detach(&ring);
	t->ring_made_ns = made_ns;
	return before_ns && made_ns != before_ns;
}

uint32_t teller_run(int cgroupfd, const struct cgroup_layout *layout,
		    const struct record *r)
{
	for (size_t c = 0; c < TELLER_HIERARCHIES; c++) {
		const char *group = record_cgroup(r, teller_hierarchies[c]);
		const char *hierarchy = cgroup_dir(layout, teller_hierarchies[c]);
		char path[RECORD_CGROUP_MAX + 40];
		struct stat st;
		if (!group || !*hierarchy)
			continue;
		(void)snprintf(path, sizeof(path), "%s%s", hierarchy, group);
		if (fstatat(cgroupfd, path, &st, 0) < 0)
			continue;
		/* Slurm's special steps have the largest numbers */
		uint32_t run = (uint32_t)st.st_ino & 0x7fffffff;
		return run ? run : 1;
	}
	return 0;
}
