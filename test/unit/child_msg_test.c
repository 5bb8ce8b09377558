/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/records/child_msg.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

union message {
	struct child_head head;
	struct child_snapshot snapshot;
	struct child_factors factors;
	struct child_health health;
	struct child_hello hello;
	char bytes[CHILD_MESSAGE_MAX + 8];
};

static size_t put_snapshot(union message *m, uint32_t count)
{
	size_t bytes =
		sizeof(struct child_snapshot) + count * sizeof(struct child_channel);
	memset(m, 0, sizeof(*m));
	child_msg_head(&m->head, CHILD_SNAPSHOT, "redfish", count, bytes);
	return bytes;
}

static void whole_messages_are_taken(void **state)
{
	(void)state;
	static union message m;
	struct err err;
	size_t n = put_snapshot(&m, 0);
	assert_int_equal(child_msg_check(&m, n, &err), CHILD_SNAPSHOT);
	n = put_snapshot(&m, CHILD_CHANNELS_MAX);
	assert_int_equal(child_msg_check(&m, n, &err), CHILD_SNAPSHOT);
	memset(&m, 0, sizeof(m));
	child_msg_head(&m.head, CHILD_HEALTH, "redfish", 0, sizeof(m.health));
	m.health.rc = -ETIMEDOUT;
	assert_int_equal(child_msg_check(&m, sizeof(m.health), &err), CHILD_HEALTH);
	memset(&m, 0, sizeof(m));
	child_msg_head(&m.head, CHILD_HELLO, "courier", 0, sizeof(m.hello));
	assert_int_equal(child_msg_check(&m, sizeof(m.hello), &err), CHILD_HELLO);
}

static void any_other_length_is_refused(void **state)
{
	(void)state;
	static union message m;
	size_t n = put_snapshot(&m, 2);
	for (size_t len = 0; len < sizeof(m); len++) {
		if (len != n)
			assert_int_equal(child_msg_check(&m, len, NULL), -EBADMSG);
	}
	m.head.count = 3;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	m.head.count = UINT32_MAX;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
}

static void fields_out_of_range_are_refused(void **state)
{
	(void)state;
	static union message m;
	size_t n = put_snapshot(&m, 1);
	m.head.version++;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_snapshot(&m, 1);
	m.head.kind = CHILD_KINDS;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_snapshot(&m, 1);
	m.head.kind = 0;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_snapshot(&m, 1);
	m.snapshot.channels[0].kind = CHILD_CHANNEL_KINDS;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_snapshot(&m, 1);
	m.snapshot.channels[0].domain = CHILD_DOMAINS;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_snapshot(&m, 1);
	memset(m.snapshot.channels[0].chip, 'x', sizeof(m.snapshot.channels[0].chip));
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_snapshot(&m, 1);
	m.snapshot.channels[0].name[0] = '\n';
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_snapshot(&m, 1);
	memset(m.head.name, 'x', sizeof(m.head.name));
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	memset(&m, 0, sizeof(m));
	child_msg_head(&m.head, CHILD_HEALTH, "redfish", 0, sizeof(m.health));
	m.health.rc = 1;
	assert_int_equal(child_msg_check(&m, sizeof(m.health), NULL), -EBADMSG);
}

static size_t put_factors(union message *m, uint32_t count)
{
	size_t bytes =
		sizeof(struct child_factors) + count * sizeof(struct child_factor);
	memset(m, 0, sizeof(*m));
	child_msg_head(&m->head, CHILD_FACTORS, "emissions_rte", count, bytes);
	for (uint32_t i = 0; i < count; i++)
		memcpy(m->factors.factors[i].zone, "FR", 3);
	return bytes;
}

static void factors_are_taken_within_their_bounds(void **state)
{
	(void)state;
	static union message m;
	size_t n = put_factors(&m, CHILD_FACTORS_MAX);
	assert_int_equal(child_msg_check(&m, n, NULL), CHILD_FACTORS);
	struct child_factor *last = &m.factors.factors[CHILD_FACTORS_MAX - 1];
	last->mg_per_kwh = EMISSION_MG_MAX;
	assert_int_equal(child_msg_check(&m, n, NULL), CHILD_FACTORS);
	last->mg_per_kwh++;
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_factors(&m, 2);
	memcpy(m.factors.factors[1].zone, "F\"R", 4);
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_factors(&m, 2);
	memset(m.factors.factors[1].zone, 'A', EMISSION_ZONE_BYTES);
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
	n = put_factors(&m, 2);
	memset(m.factors.factors[1].country, 'A', EMISSION_COUNTRY_BYTES);
	assert_int_equal(child_msg_check(&m, n, NULL), -EBADMSG);
}

