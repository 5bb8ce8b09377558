/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AMD's and Intel's devices on trees of test/unit/gpu_tree.h */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gpu/device.h"
#include "gpu/kernel_device.h"
#include "gpu/kfd.h"
#include "lib/clock.h"
#include "test/unit/gpu_tree.h"
#include "test/unit/unit.h"

#define ADDRESS "0000:c1:00.0"
#define SECOND "0000:c6:00.0"

static struct gpu_tree tree;
static struct drm_gpus gpus;
static struct kernel_device kernel[3];
static struct device devices[3];
static struct err err;

static int make_tree(void **state)
{
	(void)state;
	gpu_tree_make(&tree);
	memset(devices, 0, sizeof(devices));
	return 0;
}

static int remove_tree(void **state)
{
	(void)state;
	gpu_tree_done(&tree);
	return 0;
}

static void open_all(void)
{
	assert_int_equal(drm_gpus_find(tree.sysfd, &gpus, &err), 0);
	assert_in_range(gpus.count, 1, 3);
	for (uint32_t i = 0; i < gpus.count; i++)
		kernel_device_open(&kernel[i], tree.sysfd, &gpus.gpu[i]);
	amd_find_neighbours(kernel, gpus.count);
	for (uint32_t i = 0; i < gpus.count; i++)
		kernel_device_start(&devices[i], &kernel[i], i);
}

/* A table of version 1.3, all absent but power and energy */
static void put_table(const char *pci, uint16_t watts, uint64_t counts)
{
	uint8_t table[120];
	char path[128];
	memset(table, 0xff, sizeof(table));
	memcpy(table, "\x78\x00\x01\x03", 4);
	memcpy(table + 16, "\x57\x00\x21\x00", 4); /* busy 87, memory 33 */
	memcpy(table + 22, &watts, 2);
	memcpy(table + 24, &counts, 8);
	memset(table + 112, 0, 8);
	table[112] = 1; /* held down by its power limit */
	(void)snprintf(path, sizeof(path), "bus/pci/devices/%s/gpu_metrics", pci);
	gpu_tree_write(&tree, path, table, sizeof(table));
}

static void add_accelerator(const char *pci, const char *id, unsigned render)
{
	gpu_tree_add(&tree, "amdgpu", pci, id, render, render - 127);
	gpu_tree_device(&tree, pci, "hwmon/hwmon3/power1_average", "271000000\n");
	gpu_tree_device(&tree, pci, "hwmon/hwmon3/power1_cap", "500000000\n");
	gpu_tree_device(&tree, pci, "hwmon/hwmon3/temp2_input", "57000\n");
	gpu_tree_device(&tree, pci, "hwmon/hwmon3/temp3_input", "61000\n");
	gpu_tree_device(&tree, pci, "hwmon/hwmon3/freq1_input", "1502000000\n");
	gpu_tree_device(&tree, pci, "mem_info_vram_used", "10485760\n");
	gpu_tree_device(&tree, pci, "mem_info_vram_total", "68702699520\n");
	put_table(pci, 273, 65536 * 100ull);
}

static void assert_gpu_value(uint32_t device, enum child_gpu_value which, uint64_t v)
{
	assert_true(child_gpu_has(&devices[device].out.m, which));
	assert_int_equal(devices[device].out.m.value[which], v);
}

