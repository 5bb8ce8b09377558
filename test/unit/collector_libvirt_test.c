/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual machines on a hybrid host, where libvirt has no group of cpuacct. */
#include <fcntl.h>
#include <unistd.h>

#include "daemon/found.h"
#include "daemon/guests/guest_figures.h"
#include "daemon/units_found.h"
#include "test/unit/collector_slurm_lab.h"

extern const struct collector collector_libvirt;

#define VM "5b8f7fd4-0000-4000-8000-000000000001"
#define FIRST "/machine/qemu-1-instance-00000042.libvirt-qemu"
#define SECOND "/machine/qemu-2-instance-00000042.libvirt-qemu"
#define BITS (CGROUP_UNIFIED | CGROUP_MEMORY | CGROUP_CPUSET)

static struct record domain_record(enum record_type type, uint32_t run,
				   const char *path)
{
	struct record r;

	record_init(&r, type, MANAGER_LIBVIRT);
	record_set(&r, r.unit, sizeof(r.unit), VM);
	r.step = run;
	r.boottime_ns = now_ns;
	r.realtime_ns = test_realtime();
	r.cpus = 2;
	r.memory_bytes = 512 << 20;
	assert_true(record_add_cgroup(&r, BITS, path));
	return r;
}

static void apply_domain(struct lab *l, enum record_type type, uint32_t run,
			 const char *path)
{
	struct record r = domain_record(type, run, path);

	apply(l, &r);
}

static void lab_begin(struct lab *l)
{
	lab_collector = &collector_libvirt;
	lab_init(l, "test/fixture/libvirt");
}

static void golden_of_a_virtual_machine(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	apply_domain(&l, RECORD_STEP_START, 7, FIRST);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	golden_scrape("collector_libvirt", l.prom);
	lab_done(&l);
}

static void machine_that_is_started_again_goes_on(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	apply_domain(&l, RECORD_STEP_START, 7, FIRST);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", VM),
			    "300000000");
	now_ns += NSEC_PER_SEC;
	apply_domain(&l, RECORD_STEP_STOP, 7, FIRST);
	apply_domain(&l, RECORD_STEP_START, 8, SECOND);
	sample(&l);
	scrape(&l);
	/* 6 s and 0.4 s of two control groups; memory of the one that is there */
	assert_string_equal(value(&l, "ceems_compute_unit_cpu_user_seconds_total", VM),
			    "6.4");
	assert_string_equal(value(&l, "ceems_compute_unit_memory_used_bytes", VM),
			    "200000000");
	assert_int_equal(lines(&l, "ceems_compute_unit_cpu_user_seconds_total", VM), 1);
	assert_string_equal(value(&l, "ceems_units_started_total", "libvirt"), "1");
	uint64_t rss;
	assert_true(sample_job_rss(l.sampler, units_next(l.env.units, 0), &rss));
	assert_int_equal(rss, 150000000);
	lab_done(&l);
}

static void its_cpus_are_its_own_and_may_change(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	apply_domain(&l, RECORD_STEP_START, 7, FIRST);
	lab_open(&l);
	scrape(&l);
	/* its cpuset has all eight of the host */
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", VM), "2");
	struct record r = domain_record(RECORD_STEP_START, 7, FIRST);
	r.cpus = 3;
	apply(&l, &r);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_cpus", VM), "3");
	assert_string_equal(value(&l, "ceems_compute_units", "libvirt"), "1");
	lab_done(&l);
}

static void one_that_ran_before_has_what_it_had_used_apart(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	struct record r = domain_record(RECORD_STEP_START, 7, FIRST);
	r.flags = RECORD_RUNNING;
	apply(&l, &r);
	uint32_t i = units_next(l.env.units, 0);
	assert_int_equal(units_unread(l.env.units), 1);
	found_read_units(&l.env, l.sampler, NULL, true);
	assert_int_equal(units_unread(l.env.units), 0);
	const struct report_before *b = &unit_before(l.env.units, i)->all;
	assert_int_equal(b->cpu_user_ns + b->cpu_system_ns, 9 * NSEC_PER_SEC);

	/* the adapter was started again: nothing happens to what is known */
	apply(&l, &r);
	assert_int_equal(units_unread(l.env.units), 0);
	/* and one that starts now has nothing before */
	r = domain_record(RECORD_STEP_START, 9, SECOND);
	record_set(&r, r.unit, sizeof(r.unit), "other");
	apply(&l, &r);
	assert_int_equal(units_unread(l.env.units), 0);
	lab_done(&l);
}

static void block_devices_are_exported_where_they_are_asked_for(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	struct record r = domain_record(RECORD_STEP_START, 7, FIRST);
	assert_true(record_add_cgroup(&r, CGROUP_BLKIO, FIRST));
	apply(&l, &r);
	sample(&l);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_blkio_", VM), 0);
	lab_collector->close(l.state);
	l.options.libvirt_blkio = true;
	l.env.sysfd = open("test/fixture/libvirt/sys", O_RDONLY | O_DIRECTORY);
	lab_open(&l);
	scrape(&l);
	assert_string_equal(value(&l, "ceems_compute_unit_blkio_read_total_bytes",
				  "device=\"sda\""),
			    "409600");
	assert_string_equal(value(&l, "ceems_compute_unit_blkio_write_total_bytes",
				  "device=\"sda\""),
			    "819200");
	assert_string_equal(value(&l, "ceems_compute_unit_blkio_read_total_requests",
				  "device=\"sda\""),
			    "100");
	assert_string_equal(value(&l, "ceems_compute_unit_blkio_write_total_requests",
				  "device=\"253:16\""),
			    "0");
	assert_int_equal(lines(&l, "ceems_compute_unit_blkio_", VM), 8);
	close(l.env.sysfd);
	lab_done(&l);
}

