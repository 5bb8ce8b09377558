/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmd-G/: what `slurmd -G` of 22.05.8 and 24.11.5 printed for gres.conf files with
 * stand-in device nodes, renamed to the NVIDIA driver's. */
#include "daemon/gpus/gpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/buf.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/unit/gpu_tree.h"
#include "test/unit/unit.h"

#define FIXTURE "test/fixture/gpus/"

static struct gpus g;
static struct err err;

static int parse(const char *text)
{
	memset(&g, 0xaa, sizeof(g));
	return gpus_parse(text, strlen(text), &g, &err);
}

static void load(const char *name)
{
	char path[128];
	auto_buf struct buf b = BUF_INIT;
	snprintf(path, sizeof(path), FIXTURE "slurmd-G/%s.txt", name);
	assert_int_equal(fs_read_buf_at(AT_FDCWD, path, 1 << 20, &b, &err), 0);
	assert_int_equal(parse(b.data ? b.data : ""), 0);
}

static void resolve(const char *fixture)
{
	char path[128];
	snprintf(path, sizeof(path), FIXTURE "%s/proc", fixture);
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(gpus_resolve(&g, fd, -1, &err), 0);
}

static const char *const versions[] = {"22.05", "24.11"};

static void load_of(const char *version, const char *name)
{
	char file[64];
	snprintf(file, sizeof(file), "%s-%s", version, name);
	load(file);
}

static void reads_devices_and_shards_of_both_slurms(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		load_of(versions[i], "plain");
		assert_true(g.managed);
		assert_true(g.shards);
		assert_false(g.mps);
		assert_int_equal(g.count, 2);
		assert_string_equal(g.gpu[0].file, "/dev/nvidia0");
		assert_string_equal(g.gpu[1].file, "/dev/nvidia1");
		assert_int_equal(g.gpu[1].index, 1);
		assert_int_equal(g.gpu[1].shards, 4);
		assert_int_equal(g.shard_count, 8);
		assert_string_equal(g.gpu[0].uuid, "");
		assert_int_equal(g.gpu[0].instance, GPUS_NONE);
	}
}

/* gres.conf lists nvidia1, nvidia2, nvidia0: a job with gpu:alpha got index 2, which is
 * nvidia0 (run with 22.05.8); "Index=0" on its line is only the file's last digit */
static void index_is_the_position_not_the_number_in_the_file_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		load_of(versions[i], "typed");
		assert_int_equal(g.count, 3);
		assert_string_equal(g.gpu[2].file, "/dev/nvidia0");
		assert_string_equal(g.gpu[2].type, "alpha");
		assert_string_equal(g.gpu[0].file, "/dev/nvidia1");
		assert_string_equal(g.gpu[0].type, "zeta");
		assert_true(g.mps);
		assert_false(g.shards);
	}
}

static void gres_conf_that_skips_the_first_device_gets_the_right_uuids(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		load_of(versions[i], "skip0");
		assert_int_equal(g.count, 2);
		assert_string_equal(g.gpu[0].file, "/dev/nvidia1");
		assert_string_equal(g.gpu[1].file, "/dev/nvidia2");
		resolve("three");
		/* minor 1 is the first on the PCI bus of this machine */
		assert_string_equal(g.gpu[0].uuid,
				    "GPU-6e11ce79-aaaa-4000-8000-0000000000a0");
		assert_int_equal(g.gpu[0].smi_index, 0);
		assert_int_equal(g.gpu[0].minor, 1);
		assert_string_equal(g.gpu[1].uuid,
				    "GPU-6e11ce79-cccc-4000-8000-0000000000c2");
		assert_int_equal(g.gpu[1].smi_index, 2);
	}
}

static void
comma_lists_and_brackets_are_devices_but_several_files_of_one_are_one(void **state)
{
	(void)state;
	load("22.05-commas");
	assert_int_equal(g.count, 2);
	assert_string_equal(g.gpu[1].file, "/dev/nvidia2");
	assert_int_equal(parse("slurmd: Gres Name=gpu Type=(null) Count=5 Index=0 ID=1 "
			       "File=/dev/nvidia[0,2-3],/dev/nvidia[08-09] (null)\n"),
			 0);
	assert_int_equal(g.count, 5);
	assert_string_equal(g.gpu[2].file, "/dev/nvidia3");
	assert_string_equal(g.gpu[3].file, "/dev/nvidia08");
	assert_string_equal(g.gpu[4].file, "/dev/nvidia09");
	for (size_t i = 0; i < 2; i++) {
		load_of(versions[i], "multi");
		assert_int_equal(g.count, 2);
		assert_string_equal(g.gpu[0].cap, "/dev/nvidia-caps/nvidia-cap30");
		assert_string_equal(g.gpu[1].cap, "");
	}
}

