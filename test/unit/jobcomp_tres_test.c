/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <string.h>

#include "jobcomp/tres.h"
#include "lib/records/job.h"
#include "test/unit/unit.h"

static struct buf out;

static const char *site(void *arg, uint32_t id, char buf[64])
{
	(void)arg;
	if (id == 1003)
		return NULL; /* not known to the cluster any more */
	snprintf(buf, 64, id == 1001 ? "gres/gpu" : "bb/cray%u", id);
	return buf;
}

static const char *of(const char *simple)
{
	buf_reset(&out);
	tres_text(simple, site, NULL, &out);
	return out.data ? out.data : "";
}

static void numbers_become_names_and_mebibytes_a_size(void **state)
{
	(void)state;
	assert_string_equal(of("1=4,2=400,4=1,5=4,1001=2"),
			    "cpu=4,mem=400M,node=1,billing=4,gres/gpu=2");
	assert_string_equal(of("2=1024"), "mem=1G");
	assert_string_equal(of("2=1536"), "mem=1536M");
	assert_string_equal(of("2=3145728"), "mem=3T");
	assert_string_equal(of("2=0,6=7,7=8,8=9"), "mem=0M,fs/disk=7,vmem=8,pages=9");
	assert_string_equal(of("1007=2048"), "bb/cray1007=2G");
}

static void what_is_not_known_is_left_out_and_energy_always(void **state)
{
	(void)state;
	/* as Slurm 22.05 and 24.11 write it when a job ends */
	assert_string_equal(of("1=2,2=100,3=18446744073709551614,4=1,5=2"),
			    "cpu=2,mem=100M,node=1,billing=2");
	assert_string_equal(of("3=2172,1=1"), "cpu=1");
	assert_string_equal(of("1=18446744073709551615,4=1"), "node=1");
	assert_string_equal(of("1003=1,4=1"), "node=1");
}

static void what_is_no_amount_is_left_out(void **state)
{
	(void)state;
	assert_string_equal(of(NULL), "");
	assert_string_equal(of(""), "");
	assert_string_equal(of(","), "");
	assert_string_equal(of("1,=,x=1,1=x,0=1,99999999999=1,4=1,"), "node=1");
	assert_string_equal(of("1=99999999999999999999,4=2"), "node=2");
}

static const char *joined(uint32_t count, char *const *nodes)
{
	buf_reset(&out);
	tres_join_gres(nodes, count, JOB_GRES_MAX, &out);
	return out.data ? out.data : "";
}

static void equal_neighbours_are_told_once(void **state)
{
	char a[] = "gpu:2(IDX:0-1)", b[] = "gpu:1(IDX:0)", c[] = "gpu:2(IDX:0-1)";

	(void)state;
	assert_string_equal(joined(0, NULL), "");
	assert_string_equal(joined(1, (char *[]){a}), "gpu:2(IDX:0-1)");
	assert_string_equal(joined(4, (char *[]){a, c, a, b}),
			    "gpu:2(IDX:0-1)*3;gpu:1(IDX:0)");
	assert_string_equal(joined(3, (char *[]){a, NULL, b}),
			    "gpu:2(IDX:0-1);;gpu:1(IDX:0)");
}

static void ten_thousand_different_nodes_end_at_the_limit(void **state)
{
	static char text[10000][32], *nodes[10000];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(text[i], sizeof(text[i]), "gpu:1(IDX:%d)", i);
		nodes[i] = text[i];
	}
	size_t len = strlen(joined(10000, nodes));
	assert_in_range(len, JOB_GRES_MAX, JOB_GRES_MAX + 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_become_names_and_mebibytes_a_size),
		cmocka_unit_test(what_is_not_known_is_left_out_and_energy_always),
		cmocka_unit_test(what_is_no_amount_is_left_out),
		cmocka_unit_test(equal_neighbours_are_told_once),
		cmocka_unit_test(ten_thousand_different_nodes_end_at_the_limit),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	buf_done(&out);
	return rc;
}
