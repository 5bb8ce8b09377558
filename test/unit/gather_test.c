/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acct_gather/gather.h"

#include <stdlib.h>

#include "lib/clock.h"
#include "test/unit/cgroup_fixture.h"

#define CORE_W 12   /* watts of a busy CPU */
#define IDLE_MW 500 /* of an allocated one */
#define PID 4242

static uint64_t clock_ns;

static uint64_t turned_clock(void)
{
	return clock_ns;
}

struct world {
	char page[96], proc[96], cgroup[96];
	struct energy_page_writer *w;
	struct gather g;
	struct gather_host host;
	struct gather_options options;
	struct err err;
};

static int up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	scratch_make(scratch);
	scratch_fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(w->page, sizeof(w->page), "%s/energy", scratch);
	snprintf(w->proc, sizeof(w->proc), "%s/proc", scratch);
	snprintf(w->cgroup, sizeof(w->cgroup), "%s/cg", scratch);
	clock_ns = 1000 * NSEC_PER_SEC;
	w->host = (struct gather_host){w->proc, w->cgroup, turned_clock};
	gather_options_init(&w->options);
	memcpy(w->options.page, w->page, sizeof(w->page));
	gather_init(&w->g, &w->options, &w->host);
	*state = w;
	return 0;
}

static int down(void **state)
{
	struct world *w = *state;

	gather_done(&w->g);
	energy_page_writer_free(w->w);
	close(scratch_fd);
	scratch_remove(scratch);
	free(w);
	return 0;
}

static void begin(struct world *w, uint32_t step)
{
	struct gather_step s = {
		.job = 7, .step = step, .stepd_pid = 99, .alloc_mcpu = 2000};

	gather_step_begin(&w->g, &s);
}

/* A tick now, with the energy and CPU time of step 0 and of the job; rows 0: none */
static void tick(struct world *w, uint64_t joules, uint64_t cpu_ms, int rows)
{
	struct energy_page_node n = {
		.tick_ns = clock_ns,
		.interval_ns = NSEC_PER_SEC,
		.total_mask = 1u << ENERGY_PAGE_HOST,
		.dynamic_uj_per_cpu_s = CORE_W * 1000000,
		.idle_uw_per_cpu = IDLE_MW * 1000,
	};
	struct energy_page_row r = {.job = 7,
				    .step = 0,
				    .stepd_pid = 99,
				    .total_uj = joules * 1000000,
				    .cpu_ns = cpu_ms * NSEC_PER_MSEC,
				    .alloc_mcpu = 2000};

	n.uj[ENERGY_PAGE_HOST] = 5000000000;
	n.uw[ENERGY_PAGE_HOST] = 321000000;
	if (!w->w)
		assert_int_equal(energy_page_writer_open(w->page, 16, &w->w, &w->err),
				 0);
	energy_page_begin(w->w, &n);
	if (rows) {
		assert_int_equal(energy_page_add(w->w, &r), 0);
		r.step = ENERGY_PAGE_JOB;
		r.total_uj *= 10;
		r.cpu_ns *= 10;
		assert_int_equal(energy_page_add(w->w, &r), 0);
	}
	assert_int_equal(energy_page_commit(w->w, &w->err), 0);
}

static void pass_ms(uint64_t ms)
{
	clock_ns += ms * NSEC_PER_MSEC;
}

static void counter_v1(const char *group, uint64_t ms)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "cg/cpuacct/slurm_n1/uid_5/job_7%s/cpuacct.usage",
		 group);
	snprintf(text, sizeof(text), "%llu000000\n", (unsigned long long)ms);
	put(path, text);
	snprintf(path, sizeof(path), "cg/cpuacct/slurm_n1/uid_5/job_7%s/cpuacct.stat",
		 group);
	put(path, "user 1\nsystem 0\n");
}

