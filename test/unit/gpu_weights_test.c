/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ceems-gpu tells of divided devices, and what becomes of a device's energy over
 * random histories: units, idle and system are what its counter rose, to the
 * microjoule, whatever happens to counter, library and instances. */
#include "daemon/ticker/gpu_weights.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/energy.h"
#include "daemon/gpus/gpus.h"
#include "daemon/sources/child_link.h"
#include "daemon/sources/source.h"
#include "daemon/ticker/gpu_readings.h"
#include "test/unit/unit.h"

extern const struct source source_gpu;

#define SEC 1000000000ull
#define DEVICES 2
#define UNITS 10
#define TICKS 120
#define STEP_NS (SEC / 10)

static uint64_t now_ns = 100 * SEC;

static uint64_t lab_boottime_ns(void)
{
	return now_ns;
}

/* What ceems-gpu said last */
static struct said_of_device {
	union {
		struct child_gpu m;
		char bytes[sizeof(struct child_gpu) +
			   CHILD_GPU_POINTS_MAX * sizeof(struct child_gpu_point)];
	} gpu;
	union {
		struct child_gpu_instances m;
		char bytes[sizeof(struct child_gpu_instances) +
			   CHILD_GPU_INSTANCES_MAX * sizeof(struct child_gpu_instance)];
	} mig;
	bool is_another; /* the next message is of another child */
} said[DEVICES];

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size);
int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size)
{
	(void)l;
	if (kind != CHILD_GPU && kind != CHILD_GPU_INSTANCES)
		return -EAGAIN;
	for (size_t i = 0; i < DEVICES; i++) {
		const struct child_head *h =
			kind == CHILD_GPU ? &said[i].gpu.m.head : &said[i].mig.m.head;
		if (!h->bytes || h->kind != kind || strcmp(h->name, name) != 0)
			continue;
		assert_true(h->bytes <= size);
		assert_int_equal(child_msg_check(h, h->bytes, NULL), kind);
		memcpy(buf, h, h->bytes);
		return (int)h->bytes;
	}
	return -EAGAIN;
}

static struct env lab_env(void)
{
	static int anything;

	return (struct env){.gpu = (struct child_link *)&anything,
			    .boottime_ns = lab_boottime_ns};
}

/* count instances 1..count of these slices, each with a use, UINT32_MAX: unknown */
static void say_instances(uint32_t device, uint32_t count, const uint32_t *slices,
			  const uint32_t *sm_ppm)
{
	struct child_gpu_instances *m = &said[device].mig.m;
	char name[16];

	memset(&said[device].mig, 0, sizeof(said[device].mig));
	m->index = device;
	m->slices = 7;
	m->read_ns = now_ns;
	snprintf(m->uuid, sizeof(m->uuid), "GPU-%u", device);
	for (uint32_t i = 0; i < count; i++) {
		struct child_gpu_instance *g = &m->items[i];
		g->gi = i + 1;
		g->slices = slices[i];
		g->profile.at_ns = now_ns;
		if (sm_ppm[i] == UINT32_MAX)
			continue;
		g->profile.have = 1u << CHILD_GPU_SM;
		g->profile.ppm[CHILD_GPU_SM] = sm_ppm[i];
	}
	snprintf(name, sizeof(name), "gpu%u", device);
	child_msg_head(&m->head, CHILD_GPU_INSTANCES, name, count,
		       sizeof(*m) + count * sizeof(m->items[0]));
}

static void weight_is(const struct gpu_weights *w, uint32_t instance,
		      uint32_t share_ppm, uint32_t use_ppm)
{
	struct gpu_weight got;

	assert_true(gpu_weights_of(w, 0, instance, GPUS_NONE, &got));
	assert_int_equal(got.share_ppm, share_ppm);
	assert_int_equal(got.use_ppm, use_ppm);
}

static void instances_weigh_by_slices_and_by_their_use(void **state)
{
	(void)state;
	static const uint32_t slices[] = {4, 2}, unknown[] = {0, 0};
	struct env env = lab_env();
	struct gpu_weights *w = gpu_weights_new(&env);
	struct gpu_weight none;

	memset(said, 0, sizeof(said));
	gpu_weights_take(w, 1);
	assert_false(gpu_weights_of(w, 0, 1, GPUS_NONE, &none));
	say_instances(0, 2, slices, (uint32_t[]){500000, 1000000});
	gpu_weights_take(w, 1);
	weight_is(w, 1, 571428, 285714);
	weight_is(w, 2, 285714, 285714);
	assert_false(gpu_weights_of(w, 0, 3, GPUS_NONE, &none));
	/* one that is not measured: none is */
	say_instances(0, 2, slices, (uint32_t[]){500000, UINT32_MAX});
	gpu_weights_take(w, 1);
	weight_is(w, 1, 571428, 0);
	/* next to nothing */
	say_instances(0, 2, slices, (uint32_t[]){9000, 0});
	gpu_weights_take(w, 1);
	weight_is(w, 1, 571428, 0);
	/* figures of an old sample */
	say_instances(0, 2, slices, (uint32_t[]){500000, 500000});
	now_ns += CHILD_GPU_STALE_NS + 1;
	gpu_weights_take(w, 1);
	weight_is(w, 1, 571428, 0);
	/* unknown slices: in equal parts */
	say_instances(0, 2, unknown, (uint32_t[]){500000, 500000});
	gpu_weights_take(w, 1);
	weight_is(w, 1, 500000, 0);
	gpu_weights_free(w);
}

