/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rdma/rdma_sample.h"

#include <errno.h>
#include <stdatomic.h>

#include "test/unit/node.h"
#include "test/unit/rdma_kernel.h"
#include "test/unit/scratch.h"

static struct node n;

static int open_machine(void **state)
{
	(void)state;
	node_init(&n, "test/fixture/rdma");
	n.env.rdma_open = open_recorded_kernel;
	return 0;
}

static int close_machine(void **state)
{
	(void)state;
	prom_free(n.prom);
	close(n.env.procfd);
	close(n.env.sysfd);
	return 0;
}

static const struct rdma_row *find_row(const struct rdma_sample *s, const char *path)
{
	for (size_t i = 0; i < s->row_count; i++) {
		if (strcmp(s->rows[i].path, path) == 0)
			return &s->rows[i];
	}
	return NULL;
}

static void each_step_has_its_row_on_each_device(void **state)
{
	struct rdma_sample *s;
	struct err err;

	(void)state;
	assert_int_equal(rdma_sample_take(&n.env, NULL, &s, &err), 0);
	assert_string_equal(s->partial.text, "");
	assert_int_equal(s->device_count, 2);
	assert_int_equal(s->port_count, 3);
	const struct rdma_row *row = find_row(s, "/slurm_n1/uid_7/job_8/step_0");
	assert_non_null(row);
	assert_string_equal(s->devices[row->device].name, "rxe1");
	assert_false(row->kernel);
	assert_int_equal(row->held.cqs, 1);
	assert_int_equal(row->held.cqes, 511);
	assert_int_equal(row->held.mr_bytes, 4096);
	/* sorted: the next one is what it has of a port */
	assert_string_equal(row[1].path, row->path);
	assert_int_equal(row[1].port, 1);
	assert_int_equal(row[1].held.qps, 1);
	rdma_sample_free(s);
}

static void stopping_ends_a_sample(void **state)
{
	const atomic_bool stop = true;
	struct rdma_sample *s = NULL;
	struct err err;

	(void)state;
	assert_int_equal(rdma_sample_take(&n.env, &stop, &s, &err), -ECANCELED);
	assert_null(s);
}

static void make_device(struct rdma_datagram *d, uint16_t command)
{
	make_message(d, command);
	make_u32(d, RDMA_NLDEV_ATTR_DEV_INDEX, 4);
	make_string(d, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
}

#define HOSTILE_PIDS 40000u

/* 40000 processes with a queue pair each, and a memory region of all addresses */
static void answer_hostile(void)
{
	static struct rdma_datagram d;

	make_device(&d, RDMA_NLDEV_CMD_GET);
	make_message_end(&d, 1);
	answer_kernel(&d);
	make_last(&d, 1, 0);
	answer_kernel(&d);
	for (uint32_t pid = 1; pid <= HOSTILE_PIDS;) {
		make_device(&d, RDMA_NLDEV_CMD_RES_QP_GET);
		make_nest(&d, RDMA_NLDEV_ATTR_RES_QP);
		for (uint32_t i = 0; i < 1000; i++, pid++) {
			make_nest(&d, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
			make_u32(&d, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
			make_u32(&d, RDMA_NLDEV_ATTR_RES_PID, 100000 + pid);
			make_nest_end(&d);
		}
		make_nest_end(&d);
		make_message_end(&d, 2);
		answer_kernel(&d);
	}
	make_last(&d, 2, 0);
	answer_kernel(&d);
	make_last(&d, 3, -EIO); /* completion queues */
	answer_kernel(&d);
	make_device(&d, RDMA_NLDEV_CMD_RES_MR_GET);
	make_nest(&d, RDMA_NLDEV_ATTR_RES_MR);
	for (uint32_t i = 0; i < 3; i++) {
		make_nest(&d, RDMA_NLDEV_ATTR_RES_MR_ENTRY);
		make_u32(&d, RDMA_NLDEV_ATTR_RES_PID, 194);
		make_u64(&d, RDMA_NLDEV_ATTR_RES_MRLEN, i ? 1000 : UINT64_MAX);
		make_nest_end(&d);
	}
	make_nest_end(&d);
	make_message_end(&d, 4);
	answer_kernel(&d);
	make_last(&d, 4, 0);
	answer_kernel(&d);
	make_last(&d, 5, -EINVAL); /* as a kernel without counters */
	answer_kernel(&d);
}

static pid_t answering;

/* More than a socket holds, so a process of its own sends it. */
static int open_hostile_kernel(void)
{
	int fd = open_kernel_pair();

	answering = fork();
	assert_true(answering >= 0);
	if (answering == 0) {
		answer_hostile();
		_exit(0);
	}
	return fd;
}

static void hostile_numbers_are_bounded_and_none_is_lost(void **state)
{
	struct rdma_sample *s;
	struct err err;
	uint64_t qps = 0;

	(void)state;
	n.env.rdma_open = open_hostile_kernel;
	assert_int_equal(rdma_sample_take(&n.env, NULL, &s, &err), 0);
	assert_int_equal(waitpid(answering, NULL, 0), answering);
	for (size_t i = 0; i < s->row_count; i++)
		qps += s->rows[i].held.qps;
	assert_int_equal(qps, HOSTILE_PIDS);
	assert_true(s->row_count <= 4);
	assert_non_null(find_row(s, ""));
	const struct rdma_row *row = find_row(s, "/slurm_n1/uid_7/job_7/step_0");
	/* the region of all addresses has no length */
	assert_true(!row || (row->held.mrs == 3 && row->held.mr_bytes == 2000));
	assert_int_equal(s->device_count, 1);
	assert_int_equal(s->devices[0].known, 1u << RDMA_QP | 1u << RDMA_MR);
	assert_non_null(strstr(s->partial.text, "completion queues of mlx5_0"));
	rdma_sample_free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_machine, close_machine)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_step_has_its_row_on_each_device),
		TEST(stopping_ends_a_sample),
		TEST(hostile_numbers_are_bounded_and_none_is_lost),
	};
	return cmocka_run_group_tests_name("rdma_sample", tests, NULL, NULL);
}