static void mig_instance_comes_from_the_capability_file(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		load_of(versions[i], "multi");
		resolve("mig");
		assert_int_equal(g.gpu[0].instance, 3);
		assert_int_equal(g.gpu[0].smi_index, 0);
		assert_string_equal(g.gpu[0].uuid,
				    "GPU-6e11ce79-aaaa-4000-8000-0000000000a0");
		assert_int_equal(g.gpu[1].instance, GPUS_NONE);
		assert_string_equal(g.gpu[1].uuid,
				    "GPU-6e11ce79-bbbb-4000-8000-0000000000b1");
	}
}

/* as AutoDetect=nvml writes them: device, GPU instance, compute instance */
static void compute_instances_come_from_their_capability_files(void **state)
{
	(void)state;
	assert_int_equal(
		parse("slurmd: Gres Name=gpu Type=a Count=1 Index=0 ID=1 "
		      "File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[30-31]\n"
		      "slurmd: Gres Name=gpu Type=a Count=1 Index=0 ID=1 "
		      "File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[30,32]\n"
		      "slurmd: Gres Name=gpu Type=b Count=1 Index=0 ID=1 "
		      "File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[39-40]\n"
		      "slurmd: Gres Name=gpu Type=c Count=1 Index=0 ID=1 "
		      "File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap[39,33]\n"),
		0);
	resolve("mig");
	static const uint32_t instance[] = {3, 3, 4, 4},
			      compute[] = {0, 1, 0, GPUS_NONE};
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(g.gpu[i].smi_index, 0);
		assert_int_equal(g.gpu[i].instance, instance[i]);
		assert_int_equal(g.gpu[i].compute, compute[i]);
		assert_int_equal(g.gpu[i].parts, 4);
		assert_int_equal(g.gpu[i].siblings, 2);
	}
	/* the site's map names them, too, or does not */
	assert_int_equal(gpus_apply_order_map(&g, "0:0.4.2,1:0.3", &err), 0);
	assert_int_equal(g.gpu[0].instance, 4);
	assert_int_equal(g.gpu[0].compute, 2);
	assert_int_equal(g.gpu[0].siblings, 3);
	assert_int_equal(g.gpu[1].compute, GPUS_NONE);
	assert_int_equal(g.gpu[1].siblings, 1);
}

static void node_without_gres_gpu_manages_none(void **state)
{
	struct gpu_use use[4];
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		load_of(versions[i], "none");
		assert_false(g.managed);
		assert_int_equal(g.count, 0);
		/* so that a user's own SLURM_STEP_GPUS gives him nothing */
		assert_int_equal(gpus_of(&g, "0,1", "", use, 4, &err), 0);
	}
	load("22.05-other");
	assert_int_equal(g.count, 1);
}

static void excluded_device_is_not_counted_as_nvidia_smi_does_not(void **state)
{
	(void)state;
	load("22.05-plain");
	resolve("excluded");
	assert_int_equal(g.gpu[1].smi_index, 0);
	assert_string_equal(g.gpu[0].uuid, "");
	assert_int_equal(g.gpu[0].minor, 0);
}

static void damaged_driver_files_cost_only_their_own_device(void **state)
{
	(void)state;
	load("22.05-plain");
	resolve("odd");
	assert_string_equal(g.gpu[0].uuid, "");
	assert_string_equal(g.gpu[1].uuid, "GPU-6e11ce79-cccc-4000-8000-0000000000c2");
}

