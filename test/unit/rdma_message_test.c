/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/rdma/rdma_message.h"

#include <errno.h>

#include "daemon/rdma/rdma_link.h"
#include "test/unit/rdma_kernel.h"

#define FOUND_MAX 8u
static struct rdma_entry found[FOUND_MAX];
static size_t found_count;
static struct rdma_datagram d;

static void keep_entry(void *arg, const struct rdma_entry *e)
{
	(void)arg;
	if (found_count < FOUND_MAX)
		found[found_count] = *e;
	found_count++;
}

static int read_all(enum rdma_kind kind, uint32_t sequence)
{
	found_count = 0;
	return rdma_message_read(kind, sequence, d.data, d.len, keep_entry, NULL);
}

/* Asks the recorded kernel for all before `kind` of device 0, and then that. */
static void ask_recorded(enum rdma_kind kind)
{
	int fd = open_recorded_kernel();
	uint32_t sequence = 0;
	struct err err;

	for (enum rdma_kind k = RDMA_DEVICE; k <= kind; k++) {
		found_count = 0;
		assert_int_equal(rdma_link_ask(fd, &sequence, k, 0, NULL, keep_entry,
					       NULL, &err),
				 0);
	}
	close(fd);
}

static void answers_of_a_real_kernel_are_read(void **state)
{
	(void)state;
	ask_recorded(RDMA_DEVICE);
	assert_int_equal(found_count, 2);
	assert_string_equal(found[0].name, "rxe0");
	assert_string_equal(found[1].name, "rxe1");
	assert_int_equal(found[1].device, 1);
	ask_recorded(RDMA_QP);
	assert_int_equal(found_count, 3);
	assert_int_equal(found[0].pid, 194);
	assert_int_equal(found[0].port, 1);
	assert_int_equal(found[1].pid, 197);
	assert_true(found[2].kernel && !found[2].pid);
	ask_recorded(RDMA_CQ);
	assert_int_equal(found_count, 3);
	assert_true(found[0].kernel);
	assert_int_equal(found[1].size, 511);
	assert_int_equal(found[2].pid, 197);
	ask_recorded(RDMA_MR);
	assert_int_equal(found_count, 2);
	assert_int_equal(found[1].size, 4096);
	ask_recorded(RDMA_COUNTER); /* soft RoCE has none */
	assert_int_equal(found_count, 0);
}

