/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who may send what: each way of proof against nodes, clusters and kinds of records. */
#include "aggregator/ingest/ingest_may.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/unit/unit.h"

static struct err err;
static int host_verdict;

static int is_host(void *arg, const char *node, struct err *e)
{
	(void)e;
	if (host_verdict < 0)
		return host_verdict;
	return strcmp(node, arg) == 0;
}

static struct ingest_party munge(uint32_t uid, const char *login)
{
	static char host[] = "n1";
	struct ingest_party p = {
		.kind = PARTY_MUNGE, .uid = uid, .is_host = is_host, .arg = host};

	host_verdict = 0;
	snprintf(p.name, sizeof(p.name), "%s", login);
	p.has_peer = true;
	assert_int_equal(netaddr_parse("10.1.0.7", &p.peer), 0);
	return p;
}

static int report_of(const struct ingest_party *p, const char *node)
{
	const struct ingest_may may = {.party = p};

	return ingest_may_report(&may, "c1", node, &err);
}

static void a_report_is_of_the_node_that_sent_it(void **state)
{
	struct ingest_party p = munge(64030, "ceems");

	(void)state;
	p.reports = true;
	assert_int_equal(report_of(&p, "n1"), 0);
	assert_int_equal(report_of(&p, "n2"), -EACCES);
	assert_non_null(strstr(err.text, "munge:ceems may not send for node n2"));
	p.any_node = true;
	assert_int_equal(report_of(&p, "n2"), 0);
	p.any_node = false;
	host_verdict = -EHOSTDOWN;
	assert_int_equal(report_of(&p, "n1"), -EHOSTDOWN);
	p.is_host = NULL;
	assert_int_equal(report_of(&p, "n1"), -EACCES);
}

static void a_certificate_names_its_node(void **state)
{
	static const char *const names[] = {"alerts.n9@x", "n1.cluster.example", "N7"};
	struct ingest_party p = {.kind = PARTY_CERTIFICATE,
				 .names = names,
				 .name_count = 3,
				 .reports = true};

	(void)state;
	assert_int_equal(report_of(&p, "n1"), 0);
	assert_int_equal(report_of(&p, "n1.cluster.example"), 0);
	assert_int_equal(report_of(&p, "n7"), 0);
	assert_int_equal(report_of(&p, "n"), -EACCES);
	assert_int_equal(report_of(&p, "n1.cluster"), 0);
	assert_int_equal(report_of(&p, "n10"), -EACCES);
	assert_int_equal(report_of(&p, "n1.cluster.example.org"), -EACCES);
	assert_int_equal(report_of(&p, "alerts"), -EACCES);
	assert_int_equal(report_of(&p, ""), -EACCES);
	p.any_node = true;
	assert_int_equal(report_of(&p, "n10"), 0);
}

static void a_token_with_a_name_is_of_that_node(void **state)
{
	struct ingest_party p = {.kind = PARTY_TOKEN, .name = "n1", .reports = true};

	(void)state;
	assert_int_equal(report_of(&p, "n1"), 0);
	assert_int_equal(report_of(&p, "n2"), -EACCES);
	p.name[0] = '\0';
	assert_int_equal(report_of(&p, "n2"), 0);
}

static void completion_records_are_slurms(void **state)
{
	struct ingest_party node = munge(64030, "ceems"), slurm = munge(64, "slurm");
	const struct ingest_may of_node = {.party = &node},
				of_slurm = {.party = &slurm};

	(void)state;
	node.reports = true;
	assert_int_equal(ingest_may_job(&of_node, "c1", &err), -EACCES);
	assert_non_null(strstr(err.text, "ingest.jobs-from"));
	slurm.jobs = true;
	assert_int_equal(ingest_may_job(&of_slurm, "c1", &err), 0);
	/* and who sends those is no node */
	assert_int_equal(ingest_may_report(&of_slurm, "c1", "n1", &err), -EACCES);
}

static void make_rule(const char *text, struct ingest_cluster *ret)
{
	if (ingest_cluster_parse(text, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void each_sender_has_its_clusters(void **state)
{
	struct ingest_cluster rules[4];
	struct ingest_party p = munge(64, "slurm");
	const struct ingest_may may = {
		.clusters = rules, .cluster_count = 4, .party = &p};

	(void)state;
	make_rule("open", &rules[0]);
	make_rule("c1=munge:slurm@10.1.0.7", &rules[1]);
	make_rule("c1=token:c1", &rules[2]);
	make_rule("c2=10.2.0.0/16", &rules[3]);
	p.jobs = true;
	assert_int_equal(ingest_may_job(&may, "open", &err), 0);
	assert_int_equal(ingest_may_job(&may, "c1", &err), 0);
	assert_int_equal(ingest_may_job(&may, "c2", &err), -EACCES);
	assert_non_null(strstr(err.text, "munge:slurm may not send for this cluster"));
	assert_int_equal(ingest_may_job(&may, "c3", &err), -EACCES);
	assert_non_null(strstr(err.text, "this cluster is not allowed"));
	assert_int_equal(netaddr_parse("10.2.9.9", &p.peer), 0);
	assert_int_equal(ingest_may_job(&may, "c1", &err), -EACCES);
	assert_int_equal(ingest_may_job(&may, "c2", &err), 0);
	p.has_peer = false;
	assert_int_equal(ingest_may_job(&may, "c2", &err), -EACCES);
	p = (struct ingest_party){.kind = PARTY_TOKEN, .name = "c1", .jobs = true};
	assert_int_equal(ingest_may_job(&may, "c1", &err), 0);
	p.name[0] = '\0';
	assert_int_equal(ingest_may_job(&may, "c1", &err), -EACCES);
}

static void rules_that_make_no_sense_are_named(void **state)
{
	static const char *const bad[] = {
		"",         "=10.0.0.1",     "c1=",
		"c1=slurm", "c1=password:x", "c1=munge:slurm@10.0.0.1/8"};
	struct ingest_cluster c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(ingest_cluster_parse(bad[i], &c, &err), -EINVAL);
		assert_non_null(strstr(err.text, "ingest.cluster"));
	}
}

static void a_party_is_an_account_at_an_address(void **state)
{
	struct ingest_party p = munge(990, "");
	struct party listed;

	(void)state;
	assert_int_equal(party_parse("munge:990", PARTY_MUNGE, &listed, &err), 0);
	assert_true(ingest_party_is(&p, &listed));
	assert_int_equal(party_parse("munge:990@10.1.0.8", PARTY_MUNGE, &listed, &err),
			 0);
	assert_false(ingest_party_is(&p, &listed));
	/* a name that nobody has looked up is nobody's */
	assert_int_equal(party_parse("munge:slurm", PARTY_MUNGE, &listed, &err), 0);
	assert_false(ingest_party_is(&p, &listed));
	assert_int_equal(party_parse("token:990", PARTY_TOKEN, &listed, &err), 0);
	assert_false(ingest_party_is(&p, &listed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_is_of_the_node_that_sent_it),
		cmocka_unit_test(a_certificate_names_its_node),
		cmocka_unit_test(a_token_with_a_name_is_of_that_node),
		cmocka_unit_test(completion_records_are_slurms),
		cmocka_unit_test(each_sender_has_its_clusters),
		cmocka_unit_test(rules_that_make_no_sense_are_named),
		cmocka_unit_test(a_party_is_an_account_at_an_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