static void task_v1(void)
{
	put("proc/4242/cgroup",
	    "4:memory:/slurm_n1/uid_5/job_7/step_0/task_0\n"
	    "2:cpuacct:/slurm_n1/uid_5/job_7/step_0/task_0\n0::/\n");
	counter_v1("", 0);
	counter_v1("/step_0", 0);
}

static uint64_t now_mj(struct world *w)
{
	uint64_t uj = 0;

	assert_int_equal(gather_step_now(&w->g, &uj), 0);
	return uj / 1000;
}

/* ---- a step ---------------------------------------------------------------------- */

static void a_step_has_the_page_and_what_it_used_since(void **state)
{
	struct world *w = *state;

	task_v1();
	begin(w, 0);
	assert_true(gather_step_wants_cgroup(&w->g));
	assert_int_equal(gather_step_cgroup(&w->g, PID), 0);
	assert_false(gather_step_wants_cgroup(&w->g));
	counter_v1("/step_0", 4000);
	tick(w, 100, 4000, 1);
	assert_int_equal(now_mj(w), 100000);
	counter_v1("/step_0", 4250);
	pass_ms(500);
	/* 0.25 s x 12 W + 0.5 s x 2 x 0.5 W */
	assert_int_equal(now_mj(w), 100000 + 3000 + 500);
}

static void the_extern_step_is_the_whole_job(void **state)
{
	struct world *w = *state;

	put("proc/self/cgroup", "4:memory:/slurm_n1/uid_5/job_7/step_extern\n"
				"2:cpuacct:/\n0::/\n");
	counter_v1("", 0);
	counter_v1("/step_extern", 0);
	begin(w, ENERGY_PAGE_JOB);
	assert_int_equal(gather_step_cgroup(&w->g, 0), 0);
	tick(w, 100, 4000, 1);
	counter_v1("", 41000);
	assert_int_equal(now_mj(w), 1000000 + 12000);
}

static void on_cgroup_v2_the_tasks_are_counted_and_not_slurmstepd(void **state)
{
	struct world *w = *state;

	put("cg/cgroup.controllers", "cpu memory\n");
	put("proc/4242/cgroup",
	    "0::/system.slice/n1_slurmstepd.scope/job_7/step_0/user/task_0\n");
	put("cg/system.slice/n1_slurmstepd.scope/job_7/step_0/cpu.stat",
	    "usage_usec 9000000\nuser_usec 9000000\nsystem_usec 0\n");
	put("cg/system.slice/n1_slurmstepd.scope/job_7/step_0/user/cpu.stat",
	    "usage_usec 1000000\nuser_usec 1000000\nsystem_usec 0\n");
	begin(w, 0);
	assert_int_equal(gather_step_cgroup(&w->g, PID), 0);
	tick(w, 10, 0, 1);
	assert_int_equal(now_mj(w), 10000 + 12000);
}

static void a_step_that_no_tick_has_seen_is_estimated(void **state)
{
	struct world *w = *state;

	task_v1();
	tick(w, 0, 0, 0);
	pass_ms(300);
	begin(w, 0);
	assert_int_equal(gather_step_cgroup(&w->g, PID), 0);
	counter_v1("/step_0", 18);
	pass_ms(20);
	/* 18 ms x 12 W + 20 ms x 2 x 0.5 W */
	assert_int_equal(now_mj(w), 216 + 20);
}

static void energy_never_falls(void **state)
{
	struct world *w = *state;

	task_v1();
	begin(w, 0);
	assert_int_equal(gather_step_cgroup(&w->g, PID), 0);
	tick(w, 100, 0, 1);
	counter_v1("/step_0", 1000);
	assert_int_equal(now_mj(w), 112000);
	pass_ms(1000);
	tick(w, 105, 1000, 1); /* the rate card had said too much */
	assert_int_equal(now_mj(w), 112000);
	tick(w, 113, 1000, 1);
	assert_int_equal(now_mj(w), 113000);
}