static void no_driver_is_said_and_changes_nothing(void **state)
{
	(void)state;
	load("22.05-plain");
	auto_close int fd = open(FIXTURE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(gpus_resolve(&g, fd, -1, &err), -ENODEV);
	assert_int_equal(g.count, 2);
	assert_string_equal(g.gpu[0].file, "/dev/nvidia0");
}

static void order_map_of_the_documentation_overrides(void **state)
{
	(void)state;
	load("22.05-plain");
	resolve("mig");
	assert_int_equal(gpus_apply_order_map(&g, "0:1,1:0.3,2:0.4,3:0.5,4:0.6", &err),
			 0);
	assert_int_equal(g.count, 5);
	assert_string_equal(g.gpu[0].uuid, "GPU-6e11ce79-bbbb-4000-8000-0000000000b1");
	assert_int_equal(g.gpu[0].instance, GPUS_NONE);
	for (uint32_t i = 1; i < 5; i++) {
		assert_int_equal(g.gpu[i].index, i);
		assert_int_equal(g.gpu[i].smi_index, 0);
		assert_int_equal(g.gpu[i].instance, i + 2);
		assert_string_equal(g.gpu[i].uuid,
				    "GPU-6e11ce79-aaaa-4000-8000-0000000000a0");
	}
}

static void malformed_order_maps_are_refused_and_change_nothing(void **state)
{
	static const char *const bad[] = {
		",",      "0",         "0:",
		":1",     "0=1",       "0:1,",
		"0:1.",   "a:b",       "0:1 ",
		"0:1.3.", "0:1.3.4.5", "0:1.3.99999999999",
		"128:0",  "0:128",     "0:1.99999999999",
		"-1:0",   "0:-1",      "99999999999999999999:0",
	};
	(void)state;
	load("22.05-plain");
	struct gpus before = g;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(gpus_apply_order_map(&g, bad[i], &err), -EINVAL);
		assert_non_null(strstr(err.text, "gpu-order-map"));
		assert_memory_equal(&g, &before, sizeof(g));
	}
	assert_int_equal(gpus_apply_order_map(&g, "", &err), 0);
	assert_memory_equal(&g, &before, sizeof(g));
}

