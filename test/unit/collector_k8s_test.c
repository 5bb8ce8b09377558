/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pods on cgroup v2, with names as systemd has them. */
#include "test/unit/collector_slurm_lab.h"

extern const struct collector collector_k8s;

#define POD "5b8f7fd4-0000-4000-8000-000000000001"
#define GROUP                                                                          \
	"/kubepods.slice/kubepods-burstable.slice/"                                    \
	"kubepods-burstable-pod5b8f7fd4_0000_4000_8000_000000000001.slice"
#define BEST_EFFORT "5b8f7fd4-0000-4000-8000-000000000002"
#define BEST_EFFORT_GROUP                                                              \
	"/kubepods.slice/kubepods-besteffort.slice/"                                   \
	"kubepods-besteffort-pod5b8f7fd4_0000_4000_8000_000000000002.slice"

static struct record pod_record(enum record_type type, const char *uid,
				const char *path, uint32_t milli, uint64_t memory_bytes)
{
	struct record r;

	record_init(&r, type, MANAGER_K8S);
	record_set(&r, r.unit, sizeof(r.unit), uid);
	r.step = 7;
	r.flags = RECORD_MILLICPUS;
	r.boottime_ns = now_ns;
	r.realtime_ns = test_realtime();
	r.cpus = milli;
	r.memory_bytes = memory_bytes;
	assert_true(record_add_cgroup(&r, CGROUP_UNIFIED, path));
	return r;
}

static void apply_pod(struct lab *l, const char *uid, const char *path, uint32_t milli)
{
	struct record r = pod_record(RECORD_STEP_START, uid, path, milli, 100 << 20);

	apply(l, &r);
}

static void lab_begin(struct lab *l)
{
	lab_collector = &collector_k8s;
	lab_init(l, "test/fixture/k8s");
}

static void golden_of_a_pod(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	l.options.k8s_psi = true;
	apply_pod(&l, POD, GROUP, 250);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("collector_k8s", l.prom);
	lab_done(&l);
}

/* cpu.weight would give 0.231 of a CPU. */
static void cpus_are_what_it_requests_to_a_thousandth(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	apply_pod(&l, POD, GROUP, 250);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", POD), "0.25");
	apply_pod(&l, POD, GROUP, 1500); /* resized in place */
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", POD), "1.5");
	assert_int_equal(unit_cpus(units_get(l.env.units, 0)), 2);
	assert_string_equal(value(&l, "ceems_compute_units", "k8s"), "1");
	lab_done(&l);
}

static void memory_of_a_pod_without_a_limit_is_the_machines(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	apply_pod(&l, POD, GROUP, 250);
	apply_pod(&l, BEST_EFFORT, BEST_EFFORT_GROUP, 0);
	lab_open(&l);
	scrape(&l);
	/* not the 100 MiB that it requests */
	assert_string_equal(value(&l, "ceems_compute_unit_memory_total_bytes", POD),
			    "134217728");
	assert_string_equal(
		value(&l, "ceems_compute_unit_memory_total_bytes", BEST_EFFORT),
		"8589934592");
	lab_done(&l);
}

#define CONTAINER                                                                      \
	GROUP "/cri-containerd-"                                                       \
	      "1111111111111111111111111111111111111111111111111111111111111111.scope"

static void apply_part(struct lab *l, enum record_type type, uint32_t run,
		       const char *name, const char *path, uint64_t cpu_ns)
{
	struct record r = pod_record(type, POD, path, 0, 0);

	r.flags = RECORD_PART;
	r.step = run;
	r.began_ns = now_ns - 1;
	record_set(&r, r.command, sizeof(r.command), name);
	if (cpu_ns)
		r.counters = (struct record_counters){.source = COUNTERS_CGROUP_V2,
						      .cpu_user_ns = cpu_ns,
						      .read_ns = now_ns};
	apply(l, &r);
}

static void containers_have_series_if_the_site_asks(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	for (unsigned asked = 0; asked < 2; asked++) {
		l.options.k8s_steps = asked;
		apply_pod(&l, POD, GROUP, 250);
		apply_part(&l, RECORD_PART_START, 11, "main", CONTAINER, 0);
		sample(&l);
		lab_open(&l);
		scrape(&l);
		assert_int_equal(lines(&l, "ceems_compute_unit_step_", ""), 4 * asked);
		/* not the container's on top */
		assert_string_equal(
			value(&l, "ceems_compute_unit_cpu_user_seconds_total", POD),
			"6");
		if (!asked)
			lab_collector->close(l.state);
	}
	const char *step = "step=\"main\"";
	assert_string_equal(
		value(&l, "ceems_compute_unit_step_cpu_user_seconds_total", step), "4");
	assert_string_equal(
		value(&l, "ceems_compute_unit_step_cpu_system_seconds_total", step),
		"1");
	assert_string_equal(
		value(&l, "ceems_compute_unit_step_memory_peak_bytes", step), "350000");
	assert_string_equal(value(&l, "ceems_compute_unit_step_oom_kills_total", step),
			    "2");
	lab_done(&l);
}

static void container_that_starts_again_has_one_series(void **state)
{
	(void)state;
	struct lab l;
	const char *name = "ceems_compute_unit_step_cpu_user_seconds_total";
	lab_begin(&l);
	l.options.k8s_steps = true;
	apply_pod(&l, POD, GROUP, 250);
	apply_part(&l, RECORD_PART_START, 11, "main", CONTAINER, 0);
	apply_part(&l, RECORD_PART_START, 12, "side", GROUP "/gone", 0);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, name, "main"), "4");
	assert_string_equal(value(&l, name, "side"), "none"); /* not 0 */
	apply_part(&l, RECORD_STEP_STOP, 11, "main", CONTAINER, 7 * NSEC_PER_SEC);
	scrape(&l);
	assert_string_equal(value(&l, name, "main"), "6"); /* 7 s: exactly its own */
	apply_part(&l, RECORD_PART_START, 13, "main", CONTAINER, 0);
	scrape(&l);
	assert_string_equal(value(&l, name, "main"), "4");
	/* its end without counters: what was read last */
	apply_part(&l, RECORD_STEP_STOP, 13, "main", CONTAINER, 0);
	scrape(&l);
	assert_string_equal(value(&l, name, "main"), "4");
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_of_a_pod),
		cmocka_unit_test(cpus_are_what_it_requests_to_a_thousandth),
		cmocka_unit_test(memory_of_a_pod_without_a_limit_is_the_machines),
		cmocka_unit_test(containers_have_series_if_the_site_asks),
		cmocka_unit_test(container_that_starts_again_has_one_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