static void the_last_counter_is_kept_when_the_group_is_gone(void **state)
{
	struct world *w = *state;

	task_v1();
	begin(w, 0);
	assert_int_equal(gather_step_cgroup(&w->g, PID), 0);
	tick(w, 100, 0, 1);
	counter_v1("/step_0", 1000);
	assert_int_equal(now_mj(w), 112000);
	scratch_remove(w->cgroup);
	assert_int_equal(now_mj(w), 112000);
}

static void without_a_counter_the_page_is_all(void **state)
{
	struct world *w = *state;

	begin(w, 0);
	assert_int_equal(gather_step_cgroup(&w->g, PID), -ENODATA);
	put("proc/4242/cgroup", "2:cpuacct:/user.slice\n");
	assert_int_equal(gather_step_cgroup(&w->g, PID), -ENODATA);
	assert_true(gather_step_wants_cgroup(&w->g));
	tick(w, 100, 4000, 1);
	assert_int_equal(now_mj(w), 100000);
}

/* ---- the page goes, the daemon goes ---------------------------------------------- */

static void without_a_page_nothing_is_known(void **state)
{
	struct world *w = *state;
	uint64_t uj = 5;

	begin(w, 0);
	assert_int_equal(gather_step_now(&w->g, &uj), -ENODATA);
	put("energy", "not a page");
	assert_int_equal(gather_step_now(&w->g, &uj), -ENODATA);
	assert_int_equal(uj, 5);
	take("energy");
	tick(w, 3, 0, 1);
	assert_int_equal(now_mj(w), 3000);
}

static void a_page_that_vanishes_leaves_the_last_value(void **state)
{
	struct world *w = *state;

	begin(w, 0);
	tick(w, 100, 0, 1);
	assert_int_equal(now_mj(w), 100000);
	take("energy");
	pass_ms(700);
	assert_int_equal(now_mj(w), 100000);
	put("energy", "garbage");
	assert_int_equal(now_mj(w), 100000);
}

static void a_page_that_was_replaced_is_followed(void **state)
{
	struct world *w = *state;

	begin(w, 0);
	tick(w, 100, 0, 1);
	assert_int_equal(now_mj(w), 100000);
	energy_page_writer_free(w->w);
	assert_int_equal(energy_page_writer_open(w->page, 32, &w->w, &w->err), 0);
	tick(w, 120, 0, 1);
	assert_int_equal(now_mj(w), 120000);
}

static void a_daemon_that_stops_leaves_the_last_value(void **state)
{
	struct world *w = *state;

	task_v1();
	begin(w, 0);
	assert_int_equal(gather_step_cgroup(&w->g, PID), 0);
	tick(w, 100, 0, 1);
	counter_v1("/step_0", 1000);
	assert_int_equal(now_mj(w), 112000);
	pass_ms(60000);
	counter_v1("/step_0", 9000);
	assert_int_equal(now_mj(w), 112000);
	tick(w, 210, 9000, 1); /* it is back */
	assert_int_equal(now_mj(w), 210000);
}

static void a_step_that_began_after_the_daemon_stopped_knows_nothing(void **state)
{
	struct world *w = *state;
	uint64_t uj;

	tick(w, 0, 0, 0);
	pass_ms(60000);
	begin(w, 0);
	pass_ms(10);
	assert_int_equal(gather_step_now(&w->g, &uj), -ENODATA);
}

/* ---- the node -------------------------------------------------------------------- */

static void the_node_is_that_of_the_last_tick(void **state)
{
	struct world *w = *state;
	struct energy_page_node n;

	assert_int_equal(gather_node_now(&w->g, &n), -ENODATA);
	tick(w, 0, 0, 0);
	assert_int_equal(gather_node_now(&w->g, &n), 0);
	assert_int_equal(energy_page_total(&n, n.uw), 321000000);
	take("energy");
	memset(&n, 0, sizeof(n));
	assert_int_equal(gather_node_now(&w->g, &n), 0);
	assert_int_equal(energy_page_total(&n, n.uj), 5000000000);
}

