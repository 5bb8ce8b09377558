/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel programs of --collector.ebpf cost: mkdir and rmdir of a control group
 * with and without them, in turns, of a group that is no step's and of one that is.
 * Ratios of the medians of one run. Exit status 77: not possible here. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "opener/groups.h"
#include "test/bench/median.h"

#define ROUNDS 15
#define GROUPS 400u
#define SLOTS 1024u

static int procfd;

static double own_cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds of CPU time for one group: what others do here is not in it. */
static double make_and_remove(int top, const char *name)
{
	double begin_us = own_cpu_us();

	for (unsigned i = 0; i < GROUPS; i++) {
		if (mkdirat(top, name, 0700) < 0 ||
		    unlinkat(top, name, AT_REMOVEDIR) < 0) {
			fprintf(stderr, "%s: %s\n", name, strerror(errno));
			exit(1);
		}
	}
	return (own_cpu_us() - begin_us) / GROUPS;
}

/* What ceemsd does: takes the events, gives the slots back. */
static void give_slots_back(const struct groups *g)
{
	size_t bytes = SLOTS * sizeof(uint64_t);
	struct group_control *c = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				       g->fds[GROUP_FD_CONTROL], 0);
	uint64_t *free_slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				    g->fds[GROUP_FD_FREE], 0);

	if (c == MAP_FAILED || free_slots == MAP_FAILED)
		exit(1);
	for (uint64_t used = SLOTS - (c->free_tail - c->free_head); used; used--) {
		/* all have ended: which is which does not matter */
		uint64_t taken = c->free_head - used;
		free_slots[c->free_tail & (SLOTS - 1)] =
			free_slots[taken & (SLOTS - 1)];
		c->free_tail++;
	}
	munmap(c, 4096);
	munmap(free_slots, bytes);
}

static int compare_costs(int cgroupfd, int top, const char *name, const char *what)
{
	double without[ROUNDS], with[ROUNDS];
	struct groups g;
	struct err err;

	for (unsigned r = 0; r < ROUNDS; r++) {
		/* what has just been detached or removed goes on for a moment */
		const struct timespec moment = {.tv_nsec = 50 * (long)NSEC_PER_MSEC};
		nanosleep(&moment, NULL);
		without[r] = make_and_remove(top, name);
		if (groups_open(&g, cgroupfd, procfd, SLOTS, &err) < 0) {
			printf("not possible here: %s\n", err.text);
			return 77;
		}
		nanosleep(&moment, NULL);
		with[r] = make_and_remove(top, name);
		give_slots_back(&g);
		groups_close(&g);
	}
	double none = median_of(without, ROUNDS), ours = median_of(with, ROUNDS);
	printf("%-24s %8.1f us %8.1f us   %.3f x (best %.3f x)\n", what, none, ours,
	       ours / none, with[0] / without[0]);
	return 0;
}

int main(void)
{
	struct cgroup_layout layout;
	char name[64];
	struct err err;
	int cgroupfd = fs_opendir_at(AT_FDCWD, "/sys/fs/cgroup", &err);

	procfd = fs_opendir_at(AT_FDCWD, "/proc", NULL);
	if (cgroupfd < 0 || cgroup_probe(cgroupfd, &layout, &err) < 0) {
		printf("not possible here: %s\n", err.text);
		return 77;
	}
	const char *dir = layout.unified_only ? layout.unified : layout.memory;
	int tree = fs_opendir_at(cgroupfd, dir, &err);
	(void)snprintf(name, sizeof(name), "ceems_bench_%d", (int)getpid());
	if (tree < 0 || mkdirat(tree, name, 0700) < 0) {
		printf("not possible here: %s\n", strerror(errno));
		return 77;
	}
	int top = fs_opendir_at(tree, name, &err);
	printf("mkdir and rmdir of a control group  without     with\n");
	int rc = top < 0 ? 1 : compare_costs(cgroupfd, top, "other", "not a step's");
	if (!rc)
		rc = compare_costs(cgroupfd, top, "step_0", "a step's");
	unlinkat(tree, name, AT_REMOVEDIR);
	return rc;
}
