/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which parts of GPUs units hold, and with what weights. Slurm's map and ceems-gpu's
 * messages are the test's own. */
#include "daemon/ticker/usage_deltas.h"

#include <errno.h>

#include "test/unit/units_fixture.h"

static struct gpu_use held;
static struct gpu_weight instance;
static int has_instance; /* whether ceems-gpu has told of it */

int __wrap_gpu_maps_of(struct gpu_maps *m, const struct unit *unit, bool patient,
		       struct gpu_use *ret, size_t max, struct err *err);
int __wrap_gpu_maps_of(struct gpu_maps *m, const struct unit *unit, bool patient,
		       struct gpu_use *ret, size_t max, struct err *err)
{
	(void)m, (void)patient, (void)max, (void)err;
	assert_int_equal(unit->manager, MANAGER_SLURM);
	*ret = held;
	return 1;
}

bool __wrap_gpu_weights_of(const struct gpu_weights *w, uint32_t device, uint32_t gi,
			   uint32_t compute, struct gpu_weight *ret);
bool __wrap_gpu_weights_of(const struct gpu_weights *w, uint32_t device, uint32_t gi,
			   uint32_t compute, struct gpu_weight *ret)
{
	(void)w, (void)device, (void)gi, (void)compute;
	if (has_instance)
		*ret = instance;
	return has_instance;
}

/* One more than the vGPUs that the machine has */
static struct gpu_vgpu vgpus[4];
static size_t vgpu_count;

const struct gpu_vgpu *__wrap_gpu_vgpus_next(const struct gpu_vgpus *v, const char *vm,
					     const struct gpu_vgpu *after);
const struct gpu_vgpu *__wrap_gpu_vgpus_next(const struct gpu_vgpus *v, const char *vm,
					     const struct gpu_vgpu *after)
{
	size_t i = after ? (size_t)(after - vgpus) + 1 : 0;

	(void)v;
	assert_string_equal(vm, "vm");
	return i < vgpu_count ? &vgpus[i] : NULL;
}

static struct usage_deltas w;

static const struct gpu_part *fill_deltas(struct energy_gpu_share *ret)
{
	static struct energy_state draft;
	static char anything;
	struct err err;
	const struct usage_deltas_params p = {.units = u,
					      .t0_ns = now,
					      .t1_ns = now + SEC,
					      .gpus = 2,
					      .gpu_maps = (struct gpu_maps *)&anything,
					      .gpus_by_driver = true};

	memset(&draft, 0, sizeof(draft));
	(void)units_energy_draft(u);
	assert_int_equal(usage_deltas_fill(&w, &p, &draft, &err), 0);
	units_energy_commit(u);
	assert_int_equal(w.count, 1);
	if (!w.gpu_count)
		return NULL;
	*ret = w.gpus[0];
	return &w.parts[0];
}

static void run_job(const char *share)
{
	struct record r = rec(RECORD_STEP_START, "7", 0);

	fresh(4);
	now = T0;
	snprintf(r.gpus, sizeof(r.gpus), "0");
	snprintf(r.gpu_share, sizeof(r.gpu_share), "%s", share);
	r.flags |= RECORD_GPUS_TRUSTED;
	assert_int_equal(apply(&r), 0);
}

static void shares_are_told_from_wholes_and_mps_from_shards(void **state)
{
	static const struct gpu whole = {.instance = GPUS_NONE, .compute = GPUS_NONE};
	struct energy_gpu_share share;
	const struct gpu_part *part;

	(void)state;
	held = (struct gpu_use){&whole, 1};
	run_job("");
	part = fill_deltas(&share);
	assert_int_equal(share.share_ppm, ENERGY_ONE_PPM);
	assert_int_equal(part->share_ppm, ENERGY_ONE_PPM);
	assert_int_equal(part->instance, GPUS_NONE);
	assert_false(part->by_mps || part->is_compute || part->vgpu);
	held.share = 0.25;
	run_job("mps:25");
	part = fill_deltas(&share);
	assert_int_equal(share.share_ppm, ENERGY_ONE_PPM / 4);
	assert_true(part->by_mps);
	assert_false(part->is_compute);
	run_job("shard:1");
	part = fill_deltas(&share);
	assert_false(part->by_mps || part->is_compute);
}

static void compute_instances_divide_their_gpu_instance(void **state)
{
	struct gpu g = {.instance = 3, .compute = 1, .parts = 4, .siblings = 2};
	struct energy_gpu_share share;

	(void)state;
	held = (struct gpu_use){&g, 0.5};
	has_instance = 1;
	instance = (struct gpu_weight){400000, 200000, true};
	run_job("shard:1");
	assert_true(fill_deltas(&share)->is_compute);
	assert_int_equal(share.share_ppm, 200000);
	assert_int_equal(share.use_ppm, 100000);
	/* which of them it is is not known */
	held.share = 1;
	g.compute = GPUS_NONE;
	instance = (struct gpu_weight){400000, 200000, false};
	run_job("");
	assert_true(fill_deltas(&share)->is_compute);
	assert_int_equal(share.share_ppm, 200000);
	assert_int_equal(share.use_ppm, 100000);
	/* ceems-gpu has not told: in equal parts of the device */
	has_instance = 0;
	run_job("");
	assert_true(fill_deltas(&share)->is_compute);
	assert_int_equal(share.share_ppm, 250000);
	g.siblings = 1;
	run_job("");
	assert_false(fill_deltas(&share)->is_compute);
}

static void run_machine(const char *gpus)
{
	struct record r = rec(RECORD_STEP_START, "vm", 0);

	fresh(4);
	now = T0;
	r.manager = MANAGER_LIBVIRT;
	snprintf(r.gpus, sizeof(r.gpus), "%s", gpus);
	r.flags |= RECORD_GPUS_TRUSTED;
	assert_int_equal(apply(&r), 0);
}

static void a_machine_has_its_vgpus_and_nothing_of_what_is_passed_through(void **state)
{
	struct energy_gpu_share share;

	(void)state;
	vgpu_count = 0;
	run_machine("0");
	assert_null(fill_deltas(&share));
	assert_false(w.gpus_unclear);
	vgpus[0] =
		(struct gpu_vgpu){.device = 1,
				  .share_ppm = 250000,
				  .said = {.gi = CHILD_GPU_NONE, .busy_ppm = 600000}};
	vgpu_count = 1;
	run_machine("0");
	assert_ptr_equal(fill_deltas(&share)->vgpu, &vgpus[0]);
	assert_int_equal(share.gpu, 1);
	assert_int_equal(share.share_ppm, 250000);
	assert_int_equal(share.use_ppm, 600000);
	/* in a GPU instance: its part of that */
	vgpus[0].said.gi = 3;
	has_instance = 1;
	instance = (struct gpu_weight){400000, 200000, false};
	run_machine("");
	assert_non_null(fill_deltas(&share));
	assert_int_equal(share.share_ppm, 100000);
	assert_int_equal(share.use_ppm, 50000);
	/* a device that is not measured */
	vgpus[0].device = 2;
	run_machine("0");
	assert_null(fill_deltas(&share));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_told_from_wholes_and_mps_from_shards),
		cmocka_unit_test(compute_instances_divide_their_gpu_instance),
		cmocka_unit_test(
			a_machine_has_its_vgpus_and_nothing_of_what_is_passed_through),
	};
	return cmocka_run_group_tests_name("usage_deltas", tests, setup, teardown);
}