static void values_have_their_units(void **state)
{
	uint64_t uj = 0;
	(void)state;
	add_accelerator(ADDRESS, "0x740f\n", 128);
	gpu_tree_device(&tree, ADDRESS, "product_name", "AMD Instinct MI210\n");
	gpu_tree_node(&tree, 1, 111, 0xc100, 128);
	open_all();
	const struct child_gpu *m = &devices[0].out.m;
	assert_string_equal(m->uuid, ADDRESS);
	assert_string_equal(m->pci, ADDRESS);
	assert_string_equal(m->model, "AMD Instinct MI210");
	assert_int_equal(m->vendor, CHILD_GPU_AMD);
	assert_int_equal(m->minor, 128);
	assert_int_equal(m->mig, 0);
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	assert_int_equal(uj, 100000000);
	assert_int_equal(amd_read(&devices[0], &err), 0);
	assert_gpu_value(0, CHILD_GPU_POWER, 271000000);
	assert_gpu_value(0, CHILD_GPU_POWER_LIMIT, 500000000);
	assert_gpu_value(0, CHILD_GPU_BUSY, 870000);
	assert_gpu_value(0, CHILD_GPU_MEMORY_BUSY, 330000);
	assert_gpu_value(0, CHILD_GPU_MEMORY_USED, 10485760);
	assert_gpu_value(0, CHILD_GPU_MEMORY_TOTAL, 68702699520);
	assert_gpu_value(0, CHILD_GPU_TEMPERATURE, 57000);
	assert_gpu_value(0, CHILD_GPU_MEMORY_TEMPERATURE, 61000);
	assert_gpu_value(0, CHILD_GPU_SM_CLOCK, 1502000000);
	assert_gpu_value(0, CHILD_GPU_SM_COUNT, 38);
	assert_gpu_value(0, CHILD_GPU_CLOCK_REASONS, 1 << CHILD_GPU_REASON_POWER_CAP);
	assert_false(child_gpu_has(m, CHILD_GPU_MEMORY_CLOCK));
}

static void assert_no_counter(const char *text)
{
	uint64_t uj = 77;
	assert_int_equal(amd_energy(&devices[0], &uj, &err), -EOPNOTSUPP);
	assert_string_equal(err.text, text);
	assert_int_equal(uj, 77);
	assert_int_equal(amd_read(&devices[0], &err), 0);
	assert_gpu_value(0, CHILD_GPU_POWER, 271000000);
}

static void a_device_without_a_counter_has_its_power(void **state)
{
	(void)state;
	add_accelerator(ADDRESS, "0x740f\n", 128);
	open_all();
	gpu_tree_device(&tree, ADDRESS, "gpu_metrics", "\x08");
	assert_no_counter("0000:c1:00.0: gpu_metrics: 1 bytes");
	uint8_t unknown[] = {8, 0, 7, 3, 0, 0, 0, 0};
	gpu_tree_write(&tree, "bus/pci/devices/" ADDRESS "/gpu_metrics", unknown,
		       sizeof(unknown));
	assert_no_counter("0000:c1:00.0: gpu_metrics: version 7.3 of 8 bytes is not "
			  "known");
	put_table(ADDRESS, 273, UINT64_MAX);
	assert_no_counter("0000:c1:00.0: no energy counter of known unit");
	/* a table whose header does not state the unit, of a device not known to count
	 * in it */
	kernel[0].gpu.device_id = 0x73bf;
	put_table(ADDRESS, 273, 65536);
	assert_no_counter("0000:c1:00.0: no energy counter of known unit");
}

static void a_counter_that_stands_still_ends(void **state)
{
	uint64_t uj;
	(void)state;
	add_accelerator(ADDRESS, "0x740f\n", 128);
	open_all();
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	kernel[0].moved_ns = clock_boottime_ns() - 11 * NSEC_PER_SEC;
	put_table(ADDRESS, 0, 65536 * 100ull); /* which takes nothing */
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	put_table(ADDRESS, 273, 65536 * 100ull);
	kernel[0].moved_ns = clock_boottime_ns() - 11 * NSEC_PER_SEC;
	assert_no_counter("0000:c1:00.0: the energy counter stands still");
}

static void dies_of_a_module_share_what_one_of_them_tells(void **state)
{
	uint64_t a = 0, b = 0;
	(void)state;
	add_accelerator(ADDRESS, "0x740c\n", 128);
	add_accelerator(SECOND, "0x740c\n", 129);
	put_table(ADDRESS, 0, 0); /* the second die */
	put_table(SECOND, 500, 3);
	gpu_tree_device(&tree, ADDRESS, "hwmon/hwmon3/power1_average", "0\n");
	gpu_tree_device(&tree, SECOND, "hwmon/hwmon3/power1_average", "500000000\n");
	open_all();
	assert_int_equal(amd_energy(&devices[0], &a, &err), 0);
	assert_int_equal(amd_energy(&devices[1], &b, &err), 0);
	assert_int_equal(a, 23); /* of 45.8 */
	assert_int_equal(b, 22);
	assert_int_equal(amd_read(&devices[0], &err), 0);
	assert_int_equal(amd_read(&devices[1], &err), 0);
	assert_gpu_value(0, CHILD_GPU_POWER, 250000000);
	assert_gpu_value(1, CHILD_GPU_POWER, 250000000);
}