static void malformed_gres_lines_are_refused_by_name_and_change_nothing(void **state)
{
	static const char *const bad[] = {
		"Gres Name= Type=a Count=1",
		"Gres Name=gpu",
		"Gres Name=gpu Count",
		"Gres Name=gpu Count=",
		"Gres Name=gpu Count=x",
		"Gres Name=gpu Count=-1",
		"Gres Name=gpu Count=3 File=/dev/nvidia[0-1]",
		"Gres Name=gpu Count=2 File=/dev/nvidia[0-1",
		"Gres Name=gpu Count=2 File=/dev/nvidia[1-0]",
		"Gres Name=gpu Count=2 File=/dev/nvidia[]",
		"Gres Name=gpu Count=1 File=/dev/nvidia[0-4000000000]",
		"Gres Name=shard Count=99999999999999999999",
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct gpus before;
		memset(&before, 0xaa, sizeof(before));
		assert_int_equal(parse(bad[i]), -EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
		assert_memory_equal(&g, &before, sizeof(g));
	}
}

static void more_devices_than_room_are_cut_and_said(void **state)
{
	(void)state;
	assert_int_equal(
		parse("slurmd: Gres Name=gpu Type=(null) Count=18446744073709551614 "
		      "ID=7696487 (null)"),
		0);
	assert_true(g.cut);
	assert_int_equal(g.count, GPUS_MAX);
}

static void uses_name_each_device_once(void **state)
{
	struct gpu_use use[8];
	(void)state;
	load("22.05-typed");
	assert_int_equal(gpus_of(&g, "0,2", "", use, 8, &err), 2);
	assert_string_equal(use[1].gpu->file, "/dev/nvidia0");
	assert_true(use[0].share == 1 && use[1].share == 1);
	assert_int_equal(gpus_of(&g, "0-2,1,0", "", use, 8, &err), 3);
	assert_int_equal(gpus_of(&g, "0-2", "", use, 2, &err), 2);
	assert_int_equal(gpus_of(&g, "", "", use, 8, &err), 0);
}

static void bad_lists_and_unknown_indices_are_refused(void **state)
{
	static const char *const bad[] = {"x", "0,", ",0", "0-", "1-0", "0 1", "0,,1"};
	struct gpu_use use[8];
	(void)state;
	load("22.05-typed");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(gpus_of(&g, bad[i], "", use, 8, &err), -EINVAL);
	assert_int_equal(gpus_of(&g, "3", "", use, 8, &err), -ERANGE);
	assert_int_equal(gpus_of(&g, "0-18446744073709551615", "", use, 8, &err),
			 -ERANGE);
	assert_int_equal(gpus_of(&g, "0", "shard:", use, 8, &err), -EINVAL);
	assert_int_equal(gpus_of(&g, "0", "mps:101", use, 8, &err), -EINVAL);
	assert_int_equal(gpus_of(&g, "0", "half", use, 8, &err), -EINVAL);
}

static void shares_are_of_what_gres_conf_says(void **state)
{
	struct gpu_use use[8];
	(void)state;
	load("22.05-shardnodev"); /* 3 shards on the first, 1 on the second device */
	assert_int_equal(g.gpu[0].shards, 3);
	assert_int_equal(g.gpu[1].shards, 1);
	assert_int_equal(gpus_of(&g, "0", "shard:2", use, 8, &err), 1);
	assert_true(use[0].share > 0.66 && use[0].share < 0.67);
	assert_int_equal(gpus_of(&g, "0-1", "shard:2", use, 8, &err), 2);
	assert_true(use[0].share == 0.5 && use[1].share == 0.5);
	assert_int_equal(gpus_of(&g, "1", "shard:9", use, 8, &err), 1);
	assert_true(use[0].share == 1);
	/* no gres mps here: the variable is the user's own */
	assert_int_equal(gpus_of(&g, "0", "mps:10", use, 8, &err), 1);
	assert_true(use[0].share == 1);
	load("24.11-typed");
	assert_int_equal(gpus_of(&g, "0", "mps:25", use, 8, &err), 1);
	assert_true(use[0].share == 0.25);
}

static void fake_slurmd(char *path, size_t size, const char *script)
{
	auto_buf struct buf b = BUF_INIT;
	snprintf(path, size, "/tmp/ceems-gpus-%d.sh", (int)getpid());
	buf_puts(&b, "#!/bin/sh\n");
	buf_puts(&b, script);
	assert_int_equal(fs_write_atomic_at(AT_FDCWD, path, b.data, b.len, 0700, &err),
			 0);
}

static void probe_reads_stderr_and_passes_the_node_name(void **state)
{
	char path[64];
	(void)state;
	fake_slurmd(path, sizeof(path),
		    "[ \"$*\" = '-G -L /dev/null -N n 1' ] && cat " FIXTURE
		    "slurmd-G/22.05-plain.txt >&2\n");
	assert_int_equal(gpus_probe(path, "n 1", &g, &err), 0);
	assert_int_equal(g.count, 2);
	unlink(path);
}

static void probe_tells_slurmd_where_slurm_conf_is(void **state)
{
	char path[64];
	(void)state;
	fake_slurmd(path, sizeof(path),
		    "[ \"$SLURM_CONF\" = '/opt/my slurm.conf' ] && [ -z \"$OTHER\" ] "
		    "&& cat " FIXTURE "slurmd-G/22.05-plain.txt\n");
	setenv("SLURM_CONF", "/opt/my slurm.conf", 1);
	setenv("OTHER", "x", 1);
	assert_int_equal(gpus_probe(path, NULL, &g, &err), 0);
	assert_int_equal(g.count, 2);
	unsetenv("SLURM_CONF");
	assert_int_equal(gpus_probe(path, NULL, &g, &err), -EIO);
	unlink(path);
}

static void probe_that_fails_says_slurmds_own_words(void **state)
{
	char path[64];
	(void)state;
	fake_slurmd(path, sizeof(path),
		    "echo 'slurmd: fatal: no such node' >&2; exit 1\n");
	assert_int_equal(gpus_probe(path, NULL, &g, &err), -EIO);
	assert_non_null(strstr(err.text, "fatal: no such node"));
	unlink(path);
	assert_int_equal(gpus_probe(path, NULL, &g, &err), -ENOENT);
}

static void files_of_amd_name_devices_and_partitions(void **state)
{
	(void)state;
	struct gpu_tree tree;
	gpu_tree_make(&tree);
	gpu_tree_add(&tree, "amdgpu", "0000:c6:00.0", "0x740f\n", 128, 1);
	gpu_tree_add(&tree, "amdgpu", "0000:05:00.0", "0x74a1\n", 129, 2);
	gpu_tree_node(&tree, 1, 112, 0x0500, 129);
	gpu_tree_node(&tree, 2, 113, 0x10000500, 130);
	assert_int_equal(parse("slurmd: Gres Name=gpu Type=whole Count=1 "
			       "File=/dev/dri/renderD128\n"
			       "slurmd: Gres Name=gpu Type=part Count=2 "
			       "File=/dev/dri/renderD[129-130]\n"
			       "slurmd: Gres Name=gpu Type=none Count=1 "
			       "File=/dev/dri/renderD131\n"),
			 0);
	auto_close int none = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(gpus_resolve(&g, none, tree.sysfd, &err), 0);
	assert_int_equal(g.device_count, 2);
	assert_string_equal(g.device[0].pci, "0000:05:00.0");
	assert_int_equal(g.gpu[0].smi_index, 1);
	assert_string_equal(g.gpu[0].uuid, "0000:c6:00.0");
	assert_int_equal(g.gpu[0].instance, GPUS_NONE);
	assert_int_equal(g.gpu[0].parts, 0);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(g.gpu[i].smi_index, 0);
		assert_string_equal(g.gpu[i].uuid, "0000:05:00.0");
		assert_int_equal(g.gpu[i].instance, i - 1);
		assert_int_equal(g.gpu[i].parts, 2);
	}
	assert_int_equal(g.gpu[3].smi_index, GPUS_NONE);
	/* the site's map counts them alike */
	assert_int_equal(gpus_apply_order_map(&g, "3:1", &err), 0);
	assert_string_equal(g.gpu[3].uuid, "0000:c6:00.0");
	gpu_tree_done(&tree);
}