static void compute_weight_is(const struct gpu_weights *w, uint32_t gi, uint32_t ci,
			      uint32_t share_ppm, uint32_t use_ppm)
{
	struct gpu_weight got;

	assert_true(gpu_weights_of(w, 0, gi, ci, &got));
	assert_int_equal(got.share_ppm, share_ppm);
	assert_int_equal(got.use_ppm, use_ppm);
	assert_int_equal(got.is_part, gi == 1);
}

/* GPU instance 1 has the compute instances 0 and 1, GPU instance 2 has 0. */
static void compute_instances_weigh_by_their_slices(void **state)
{
	(void)state;
	static const uint32_t slices[] = {4, 4, 3};
	struct env env = lab_env();
	struct gpu_weights *w = gpu_weights_new(&env);
	struct child_gpu_instance *items = said[0].mig.m.items;
	struct gpu_weight none;

	memset(said, 0, sizeof(said));
	say_instances(0, 3, slices, (uint32_t[]){700000, 700000, 350000});
	items[1].gi = 1;
	items[1].ci = 1;
	items[2].gi = 2;
	items[0].ci_slices = 3;
	items[1].ci_slices = 1;
	items[2].ci_slices = 3;
	gpu_weights_take(w, 1);
	weight_is(w, 1, 571428, 400000);
	weight_is(w, 2, 428571, 150000);
	compute_weight_is(w, 1, 0, 428571, 300000);
	compute_weight_is(w, 1, 1, 142857, 100000);
	compute_weight_is(w, 2, 0, 428571, 150000);
	assert_false(gpu_weights_of(w, 0, 1, 2, &none));
	assert_false(gpu_weights_of(w, 0, 3, 0, &none));
	/* how many they have is not told: in equal parts */
	items[1].ci_slices = 0;
	gpu_weights_take(w, 1);
	compute_weight_is(w, 1, 0, 285714, 200000);
	compute_weight_is(w, 1, 1, 285714, 200000);
	gpu_weights_free(w);
}

static void partitions_weigh_by_how_busy_their_dies_are(void **state)
{
	(void)state;
	static const uint32_t slices[] = {1, 1};
	struct env env = lab_env();
	struct gpu_weights *w = gpu_weights_new(&env);
	struct child_gpu_instances *m = &said[0].mig.m;

	memset(said, 0, sizeof(said));
	say_instances(0, 2, slices, (uint32_t[]){UINT32_MAX, UINT32_MAX});
	m->slices = 2;
	for (uint32_t i = 0; i < 2; i++) {
		m->items[i].profile.have = 1u << CHILD_GPU_GRAPHICS;
		m->items[i].profile.ppm[CHILD_GPU_GRAPHICS] = i ? 200000 : 800000;
	}
	gpu_weights_take(w, 1);
	weight_is(w, 1, 500000, 400000);
	weight_is(w, 2, 500000, 100000);
	m->items[1].profile.have = 0; /* it does not tell: by dies */
	gpu_weights_take(w, 1);
	weight_is(w, 1, 500000, 0);
	gpu_weights_free(w);
}

/* ---- histories ------------------------------------------------------------------- */

struct history_unit {
	struct energy_account account;
	uint64_t started_ns, ended_ns; /* ended 0: runs */
	uint32_t device, instance;     /* instance 0: all of the device */
	struct energy_gpu_share share;
};

struct history {
	uint64_t seed, keys, folded_uj, source_uj;
	uint64_t true_uj; /* what the devices took */
	struct env env;
	void *source;
	struct gpu_readings *readings;
	struct gpu_weights *weights;
	struct energy_node node;
	struct energy_config config;
	struct energy_work work;
	struct history_unit unit[UNITS];
	uint64_t mj[DEVICES], silent_until_ns[DEVICES], total_uj[DEVICES];
	bool divided[DEVICES];
};