static void a_die_without_its_neighbour_keeps_what_it_tells(void **state)
{
	uint64_t uj = 0;
	(void)state;
	add_accelerator(ADDRESS, "0x740c\n", 128);
	open_all();
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	assert_int_equal(uj, 100000000);
}

static void dies_of_which_one_is_missing_are_not_paired(void **state)
{
	uint64_t uj = 77;
	(void)state;
	add_accelerator(ADDRESS, "0x740c\n", 128); /* whose first die is not here */
	add_accelerator(SECOND, "0x740c\n", 129);
	add_accelerator("0000:c9:00.0", "0x740c\n", 130);
	put_table(ADDRESS, 0, 0);
	put_table("0000:c9:00.0", 0, 0);
	open_all();
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	assert_int_equal(uj, 0);
	assert_int_equal(amd_energy(&devices[1], &uj, &err), 0);
	assert_int_equal(uj, 100000000);
}

static void a_device_that_is_gone_is_lost(void **state)
{
	uint64_t uj;
	char path[128];
	(void)state;
	add_accelerator(ADDRESS, "0x740f\n", 128);
	open_all();
	(void)snprintf(path, sizeof(path), "%s/bus/pci/devices/" ADDRESS, tree.path);
	scratch_remove(path);
	assert_int_equal(amd_energy(&devices[0], &uj, &err), -ENODEV);
	assert_string_equal(err.text, "0000:c1:00.0: No such file or directory");
	assert_int_equal(amd_read(&devices[0], &err), -ENODEV);
}

static void a_device_that_is_divided_anew_is_opened_anew(void **state)
{
	uint64_t uj;
	(void)state;
	add_accelerator(ADDRESS, "0x74a1\n", 128);
	gpu_tree_put(&tree, "class/kfd/kfd/topology/generation_id", "2\n");
	gpu_tree_node(&tree, 1, 111, 0xc100, 128);
	gpu_tree_node(&tree, 2, 112, 0x1000c100, 129);
	open_all();
	assert_int_equal(devices[0].out.m.mig, 1);
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	gpu_tree_put(&tree, "class/kfd/kfd/topology/generation_id", "3\n");
	assert_int_equal(amd_read(&devices[0], &err), -ENODEV);
	assert_string_equal(err.text, "0000:c1:00.0: the partitions have changed");
}

static void a_device_that_sleeps_is_not_woken(void **state)
{
	uint64_t uj = 0;
	(void)state;
	add_accelerator(ADDRESS, "0x740f\n", 128);
	gpu_tree_device(&tree, ADDRESS, "power/runtime_status", "active\n");
	open_all();
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	gpu_tree_device(&tree, ADDRESS, "power/runtime_status", "suspended\n");
	put_table(ADDRESS, 273, 65536 * 900ull);
	assert_int_equal(amd_read(&devices[0], &err), 0);
	assert_int_equal(devices[0].out.m.have, 0);
	assert_int_equal(amd_energy(&devices[0], &uj, &err), 0);
	assert_int_equal(uj, 100000000);
	open_all(); /* as of the start */
	assert_int_equal(amd_energy(&devices[0], &uj, &err), -EAGAIN);
}

