/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ceems-gpu reads of NVIDIA devices beside the basics, and that no answer of the
 * library does more than to leave something out. The library is test/fake/nvml.c: no
 * real one was here. */
#include "gpu/device.h"

#include <errno.h>
#include <time.h>

#include "test/unit/nvml_lab.h"

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

/* The library's entry points, as they are looked up, and which of them are missing */
#define NAMES_MAX 96u
static struct entry_points {
	size_t count, looked_up;
	char name[NAMES_MAX][64];
	bool missing[NAMES_MAX];
} points;

void *__wrap_dlsym(void *library, const char *name)
{
	size_t i = points.looked_up++;

	assert_true(i < NAMES_MAX);
	snprintf(points.name[i], sizeof(points.name[i]), "%s", name);
	if (i >= points.count)
		points.count = i + 1;
	return points.missing[i] ? NULL : __real_dlsym(library, name);
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

/* The test's own time, of both clocks */
static uint64_t lab_ns = 5000000000;

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
	(void)id;
	*ret = (struct timespec){.tv_sec = (time_t)(lab_ns / 1000000000),
				 .tv_nsec = (long)(lab_ns % 1000000000)};
	return 0;
}

static void pass_time(uint64_t ms)
{
	char us[32];

	lab_ns += ms * 1000000;
	snprintf(us, sizeof(us), "%llu", (unsigned long long)lab_ns / 1000);
	setenv("NVML_FAKE_NOW_US", us, 1);
}

static void not_lost(const struct err *why)
{
	fail_msg("%s", why->text);
}

static void set_machine(const char *text)
{
	setenv("NVML_FAKE_TEXT", text, 1);
}

/* Opens the library and device i: 0, or what either answered. */
static int try_open(struct device *d, uint32_t i, struct err *err)
{
	struct nvml *n = NULL;

	points.looked_up = 0;
	int rc = nvml_open(lab_library, &n, err);
	if (rc < 0)
		return rc;
	*d = (struct device){.nvml = n, .link = -1, .lost = not_lost};
	rc = device_open(d, i, err);
	if (rc < 0) {
		nvml_close(n);
		*d = (struct device){0};
	}
	return rc;
}

static void open_device(struct device *d, uint32_t i)
{
	struct err err;

	if (try_open(d, i, &err) < 0)
		fail_msg("%s", err.text);
}

static void close_device(struct device *d)
{
	device_nvml_free(d->more, d->nvml);
	nvml_close(d->nvml);
	*d = (struct device){0};
}

/* A second later */
static int read_again(struct device *d, struct err *err)
{
	pass_time(1000);
	return device_read(d, err);
}

static void a_newer_driver_tells_limits_errors_and_links(void **state)
{
	(void)state;
	static struct device d;
	static const struct {
		enum child_gpu_value which;
		uint64_t v;
	} wanted[] = {
		{CHILD_GPU_POWER_NOW, 61000000},
		{CHILD_GPU_MEMORY_TEMPERATURE, 52000},
		{CHILD_GPU_SLOWDOWN_TEMPERATURE, 89000},
		{CHILD_GPU_SHUTDOWN_TEMPERATURE, 95000},
		{CHILD_GPU_SM_COUNT, 132},
		{CHILD_GPU_ENCODER_BUSY, 20000},
		{CHILD_GPU_DECODER_BUSY, 40000},
		{CHILD_GPU_CLOCK_REASONS,
		 1u << CHILD_GPU_REASON_POWER_CAP |
			 1u << CHILD_GPU_REASON_THERMAL_HARDWARE},
		{CHILD_GPU_POWER_THROTTLED, 2500000000},
		{CHILD_GPU_THERMAL_THROTTLED, 0},
		{CHILD_GPU_ECC_CORRECTED, 5},
		{CHILD_GPU_ECC_UNCORRECTED, 1},
		{CHILD_GPU_ECC_CORRECTED_EVER, 15},
		{CHILD_GPU_ECC_UNCORRECTED_EVER, 11},
		{CHILD_GPU_ROWS_CORRECTED, 2},
		{CHILD_GPU_ROWS_UNCORRECTED, 1},
		{CHILD_GPU_ROWS_PENDING, 1},
		{CHILD_GPU_ROWS_FAILED, 0},
		{CHILD_GPU_PCIE_REPLAYS, 3},
		{CHILD_GPU_PCIE_TX, 4096},
		{CHILD_GPU_PCIE_RX, 4096},
		{CHILD_GPU_LINK_TX, 7168000000},
		{CHILD_GPU_LINK_RX, 7168000000},
	};
	struct err err;

	set_machine("device 0 60 busy=40");
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_true(child_gpu_has(&d.out.m, wanted[i].which));
		assert_int_equal(d.out.m.value[wanted[i].which], wanted[i].v);
	}
	/* the driver's samples of a second, a tenth each */
	assert_true(child_gpu_has(&d.out.m, CHILD_GPU_BUSY_NS));
	assert_int_equal(d.out.m.value[CHILD_GPU_BUSY_NS], 400000000);
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(d.out.m.value[CHILD_GPU_BUSY_NS], 800000000);
	/* nobody listens for Xids, and there are no performance counters */
	assert_false(child_gpu_has(&d.out.m, CHILD_GPU_XIDS));
	assert_int_equal(d.out.m.profile.have, 0);
	close_device(&d);
}