static void tell_figures(struct lab *l, const char *vm, uint8_t kind, const char *name,
			 uint64_t in_bytes)
{
	const uint64_t values[RECORD_FIGURES_VALUES] = {in_bytes, 7};
	struct record r = domain_record(RECORD_HELLO, 0, FIRST);

	record_set(&r, r.unit, sizeof(r.unit), vm);
	assert_true(record_add_figures(&r, kind, name, 3, values));
	apply(l, &r);
	guest_figures_take(l->env.guests, &r);
}

static void lab_with_guest(struct lab *l)
{
	lab_begin(l);
	l->options.libvirt_guest = true;
	assert_int_equal(guest_figures_new(l->env.units, &l->env.guests), 0);
	apply_domain(l, RECORD_STEP_START, 7, FIRST);
	lab_open(l);
	tell_figures(l, VM, FIGURES_MEMORY, "", 64 << 20);
	tell_figures(l, VM, FIGURES_DISK, "vda", 4096);
	tell_figures(l, VM, FIGURES_INTERFACE, "vnet0", 1500);
	tell_figures(l, VM, 200, "of a later version", 1);
	tell_figures(l, "no such unit", FIGURES_DISK, "vda", 1);
}

static void guests_own_view_is_exported_beside_the_hosts(void **state)
{
	(void)state;
	struct lab l;
	lab_with_guest(&l);
	scrape(&l);
	assert_string_equal(
		value(&l, "ceems_compute_unit_guest_memory_balloon_bytes", VM),
		"67108864");
	assert_string_equal(
		value(&l, "ceems_compute_unit_guest_memory_total_bytes", VM), "7");
	assert_string_equal(value(&l, "ceems_compute_unit_guest_disk_read_bytes_total",
				  "device=\"vda\""),
			    "4096");
	assert_string_equal(
		value(&l, "ceems_compute_unit_guest_network_received_packets_total",
		      "device=\"vnet0\""),
		"7");
	assert_int_equal(lines(&l, "ceems_compute_unit_guest_", VM), 6);
	/* later ones are instead of these, and the host's view is as it was */
	tell_figures(&l, VM, FIGURES_DISK, "vda", 8192);
	scrape(&l);
	assert_string_equal(
		value(&l, "ceems_compute_unit_guest_disk_read_bytes_total", VM),
		"8192");
	assert_int_equal(lines(&l, "ceems_compute_unit_memory_used_bytes", VM), 1);
	l.options.libvirt_guest = false;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_guest_", ""), 0);
	guest_figures_free(l.env.guests);
	lab_done(&l);
}

static void figures_that_nobody_tells_any_more_are_left_out(void **state)
{
	(void)state;
	struct lab l;
	lab_with_guest(&l);
	now_ns += GUEST_FIGURES_STALE_NS;
	tell_figures(&l, VM, FIGURES_DISK, "vdb", 1);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_guest_", VM), 8);
	now_ns += NSEC_PER_SEC;
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_guest_", VM), 2);
	/* and of a machine that has stopped none */
	apply_domain(&l, RECORD_STEP_STOP, 7, FIRST);
	now_ns += UNITS_GRACE_MS * NSEC_PER_MSEC + NSEC_PER_SEC;
	units_expire(l.env.units, now_ns,
		     &(struct units_policy){.linger_ms = 60000, .max_exported = 100});
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_guest_", VM), 0);
	guest_figures_free(l.env.guests);
	lab_done(&l);
}

static void a_guest_with_devices_without_end_takes_bounded_memory(void **state)
{
	(void)state;
	struct lab l;
	char name[16];
	lab_with_guest(&l);
	for (unsigned i = 0; i < 3 * GUEST_FIGURES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "vd%u", i);
		tell_figures(&l, VM, FIGURES_DISK, name, i);
	}
	scrape(&l);
	assert_in_range(lines(&l, "ceems_compute_unit_guest_disk_read_bytes_total", VM),
			GUEST_FIGURES_MAX - 4, GUEST_FIGURES_MAX);
	guest_figures_free(l.env.guests);
	lab_done(&l);
}

static void jobs_of_slurm_are_not_its(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	start(&l, "41", 0, "/slurm_n1/uid_1000/job_41/step_0", V1_ALL);
	lab_open(&l);
	scrape(&l);
	assert_int_equal(lines(&l, "ceems_compute_unit_", ""), 0);
	assert_string_equal(value(&l, "ceems_compute_units", "libvirt"), "0");
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_of_a_virtual_machine),
		cmocka_unit_test(machine_that_is_started_again_goes_on),
		cmocka_unit_test(its_cpus_are_its_own_and_may_change),
		cmocka_unit_test(one_that_ran_before_has_what_it_had_used_apart),
		cmocka_unit_test(block_devices_are_exported_where_they_are_asked_for),
		cmocka_unit_test(guests_own_view_is_exported_beside_the_hosts),
		cmocka_unit_test(figures_that_nobody_tells_any_more_are_left_out),
		cmocka_unit_test(a_guest_with_devices_without_end_takes_bounded_memory),
		cmocka_unit_test(jobs_of_slurm_are_not_its),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
