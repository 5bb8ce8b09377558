/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's answers are recorded or made here; soft RoCE itself is in
 * test/e2e/vm_rdma.sh. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "daemon/units.h"
#include "test/unit/node.h"
#include "test/unit/rdma_kernel.h"
#include "test/unit/scratch.h"

extern const struct collector collector_rdma;
static const struct collector *const c = &collector_rdma;

static char folder[SCRATCH_PATH];
static struct node n;
static uint64_t pos; /* in the ring */
static atomic_ullong clock_ns;

static uint64_t read_test_clock(void)
{
	return atomic_load(&clock_ns);
}

static int open_rdma(void **state)
{
	bool made_new;
	struct err err;

	(void)state;
	scratch_make(folder);
	node_init(&n, "test/fixture/rdma");
	int dirfd = fs_opendir_at(AT_FDCWD, folder, &err);
	assert_int_equal(units_open(dirfd, 16, &n.env.units, &made_new, &err), 0);
	close(dirfd);
	n.env.rdma_open = open_recorded_kernel;
	n.env.boottime_ns = read_test_clock;
	atomic_store(&clock_ns, 100 * NSEC_PER_SEC);
	n.options.unit_max_exported = 100;
	return 0;
}

static int close_rdma(void **state)
{
	(void)state;
	node_done(&n, c);
	n.state = NULL;
	units_close(n.env.units);
	scratch_remove(folder);
	return 0;
}

static void start_step_of(enum record_manager manager, const char *id, uint32_t step,
			  const char *path)
{
	struct record r;
	struct err err;

	record_init(&r, RECORD_STEP_START, manager);
	record_set(&r, r.unit, sizeof(r.unit), id);
	record_set(&r, r.node, sizeof(r.node), manager == MANAGER_SLURM ? "n1" : "");
	record_add_cgroup(&r, CGROUP_CPUACCT, path);
	r.step = step;
	r.boottime_ns = r.realtime_ns = NSEC_PER_SEC;
	assert_int_equal(
		units_apply(n.env.units, &r, pos++, NSEC_PER_SEC, NSEC_PER_SEC, &err),
		0);
}

static void start_step(const char *id, uint32_t step)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "/slurm_n1/uid_7/job_%s/step_%u", id, step);
	start_step_of(MANAGER_SLURM, id, step, path);
}

/* The first sample may take longer than a scrape waits. */
static void collect_until_sampled(void)
{
	const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};

	for (unsigned i = 0; i < 6000; i++) {
		assert_int_equal(node_collect(&n, c), 0);
		if (strstr(n.text.data, "ceems_rdma_sample_age_seconds"))
			return;
		(void)nanosleep(&moment, NULL);
	}
	fail_msg("no sample");
}

static void units_have_the_sum_of_their_steps_on_each_device(void **state)
{
	(void)state;
	start_step("7", 0);
	start_step("7", 1);
	start_step("8", 0);
	node_open(&n, c);
	collect_until_sampled();
	golden_equal(&n.text, "test/golden/collector_rdma.prom");
	assert_non_null(strstr(n.text.data,
			       "ceems_rdma_qps_active{manager=\"slurm\",hostname="
			       "\"host\",device=\"rxe0\",port=\"1\",uuid=\"7\"} 2\n"));
	assert_non_null(strstr(n.text.data,
			       "ceems_rdma_cqe_len_active{manager=\"slurm\",hostname="
			       "\"host\",device=\"rxe1\",port=\"\",uuid=\"8\"} 511\n"));
}

static void write_groups(const char *pid, const char *path)
{
	char name[SCRATCH_PATH + 16];

	(void)snprintf(name, sizeof(name), "%s/%s", folder, pid);
	assert_int_equal(mkdir(name, 0755), 0);
	(void)snprintf(name, sizeof(name), "%s/%s/cgroup", folder, pid);
	FILE *f = fopen(name, "w");
	assert_non_null(f);
	(void)fprintf(f, "0::%s\n", path);
	assert_int_equal(fclose(f), 0);
}

