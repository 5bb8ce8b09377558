/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "daemon/groups/step_groups.h"
#include "test/unit/group_lab.h"
#include "test/unit/node.h"

extern const struct collector collector_ebpf;
static const struct collector *const c = &collector_ebpf;

static void every_figure_of_the_kernel_is_shown(void **state)
{
	struct group_slots ours, kernel;
	struct step_groups *groups;
	struct node n;
	struct err err;

	(void)state;
	group_lab_open(&ours, &kernel);
	kernel.control->made = 7;
	kernel.control->ended = 5;
	kernel.control->no_slot = 3;
	kernel.control->free_head = 2;
	node_init(&n, "test/fixture/node_x86");
	assert_int_equal(step_groups_new(&n.env, &ours, &groups, &err), 0);
	n.env.step_groups = groups;
	node_open(&n, c);
	node_golden(&n, c, "test/golden/collector_ebpf.prom");
	node_done(&n, c);
	step_groups_free(groups);
	group_slots_close(&kernel);
}

static void without_kernel_programs_there_is_nothing(void **state)
{
	struct node n;
	struct err err;
	void *opened = NULL;

	(void)state;
	node_init(&n, "test/fixture/node_x86");
	assert_int_equal(c->open(&n.env, &opened, &err), -ENODEV);
	node_done(&n, c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_figure_of_the_kernel_is_shown),
		cmocka_unit_test(without_kernel_programs_there_is_nothing),
	};
	return cmocka_run_group_tests_name("collector_ebpf", tests, NULL, NULL);
}