static void intel_has_its_energy_from_hwmon(void **state)
{
	uint64_t uj = 0;
	(void)state;
	gpu_tree_add(&tree, "xe", ADDRESS, "0x0bda\n", 128, 1);
	gpu_tree_device(&tree, ADDRESS, "hwmon/hwmon5/energy1_input", "123456789\n");
	gpu_tree_device(&tree, ADDRESS, "hwmon/hwmon5/power1_max", "300000000\n");
	gpu_tree_device(&tree, ADDRESS, "hwmon/hwmon5/temp2_input", "44000\n");
	gpu_tree_device(&tree, ADDRESS, "tile0/gt0/freq0/act_freq", "1600\n");
	open_all();
	assert_int_equal(devices[0].out.m.vendor, CHILD_GPU_INTEL);
	assert_string_equal(devices[0].out.m.model, "xe 0bda");
	assert_int_equal(intel_energy(&devices[0], &uj, &err), 0);
	assert_int_equal(uj, 123456789);
	assert_int_equal(intel_read(&devices[0], &err), 0);
	assert_gpu_value(0, CHILD_GPU_POWER_LIMIT, 300000000);
	assert_gpu_value(0, CHILD_GPU_TEMPERATURE, 44000);
	assert_gpu_value(0, CHILD_GPU_SM_CLOCK, 1600000000);
	assert_false(child_gpu_has(&devices[0].out.m, CHILD_GPU_POWER));
	/* 1000 J since a reading 2 s ago, or longer if this takes so long */
	gpu_tree_device(&tree, ADDRESS, "hwmon/hwmon5/energy1_input", "1123456789\n");
	assert_int_equal(intel_energy(&devices[0], &uj, &err), 0);
	kernel[0].power_ns = clock_boottime_ns() - 2 * NSEC_PER_SEC;
	assert_int_equal(intel_read(&devices[0], &err), 0);
	assert_true(child_gpu_has(&devices[0].out.m, CHILD_GPU_POWER));
	assert_in_range(devices[0].out.m.value[CHILD_GPU_POWER], 1, 500000000);
	gpu_tree_device(&tree, ADDRESS, "hwmon/hwmon5/energy1_input", "what\n");
	assert_int_equal(intel_energy(&devices[0], &uj, &err), -EINVAL);
}

static struct kfd_view view;

static void put_process(unsigned pid, unsigned gpu_id, const char *bytes,
			const char *units)
{
	char path[128];
	(void)snprintf(path, sizeof(path), "class/kfd/kfd/proc/%u/vram_%u", pid,
		       gpu_id);
	gpu_tree_put(&tree, path, bytes);
	(void)snprintf(path, sizeof(path),
		       "class/kfd/kfd/proc/%u/stats_%u/cu_occupancy", pid, gpu_id);
	gpu_tree_put(&tree, path, units);
}

static void processes_are_those_that_use_the_device(void **state)
{
	(void)state;
	memset(&view, 0, sizeof(view));
	add_accelerator(ADDRESS, "0x740f\n", 128);
	gpu_tree_node(&tree, 1, 111, 0xc100, 128); /* of 38 compute units */
	put_process(4711, 111, "1048576\n", "19\n");
	put_process(4712, 111, "0\n", "0\n"); /* on another device */
	put_process(4713, 111, "4096\n", "1000\n");
	put_process(4714, 222, "4096\n", "1\n");
	gpu_tree_put(&tree, "class/kfd/kfd/proc/what/vram_111", "4096\n");
	open_all();
	kfd_read_processes(&kernel[0], &view);
	assert_int_equal(view.processes.count, 2);
	const struct child_gpu_process *p = view.processes.item;
	assert_int_equal(p[0].pid, 4711);
	assert_int_equal(p[0].gi, CHILD_GPU_NONE);
	assert_int_equal(p[0].memory_bytes, 1048576);
	assert_int_equal(p[0].busy_ns, 0);
	assert_int_equal(p[0].ended, 0);
	assert_int_equal(p[1].pid, 4713);
	/* between two readings each had its part of the units, at most all of them */
	uint64_t first_ns = view.last_ns;
	kfd_read_processes(&kernel[0], &view);
	uint64_t between_ns = view.last_ns - first_ns;
	assert_int_equal(p[0].busy_ns, between_ns / 2);
	assert_int_equal(p[1].busy_ns, between_ns);
	char path[128];
	(void)snprintf(path, sizeof(path), "%s/class/kfd/kfd/proc/4711", tree.path);
	scratch_remove(path);
	kfd_read_processes(&kernel[0], &view);
	assert_int_equal(p[0].pid, 4711);
	assert_int_equal(p[0].ended, 1);
	assert_int_equal(p[1].ended, 0);
}

