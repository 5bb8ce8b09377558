/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "test/unit/step_groups_lab.h"

#include <stdio.h>
#include <unistd.h>

#include "lib/fs.h"
#include "test/unit/unit.h"

static uint64_t read_lab_clock(void)
{
	return lab.now;
}

struct step_lab lab = {.now = 1000 * NSEC_PER_SEC,
		       .manager = MANAGER_SLURM,
		       .env = {.hostname = "h",
			       .options = &lab.options,
			       .realtime_ns = read_lab_clock,
			       .boottime_ns = read_lab_clock}};

int step_lab_open(void **state)
{
	struct group_slots ours;
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(lab.folder);
	int dirfd = fs_opendir_at(AT_FDCWD, lab.folder, &err);
	assert_int_equal(units_open(dirfd, 16, &lab.units, &made_new, &err), 0);
	close(dirfd);
	lab.env.units = lab.units;
	group_lab_open(&ours, &lab.kernel);
	assert_int_equal(step_groups_new(&lab.env, &ours, &lab.groups, &err), 0);
	return 0;
}

int step_lab_close(void **state)
{
	(void)state;
	step_groups_free(lab.groups);
	group_slots_close(&lab.kernel);
	units_close(lab.units);
	scratch_remove(lab.folder);
	return 0;
}

/* As bpf/groups.bpf.c does it */
uint32_t play_mkdir(const char *path, uint32_t hierarchy)
{
	struct group_control *c = lab.kernel.control;

	assert_true(c->free_head != c->free_tail);
	uint32_t slot =
		(uint32_t)lab.kernel.free[c->free_head++ & (GROUP_LAB_SLOTS - 1)];
	struct group_slot *s = &lab.kernel.slots[slot];
	*s = (struct group_slot){.hierarchy = hierarchy,
				 .state = GROUP_SLOT_LIVES,
				 .has = hierarchy ? 0 : GROUP_SLOT_UNIFIED,
				 .made_ns = lab.now};
	(void)snprintf(s->path, sizeof(s->path), "%s", path);
	lab.kernel.events[c->event_head++ & (GROUP_LAB_SLOTS * GROUP_EVENTS_PER_SLOT -
					     1)] = GROUP_EVENT(slot, GROUP_EVENT_MADE);
	c->made++;
	return slot;
}

void play_rmdir(uint32_t slot, uint64_t cpu_ns, uint64_t peak)
{
	struct group_control *c = lab.kernel.control;
	struct group_slot *s = &lab.kernel.slots[slot];

	s->cpu_ns = cpu_ns;
	s->user_ns = 3;
	s->system_ns = 1;
	s->memory_peak_bytes = peak;
	s->has |= (cpu_ns ? GROUP_SLOT_CPU : 0) | (peak ? GROUP_SLOT_MEMORY : 0);
	s->ended_ns = lab.now;
	s->state = GROUP_SLOT_ENDED;
	lab.kernel.events[c->event_head++ & (GROUP_LAB_SLOTS * GROUP_EVENTS_PER_SLOT -
					     1)] = GROUP_EVENT(slot, GROUP_EVENT_ENDED);
	c->ended++;
}

bool step_lab_pass(uint64_t ms)
{
	lab.now += ms * NSEC_PER_MSEC;
	return step_groups_tick(lab.groups, lab.now);
}

void step_lab_send(enum record_type type, const char *path, uint32_t bits,
		   uint64_t cpu_ns)
{
	struct record r;
	struct err err;

	record_init(&r, type, lab.manager);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = lab.now;
	r.restarts = lab.restarts;
	record_add_cgroup(&r, bits, path);
	if (cpu_ns) {
		r.flags = RECORD_LAST;
		r.counters = (struct record_counters){.source = COUNTERS_CGROUP_V2,
						      .cpu_user_ns = cpu_ns,
						      .read_ns = lab.now};
	}
	assert_int_equal(
		units_apply(lab.units, &r, lab.ring_pos++, lab.now, lab.now, &err), 0);
}

struct step_groups_stats step_lab_stats(void)
{
	struct step_groups_stats s;

	step_groups_stats(lab.groups, &s);
	return s;
}

/* ceemsd is started again; table: with the unit table that it had. */
void step_lab_restart(bool table)
{
	struct group_slots ours;
	struct err err;
	int fds[GROUP_FDS];

	for (unsigned i = 0; i < GROUP_FDS; i++)
		fds[i] = lab.kernel.fds[i] < 0 ? -1 : dup(lab.kernel.fds[i]);
	step_groups_free(lab.groups);
	assert_int_equal(group_slots_open(&ours, fds, GROUP_LAB_SLOTS, &err), 0);
	if (!table)
		group_slots_adopt(&ours);
	assert_int_equal(step_groups_new(&lab.env, &ours, &lab.groups, &err), 0);
}