/* NVIDIA's come first, with one that is left out */
static void mixed_vendors_are_counted_on(void **state)
{
	(void)state;
	struct gpu_tree tree;
	gpu_tree_make(&tree);
	gpu_tree_put(&tree, "driver/nvidia/gpus/0000:01:00.0/information",
		     "GPU UUID: \t GPU-1\nDevice Minor: \t 0\n");
	gpu_tree_put(&tree, "driver/nvidia/gpus/0000:02:00.0/information",
		     "GPU UUID: \t GPU-2\nDevice Minor: \t 1\nGPU Excluded: \t Yes\n");
	gpu_tree_add(&tree, "amdgpu", "0000:c6:00.0", "0x740f\n", 128, 1);
	assert_int_equal(parse("Gres Name=gpu Count=1 File=/dev/dri/card1\n"
			       "Gres Name=gpu Count=1 File=/dev/nvidia0\n"),
			 0);
	assert_int_equal(gpus_resolve(&g, tree.sysfd, tree.sysfd, &err), 0);
	assert_int_equal(g.gpu[0].smi_index, 2);
	assert_string_equal(g.gpu[0].uuid, "0000:c6:00.0");
	assert_int_equal(g.gpu[1].smi_index, 0);
	assert_string_equal(g.gpu[1].uuid, "GPU-1");
	gpu_tree_done(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_devices_and_shards_of_both_slurms),
		cmocka_unit_test(index_is_the_position_not_the_number_in_the_file_name),
		cmocka_unit_test(
			gres_conf_that_skips_the_first_device_gets_the_right_uuids),
		cmocka_unit_test(
			comma_lists_and_brackets_are_devices_but_several_files_of_one_are_one),
		cmocka_unit_test(mig_instance_comes_from_the_capability_file),
		cmocka_unit_test(compute_instances_come_from_their_capability_files),
		cmocka_unit_test(node_without_gres_gpu_manages_none),
		cmocka_unit_test(excluded_device_is_not_counted_as_nvidia_smi_does_not),
		cmocka_unit_test(damaged_driver_files_cost_only_their_own_device),
		cmocka_unit_test(no_driver_is_said_and_changes_nothing),
		cmocka_unit_test(order_map_of_the_documentation_overrides),
		cmocka_unit_test(malformed_order_maps_are_refused_and_change_nothing),
		cmocka_unit_test(
			malformed_gres_lines_are_refused_by_name_and_change_nothing),
		cmocka_unit_test(more_devices_than_room_are_cut_and_said),
		cmocka_unit_test(uses_name_each_device_once),
		cmocka_unit_test(bad_lists_and_unknown_indices_are_refused),
		cmocka_unit_test(shares_are_of_what_gres_conf_says),
		cmocka_unit_test(probe_reads_stderr_and_passes_the_node_name),
		cmocka_unit_test(probe_tells_slurmd_where_slurm_conf_is),
		cmocka_unit_test(probe_that_fails_says_slurmds_own_words),
		cmocka_unit_test(files_of_amd_name_devices_and_partitions),
		cmocka_unit_test(mixed_vendors_are_counted_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