static void virtual_machines_and_pods_have_theirs(void **state)
{
	(void)state;
	static const char vm[] = "/machine.slice/machine-qemu\\x2d1\\x2da.scope",
			  pod[] = "/kubepods/burstable/pod3f1d2c7a-0000-4000-8000-0001";
	char below[128];
	int procfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(dup2(procfd, n.env.procfd), n.env.procfd);
	close(procfd);
	(void)snprintf(below, sizeof(below), "%s/libvirt/emulator", vm);
	write_groups("194", below);
	(void)snprintf(below, sizeof(below), "%s/0123456789abcdef", pod);
	write_groups("197", below);
	write_groups("201", "/user.slice/machine.slice/machine-qemu\\x2d2\\x2da.scope");
	start_step_of(MANAGER_LIBVIRT, "vm", 1, vm);
	start_step_of(MANAGER_K8S, "pod", 1, pod);
	node_open(&n, c);
	collect_until_sampled();
	assert_non_null(strstr(n.text.data, "ceems_rdma_qps_active{manager=\"libvirt\","
					    "hostname=\"host\",device=\"rxe0\",port=\""
					    "1\",uuid=\"vm\"} 1\n"));
	assert_non_null(strstr(n.text.data, "{manager=\"k8s\",hostname=\"host\","));
	assert_non_null(strstr(
		n.text.data, "{hostname=\"host\",device=\"rxe0\",resource=\"qp\",owner="
			     "\"kernel\"} 1\n"));
}

static void processes_of_no_unit_and_gone_ones_are_others(void **state)
{
	(void)state;
	start_step("7", 0);
	node_open(&n, c);
	collect_until_sampled();
	assert_non_null(strstr(
		n.text.data, "{hostname=\"host\",device=\"rxe0\",resource=\"qp\",owner="
			     "\"unit\"} 1\n"));
	assert_non_null(strstr(
		n.text.data, "{hostname=\"host\",device=\"rxe0\",resource=\"qp\",owner="
			     "\"other\"} 1\n"));
	assert_non_null(strstr(
		n.text.data, "{hostname=\"host\",device=\"rxe0\",resource=\"qp\",owner="
			     "\"kernel\"} 1\n"));
}