static void joules_are_rounded(void **state)
{
	(void)state;
	assert_int_equal(gather_joules(0), 0);
	assert_int_equal(gather_joules(499999), 0);
	assert_int_equal(gather_joules(500000), 1);
	assert_int_equal(gather_joules(1499999), 1);
	assert_int_equal(gather_joules(UINT64_MAX), UINT64_MAX / 1000000 + 1);
}

/* ---- options --------------------------------------------------------------------- */

static int parse(struct gather_options *o, const char *text, struct err *err)
{
	gather_options_init(o);
	return gather_options_parse(o, text, strlen(text), err);
}

static void options_are_names_and_values(void **state)
{
	(void)state;
	struct gather_options o;
	struct err err;

	assert_int_equal(parse(&o, "", &err), 0);
	assert_string_equal(o.page, "/run/ceems/energy");
	assert_true(o.final);
	assert_int_equal(
		parse(&o, "# comment\n\n  page = /x/y z \r\n\tfinal=no\n# end\n", &err),
		0);
	assert_string_equal(o.page, "/x/y z");
	assert_false(o.final);
}

static void options_that_are_wrong_are_named_and_change_nothing(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"final = no\npage = run/energy\n",
		 "line 2: page is not an absolute path"},
		{"final = perhaps\n", "line 1: final is not yes or no"},
		{"\nring = /x\n", "line 2: unknown name"},
		{"page\n", "line 1: not \"name = value\""},
		{"page =\n", "line 1: page is not an absolute path"},
	};
	struct gather_options o;
	struct err err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(&o, bad[i].text, &err), -EINVAL);
		if (!strstr(err.text, bad[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err.text, bad[i].says);
		assert_string_equal(o.page, "/run/ceems/energy");
		assert_true(o.final);
	}
	char text[400] = "page = /";
	memset(text + 8, 'x', 300);
	assert_int_equal(parse(&o, text, &err), -EINVAL);
	memset(text, '\n', sizeof(text) - 1);
	text[399] = '\0';
	assert_int_equal(parse(&o, text, &err), -EINVAL);
	assert_non_null(strstr(err.text, "lines"));
}

static void an_option_file_that_others_can_write_is_refused(void **state)
{
	(void)state;
	struct gather_options o;
	struct err err;
	char path[96];

	snprintf(path, sizeof(path), "%s/options", scratch);
	assert_int_equal(gather_options_read(&o, path, geteuid(), &err), 0);
	put("options", "final = no\n");
	assert_int_equal(gather_options_read(&o, path, geteuid(), &err), 0);
	assert_false(o.final);
	assert_int_equal(gather_options_read(&o, path, geteuid() + 1, &err), -EPERM);
	assert_true(o.final);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(gather_options_read(&o, path, geteuid(), &err), -EPERM);
	assert_non_null(strstr(err.text, path));
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_step_has_the_page_and_what_it_used_since),
		T(the_extern_step_is_the_whole_job),
		T(on_cgroup_v2_the_tasks_are_counted_and_not_slurmstepd),
		T(a_step_that_no_tick_has_seen_is_estimated),
		T(energy_never_falls),
		T(the_last_counter_is_kept_when_the_group_is_gone),
		T(without_a_counter_the_page_is_all),
		T(without_a_page_nothing_is_known),
		T(a_page_that_vanishes_leaves_the_last_value),
		T(a_page_that_was_replaced_is_followed),
		T(a_daemon_that_stops_leaves_the_last_value),
		T(a_step_that_began_after_the_daemon_stopped_knows_nothing),
		T(the_node_is_that_of_the_last_tick),
		T(an_option_file_that_others_can_write_is_refused),
		cmocka_unit_test(joules_are_rounded),
		cmocka_unit_test(options_are_names_and_values),
		cmocka_unit_test(options_that_are_wrong_are_named_and_change_nothing),
	};
	return cmocka_run_group_tests_name("gather", tests, NULL, NULL);
}
