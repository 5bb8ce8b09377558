/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which devices pods have, by what their plugins call them. /proc and /sys are made up,
 * and so is what ceems-gpu tells. */
#include "daemon/gpus/pod_gpus.h"

#include <errno.h>

#include "daemon/sources/child_link.h"
#include "test/unit/gpu_tree.h"
#include "test/unit/units_fixture.h"

#define POD "5a3ab2e8-0000-4000-8000-000000000001"

static struct gpu_tree tree;
static struct env env;
static struct pod_gpus pods;
static bool has_told;  /* ceems-gpu of the second device's instances */
static unsigned asked; /* how often for anything */

static union {
	struct child_gpu_instances m;
	char bytes[sizeof(struct child_gpu_instances) +
		   3 * sizeof(struct child_gpu_instance)];
} said;

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size);
int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size)
{
	(void)l;
	asked++;
	if (kind != CHILD_GPU_INSTANCES || strcmp(name, "gpu1") != 0 || !has_told)
		return -EAGAIN;
	assert_true(said.m.head.bytes <= size);
	assert_int_equal(child_msg_check(&said, said.m.head.bytes, NULL), kind);
	memcpy(buf, &said, said.m.head.bytes);
	return (int)said.m.head.bytes;
}

static uint64_t lab_now_ns(void)
{
	return now;
}

static void say_instances(void)
{
	static const struct child_gpu_instance items[] = {
		{.gi = 1, .ci = 0, .slices = 3, .uuid = "MIG-aaaa"},
		{.gi = 2, .ci = 0, .slices = 2, .uuid = "MIG-bbbb"},
		{.gi = 2, .ci = 1, .slices = 2, .uuid = "MIG-cccc"},
	};

	memset(&said, 0, sizeof(said));
	said.m.index = 1;
	(void)snprintf(said.m.uuid, sizeof(said.m.uuid), "GPU-22222222");
	memcpy(said.m.items, items, sizeof(items));
	child_msg_head(&said.m.head, CHILD_GPU_INSTANCES, "gpu1", 3, sizeof(said));
}

static int make_machine(void **state)
{
	(void)state;
	fresh(8);
	now = T0;
	gpu_tree_make(&tree);
	gpu_tree_put(&tree, "driver/nvidia/gpus/0000:3b:00.0/information",
		     "GPU UUID: \t GPU-11111111\nDevice Minor: \t 0\n");
	gpu_tree_put(&tree, "driver/nvidia/gpus/0000:86:00.0/information",
		     "GPU UUID: \t GPU-22222222\nDevice Minor: \t 1\n");
	/* AMD's are 2 and 3, the latter in two parts */
	gpu_tree_add(&tree, "amdgpu", "0000:c1:00.0", "0x74a1\n", 128, 1);
	gpu_tree_add(&tree, "amdgpu", "0000:c6:00.0", "0x74a1\n", 129, 2);
	gpu_tree_node(&tree, 1, 111, 0xc100, 128);
	gpu_tree_node(&tree, 2, 222, 0xc600, 129);
	gpu_tree_node(&tree, 3, 223, 0x1000c600, 130);
	gpu_tree_put(&tree, "devices/platform/amdgpu_xcp_0/drm/renderD130/dev",
		     "226:130\n");
	env = (struct env){.procfd = tree.sysfd,
			   .sysfd = tree.sysfd,
			   .hostname = "n",
			   .units = u,
			   .gpu = (struct child_link *)&said,
			   .boottime_ns = lab_now_ns,
			   .realtime_ns = lab_now_ns};
	env.driver_gpus = driver_gpus_new(&env);
	has_told = true;
	say_instances();
	return env.driver_gpus ? 0 : -1;
}

static int remove_machine(void **state)
{
	(void)state;
	pod_gpus_done(&pods);
	driver_gpus_free(env.driver_gpus);
	gpu_tree_done(&tree);
	return 0;
}

static struct record pod_record(const char *id)
{
	struct record r = rec(RECORD_STEP_START, id, 1);

	r.manager = MANAGER_K8S;
	return r;
}

/* What a pod has by one name of a plugin */
static const char *number_of_instance(const char *uuid, const char *pci,
				      const char *mig)
{
	static struct record r;

	r = pod_record(POD);
	assert_true(record_add_device(&r, uuid, pci, mig, 1000));
	pod_gpus_take(&pods, &env, &r);
	return r.gpus;
}