static void make_counter(struct rdma_datagram *to, const char *name, uint64_t value)
{
	make_nest(to, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
	make_string(to, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
	make_u64(to, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
	make_nest_end(to);
}

/* As drivers/infiniband/core/nldev.c fills it for mlx5: two counters of one device */
static void make_counters_answer(uint32_t sequence)
{
	make_message(&d, RDMA_NLDEV_CMD_STAT_GET);
	make_u32(&d, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	make_string(&d, RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	make_nest(&d, RDMA_NLDEV_ATTR_STAT_COUNTER);
	for (uint32_t i = 0; i < 2; i++) {
		make_nest(&d, RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY);
		make_u32(&d, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
		make_u32(&d, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 17 + i);
		make_u32(&d, RDMA_NLDEV_ATTR_RES_PID, 4000 + i);
		make_u32(&d, RDMA_NLDEV_ATTR_STAT_MODE, 1);
		make_nest(&d, RDMA_NLDEV_ATTR_RES_QP);
		make_nest(&d, RDMA_NLDEV_ATTR_RES_QP_ENTRY);
		make_u32(&d, RDMA_NLDEV_ATTR_RES_LQPN, 178);
		make_nest_end(&d);
		make_nest_end(&d);
		make_nest(&d, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
		make_counter(&d, "rx_write_requests", 100 + i);
		make_counter(&d, "out_of_buffer", 7);
		make_counter(&d, "resp_remote_access_errors", UINT64_MAX);
		make_nest_end(&d);
		make_nest_end(&d);
	}
	make_nest_end(&d);
	make_message_end(&d, sequence);
}

static void counters_of_queue_pairs_are_read_by_name(void **state)
{
	(void)state;
	make_counters_answer(9);
	assert_int_equal(read_all(RDMA_COUNTER, 9), 1);
	assert_int_equal(found_count, 2);
	assert_int_equal(found[1].device, 3);
	assert_int_equal(found[1].pid, 4001);
	assert_int_equal(found[1].port, 1);
	assert_int_equal(found[1].id, 18);
	assert_int_equal(found[1].has, 1u << 0 | 1u << 10);
	assert_true(found[1].counters[0] == 101 && found[1].counters[10] == UINT64_MAX);
}

static void answers_to_another_question_are_skipped(void **state)
{
	(void)state;
	make_counters_answer(9);
	assert_int_equal(read_all(RDMA_COUNTER, 10), 1);
	assert_int_equal(found_count, 0);
	assert_int_equal(read_all(RDMA_QP, 9), 1);
	assert_int_equal(found_count, 0);
	make_last(&d, 8, -EPERM);
	assert_int_equal(read_all(RDMA_QP, 9), 1);
}

static void errors_of_the_kernel_are_returned(void **state)
{
	(void)state;
	make_last(&d, 9, 0);
	assert_int_equal(read_all(RDMA_QP, 9), 0);
	make_last(&d, 9, -EINVAL);
	assert_int_equal(read_all(RDMA_QP, 9), -EINVAL);
	make_last(&d, 9, 5);
	assert_int_equal(read_all(RDMA_QP, 9), -EPROTO);
	make_last(&d, 9, INT32_MIN);
	assert_int_equal(read_all(RDMA_QP, 9), -EPROTO);
}

static void answers_cut_or_changed_anywhere_are_harmless(void **state)
{
	(void)state;
	make_counters_answer(9);
	const size_t len = d.len;
	/* on the heap, where a sanitizer sees each byte that is read beyond */
	for (size_t n = 0; n <= len; n++) {
		unsigned char *cut = malloc(n ? n : 1);
		assert_non_null(cut);
		memcpy(cut, d.data, n);
		(void)rdma_message_read(RDMA_COUNTER, 9, cut, n, keep_entry, NULL);
		if (n > NLMSG_HDRLEN) {
			uint32_t short_len = (uint32_t)n;
			memcpy(cut, &short_len, sizeof(short_len));
			(void)rdma_message_read(RDMA_COUNTER, 9, cut, n, keep_entry,
						NULL);
		}
		free(cut);
	}
	for (size_t i = NLMSG_HDRLEN; i < len; i++) {
		for (unsigned v = 0; v < 256; v += 15) {
			unsigned char old = d.data[i];
			d.data[i] = (unsigned char)v;
			(void)read_all(RDMA_COUNTER, 9);
			assert_true(found_count <= len / NLA_HDRLEN);
			d.data[i] = old;
		}
	}
}

static void names_that_no_label_can_have_are_dropped(void **state)
{
	char longest[RDMA_NAME_BYTES + 1];
	const char *const bad[] = {"", "a b", "mlx5\n", "\xff", longest};

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_message(&d, RDMA_NLDEV_CMD_GET);
		make_u32(&d, RDMA_NLDEV_ATTR_DEV_INDEX, 3);
		make_string(&d, RDMA_NLDEV_ATTR_DEV_NAME, bad[i]);
		make_message_end(&d, 1);
		assert_int_equal(read_all(RDMA_DEVICE, 1), 1);
		assert_int_equal(found_count, 1);
		assert_string_equal(found[0].name, "");
	}
}

static void stopping_ends_a_question_without_an_answer(void **state)
{
	const atomic_bool stop = true;
	uint32_t sequence = 0;
	struct err err;
	int fd = open_kernel_pair();

	(void)state;
	assert_int_equal(rdma_link_ask(fd, &sequence, RDMA_DEVICE, 0, &stop, keep_entry,
				       NULL, &err),
			 -ECANCELED);
	close(fd);
}

static void a_datagram_that_is_too_long_ends_the_question(void **state)
{
	static const unsigned char zeros[70000];
	uint32_t sequence = 0;
	struct err err;
	int fd = open_kernel_pair();

	(void)state;
	assert_int_equal(send(rdma_kernel_end, zeros, sizeof(zeros), 0), sizeof(zeros));
	assert_int_equal(rdma_link_ask(fd, &sequence, RDMA_DEVICE, 0, NULL, keep_entry,
				       NULL, &err),
			 -EPROTO);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_of_a_real_kernel_are_read),
		cmocka_unit_test(counters_of_queue_pairs_are_read_by_name),
		cmocka_unit_test(answers_to_another_question_are_skipped),
		cmocka_unit_test(errors_of_the_kernel_are_returned),
		cmocka_unit_test(answers_cut_or_changed_anywhere_are_harmless),
		cmocka_unit_test(names_that_no_label_can_have_are_dropped),
		cmocka_unit_test(stopping_ends_a_question_without_an_answer),
		cmocka_unit_test(a_datagram_that_is_too_long_ends_the_question),
	};
	return cmocka_run_group_tests_name("rdma_message", tests, NULL, NULL);
}