static uint64_t draw_below(struct history *h, uint64_t n)
{
	uint64_t z = h->seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

static void say_reading(struct history *h, uint32_t device)
{
	struct child_gpu *m = &said[device].gpu.m;
	char name[16];

	if (said[device].is_another)
		m->serial = m->head.count = 0;
	said[device].is_another = false;
	uint32_t n = m->head.count;
	if (n == CHILD_GPU_POINTS_MAX) {
		memmove(m->points, m->points + 1, --n * sizeof(m->points[0]));
	}
	m->points[n] = (struct child_gpu_point){now_ns, h->mj[device] * 1000};
	m->index = device;
	m->serial++;
	m->read_ns = now_ns;
	snprintf(m->uuid, sizeof(m->uuid), "GPU-%u", device);
	snprintf(name, sizeof(name), "gpu%u", device);
	child_msg_head(&m->head, CHILD_GPU, name, n + 1,
		       sizeof(*m) + (n + 1) * sizeof(m->points[0]));
}

/* Another ceems-gpu: its first message, which comes later, begins its own list */
static void begin_child(uint32_t device)
{
	said[device].is_another = true;
}

static void divide_device(struct history *h, uint32_t device)
{
	uint32_t slices[7], use[7], count = (uint32_t)draw_below(h, 8), left = 7;

	for (uint32_t i = 0; i < count; i++) {
		slices[i] = left > count - i
				    ? 1 + (uint32_t)draw_below(h, left - (count - i))
				    : 1;
		left -= slices[i];
		use[i] = draw_below(h, 4) ? (uint32_t)draw_below(h, 1000001)
					  : UINT32_MAX;
	}
	say_instances(device, count, slices, use);
}

/* Something that must not cost or make a microjoule */
static void disturb_device(struct history *h, uint32_t device)
{
	switch (draw_below(h, 60)) {
	case 0: /* the driver was loaded anew */
		h->mj[device] = draw_below(h, 1000);
		begin_child(device);
		break;
	case 1: /* reset in mid job: the counter begins anew, the child goes on */
		h->mj[device] = 0;
		break;
	case 2: /* a step backwards */
		h->mj[device] -= h->mj[device] ? draw_below(h, h->mj[device]) : 0;
		break;
	case 3: /* a leap that no device makes */
		h->mj[device] += 1ull << 50;
		break;
	case 4: /* a hang or release, short or long */
		h->silent_until_ns[device] = now_ns + draw_below(h, 15) * SEC;
		begin_child(device);
		break;
	case 5: /* MIG, with jobs on the device */
		h->divided[device] = !h->divided[device];
		begin_child(device);
		memset(&said[device].mig, 0, sizeof(said[device].mig));
		break;
	default:
		break;
	}
	if (h->divided[device] && draw_below(h, 5) == 0)
		divide_device(h, device);
}

static void pass_tick(struct history *h)
{
	for (unsigned step = 0; step < 10; step++) {
		now_ns += STEP_NS;
		for (uint32_t i = 0; i < DEVICES; i++) {
			uint64_t drawn_mj = draw_below(h, 80000);
			h->mj[i] += drawn_mj;
			h->true_uj += drawn_mj * 1000;
			disturb_device(h, i);
			if (now_ns >= h->silent_until_ns[i])
				say_reading(h, i);
		}
	}
}

static void change_units(struct history *h)
{
	for (size_t i = 0; i < UNITS; i++) {
		struct history_unit *u = &h->unit[i];
		if (u->ended_ns && u->ended_ns + 20 * SEC < now_ns) {
			h->folded_uj += u->account.settled_uj[ENERGY_GPU];
			u->started_ns = u->ended_ns = 0;
		}
		if (!u->started_ns && draw_below(h, 3) == 0) {
			energy_account_init(&u->account,
					    ENERGY_KEYS_RESERVED + h->keys++);
			u->started_ns = now_ns - draw_below(h, SEC);
			u->device = (uint32_t)draw_below(h, DEVICES);
			u->instance = (uint32_t)draw_below(h, 8);
		} else if (u->started_ns && !u->ended_ns && draw_below(h, 6) == 0) {
			u->ended_ns = now_ns - draw_below(h, SEC);
			if (u->ended_ns < u->started_ns)
				u->ended_ns = u->started_ns + 1;
		}
	}
}

static size_t list_uses(struct history *h, struct energy_use *uses)
{
	size_t n = 0;

	gpu_weights_take(h->weights, DEVICES);
	for (size_t i = 0; i < UNITS; i++) {
		struct history_unit *u = &h->unit[i];
		struct gpu_weight w = {.share_ppm = ENERGY_ONE_PPM};
		if (!u->started_ns)
			continue;
		if (u->instance)
			(void)gpu_weights_of(h->weights, u->device, u->instance,
					     GPUS_NONE, &w);
		u->share = (struct energy_gpu_share){u->device, w.share_ppm, w.use_ppm};
		uses[n++] = (struct energy_use){.account = &u->account,
						.started_ns = u->started_ns,
						.ended_ns = u->ended_ns,
						.gpus = &u->share,
						.gpu_count = 1};
	}
	return n;
}

static void close_tick(struct history *h, struct energy_meter *meters,
		       const uint64_t *measured_ns)
{
	struct energy_use uses[UNITS];
	size_t n = list_uses(h, uses);
	struct energy_tick tick = {
		.t0_ns = now_ns - SEC,
		.t1_ns = now_ns,
		.gpus = meters,
		.gpu_count = DEVICES,
		.histories = gpu_readings_take(h->readings, measured_ns, DEVICES),
		.node_mcpu = 1000,
	};
	struct err err;

	if (energy_tick(&h->node, &h->config, &tick, uses, n, &h->work, &err) < 0)
		fail_msg("%s", err.text);
	gpu_readings_commit(h->readings);
}

static void measure_tick(struct history *h)
{
	struct source_snapshot s = {0};
	struct energy_meter meters[DEVICES] = {{0}};
	uint64_t measured_ns[DEVICES] = {0};
	struct err err;

	int rc = source_gpu.sample(h->source, &s, &err);
	assert_true(rc == 0 || rc == -EINPROGRESS);
	for (size_t i = 0; i < s.count; i++) {
		const struct source_channel *c = &s.channels[i];
		if (c->kind != SOURCE_ENERGY)
			continue;
		assert_true(c->value >= h->total_uj[c->index]);
		meters[c->index] =
			(struct energy_meter){1, c->value - h->total_uj[c->index]};
		h->source_uj += meters[c->index].energy_uj;
		h->total_uj[c->index] = c->value;
		measured_ns[c->index] = c->measured_ns;
	}
	source_snapshot_done(&s);
	close_tick(h, meters, measured_ns);
}

static void adds_up(const struct history *h, uint64_t seed)
{
	const struct energy_node *n = &h->node;
	uint64_t sum = h->folded_uj + n->idle.settled_uj[ENERGY_GPU] +
		       n->system.settled_uj[ENERGY_GPU] +
		       n->ended.settled_uj[ENERGY_GPU];

	for (size_t i = 0; i < UNITS; i++)
		sum += h->unit[i].started_ns ? h->unit[i].account.settled_uj[ENERGY_GPU]
					     : 0;
	if (sum != n->measured_uj[ENERGY_GPU] || sum != h->source_uj)
		fail_msg("seed %llu at %llu: parts %llu, node %llu, devices %llu",
			 (unsigned long long)seed, (unsigned long long)now_ns,
			 (unsigned long long)sum,
			 (unsigned long long)n->measured_uj[ENERGY_GPU],
			 (unsigned long long)h->source_uj);
}

static void play_history(uint64_t seed)
{
	static struct history h;
	struct err err;

	memset(said, 0, sizeof(said));
	h = (struct history){.seed = seed, .env = lab_env()};
	h.readings = gpu_readings_new(&h.env);
	h.weights = gpu_weights_new(&h.env);
	energy_node_init(&h.node);
	energy_config_defaults(&h.config);
	h.config.idle = (enum energy_idle)draw_below(&h, 3);
	h.config.idle_uw[ENERGY_GPU] = draw_below(&h, 2) ? 60000000 : 0;
	assert_int_equal(source_gpu.open(&h.env, &h.source, &err), 0);
	for (unsigned t = 0; t < TICKS; t++) {
		pass_tick(&h);
		change_units(&h);
		measure_tick(&h);
		adds_up(&h, seed);
	}
	/* it was a history, not nothing */
	assert_true(h.source_uj > 100 * 1000000ull);
	assert_true(h.source_uj <= h.true_uj);
	assert_true(h.source_uj > h.node.idle.settled_uj[ENERGY_GPU]);
	source_gpu.close(h.source);
	gpu_readings_free(h.readings);
	gpu_weights_free(h.weights);
	energy_work_done(&h.work);
}

static void over_random_histories_a_device_is_its_units_idle_and_system(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++)
		play_history(seed * 7919);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instances_weigh_by_slices_and_by_their_use),
		cmocka_unit_test(compute_instances_weigh_by_their_slices),
		cmocka_unit_test(partitions_weigh_by_how_busy_their_dies_are),
		cmocka_unit_test(
			over_random_histories_a_device_is_its_units_idle_and_system),
	};
	return cmocka_run_group_tests_name("gpu_weights_test", tests, NULL, NULL);
}
