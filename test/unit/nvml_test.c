/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library is test/fake/nvml.c: no real one was here. */
#include "gpu/nvml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device.h"
#include "test/unit/nvml_lab.h"
#include "test/unit/scratch.h"

static char machine[SCRATCH_PATH + 16];

static void write_machine(const char *text)
{
	FILE *f = fopen(machine, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void values_have_their_units(void **state)
{
	(void)state;
	struct child_gpu m = {0};
	struct err err;
	nvml_device d;
	uint32_t count = 0;
	uint64_t uj = 0;

	write_machine("device 0 60\ndevice 1 300 busy=40 used=1000 mj=7\n");
	struct nvml *n = lab_open_library();
	assert_string_equal(nvml_driver(n), "570.00.01");
	assert_int_equal(nvml_count(n, &count, &err), 0);
	assert_int_equal(count, 2);
	assert_int_equal(nvml_identify(n, 1, &d, &m, &err), 0);
	assert_string_equal(m.uuid, "GPU-00000000-0000-0000-0000-000000000001");
	assert_string_equal(m.pci, "00000000:02:00.0");
	assert_int_equal(m.minor, 1);
	assert_int_equal(nvml_read(n, d, &m, &err), 0);
	assert_int_equal(m.have & ((1u << CHILD_GPU_POWER_NOW) - 1),
			 (1u << CHILD_GPU_POWER_NOW) - 1);
	assert_int_equal(m.value[CHILD_GPU_POWER], 300000000);
	assert_int_equal(m.value[CHILD_GPU_POWER_LIMIT], 700000000);
	assert_int_equal(m.value[CHILD_GPU_BUSY], 400000);
	assert_int_equal(m.value[CHILD_GPU_MEMORY_BUSY], 200000);
	assert_int_equal(m.value[CHILD_GPU_MEMORY_USED], 1000ull << 20);
	assert_int_equal(m.value[CHILD_GPU_MEMORY_TOTAL], 81920ull << 20);
	assert_int_equal(m.value[CHILD_GPU_TEMPERATURE], 41000);
	assert_int_equal(m.value[CHILD_GPU_SM_CLOCK], 1980000000);
	assert_int_equal(m.value[CHILD_GPU_MEMORY_CLOCK], 2619000000);
	assert_int_equal(nvml_energy(n, d, &uj, &err), 0);
	assert_int_equal(uj % 1000000, 7000); /* whole joules, and 7 mJ */
	nvml_close(n);
}

static void what_a_device_does_not_tell_is_absent(void **state)
{
	(void)state;
	struct child_gpu m = {0};
	struct err err;
	nvml_device d;
	uint64_t uj;

	write_machine("device 0 60 dead mig\n");
	struct nvml *n = lab_open_library();
	assert_int_equal(nvml_identify(n, 0, &d, &m, &err), 0);
	assert_int_equal(m.mig, 1);
	assert_int_equal(nvml_energy(n, d, &uj, &err), -EOPNOTSUPP);
	assert_int_equal(nvml_read(n, d, &m, &err), 0);
	assert_int_equal(m.have >> CHILD_GPU_BUSY & 1, 0);
	assert_int_equal(m.have >> CHILD_GPU_MEMORY_BUSY & 1, 0);
	assert_int_equal(m.have >> CHILD_GPU_POWER & 1, 1);
	nvml_close(n);
}

/* Every code of the library, from each call: a device goes on, or is lost, and nothing
 * else happens. */
static void every_error_is_one_of_three(void **state)
{
	(void)state;
	static const int gone[] = {1, 6, 9, 15, 16};
	struct child_gpu m = {0};
	struct err err;
	nvml_device d;

	write_machine("device 0 60\n");
	struct nvml *n = lab_open_library();
	assert_int_equal(nvml_identify(n, 0, &d, &m, &err), 0);
	for (int code = 1; code < 1000; code = code == 30 ? 999 : code + 1) {
		char line[64];
		uint64_t uj;
		bool lost = false;
		for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
			lost |= gone[i] == code;
		snprintf(line, sizeof(line), "device 0 60 error=%d\n", code);
		write_machine(line);
		assert_int_equal(nvml_read(n, d, &m, &err), lost ? -ENODEV : 0);
		if (!lost)
			assert_int_equal(m.have & 1u << CHILD_GPU_POWER, 0);
		int rc = nvml_energy(n, d, &uj, &err);
		assert_true(rc < 0 && (rc == -ENODEV) == lost);
	}
	nvml_close(n);
}

static void a_library_that_cannot_start_says_why(void **state)
{
	(void)state;
	struct nvml *n = NULL;
	struct err err;

	write_machine("init 18\n");
	assert_int_equal(nvml_open(lab_library, &n, &err), -EPROTO);
	assert_non_null(strstr(err.text, "version mismatch"));
	write_machine("init 9\n");
	assert_int_equal(nvml_open(lab_library, &n, &err), -ENODEV);
	assert_int_equal(nvml_open("/nonexistent/libnvidia-ml.so.1", &n, &err),
			 -ENOENT);
	/* another library by that name */
	assert_int_equal(nvml_open("libm.so.6", &n, &err), -EPROTO);
	assert_non_null(strstr(err.text, "has no nvmlInit_v2"));
}

static void not_lost(const struct err *why)
{
	fail_msg("%s", why->text);
}

static void the_counters_history_has_what_is_new(void **state)
{
	(void)state;
	static struct device d;
	struct err err;

	write_machine("device 0 60 refresh=100000000 mj=5\n");
	d = (struct device){.nvml = lab_open_library(), .link = -1, .lost = not_lost};
	assert_int_equal(device_open(&d, 0, &err), 0);
	assert_int_equal(device_read(&d, &err), 0);
	assert_int_equal(device_read(&d, &err), 0);
	assert_int_equal(d.out.m.head.count, 1);
	assert_int_equal(d.out.m.serial, 1);
	for (unsigned i = 1; i < 2 * CHILD_GPU_POINTS_MAX; i++) {
		char line[64];
		snprintf(line, sizeof(line), "device 0 60 refresh=100000000 mj=%u\n",
			 5 + i);
		write_machine(line);
		assert_int_equal(device_read(&d, &err), 0);
	}
	const struct child_gpu *m = &d.out.m;
	assert_int_equal(m->head.count, CHILD_GPU_POINTS_MAX);
	assert_int_equal(m->serial, 2 * CHILD_GPU_POINTS_MAX);
	assert_int_equal(m->points[CHILD_GPU_POINTS_MAX - 1].uj - m->points[0].uj,
			 (CHILD_GPU_POINTS_MAX - 1) * 1000);
	nvml_close(d.nvml);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_their_units),
		cmocka_unit_test(what_a_device_does_not_tell_is_absent),
		cmocka_unit_test(every_error_is_one_of_three),
		cmocka_unit_test(a_library_that_cannot_start_says_why),
		cmocka_unit_test(the_counters_history_has_what_is_new),
	};
	char root[SCRATCH_PATH];

	lab_find_library();
	scratch_make(root);
	snprintf(machine, sizeof(machine), "%s/machine", root);
	setenv("NVML_FAKE", machine, 1);
	int rc = cmocka_run_group_tests_name("nvml_test", tests, NULL, NULL);
	scratch_remove(root);
	return rc;
}