static void figures_come_with_the_second_sample(void **state)
{
	(void)state;
	static struct device d;
	const struct child_gpu_profile *p = &d.out.m.profile;
	struct err err;

	set_machine("device 0 60 busy=40 gpm");
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	assert_int_equal(p->have, 0);
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(p->have,
			 ((1u << CHILD_GPU_FIGURES) - 1) & ~(1u << CHILD_GPU_FP64));
	assert_int_equal(p->ppm[CHILD_GPU_SM], 400000);
	assert_int_equal(p->ppm[CHILD_GPU_OCCUPANCY], 200000);
	assert_int_equal(p->ppm[CHILD_GPU_TENSOR], 100000);
	assert_int_equal(p->covered_ns[CHILD_GPU_SM], 1000000000);
	assert_int_equal(p->total_ns[CHILD_GPU_SM], 400000000);
	assert_int_equal(p->covered_ns[CHILD_GPU_FP64], 0);
	/* a sample that fails is a gap: the next one begins anew */
	setenv("NVML_FAKE_FAIL", "nvmlGpmSampleGet=999", 1);
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(p->have, 0);
	unsetenv("NVML_FAKE_FAIL");
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(p->have, 0);
	assert_int_equal(p->covered_ns[CHILD_GPU_SM], 1000000000);
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(p->covered_ns[CHILD_GPU_SM], 2000000000);
	close_device(&d);
}

static void instances_have_their_memory_and_figures(void **state)
{
	(void)state;
	static struct device d;
	struct err err;

	set_machine("device 0 60 mig gpm busy=40\n"
		    "instance 0 2 0 3 50 2000\n"
		    "instance 0 1 0 4 80 3000\n"
		    "instance 0 2 1 3 50 2000\n");
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	const struct device_nvml *v = d.more;
	assert_int_equal(v->instance_count, 3);
	assert_int_equal(v->slices, 7);
	assert_int_equal(v->instance[0].item.profile.have, 0);
	assert_int_equal(read_again(&d, &err), 0);
	const struct child_gpu_instance *a = &v->instance[0].item,
					*b = &v->instance[1].item,
					*c = &v->instance[2].item;
	assert_int_equal(a->gi, 1);
	assert_int_equal(a->slices, 4);
	assert_int_equal(a->sm_count, 64);
	assert_int_equal(a->value[CHILD_GPU_INSTANCE_USED], 3000ull << 20);
	assert_int_equal(a->value[CHILD_GPU_INSTANCE_TOTAL], 40960ull << 20);
	assert_int_equal(a->profile.ppm[CHILD_GPU_SM], 800000);
	assert_int_equal(b->gi, 2);
	assert_int_equal(c->gi, 2);
	assert_int_equal(c->ci, 1);
	assert_int_equal(b->profile.ppm[CHILD_GPU_SM], 500000);
	/* compute instances have the figures of their GPU instance */
	assert_memory_equal(&b->profile, &c->profile, sizeof(b->profile));
	assert_string_equal(b->uuid, "MIG-00000000-0000-0000-0000-000000000256");
	/* how busy all of it is, nobody tells */
	assert_false(child_gpu_has(&d.out.m, CHILD_GPU_BUSY));
	assert_false(child_gpu_has(&d.out.m, CHILD_GPU_BUSY_NS));
	assert_int_equal(d.out.m.profile.have, 0);
	/* before Hopper it is not measured, which is not 0 */
	set_machine("device 0 60 mig\ninstance 0 1 0 4 80 3000\n");
	close_device(&d);
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(d.more->instance_count, 1);
	assert_int_equal(d.more->instance[0].item.profile.have, 0);
	close_device(&d);
}