static const char *number_of_name(const char *uuid, const char *pci)
{
	return number_of_instance(uuid, pci, NULL);
}

static void plugins_names_become_the_drivers_numbers(void **state)
{
	(void)state;
	assert_string_equal(number_of_name("GPU-11111111", NULL), "0");
	assert_string_equal(number_of_name("gpu-22222222", NULL), "1");
	assert_string_equal(number_of_name(NULL, "0000:86:00.0"), "1");
	assert_string_equal(number_of_name(NULL, "00000000:86:00.0"), "1");
	assert_string_equal(number_of_name("MIG-aaaa", NULL), "1.1.0");
	assert_string_equal(number_of_name("MIG-cccc", NULL), "1.2.1");
	assert_string_equal(number_of_instance("GPU-22222222", NULL, "2/1"), "1.2.1");
	assert_string_equal(number_of_name("nvidia1", NULL), "1");
	assert_string_equal(number_of_name("nvidia1/gi1", NULL), "1.1.0");
	assert_string_equal(number_of_name(NULL, "0000:c1:00.0"), "2");
	/* the first partition has its device's address */
	assert_string_equal(number_of_name(NULL, "0000:c6:00.0"), "3.0");
	assert_string_equal(number_of_name("amdgpu_xcp_0", NULL), "3.1");
	assert_string_equal(number_of_name("card1-0", NULL), "2");
}

/* The driver's file of a device is a pipe that nobody writes to yet. */
static void a_driver_that_hangs_keeps_nobody_waiting(void **state)
{
	static const char file[] = "driver/nvidia/gpus/0000:3b:00.0/information";
	struct record r = pod_record(POD);
	struct err e;

	(void)state;
	assert_string_equal(number_of_name("GPU-11111111", NULL), "0");
	assert_int_equal(unlinkat(tree.sysfd, file, 0), 0);
	assert_int_equal(mkfifoat(tree.sysfd, file, 0600), 0);
	now += 61 * NSEC_PER_SEC;
	alarm(60);
	assert_string_equal(number_of_name("GPU-22222222", NULL), "1");
	now += 61 * NSEC_PER_SEC;
	assert_string_equal(number_of_name("GPU-11111111", NULL), "0");
	/* it may be one that the driver tells of in the end */
	assert_true(record_add_device(&r, "GPU-33333333", NULL, NULL, 1000));
	assert_int_equal(driver_gpus_take(env.driver_gpus, &r, &e), -EAGAIN);
	/* opens for both at once */
	int driver = openat(tree.sysfd, file, O_WRONLY | O_CLOEXEC);
	assert_true(driver >= 0);
	close(driver);
	alarm(0);
}

static void what_is_no_gpu_of_this_host_is_none(void **state)
{
	(void)state;
	assert_string_equal(number_of_name("fpga-7", NULL), "");
	assert_string_equal(number_of_name("GPU-1111", NULL), "");
	assert_string_equal(number_of_name("GPU-33333333", NULL), "");
	assert_string_equal(number_of_name(NULL, "0000:00:00.0"), "");
	assert_string_equal(number_of_name("amdgpu_xcp_../../x", NULL), "");
	assert_string_equal(number_of_instance("GPU-22222222", NULL, "2"), "");
	assert_string_equal(number_of_instance("GPU-33333333", NULL, "2/1"), "");
	assert_string_equal(number_of_name("card9-0", NULL), "");
	assert_string_equal(number_of_name("nvidia9", NULL), "");
	assert_string_equal(number_of_name("nvidia0x", NULL), "");
	assert_string_equal(number_of_name("nvidia1/gi9", NULL), "");
}

static void a_device_that_is_missing_costs_none_of_the_others(void **state)
{
	struct record r = pod_record(POD);
	struct err e = {""};

	(void)state;
	assert_true(record_add_device(&r, "GPU-33333333", NULL, NULL, 1000));
	assert_true(
		record_add_device(&r, "gpu.example.com/pool/dev", NULL, NULL, 1000));
	assert_true(record_add_device(&r, "GPU-22222222", NULL, NULL, 1000));
	assert_int_equal(driver_gpus_take(env.driver_gpus, &r, &e), 1);
	assert_string_equal(r.gpus, "1");
	assert_non_null(strstr(e.text, "GPU-33333333"));
}

