/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/drm/pci_gpus.h"

#include <unistd.h>

#include "test/unit/gpu_tree.h"

static void gpus_are_known_by_their_class(void **state)
{
	static const struct {
		const char *pci, *class;
		bool is_gpu;
	} devices[] = {
		{"0000:3b:00.0", "0x030200\n", true}, /* 3D controller */
		{"0000:3c:00.0", "0x030000\n", true}, /* VGA */
		{"0000:3d:00.0", "0x120000\n", true}, /* accelerator */
		{"0000:3e:00.0", "0x020000\n", false},
		{"0000:3f:00.0", "0x0302", false}, /* no class */
		{"0000:40:00.0", "0xzz0200\n", false},
		{"0000:41:00.0", "", false},
	};
	struct gpu_tree t;
	struct record r;
	uint32_t gpus = 0;

	(void)state;
	gpu_tree_make(&t);
	record_init(&r, RECORD_STEP_START, MANAGER_LIBVIRT);
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		gpu_tree_device(&t, devices[i].pci, "class", devices[i].class);
		assert_int_equal(pci_gpus_has(t.sysfd, devices[i].pci),
				 devices[i].is_gpu);
		assert_true(record_add_device(&r, "", devices[i].pci, "", 1000));
		gpus += devices[i].is_gpu;
	}
	assert_int_equal(pci_gpus_count(t.sysfd, &r), gpus);
	assert_false(pci_gpus_has(t.sysfd, "0000:99:00.0"));
	assert_false(pci_gpus_has(t.sysfd, "../devices/0000:3b:00.0"));
	assert_false(pci_gpus_has(t.sysfd, ".."));
	assert_false(pci_gpus_has(t.sysfd, ""));
	gpu_tree_done(&t);
}

static void a_mediated_device_is_what_its_parent_is(void **state)
{
	static const char gpu[] = "10f5c0de-0000-4000-8000-000000000001",
			  other[] = "10f5c0de-0000-4000-8000-000000000002";
	char path[512];
	struct gpu_tree t;

	(void)state;
	gpu_tree_make(&t);
	gpu_tree_device(&t, "0000:3b:00.0", "class", "0x030200\n");
	gpu_tree_device(&t, "0000:3b:00.0", gpu, NULL);
	gpu_tree_device(&t, "0000:3e:00.0", "class", "0x020000\n");
	gpu_tree_device(&t, "0000:3e:00.0", other, NULL);
	gpu_tree_put(&t, "bus/mdev/devices/none", "");
	(void)snprintf(path, sizeof(path), "%s/bus/mdev/devices/%s", t.path, gpu);
	assert_int_equal(
		symlink("../../pci/devices/0000:3b:00.0/10f5c0de-0000-4000-8000-"
			"000000000001",
			path),
		0);
	(void)snprintf(path, sizeof(path), "%s/bus/mdev/devices/%s", t.path, other);
	assert_int_equal(
		symlink("../../pci/devices/0000:3e:00.0/10f5c0de-0000-4000-8000-"
			"000000000002",
			path),
		0);
	assert_true(pci_gpus_has_mdev(t.sysfd, gpu));
	assert_false(pci_gpus_has_mdev(t.sysfd, other));
	assert_false(
		pci_gpus_has_mdev(t.sysfd, "10f5c0de-0000-4000-8000-000000000003"));
	assert_false(pci_gpus_has_mdev(t.sysfd, "../.."));
	gpu_tree_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gpus_are_known_by_their_class),
		cmocka_unit_test(a_mediated_device_is_what_its_parent_is),
	};
	return cmocka_run_group_tests_name("pci_gpus", tests, NULL, NULL);
}