static void make_mlx5(struct rdma_datagram *d, uint16_t command)
{
	make_message(d, command);
	make_u32(d, RDMA_NLDEV_ATTR_DEV_INDEX, 4);
	make_string(d, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
}

/* A counter of each of two processes, and of one that is gone, as mlx5 binds them */
static int open_counting_kernel(void)
{
	static struct rdma_datagram d;
	int fd = open_kernel_pair();

	make_mlx5(&d, RDMA_NLDEV_CMD_GET);
	make_message_end(&d, 1);
	answer_kernel(&d);
	for (uint32_t sequence = 1; sequence <= 4; sequence++) {
		make_last(&d, sequence, 0);
		answer_kernel(&d);
	}
	make_mlx5(&d, RDMA_NLDEV_CMD_STAT_GET);
	make_nest(&d, RDMA_NLDEV_ATTR_STAT_COUNTER);
	for (uint32_t pid = 194; pid <= 200; pid += 3) {
		make_nest(&d, RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY);
		make_u32(&d, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
		make_u32(&d, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, pid);
		make_u32(&d, RDMA_NLDEV_ATTR_RES_PID, pid);
		make_nest(&d, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
		for (uint32_t i = 0; i < RDMA_COUNTERS; i++) {
			make_nest(&d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
			make_string(&d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
				    rdma_counter_names[i]);
			make_u64(&d, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
				 pid * 100 + i);
			make_nest_end(&d);
		}
		make_nest_end(&d);
		make_nest_end(&d);
	}
	make_nest_end(&d);
	make_message_end(&d, 5);
	answer_kernel(&d);
	make_last(&d, 5, 0);
	answer_kernel(&d);
	return fd;
}

static void counters_of_a_units_processes_are_added_up(void **state)
{
	(void)state;
	start_step("7", 0);
	start_step("7", 1);
	n.env.rdma_open = open_counting_kernel;
	node_open(&n, c);
	collect_until_sampled();
	for (uint32_t i = 0; i < RDMA_COUNTERS; i++) {
		char line[256];
		(void)snprintf(line, sizeof(line),
			       "ceems_rdma_%s{manager=\"slurm\",hostname=\"host\","
			       "device=\"mlx5_0\",port=\"1\",uuid=\"7\"} %u\n",
			       rdma_counter_names[i], (194 + 197) * 100 + 2 * i);
		if (!strstr(n.text.data, line))
			fail_msg("not there: %s", line);
	}
	golden_equal(&n.text, "test/golden/collector_rdma-counters.prom");
}

/* Its number is free, and no other unit has it yet. */
static void a_unit_that_has_left_the_table_is_not_shown(void **state)
{
	const struct units_policy at_once = {.linger_ms = 0};
	const uint64_t now_ns = 2 * NSEC_PER_SEC;
	struct record r;
	(void)state;

	start_step("7", 0);
	n.env.rdma_open = open_counting_kernel;
	node_open(&n, c);
	collect_until_sampled();
	assert_non_null(strstr(n.text.data, "uuid=\"7\""));
	record_init(&r, RECORD_STEP_STOP, MANAGER_SLURM);
	record_set(&r, r.unit, sizeof(r.unit), "7");
	record_set(&r, r.node, sizeof(r.node), "n1");
	r.boottime_ns = r.realtime_ns = now_ns;
	assert_int_equal(units_apply(n.env.units, &r, pos++, now_ns, now_ns, NULL), 0);
	units_expire(n.env.units, now_ns, &at_once);
	assert_int_equal(units_used(n.env.units), 0);
	assert_int_equal(node_collect(&n, c), 0);
	assert_null(strstr(n.text.data, "uuid=\"7\""));
}

static int open_absent_kernel(void)
{
	return -EPROTONOSUPPORT;
}

static void ports_are_shown_when_the_kernel_cannot_be_asked(void **state)
{
	(void)state;
	start_step("7", 0);
	n.env.rdma_open = open_absent_kernel;
	node_open(&n, c);
	collect_until_sampled();
	assert_non_null(strstr(n.text.data, "ceems_rdma_state_id{"));
	assert_null(strstr(n.text.data, "ceems_rdma_qps_active"));
	assert_null(strstr(n.text.data, "ceems_rdma_resources"));
}

static int open_silent_kernel(void)
{
	return open_kernel_pair();
}

static void a_kernel_that_does_not_answer_holds_no_scrape(void **state)
{
	(void)state;
	n.env.rdma_open = open_silent_kernel;
	node_open(&n, c);
	assert_int_equal(node_collect(&n, c), 0);
	assert_string_equal(n.text.data, "");
}

static atomic_uint times_opened;
static atomic_bool may_answer;

/* Answers once, and then not before it may. */
static int open_hanging_kernel(void)
{
	const struct timespec moment = {.tv_nsec = 1000 * 1000};

	if (atomic_fetch_add(&times_opened, 1) == 0)
		return open_recorded_kernel();
	while (!atomic_load(&may_answer))
		(void)nanosleep(&moment, NULL);
	return -EIO;
}

static void what_is_too_old_is_not_shown(void **state)
{
	(void)state;
	start_step("7", 0);
	n.env.rdma_open = open_hanging_kernel;
	node_open(&n, c);
	collect_until_sampled();
	atomic_store(&clock_ns, 1000 * NSEC_PER_SEC);
	assert_int_equal(node_collect(&n, c), -ETIMEDOUT);
	atomic_store(&may_answer, true);
}

static void machine_without_rdma_is_no_device(void **state)
{
	struct err err;

	(void)state;
	close(n.env.sysfd);
	n.env.sysfd = fs_opendir_at(AT_FDCWD, "test/fixture/node_arm/sys", NULL);
	assert_int_equal(c->open(&n.env, &n.state, &err), -ENODEV);
	assert_null(n.state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rdma, close_rdma)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(units_have_the_sum_of_their_steps_on_each_device),
		TEST(processes_of_no_unit_and_gone_ones_are_others),
		TEST(virtual_machines_and_pods_have_theirs),
		TEST(counters_of_a_units_processes_are_added_up),
		TEST(a_unit_that_has_left_the_table_is_not_shown),
		TEST(ports_are_shown_when_the_kernel_cannot_be_asked),
		TEST(a_kernel_that_does_not_answer_holds_no_scrape),
		TEST(what_is_too_old_is_not_shown),
		TEST(machine_without_rdma_is_no_device),
	};
	return cmocka_run_group_tests_name("collector_rdma", tests, NULL, NULL);
}