static uint32_t start_pod(const char *id, const char *uuid, bool whole)
{
	struct record r = pod_record(id);

	(void)record_add_device(&r, uuid, NULL, NULL, whole ? 1000 : 0);
	pod_gpus_take(&pods, &env, &r);
	assert_int_equal(apply(&r), 0);
	return units_find(u, MANAGER_K8S, "", id, 0);
}

static void end_pod(const char *id)
{
	struct record end = pod_record(id);

	end.type = RECORD_STEP_STOP;
	end.flags |= RECORD_LAST;
	assert_int_equal(apply(&end), 0);
}

static double share_of_pod(uint32_t unit)
{
	struct gpu_use use[2];

	driver_gpus_look(env.driver_gpus, u);
	assert_int_equal(
		driver_gpus_of(env.driver_gpus, units_get(u, unit), use, 2, NULL), 1);
	return use[0].share;
}

static void a_device_that_pods_share_is_of_each_in_equal_parts(void **state)
{
	uint32_t one = start_pod(POD, "GPU-11111111", false);

	(void)state;
	assert_float_equal(share_of_pod(one), 1, 0);
	uint32_t two = start_pod("second", "nvidia0/vgpu1", true);
	uint32_t other = start_pod("third", "GPU-22222222", true);
	assert_float_equal(share_of_pod(one), 0.5, 0);
	assert_float_equal(share_of_pod(two), 0.5, 0);
	assert_float_equal(share_of_pod(other), 1, 0);
	end_pod("second");
	now += 20 * SEC;
	units_expire(u, now, &policy);
	assert_float_equal(share_of_pod(one), 1, 0);
}

/* Plugins that do not know of each other, or one that is wrong */
static void a_device_that_two_pods_have_as_a_whole_is_halved(void **state)
{
	uint32_t one = start_pod(POD, "GPU-11111111", true);
	uint32_t two = start_pod("second", "nvidia0", true);

	(void)state;
	assert_float_equal(share_of_pod(one), 0.5, 0);
	assert_float_equal(share_of_pod(two), 0.5, 0);
	uint32_t replica = start_pod("third", "GPU-11111111", false);
	assert_float_equal(
		share_of_pod(one) + share_of_pod(two) + share_of_pod(replica), 1, 1e-9);
	end_pod("second");
	now += 20 * SEC;
	units_expire(u, now, &policy);
	assert_float_equal(share_of_pod(one), 0.5, 0);
}

static void a_device_by_two_names_is_one(void **state)
{
	struct record r = pod_record(POD);
	struct err e = {""};

	(void)state;
	assert_true(record_add_device(&r, "GPU-11111111", NULL, NULL, 1000));
	assert_true(record_add_device(&r, "MIG-bbbb", NULL, NULL, 1000));
	assert_true(record_add_device(&r, NULL, "0000:3b:00.0", NULL, 1000));
	assert_true(record_add_device(&r, "nvidia0", NULL, NULL, 1000));
	assert_int_equal(driver_gpus_take(env.driver_gpus, &r, &e), 2);
	assert_string_equal(r.gpus, "0,1.2.0");
	assert_string_equal(r.gpu_share, "");
}

static void without_pods_that_have_one_nothing_is_looked_at(void **state)
{
	struct record job = rec(RECORD_STEP_START, "7", 0);

	(void)state;
	snprintf(job.gpus, sizeof(job.gpus), "0");
	job.flags |= RECORD_GPUS_TRUSTED;
	assert_int_equal(apply(&job), 0);
	asked = 0;
	driver_gpus_look(env.driver_gpus, u);
	assert_int_equal(asked, 0);
	assert_false(driver_gpus_told(env.driver_gpus));
	(void)start_pod(POD, "GPU-11111111", true);
	asked = 0;
	now += 2 * SEC;
	driver_gpus_look(env.driver_gpus, u);
	assert_true(asked > 0);
	assert_true(driver_gpus_told(env.driver_gpus));
}

