/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/reports/cluster_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/unit/unit.h"

static char path[] = "/tmp/ceems-cluster-test.XXXXXX";

static void write_conf(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void the_name_is_found_as_slurm_reads_it(void **state)
{
	static const struct {
		const char *text, *name;
	} cases[] = {
		{"ClusterName=alpha\n", "alpha"},
		{"# ClusterName=no\nSlurmctldHost=c\n  clustername = Beta # ours\n",
		 "beta"},
		{"ClusterName=\"gamma\"", "gamma"},
		{"ClusterNameX=1\nCLUSTERNAME=first\nClusterName=delta\n", "delta"},
	};
	char name[CLUSTER_NAME_MAX];
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_conf(cases[i].text);
		assert_int_equal(cluster_name_of(path, name, sizeof(name)), 0);
		assert_string_equal(name, cases[i].name);
	}
}

static void a_file_without_one_is_none(void **state)
{
	char name[8] = "as was";
	(void)state;

	write_conf("SlurmctldHost=c\nClusterName=\nClusterName=far_too_long_a_name\n");
	assert_int_equal(cluster_name_of(path, name, sizeof(name)), -ENOENT);
	assert_string_equal(name, "as was");
	assert_int_equal(cluster_name_of("/nonexistent", name, sizeof(name)), -ENOENT);
}

static void what_is_configured_comes_first_then_the_environment(void **state)
{
	char name[CLUSTER_NAME_MAX];
	(void)state;

	write_conf("ClusterName=alpha\n");
	setenv("SLURM_CONF", path, 1);
	cluster_name("Mine", name, sizeof(name));
	assert_string_equal(name, "Mine");
	cluster_name("", name, sizeof(name));
	assert_string_equal(name, "alpha");
	unsetenv("SLURM_CONF");
}

static int setup(void **state)
{
	int fd = mkstemp(path);
	(void)state;

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_is_found_as_slurm_reads_it),
		cmocka_unit_test(a_file_without_one_is_none),
		cmocka_unit_test(what_is_configured_comes_first_then_the_environment),
	};
	return cmocka_run_group_tests_name("cluster_name", tests, setup, teardown);
}
