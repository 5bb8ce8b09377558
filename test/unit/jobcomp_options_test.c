/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/plugin/jobcomp_options.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

static char complaints[4096];

static void complain(void *arg, const char *text)
{
	size_t len = strlen(complaints);

	(void)arg;
	snprintf(complaints + len, sizeof(complaints) - len, "%s|", text);
}

static struct jobcomp_options of(const char *text)
{
	struct jobcomp_options o;

	complaints[0] = '\0';
	jobcomp_options_init(&o);
	jobcomp_options_parse(&o, text, strlen(text), complain, NULL);
	return o;
}

static void all_keys_are_read(void **state)
{
	struct jobcomp_options o = of("# a comment\n---\n\nspool: /srv/x  # here\n"
				      "max_bytes: 8GiB\r\nchain: 'jobcomp/kafka'\n"
				      "cluster:\t\"a b#c\" # name\nsubmit_line: yes\n");

	(void)state;
	assert_string_equal(complaints, "");
	assert_string_equal(o.spool, "/srv/x");
	assert_int_equal(o.max_bytes, 8ull << 30);
	assert_string_equal(o.chain, "jobcomp/kafka");
	assert_string_equal(o.cluster, "a b#c");
	assert_true(o.submit_line);
}

static void an_empty_file_is_the_defaults(void **state)
{
	struct jobcomp_options o = of("");

	(void)state;
	assert_string_equal(o.spool, "/var/spool/ceems/jobcomp");
	assert_int_equal(o.max_bytes, 4ull << 30);
	assert_string_equal(o.chain, "");
	assert_string_equal(o.cluster, "");
	assert_false(o.submit_line);
}

static void a_bad_line_is_named_and_the_others_hold(void **state)
{
	struct jobcomp_options o = of("spol: /x\nspool: relative\nmax_bytes: 1k\n"
				      "  nested: 1\nchain: accounting/x\nno colon\n"
				      "cluster: c\ncluster: d\nspool:x\n"
				      "max_bytes: 'open\nsubmit_line: perhaps\n");

	(void)state;
	assert_string_equal(o.cluster, "c");
	assert_string_equal(o.spool, JOBCOMP_SPOOL_DEFAULT);
	assert_int_equal(o.max_bytes, JOBCOMP_MAX_BYTES_DEFAULT);
	assert_string_equal(o.chain, "");
	assert_non_null(strstr(complaints, "line 1: unknown key"));
	assert_non_null(strstr(complaints, "line 2: spool is not an absolute path"));
	assert_non_null(strstr(complaints, "line 3: max_bytes"));
	assert_non_null(strstr(complaints, "line 4: indented"));
	assert_non_null(strstr(complaints, "line 5: chain is not a jobcomp plugin"));
	assert_non_null(strstr(complaints, "line 6: not \"key: value\""));
	assert_non_null(strstr(complaints, "line 8: the key appears twice"));
	assert_non_null(strstr(complaints, "line 9: not"));
	assert_non_null(strstr(complaints, "line 10: "));
	assert_non_null(strstr(complaints, "line 11: submit_line is not yes or no"));
	assert_false(o.submit_line);
}

static void a_chain_to_ourselves_is_refused(void **state)
{
	(void)state;
	assert_string_equal(of("chain: jobcomp/ceems").chain, "");
	assert_non_null(strstr(complaints, "this plugin itself"));
	assert_string_equal(of("chain: ceems").chain, "");
	assert_non_null(strstr(complaints, "this plugin itself"));
	assert_string_equal(of("chain: filetxt").chain, "jobcomp/filetxt");
	assert_string_equal(of("chain: none").chain, "");
	assert_string_equal(complaints, "");
}

static void values_without_end_are_refused(void **state)
{
	char text[1024] = "spool: /";

	(void)state;
	memset(text + 8, 'a', 1000);
	struct jobcomp_options o = of(text);
	assert_string_equal(o.spool, JOBCOMP_SPOOL_DEFAULT);
	assert_non_null(strstr(complaints, "too long"));
}

static void a_file_that_others_may_write_is_refused(void **state)
{
	char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
	struct jobcomp_options o;
	struct err err = {""};

	(void)state;
	scratch_make(folder);
	snprintf(path, sizeof(path), "%s/jobcomp.yaml", folder);
	assert_int_equal(
		jobcomp_options_read(&o, path, geteuid(), complain, NULL, &err),
		0); /* not there */
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "cluster: x\n", 11), 11);
	close(fd);
	assert_int_equal(
		jobcomp_options_read(&o, path, geteuid(), complain, NULL, &err), 0);
	assert_string_equal(o.cluster, "x");
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(
		jobcomp_options_read(&o, path, geteuid(), complain, NULL, &err),
		-EPERM);
	assert_string_equal(o.cluster, "");
	assert_non_null(strstr(err.text, path));
	scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys_are_read),
		cmocka_unit_test(an_empty_file_is_the_defaults),
		cmocka_unit_test(a_bad_line_is_named_and_the_others_hold),
		cmocka_unit_test(a_chain_to_ourselves_is_refused),
		cmocka_unit_test(values_without_end_are_refused),
		cmocka_unit_test(a_file_that_others_may_write_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
