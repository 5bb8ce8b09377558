/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What readings of devices add to the units that hold them. ceems-gpu's messages are
 * the test's own. */
#include "daemon/ticker/gpu_use.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/sources/child_link.h"
#include "lib/clock.h"
#include "test/unit/unit.h"

#define MIB (1024ull * 1024)

static struct {
	union {
		struct child_gpu m;
		char bytes[sizeof(struct child_gpu) + sizeof(struct child_gpu_point)];
	} gpu;
	union {
		struct child_gpu_instances m;
		char bytes[sizeof(struct child_gpu_instances) +
			   2 * sizeof(struct child_gpu_instance)];
	} mig;
} said;

static char anything;

/* What the unit's processes on a shared device did */
static struct gpu_shared_use shared;

struct gpu_shared_use __wrap_gpu_sharing_use(const struct gpu_sharing *s,
					     const struct units *u, uint32_t device,
					     uint32_t unit);
struct gpu_shared_use __wrap_gpu_sharing_use(const struct gpu_sharing *s,
					     const struct units *u, uint32_t device,
					     uint32_t unit)
{
	(void)u;
	assert_ptr_equal(s, &anything);
	assert_int_equal(device, 0);
	assert_int_equal(unit, 7);
	return shared;
}

/* What was added to the unit */
static struct {
	unsigned calls;
	struct unit_gpu_sums more;
	struct unit_gpu_figures figures;
	uint64_t used_kib, size_kib;
} added;

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *ret, size_t size);
int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *ret, size_t size)
{
	(void)l;
	assert_string_equal(name, "gpu0");
	const void *from = kind == CHILD_GPU             ? (void *)&said.gpu
			   : kind == CHILD_GPU_INSTANCES ? (void *)&said.mig
							 : NULL;
	size_t bytes = kind == CHILD_GPU ? sizeof(said.gpu) : sizeof(said.mig);
	if (!from)
		return -EAGAIN;
	assert_true(bytes <= size);
	memcpy(ret, from, bytes);
	return (int)bytes;
}

void __wrap_unit_report_gpus(struct units *u, uint32_t i,
			     const struct unit_gpu_sums *more,
			     const struct unit_gpu_figures *figures, uint64_t used_kib,
			     uint64_t size_kib);
void __wrap_unit_report_gpus(struct units *u, uint32_t i,
			     const struct unit_gpu_sums *more,
			     const struct unit_gpu_figures *figures, uint64_t used_kib,
			     uint64_t size_kib)
{
	(void)u;
	assert_int_equal(i, 7);
	added.calls++;
	added.more = *more;
	added.figures = *figures;
	added.used_kib = used_kib;
	added.size_kib = size_kib;
}

static const struct env env = {.gpu = (struct child_link *)&anything};

static struct energy_account account = {.key = ENERGY_KEYS_RESERVED + 7};
static struct energy_gpu_share share = {.gpu = 0, .share_ppm = ENERGY_ONE_PPM};
static struct gpu_part part;
static struct energy_use use = {
	.account = &account, .started_ns = 1, .gpus = &share, .gpu_count = 1};
static const struct usage_deltas deltas = {
	.use = &use, .count = 1, .gpus = &share, .parts = &part};

/* One reading a second after the one before */
static void read_once(struct gpu_readings *r, uint64_t second)
{
	const uint64_t measured = second * NSEC_PER_SEC;

	said.gpu.m.read_ns = said.mig.m.read_ns = measured;
	memset(&added, 0, sizeof(added));
	(void)gpu_readings_take(r, &measured, 1);
	gpu_use_add(NULL, &deltas, r, (struct gpu_sharing *)&anything);
	gpu_readings_commit(r);
}

static void say_profile(struct child_gpu_profile *p, uint32_t have, uint32_t sm_ppm)
{
	p->have = have;
	p->ppm[CHILD_GPU_SM] = sm_ppm;
}