static void a_devices_readings_are_in_order(void **state)
{
	(void)state;
	static union {
		struct child_gpu m;
		char bytes[sizeof(struct child_gpu) +
			   CHILD_GPU_POINTS_MAX * sizeof(struct child_gpu_point)];
	} u;
	struct child_gpu *m = &u.m;
	size_t n = sizeof(*m) + 2 * sizeof(m->points[0]);

	child_msg_head(&m->head, CHILD_GPU, "gpu63", 2, n);
	memcpy(m->uuid, "GPU-1", 6);
	m->index = CHILD_GPUS_MAX - 1;
	m->serial = 2;
	m->points[0] = (struct child_gpu_point){5, 100};
	m->points[1] = (struct child_gpu_point){5, 7};
	assert_int_equal(child_msg_check(m, n, NULL), CHILD_GPU);
	m->points[1].at_ns = 4;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->points[1].at_ns = 6;
	m->index++;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->index--;
	m->have = 1ull << CHILD_GPU_VALUES;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->have = 0;
	m->uuid[0] = '\n';
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->uuid[0] = '\0';
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	memset(m->uuid, 'G', sizeof(m->uuid));
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
}

static void instances_of_a_device_are_told_apart(void **state)
{
	(void)state;
	static union {
		struct child_gpu_instances m;
		char bytes[sizeof(struct child_gpu_instances) +
			   2 * sizeof(struct child_gpu_instance)];
	} u;
	struct child_gpu_instances *m = &u.m;
	size_t n = sizeof(u);

	child_msg_head(&m->head, CHILD_GPU_INSTANCES, "gpu0", 2, n);
	memcpy(m->uuid, "GPU-1", 6);
	m->items[0] = (struct child_gpu_instance){.gi = 1, .ci = 1, .slices = 3};
	m->items[1] = (struct child_gpu_instance){.gi = 2, .ci = 0, .slices = 4};
	assert_int_equal(child_msg_check(m, n, NULL), CHILD_GPU_INSTANCES);
	m->items[1].gi = 1;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->items[1].ci = 2;
	assert_int_equal(child_msg_check(m, n, NULL), CHILD_GPU_INSTANCES);
	struct child_gpu_profile *p = &m->items[1].profile;
	p->have = 1u << CHILD_GPU_SM;
	p->ppm[CHILD_GPU_SM] = 1000001;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	p->ppm[CHILD_GPU_SM] = 1000000;
	p->total_ns[CHILD_GPU_SM] = 2;
	p->covered_ns[CHILD_GPU_SM] = 1;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	p->covered_ns[CHILD_GPU_SM] = 2;
	assert_int_equal(child_msg_check(m, n, NULL), CHILD_GPU_INSTANCES);
	m->items[0].slices = CHILD_GPU_SLICES_MAX + 1;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
}

static void a_vgpu_is_named_once(void **state)
{
	(void)state;
	static union {
		struct child_gpu_vgpus m;
		char bytes[sizeof(struct child_gpu_vgpus) +
			   2 * sizeof(struct child_gpu_vgpu)];
	} u;
	struct child_gpu_vgpus *m = &u.m;
	size_t n = sizeof(u);

	child_msg_head(&m->head, CHILD_GPU_VGPUS, "gpu0", 2, n);
	memcpy(m->uuid, "GPU-1", 6);
	m->items[0] = (struct child_gpu_vgpu){.id = 1, .have = 7};
	m->items[1] = (struct child_gpu_vgpu){.id = 2, .busy_ppm = 1000000};
	assert_int_equal(child_msg_check(m, n, NULL), CHILD_GPU_VGPUS);
	m->items[1].busy_ppm++;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->items[1].busy_ppm = 0;
	m->items[1].id = 1;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->items[1].id = 2;
	memset(m->items[1].vm, 'a', sizeof(m->items[1].vm));
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	memset(m->items[1].vm, 0, sizeof(m->items[1].vm));
	m->items[0].have = 8;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
}

static void a_process_is_named_once_per_instance(void **state)
{
	(void)state;
	static union {
		struct child_gpu_processes m;
		char bytes[sizeof(struct child_gpu_processes) +
			   2 * sizeof(struct child_gpu_process)];
	} u;
	struct child_gpu_processes *m = &u.m;
	size_t n = sizeof(u);

	child_msg_head(&m->head, CHILD_GPU_PROCESSES, "gpu0", 2, n);
	memcpy(m->uuid, "GPU-1", 6);
	m->items[0] = (struct child_gpu_process){.pid = 7, .gi = 1, .ci = 0};
	m->items[1] = (struct child_gpu_process){.pid = 7, .gi = 2, .ci = 0};
	assert_int_equal(child_msg_check(m, n, NULL), CHILD_GPU_PROCESSES);
	m->items[1].gi = 1;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->items[1].pid = 6;
	m->items[1].gi = 2;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->items[1].pid = 8;
	m->items[1].ended = 2;
	assert_int_equal(child_msg_check(m, n, NULL), -EBADMSG);
	m->items[1].ended = 1;
	assert_int_equal(child_msg_check(m, n, NULL), CHILD_GPU_PROCESSES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_messages_are_taken),
		cmocka_unit_test(any_other_length_is_refused),
		cmocka_unit_test(fields_out_of_range_are_refused),
		cmocka_unit_test(factors_are_taken_within_their_bounds),
		cmocka_unit_test(a_devices_readings_are_in_order),
		cmocka_unit_test(instances_of_a_device_are_told_apart),
		cmocka_unit_test(a_vgpu_is_named_once),
		cmocka_unit_test(a_process_is_named_once_per_instance),
	};
	return cmocka_run_group_tests_name("child_msg_test", tests, NULL, NULL);
}
