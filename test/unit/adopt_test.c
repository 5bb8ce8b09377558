/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups that were there before the kernel programs, in a folder that looks
 * like them. */
#include "opener/adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static char tree[SCRATCH_PATH];
static unsigned steps, below, stepds, hierarchies;

static int count_group(void *arg, const struct adopted_group *g)
{
	(void)arg;
	steps += g->step;
	below += !g->step;
	stepds += g->stepd;
	hierarchies |= 1u << g->hierarchy;
	return 0;
}

static void make_path(const char *path)
{
	char copy[256];

	(void)snprintf(copy, sizeof(copy), "%s/%s/", tree, path);
	for (char *p = copy + strlen(tree) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		if (mkdir(copy, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

static void put_file(const char *name, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", tree, name);
	assert_int_equal(
		fs_write_atomic_at(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
}

static void walk_tree(void)
{
	struct err err = {""};
	auto_close int dir = fs_opendir_at(AT_FDCWD, tree, &err);

	steps = below = stepds = hierarchies = 0;
	assert_int_equal(adopt_walk(dir, dir, count_group, NULL, &err), 0);
	scratch_remove(tree);
}

static void groups_of_v2_are_told_apart(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	scratch_make(tree);
	put_file("cgroup.controllers", "cpu memory\n");
	make_path("system.slice/slurmstepd.scope/job_1/step_0/user/task_0");
	make_path("system.slice/slurmstepd.scope/job_1/step_0/slurm");
	walk_tree();
	assert_int_equal(steps, 1);
	assert_int_equal(below, 3);
	assert_int_equal(stepds, 1);
	assert_int_equal(hierarchies, 1);
}

static void virtual_machines_are_followed_too(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	scratch_make(tree);
	put_file("cgroup.controllers", "cpu memory\n");
	make_path("machine.slice/machine-qemu\\x2d1\\x2da.scope/libvirt/vcpu0");
	make_path("machine/qemu-2-b.libvirt-qemu/emulator");
	make_path("machine/lxc-3-c.libvirt-lxc");
	make_path("other/qemu-4-d.libvirt-qemu");
	make_path("machine/other");
	walk_tree();
	assert_int_equal(steps, 3);
	assert_int_equal(below, 3);
	assert_int_equal(stepds, 0);
}

static void pods_are_followed_too(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	scratch_make(tree);
	put_file("cgroup.controllers", "cpu memory\n");
	make_path("kubepods/burstable/podab-1/0123/x");
	make_path("kubepods/podab-2");
	make_path("kubepods.slice/kubepods-besteffort.slice/"
		  "kubepods-besteffort-podab_3.slice/cri-containerd-0123.scope");
	walk_tree();
	assert_int_equal(steps, 3);
	assert_int_equal(below, 3);
}

/* Who has been given a subtree can make more groups than are visited. */
static void groups_that_users_make_are_not_visited(void **state)
{
	char path[256];

	(void)state;
	if (geteuid() != 0)
		skip();
	scratch_make(tree);
	put_file("cgroup.controllers", "cpu memory\n");
	make_path("system.slice/slurmstepd.scope/job_1/step_0/user/task_0/own");
	make_path("user.slice/own/step_5/task_0");
	(void)snprintf(path, sizeof(path),
		       "%s/system.slice/slurmstepd.scope/job_1/step_0/user/task_0/own",
		       tree);
	assert_int_equal(chown(path, 65534, 65534), 0);
	(void)snprintf(path, sizeof(path), "%s/user.slice/own", tree);
	assert_int_equal(chown(path, 65534, 65534), 0);
	walk_tree();
	assert_int_equal(steps, 1);
	assert_int_equal(below, 2);
}

static void each_hierarchy_of_v1_is_walked(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	scratch_make(tree);
	put_file("cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
			    "cpuacct\t4\t1\t1\nmemory\t5\t1\t1\n");
	make_path("cpuacct/slurm/uid_0/job_1/step_0/task_0");
	make_path("memory/slurm/uid_0/job_1/step_0/task_0");
	walk_tree();
	assert_int_equal(steps, 2);
	assert_int_equal(below, 2);
	assert_int_equal(hierarchies, 1u << 4 | 1u << 5);
}

/* One group, one slot */
static void controllers_in_one_hierarchy_are_walked_once(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	scratch_make(tree);
	put_file("cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
			    "cpuacct\t4\t1\t1\nmemory\t4\t1\t1\n");
	make_path("cpuacct,memory/slurm/uid_0/job_1/step_0/task_0");
	walk_tree();
	assert_int_equal(steps, 1);
	assert_int_equal(below, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_of_v2_are_told_apart),
		cmocka_unit_test(virtual_machines_are_followed_too),
		cmocka_unit_test(pods_are_followed_too),
		cmocka_unit_test(groups_that_users_make_are_not_visited),
		cmocka_unit_test(each_hierarchy_of_v1_is_walked),
		cmocka_unit_test(controllers_in_one_hierarchy_are_walked_once),
	};
	return cmocka_run_group_tests_name("adopt", tests, NULL, NULL);
}
