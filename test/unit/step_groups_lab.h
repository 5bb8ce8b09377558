/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_UNIT_STEP_GROUPS_LAB_H
#define CEEMS_TEST_UNIT_STEP_GROUPS_LAB_H

/* A unit table and step_groups over maps of which this plays the kernel's side, with a
 * clock that stands unless it is told to go on. */
#include "daemon/groups/step_groups.h"
#include "daemon/options.h"
#include "daemon/units.h"
#include "lib/clock.h"
#include "test/unit/group_lab.h"
#include "test/unit/scratch.h"

#define PATH_V2 "/system.slice/n1_slurmstepd.scope/job_7/step_0"
#define PATH_OTHER "/system.slice/n1_slurmstepd.scope/job_7/step_1"
#define PATH_BARE "/system.slice/slurmstepd.scope/job_7/step_0"
#define PATH_V1 "/slurm_n1/uid_1000/job_7/step_0"

struct step_lab {
	uint64_t now; /* of both clocks */
	struct options options;
	struct env env;
	char folder[SCRATCH_PATH];
	struct units *units;
	struct group_slots kernel; /* another mapping of the same maps */
	struct step_groups *groups;
	uint64_t ring_pos;
	/* of the records that step_lab_send() makes */
	uint32_t restarts;
	enum record_manager manager;
};
extern struct step_lab lab;

/* For cmocka: before and after each test */
int step_lab_open(void **state);
int step_lab_close(void **state);

/* As bpf/groups.bpf.c does it: the slot; the last counters of one */
uint32_t play_mkdir(const char *path, uint32_t hierarchy);
void play_rmdir(uint32_t slot, uint64_t cpu_ns, uint64_t peak);

/* Lets the clock go on and step_groups look. */
bool step_lab_pass(uint64_t ms);

/* A record of job 7 on n1, with last counters if cpu_ns is not 0 */
void step_lab_send(enum record_type type, const char *path, uint32_t bits,
		   uint64_t cpu_ns);

struct step_groups_stats step_lab_stats(void);

/* ceemsd is started again; table: with the unit table that it had. */
void step_lab_restart(bool table);

#endif