static void a_device_that_is_divided_anew_needs_a_new_library(void **state)
{
	(void)state;
	static struct device d;
	struct err err;

	set_machine("device 0 60 mig\ninstance 0 1 0 4 80 3000\n");
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	set_machine("device 0 60 mig\ninstance 0 1 0 4 80 3000\n"
		    "instance 0 2 0 3 0 0\n");
	assert_int_equal(read_again(&d, &err), -ENODEV);
	assert_non_null(strstr(err.text, "its instances have changed"));
	set_machine("device 0 60\n");
	assert_int_equal(read_again(&d, &err), -ENODEV);
	assert_non_null(strstr(err.text, "MIG was switched off"));
	close_device(&d);
}

static void processes_are_listed_once_and_a_while_after_their_end(void **state)
{
	(void)state;
	static struct device d;
	struct err err;

	set_machine("device 0 60\nprocess 0 70 50 300 0\nprocess 0 7 0 100 0\n");
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	struct process_list *l = &d.more->processes.list;
	assert_int_equal(l->count, 2);
	assert_int_equal(l->item[0].pid, 7);
	assert_int_equal(l->item[0].gi, CHILD_GPU_NONE);
	assert_int_equal(l->item[1].memory_bytes, 300ull << 20);
	assert_int_equal(l->item[1].busy_ns, 0); /* since when is unknown */
	assert_int_equal(read_again(&d, &err), 0);
	assert_true(l->item[1].have >> CHILD_GPU_PROCESS_BUSY & 1);
	assert_int_equal(l->item[1].busy_ns, 500000000);
	assert_false(l->item[0].have >> CHILD_GPU_PROCESS_BUSY & 1);
	set_machine("device 0 60\nprocess 0 7 0 100 0\n");
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(l->count, 2);
	assert_int_equal(l->item[1].ended, 1);
	pass_time(9000);
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(l->count, 1);
	close_device(&d);
	/* by instance on a divided device */
	set_machine("device 0 60 mig\ninstance 0 1 0 4 80 3000\n"
		    "instance 0 5 0 3 80 3000\nprocess 0 70 50 300 5\n");
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	assert_int_equal(d.more->processes.list.count, 1);
	assert_int_equal(d.more->processes.list.item[0].gi, 5);
	close_device(&d);
}

static void accounting_tells_of_processes_that_have_ended(void **state)
{
	(void)state;
	static struct device d;
	struct err err;

	set_machine("device 0 60 accounting\nprocess 0 70 10 300 0\n");
	open_device(&d, 0);
	assert_int_equal(device_read(&d, &err), 0);
	const struct child_gpu_process *p = &d.more->processes.list.item[0];
	assert_int_equal(p->have >> CHILD_GPU_PROCESS_PEAK & 1, 0);
	set_machine("device 0 60 accounting\n");
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(p->ended, 1);
	assert_int_equal(p->have >> CHILD_GPU_PROCESS_PEAK & 1, 1);
	assert_int_equal(p->peak_bytes, 3ull << 30);
	assert_int_equal(p->busy_ns, 500000000);
	close_device(&d);
	/* where it is off, only root may switch it on */
	set_machine("device 0 60\n");
	open_device(&d, 0);
	assert_int_equal(nvml_enable_accounting(d.nvml, d.handle, &err), -EACCES);
	set_machine("device 0 60 accounting\n");
	assert_int_equal(nvml_enable_accounting(d.nvml, d.handle, &err), 0);
	close_device(&d);
}

static bool is_loss(int code)
{
	static const int gone[] = {1, 6, 9, 15, 16};

	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		if (gone[i] == code)
			return true;
	}
	return false;
}

static void fail_call(const char *name, int code, uint32_t device)
{
	static struct device d;
	struct err err = {""};
	char fail[96];

	snprintf(fail, sizeof(fail), "%s=%d", name, code);
	setenv("NVML_FAKE_FAIL", fail, 1);
	int rc = try_open(&d, device, &err);
	for (int i = 0; i < 2 && rc == 0; i++)
		rc = read_again(&d, &err);
	if (rc == -ENODEV && !is_loss(code) && code != 2)
		fail_msg("%s: a device is lost: %s", fail, err.text);
	unsetenv("NVML_FAKE_FAIL");
	if (d.nvml) {
		/* once the call is well again so is the device, unless its instances
		 * were overlooked */
		if (rc != -ENODEV && read_again(&d, &err) < 0 &&
		    !strstr(err.text, "MIG was switched on") &&
		    !strstr(err.text, "its instances have changed"))
			fail_msg("after %s: %s", fail, err.text);
		close_device(&d);
	}
}