static void partitions_have_their_processes_and_use(void **state)
{
	static const uint32_t busy[DRM_PARTITIONS_MAX] = {800000, UINT32_MAX};
	(void)state;
	memset(&view, 0, sizeof(view));
	add_accelerator(ADDRESS, "0x74a1\n", 128);
	gpu_tree_node(&tree, 1, 111, 0xc100, 128);
	gpu_tree_node(&tree, 2, 112, 0x1000c100, 129);
	put_process(4711, 112, "4096\n", "1\n");
	open_all();
	kfd_read_processes(&kernel[0], &view);
	assert_int_equal(view.processes.count, 1);
	assert_int_equal(view.processes.item[0].gi, 1);
	kfd_take_partitions(&view, busy, 2, 5 * NSEC_PER_SEC);
	assert_int_equal(view.partitions[0].have, 0); /* of no time yet */
	kfd_take_partitions(&view, busy, 2, 6 * NSEC_PER_SEC);
	assert_int_equal(view.partitions[0].have, 1 << CHILD_GPU_GRAPHICS);
	assert_int_equal(view.partitions[0].ppm[CHILD_GPU_GRAPHICS], 800000);
	assert_int_equal(view.partitions[0].covered_ns[CHILD_GPU_GRAPHICS],
			 NSEC_PER_SEC);
	assert_int_equal(view.partitions[0].total_ns[CHILD_GPU_GRAPHICS], 800000000);
	assert_int_equal(view.partitions[1].have, 0);
	/* a reading after a long time says nothing of it */
	kfd_take_partitions(&view, busy, 2, 60 * NSEC_PER_SEC);
	assert_int_equal(view.partitions[0].covered_ns[CHILD_GPU_GRAPHICS],
			 NSEC_PER_SEC);
}

/* What a read of its socket would give */
static void messages_are_whole(void **state)
{
	union {
		struct child_gpu_instances instances;
		struct child_gpu_processes processes;
		char bytes[CHILD_MESSAGE_MAX];
	} in;
	int pair[2];
	(void)state;
	memset(&view, 0, sizeof(view));
	add_accelerator(ADDRESS, "0x74a1\n", 128);
	gpu_tree_node(&tree, 1, 111, 0xc100, 128);
	gpu_tree_node(&tree, 2, 112, 0x1000c100, 129);
	put_process(4711, 112, "4096\n", "1\n");
	open_all();
	kernel[0].kfd = &view;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair),
			 0);
	devices[0].link = pair[0];
	assert_int_equal(amd_read(&devices[0], &err), 0);
	amd_send(&devices[0]);
	ssize_t n = recv(pair[1], &in, sizeof(in), MSG_DONTWAIT);
	assert_int_equal(child_msg_check(&in, (size_t)n, &err), CHILD_GPU_INSTANCES);
	assert_int_equal(in.instances.head.count, 2);
	assert_int_equal(in.instances.slices, 2);
	assert_int_equal(in.instances.items[1].gi, 1);
	assert_int_equal(in.instances.items[1].sm_count, 38);
	assert_string_equal(in.instances.items[1].uuid, ADDRESS "/1");
	assert_int_equal(in.instances.items[0].value[CHILD_GPU_INSTANCE_USED], 0);
	assert_int_equal(in.instances.items[1].value[CHILD_GPU_INSTANCE_USED], 4096);
	assert_int_equal(in.instances.items[1].value[CHILD_GPU_INSTANCE_TOTAL],
			 25753026560);
	n = recv(pair[1], &in, sizeof(in), MSG_DONTWAIT);
	assert_int_equal(child_msg_check(&in, (size_t)n, &err), CHILD_GPU_PROCESSES);
	assert_int_equal(in.processes.head.count, 1);
	assert_int_equal(in.processes.items[0].pid, 4711);
	close(pair[0]);
	close(pair[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_tree, remove_tree)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values_have_their_units),
		TEST(a_device_without_a_counter_has_its_power),
		TEST(a_counter_that_stands_still_ends),
		TEST(dies_of_a_module_share_what_one_of_them_tells),
		TEST(a_die_without_its_neighbour_keeps_what_it_tells),
		TEST(dies_of_which_one_is_missing_are_not_paired),
		TEST(a_device_that_is_gone_is_lost),
		TEST(a_device_that_is_divided_anew_is_opened_anew),
		TEST(a_device_that_sleeps_is_not_woken),
		TEST(intel_has_its_energy_from_hwmon),
		TEST(processes_are_those_that_use_the_device),
		TEST(partitions_have_their_processes_and_use),
		TEST(messages_are_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
