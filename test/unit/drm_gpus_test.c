/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/drm/drm_gpus.h"

#include "test/unit/gpu_tree.h"
#include "test/unit/unit.h"

static struct gpu_tree tree;
static struct drm_gpus gpus;

static int make_tree(void **state)
{
	(void)state;
	gpu_tree_make(&tree);
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	gpu_tree_done(&tree);
	return 0;
}

static void find_gpus(void)
{
	struct err err;
	assert_int_equal(drm_gpus_find(tree.sysfd, &gpus, &err), 0);
}

static void a_device_that_measures_nothing_is_there(void **state)
{
	(void)state;
	assert_false(drm_gpus_are_there(tree.sysfd));
	gpu_tree_put(&tree, "bus/pci/drivers/i915/bind", "");
	assert_false(drm_gpus_are_there(tree.sysfd));
	gpu_tree_add(&tree, "i915", "0000:00:02.0", "0x9a49\n", 128, 0);
	assert_true(drm_gpus_are_there(tree.sysfd));
	find_gpus();
	assert_int_equal(gpus.count, 0);
}

static void devices_are_in_the_order_of_their_addresses(void **state)
{
	(void)state;
	find_gpus();
	assert_int_equal(gpus.count, 0);
	gpu_tree_add(&tree, "amdgpu", "0000:c6:00.0", "0x740f\n", 129, 2);
	gpu_tree_add(&tree, "amdgpu", "0000:c1:00.0", "0x740f\n", 130, 1);
	gpu_tree_add(&tree, "xe", "0000:03:00.0", "0x0bda\n", 128, 0);
	gpu_tree_device(&tree, "0000:03:00.0", "hwmon/hwmon4/energy1_input", "1\n");
	/* the graphics of a processor: it does not measure */
	gpu_tree_add(&tree, "i915", "0000:00:02.0", "0x9a49\n", 131, 3);
	gpu_tree_put(&tree, "bus/pci/drivers/amdgpu/module", "");
	gpu_tree_put(&tree, "bus/pci/drivers/amdgpu/new_id", "");
	find_gpus();
	assert_int_equal(gpus.count, 3);
	assert_string_equal(gpus.gpu[0].pci, "0000:c1:00.0");
	assert_int_equal(gpus.gpu[0].render, 130);
	assert_int_equal(gpus.gpu[0].card, 1);
	assert_int_equal(gpus.gpu[0].device_id, 0x740f);
	assert_int_equal(gpus.gpu[0].partition_count, 0);
	assert_string_equal(gpus.gpu[1].pci, "0000:c6:00.0");
	assert_string_equal(gpus.gpu[2].pci, "0000:03:00.0");
	assert_int_equal(gpus.gpu[2].driver, DRM_XE);
}

static void assert_file(const char *file, uint32_t device, uint32_t partition)
{
	uint32_t got = 77;
	assert_int_equal(drm_gpus_of_file(&gpus, file, &got), device);
	assert_int_equal(got, partition);
}

/* Two devices, the second divided into two, as Linux has it since 6.7 and before */
static void check_partitions(unsigned first, unsigned second)
{
	gpu_tree_add(&tree, "amdgpu", "0000:05:00.0", "0x74a1\n", 128, 1);
	gpu_tree_add(&tree, "amdgpu", "0000:26:00.0", "0x74a1\n", 129, 2);
	gpu_tree_node(&tree, 0, 0, 0, 0); /* the processor */
	gpu_tree_node(&tree, 1, 111, 0x0500, 128);
	gpu_tree_node(&tree, 2, 223, second, 130);
	gpu_tree_node(&tree, 3, 222, first, 129);
	find_gpus();
	assert_int_equal(gpus.count, 2);
	assert_int_equal(gpus.gpu[0].partition_count, 1);
	assert_int_equal(gpus.gpu[0].partitions[0].gpu_id, 111);
	assert_int_equal(gpus.gpu[1].partition_count, 2);
	assert_int_equal(gpus.gpu[1].partitions[0].gpu_id, 222);
	assert_int_equal(gpus.gpu[1].partitions[1].gpu_id, 223);
	assert_int_equal(gpus.gpu[1].partitions[1].units, 38);
	assert_int_equal(gpus.gpu[1].partitions[1].dies, 1);
	assert_int_equal(gpus.gpu[1].partitions[1].memory_bytes, 25753026560);
	assert_file("/dev/dri/renderD128", 0, DRM_NONE);
	assert_file("/dev/dri/card1", 0, DRM_NONE);
	assert_file("/dev/dri/renderD129", 1, 0); /* not the device that it is of */
	assert_file("/dev/dri/renderD130", 1, 1);
	assert_file("/dev/dri/renderD131", DRM_NONE, DRM_NONE);
	assert_file("/dev/dri/renderD", DRM_NONE, DRM_NONE);
	assert_file("/dev/nvidia0", DRM_NONE, DRM_NONE);
	assert_file("", DRM_NONE, DRM_NONE);
}

static void partitions_are_found_by_kfd(void **state)
{
	(void)state;
	check_partitions(0x2600, 0x10002600);
}

static void partitions_of_an_older_kernel_are_found(void **state)
{
	(void)state;
	check_partitions(0x2600, 0x2601);
}

static void odd_nodes_are_left_out(void **state)
{
	(void)state;
	gpu_tree_add(&tree, "amdgpu", "0000:05:00.0", "what\n", 128, 1);
	gpu_tree_add(&tree, "amdgpu", "0000:5:0.0", "0x74a1\n", 129, 2);
	gpu_tree_node(&tree, 1, 111, 0x0700, 128); /* no such device */
	for (unsigned i = 2; i < 12; i++)          /* more than a device can have */
		gpu_tree_node(&tree, i, i, 0x0500 | i << 28, 126 + i);
	gpu_tree_put(&tree, "class/kfd/kfd/topology/nodes/20/gpu_id", "x\n");
	gpu_tree_put(&tree, "class/kfd/kfd/topology/nodes/21/gpu_id", "9\n");
	find_gpus();
	assert_int_equal(gpus.count, 1);
	assert_int_equal(gpus.gpu[0].device_id, 0);
	assert_int_equal(gpus.gpu[0].partition_count, DRM_PARTITIONS_MAX);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(devices_are_in_the_order_of_their_addresses),
		TEST(partitions_are_found_by_kfd),
		TEST(partitions_of_an_older_kernel_are_found),
		TEST(odd_nodes_are_left_out),
		TEST(a_device_that_measures_nothing_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