static void an_instance_is_a_part_of_its_device(void **state)
{
	uint32_t pod = start_pod(POD, "MIG-bbbb", true);
	struct gpu_use use[2];

	(void)state;
	assert_string_equal(units_get(u, pod)->gpus, "1.2.0");
	driver_gpus_look(env.driver_gpus, u);
	assert_int_equal(
		driver_gpus_of(env.driver_gpus, units_get(u, pod), use, 2, NULL), 1);
	assert_string_equal(use[0].gpu->uuid, "GPU-22222222");
	assert_int_equal(use[0].gpu->instance, 2);
	assert_int_equal(use[0].gpu->compute, 0);
	assert_int_equal(use[0].gpu->parts, 3);
	assert_int_equal(use[0].gpu->siblings, 2);
	/* a ceems-gpu that is started anew has not told yet */
	has_told = false;
	now += 2 * SEC;
	driver_gpus_look(env.driver_gpus, u);
	assert_int_equal(
		driver_gpus_of(env.driver_gpus, units_get(u, pod), use, 2, NULL),
		-EAGAIN);
}

static void an_instance_that_is_not_told_of_yet_is_waited_for(void **state)
{
	(void)state;
	has_told = false;
	uint32_t pod = start_pod(POD, "MIG-bbbb", true);
	uint32_t ended = start_pod("ended", "MIG-cccc", true);
	end_pod("ended");
	assert_string_equal(units_get(u, pod)->gpus, "");
	now += 2 * SEC;
	pod_gpus_again(&pods, &env, u);
	assert_string_equal(units_get(u, pod)->gpus, "");
	has_told = true;
	now += 2 * SEC;
	pod_gpus_again(&pods, &env, u);
	assert_string_equal(units_get(u, pod)->gpus, "1.2.0");
	assert_string_equal(units_get(u, ended)->gpus, "");
	assert_int_equal(steps_used(u), 2);
}

static void waiting_has_an_end_and_a_bound(void **state)
{
	(void)state;
	has_told = false;
	for (unsigned i = 0; i < 2 * POD_GPUS_WAITING; i++) {
		struct record r = pod_record(POD);
		r.restarts = i;
		(void)record_add_device(&r, "MIG-bbbb", NULL, NULL, 1000);
		pod_gpus_take(&pods, &env, &r);
	}
	uint32_t pod = start_pod(POD, "MIG-bbbb", true);
	now += POD_GPUS_WAIT_NS + SEC;
	pod_gpus_again(&pods, &env, u);
	has_told = true;
	now += 2 * SEC;
	pod_gpus_again(&pods, &env, u);
	assert_string_equal(units_get(u, pod)->gpus, "");
}

static void more_than_there_is_room_for_is_told_and_left_out(void **state)
{
	struct record r = pod_record(POD);

	(void)state;
	for (unsigned i = 0; i < RECORD_DEVICES_MAX; i++) {
		char mig[RECORD_MIG_MAX];
		(void)snprintf(mig, sizeof(mig), "%u/0", 100 + i);
		assert_true(record_add_device(&r, "GPU-22222222", NULL, mig, 1000));
	}
	pod_gpus_take(&pods, &env, &r);
	assert_string_equal(r.gpus, "");
	assert_int_equal(driver_gpus_count("1.2.0,3,0"), 3);
	assert_int_equal(driver_gpus_count(""), 0);
	assert_int_equal(driver_gpus_count("1.2.0,x"), 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_machine, remove_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plugins_names_become_the_drivers_numbers),
		TEST(a_driver_that_hangs_keeps_nobody_waiting),
		TEST(what_is_no_gpu_of_this_host_is_none),
		TEST(a_device_that_is_missing_costs_none_of_the_others),
		TEST(a_device_that_pods_share_is_of_each_in_equal_parts),
		TEST(a_device_that_two_pods_have_as_a_whole_is_halved),
		TEST(a_device_by_two_names_is_one),
		TEST(without_pods_that_have_one_nothing_is_looked_at),
		TEST(an_instance_is_a_part_of_its_device),
		TEST(an_instance_that_is_not_told_of_yet_is_waited_for),
		TEST(waiting_has_an_end_and_a_bound),
		TEST(more_than_there_is_room_for_is_told_and_left_out),
	};
	return cmocka_run_group_tests_name("driver_gpus", tests, setup, teardown);
}