static const char *const two_devices =
	"device 0 60 busy=40 gpm\nprocess 0 7 30 100 0\n"
	"vgpu 0 9 0 10 500 8192 10f5c0de-0000-4000-8000-000000000001\n"
	"device 1 60 mig gpm\ninstance 1 1 0 4 80 3000\nprocess 1 8 0 100 1\n";

/* By the host's figures: whose each is, its size, and how much it does */
static void vgpus_are_told_with_their_machines(void **state)
{
	(void)state;
	static struct device d;
	struct err err = {""};

	set_machine("device 0 60\n"
		    "vgpu 0 40 3 0 0 16384 7\n"
		    "vgpu 0 9 0 30 500 8192 10F5C0DE-0000-4000-8000-000000000001\n");
	open_device(&d, 0);
	pass_time(1000);
	assert_int_equal(read_again(&d, &err), 0);
	pass_time(1000);
	assert_int_equal(read_again(&d, &err), 0);
	const struct nvml_vgpus *v = &d.more->vgpus;
	assert_int_equal(v->count, 2);
	assert_int_equal(v->item[0].id, 9);
	assert_int_equal(v->item[0].gi, CHILD_GPU_NONE);
	assert_int_equal(v->item[0].have, 7);
	assert_int_equal(v->item[0].used_bytes, 500ull << 20);
	assert_int_equal(v->item[0].size_bytes, 8192ull << 20);
	assert_int_equal(v->item[0].busy_ppm, 300000);
	assert_string_equal(v->item[0].vm, "10f5c0de-0000-4000-8000-000000000001");
	assert_string_equal(v->item[0].type, "NVIDIA A40-8Q");
	/* in a GPU instance; of a machine that has but a number */
	assert_int_equal(v->item[1].id, 40);
	assert_int_equal(v->item[1].gi, 3);
	assert_string_equal(v->item[1].vm, "");
	assert_int_equal(v->item[1].busy_ppm, 0);
	set_machine("device 0 60\n");
	pass_time(1000);
	assert_int_equal(read_again(&d, &err), 0);
	assert_int_equal(v->count, 0);
	close_device(&d);
}

/* Each call with each code, on a whole device and on a divided one */
static void any_answer_of_any_call_costs_no_more_than_the_device(void **state)
{
	(void)state;
	static struct device d;

	set_machine(two_devices);
	open_device(&d, 0);
	close_device(&d);
	size_t count = points.count;
	assert_true(count > 45);
	for (size_t i = 0; i < count; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s", points.name[i]);
		for (int code = 1; code < 1000; code = code == 30 ? 999 : code + 1) {
			fail_call(name, code, 0);
			fail_call(name, code, 1);
		}
	}
}

static void open_what_is_there(void)
{
	static struct device d;
	struct err err = {""};

	for (uint32_t device = 0; device < 2; device++) {
		int rc = try_open(&d, device, &err);
		if (rc < 0) {
			assert_int_equal(rc, -EPROTO);
			assert_non_null(strstr(err.text, " has no nvml"));
			continue;
		}
		assert_int_equal(read_again(&d, &err), 0);
		assert_int_equal(read_again(&d, &err), 0);
		close_device(&d);
	}
}

static void any_entry_point_may_be_missing(void **state)
{
	(void)state;
	set_machine(two_devices);
	for (size_t i = 0; i < points.count; i++) {
		points.missing[i] = true;
		open_what_is_there();
		points.missing[i] = false;
	}
	/* from each on all, and every second one */
	for (size_t i = points.count; i-- > 0;) {
		points.missing[i] = true;
		open_what_is_there();
	}
	memset(points.missing, 0, sizeof(points.missing));
	for (size_t half = 0; half < 2; half++) {
		for (size_t i = 0; i < points.count; i++)
			points.missing[i] = i % 2 == half;
		open_what_is_there();
	}
	memset(points.missing, 0, sizeof(points.missing));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_newer_driver_tells_limits_errors_and_links),
		cmocka_unit_test(figures_come_with_the_second_sample),
		cmocka_unit_test(instances_have_their_memory_and_figures),
		cmocka_unit_test(a_device_that_is_divided_anew_needs_a_new_library),
		cmocka_unit_test(processes_are_listed_once_and_a_while_after_their_end),
		cmocka_unit_test(accounting_tells_of_processes_that_have_ended),
		cmocka_unit_test(vgpus_are_told_with_their_machines),
		cmocka_unit_test(any_answer_of_any_call_costs_no_more_than_the_device),
		cmocka_unit_test(any_entry_point_may_be_missing),
	};

	lab_find_library();
	pass_time(0);
	return cmocka_run_group_tests_name("device_nvml_test", tests, NULL, NULL);
}