static void a_whole_device_has_its_figures(void **state)
{
	struct gpu_readings *r = gpu_readings_new(&env);

	(void)state;
	memset(&said, 0, sizeof(said));
	part = (struct gpu_part){.instance = GPUS_NONE, .share_ppm = ENERGY_ONE_PPM};
	said.gpu.m.have = 1u << CHILD_GPU_MEMORY_USED | 1u << CHILD_GPU_MEMORY_TOTAL;
	said.gpu.m.value[CHILD_GPU_MEMORY_USED] = 100 * MIB;
	said.gpu.m.value[CHILD_GPU_MEMORY_TOTAL] = 1000 * MIB;
	say_profile(&said.gpu.m.profile, 1u << CHILD_GPU_SM, 400000);
	read_once(r, 10);
	read_once(r, 11);
	assert_int_equal(added.used_kib, 100 * 1024);
	assert_int_equal(added.more.memory_of_ms, 1000);
	assert_int_equal(added.figures.of_ms[UNIT_GPU_SM], 1000);
	assert_int_equal(added.figures.ppm_ms[UNIT_GPU_SM], 400000000);
	assert_int_equal(added.figures.of_ms[UNIT_GPU_TENSOR], 0);
	gpu_readings_free(r);
}

static void of_a_shared_device_a_unit_has_what_its_processes_did(void **state)
{
	struct gpu_readings *r = gpu_readings_new(&env);

	(void)state;
	memset(&said, 0, sizeof(said));
	part = (struct gpu_part){.instance = GPUS_NONE,
				 .share_ppm = ENERGY_ONE_PPM / 4};
	said.gpu.m.have = 1u << CHILD_GPU_BUSY | 1u << CHILD_GPU_MEMORY_USED |
			  1u << CHILD_GPU_MEMORY_TOTAL;
	said.gpu.m.value[CHILD_GPU_BUSY] = 900000;
	said.gpu.m.value[CHILD_GPU_MEMORY_USED] = 800 * MIB;
	said.gpu.m.value[CHILD_GPU_MEMORY_TOTAL] = 1000 * MIB;
	say_profile(&said.gpu.m.profile, 1u << CHILD_GPU_SM, 400000);
	shared = (struct gpu_shared_use){.has_memory = false};
	read_once(r, 10);
	assert_int_equal(added.calls, 0);
	shared = (struct gpu_shared_use){true, true, 100 * MIB, 200000};
	read_once(r, 11);
	assert_int_equal(added.used_kib, 100 * 1024);
	assert_int_equal(added.size_kib, 1000 * 1024);
	assert_int_equal(added.more.busy_ns, NSEC_PER_SEC / 5);
	assert_int_equal(added.figures.of_ms[UNIT_GPU_SM], 0);
	/* clients of MPS may not be told apart */
	part.by_mps = true;
	read_once(r, 12);
	assert_int_equal(added.more.busy_of_ns, 0);
	assert_int_equal(added.used_kib, 100 * 1024);
	/* nor parts of an instance */
	part.instance = 3;
	said.gpu.m.mig = 1;
	read_once(r, 13);
	assert_int_equal(added.calls, 0);
	gpu_readings_free(r);
}

static void an_instance_has_its_memory_and_figures(void **state)
{
	struct gpu_readings *r = gpu_readings_new(&env);

	(void)state;
	memset(&said, 0, sizeof(said));
	part = (struct gpu_part){.instance = 5, .share_ppm = ENERGY_ONE_PPM};
	share.share_ppm = ENERGY_ONE_PPM / 7; /* slices */
	said.gpu.m.mig = 1;
	said.mig.m.head.count = 2;
	for (uint32_t i = 0; i < 2; i++) {
		struct child_gpu_instance *g = &said.mig.m.items[i];
		g->gi = 3 + 2 * i;
		g->have = 3;
		g->value[CHILD_GPU_INSTANCE_USED] = (10 + i) * MIB;
		g->value[CHILD_GPU_INSTANCE_TOTAL] = 500 * MIB;
		say_profile(&g->profile, 1u << CHILD_GPU_SM, 200000 * (i + 1));
	}
	read_once(r, 10);
	read_once(r, 11);
	assert_int_equal(added.used_kib, 11 * 1024);
	assert_int_equal(added.size_kib, 500 * 1024);
	assert_int_equal(added.more.busy_of_ns, 0);
	assert_int_equal(added.figures.ppm_ms[UNIT_GPU_SM], 400000000);
	/* an instance that is gone says nothing new */
	said.mig.m.head.count = 1;
	read_once(r, 12);
	assert_int_equal(added.more.memory_of_ms, 0);
	/* they are not one compute instance's, where it has several */
	said.mig.m.head.count = 2;
	part.is_compute = true;
	read_once(r, 13);
	assert_int_equal(added.calls, 0);
	gpu_readings_free(r);
	share.share_ppm = ENERGY_ONE_PPM;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_device_has_its_figures),
		cmocka_unit_test(of_a_shared_device_a_unit_has_what_its_processes_did),
		cmocka_unit_test(an_instance_has_its_memory_and_figures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
