/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each hole that a proxy of this kind had elsewhere, and the rule as a property. */
#include "redfish_proxy/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

static struct config config;
static struct access *a;
static struct access_decision d;

#define POWER "/redfish/v1/Chassis/1/Power"

static void use(const char *text)
{
	struct err err = {""};

	access_free(a);
	config_done(&config);
	a = NULL;
	if (config_parse(text, strlen(text), "c.yaml", false, &config, &err) < 0 ||
	    access_new(&config, &a, &err) < 0)
		fail_msg("%s", err.text);
}

static int done(void **state)
{
	(void)state;
	access_free(a);
	config_done(&config);
	return 0;
}

static struct netaddr addr(const char *s)
{
	struct netaddr n;

	assert_int_equal(netaddr_parse(s, &n), 0);
	return n;
}

/* A request from an address for POWER. */
static struct access_facts from(const char *peer)
{
	return (struct access_facts){.target = POWER,
				     .has_peer = true,
				     .peer = addr(peer),
				     .real_ip = "",
				     .redfish_url = ""};
}

static void named(struct access_facts *f, const char *url)
{
	f->redfish_urls = 1;
	f->redfish_url = url;
}

static enum access_verdict decide(const struct access_facts *f)
{
	access_decide(a, f, &d);
	return d.verdict;
}

static const char two_nodes[] = "redfish_proxy:\n"
				"  targets:\n"
				"    - host_ip_addrs: [10.0.0.1, 'fd00::1']\n"
				"      nodes: [n1]\n"
				"      url: https://bmc1\n"
				"    - host_ip_addrs: [10.0.0.2]\n"
				"      nodes: [n2, n2.cluster]\n"
				"      url: https://bmc2:8443/\n";

static void node_reads_its_own_bmc_and_no_other(void **state)
{
	(void)state;
	use(two_nodes);
	struct access_facts f = from("10.0.0.1");

	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
	assert_string_equal(d.path, POWER);
	f = from("fd00::1");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
	f = from("10.0.0.2");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc2:8443");
	f = from("10.0.0.3");
	assert_int_equal(decide(&f), ACCESS_NO_TARGET);
	assert_string_equal(d.url, "");
	assert_null(d.target);
}

static void client_chooses_no_url(void **state)
{
	(void)state;
	use(two_nodes);
	struct access_facts f = from("10.0.0.1");

	named(&f, "http://169.254.169.254");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	named(&f, "https://bmc2:8443");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	named(&f, "https://bmc1@evil");
	assert_int_equal(decide(&f), ACCESS_BAD_HEADER);
	named(&f, "file:///etc/passwd");
	assert_int_equal(decide(&f), ACCESS_BAD_HEADER);
	named(&f, "http://bmc1");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	/* a stranger gains nothing by naming one */
	f = from("10.0.0.3");
	named(&f, "https://bmc1");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
}

static void own_url_may_be_named(void **state)
{
	(void)state;
	use(two_nodes);
	struct access_facts f = from("10.0.0.1");

	named(&f, "HTTPS://BMC1:443/");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
	named(&f, "");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	f.redfish_urls = 2;
	assert_int_equal(decide(&f), ACCESS_BAD_HEADER);
}

static void urls_that_are_ignored_change_nothing(void **state)
{
	(void)state;
	use("redfish_proxy:\n"
	    "  ignore_redfish_url: true\n"
	    "  named_clients: [10.9.9.9]\n"
	    "  targets:\n"
	    "    - {host_ip_addrs: [10.0.0.1], url: 'https://bmc1'}\n"
	    "    - {host_ip_addrs: [10.0.0.2], url: 'https://bmc2'}\n");
	struct access_facts f = from("10.0.0.1");

	named(&f, "https://bmc2");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
	named(&f, "http://evil/x");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
	f = from("10.0.0.3");
	named(&f, "https://bmc2");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	f = from("10.9.9.9");
	named(&f, "https://bmc2");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc2");
}

static void headers_of_a_client_say_nothing_about_it(void **state)
{
	(void)state;
	use(two_nodes);
	struct access_facts f = from("10.0.0.3");

	f.real_ips = 1;
	f.real_ip = "10.0.0.1";
	assert_int_equal(decide(&f), ACCESS_NO_TARGET);
	named(&f, "http://evil");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	/* and the node is not affected afterwards */
	f = from("10.0.0.1");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
}

static void trusted_proxy_says_who_asks(void **state)
{
	(void)state;
	use("redfish_proxy:\n"
	    "  trusted_proxies: [192.0.2.0/28]\n"
	    "  targets:\n"
	    "    - {host_ip_addrs: [10.0.0.1], url: 'https://bmc1'}\n"
	    "    - {host_ip_addrs: [192.0.2.1], url: 'https://bmc-of-proxy'}\n");
	struct access_facts f = from("192.0.2.1");

	f.real_ips = 1;
	f.real_ip = "10.0.0.1";
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
	assert_string_equal(d.who, "10.0.0.1");
	/* one that says nothing does not speak for itself */
	f.real_ips = 0;
	f.real_ip = "";
	assert_int_equal(decide(&f), ACCESS_UNIDENTIFIED);
	f.real_ips = 2;
	f.real_ip = "10.0.0.1";
	assert_int_equal(decide(&f), ACCESS_BAD_HEADER);
	f.real_ips = 1;
	f.real_ip = "10.0.0.1, 10.0.0.2";
	assert_int_equal(decide(&f), ACCESS_BAD_HEADER);
	f = from("192.0.2.17");
	f.real_ips = 1;
	f.real_ip = "10.0.0.1";
	assert_int_equal(decide(&f), ACCESS_NO_TARGET);
}

static void named_clients_may_name_listed_targets_only(void **state)
{
	(void)state;
	use("redfish_proxy:\n"
	    "  identity: [address, tls]\n"
	    "  named_clients: [10.9.0.0/16, admin.cluster]\n"
	    "  targets:\n"
	    "    - {host_ip_addrs: [10.0.0.1], url: 'https://bmc1'}\n");
	struct access_facts f = from("10.9.1.1");

	assert_int_equal(decide(&f), ACCESS_NO_TARGET);
	named(&f, "https://bmc1");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	named(&f, "https://bmc3");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	named(&f, "https://bmc1");
	f.peer = addr("10.8.1.1");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	f.names[0] = "Admin.Cluster";
	f.name_count = 1;
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	f.names[0] = "n1.cluster";
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
}

static void certificate_names_the_node(void **state)
{
	(void)state;
	use("redfish_proxy:\n"
	    "  identity: [tls]\n"
	    "  target_url: https://{node}-bmc\n"
	    "  targets:\n"
	    "    - {nodes: [n2, n2.cluster], url: 'https://special'}\n"
	    "    - {nodes: [n9], url: 'https://n8-bmc'}\n");
	struct access_facts f = from("10.0.0.1");

	assert_int_equal(decide(&f), ACCESS_UNIDENTIFIED);
	f.names[0] = "N1.cluster";
	f.name_count = 1;
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://n1-bmc");
	f.names[0] = "alias.org";
	f.names[1] = "n2.cluster";
	f.name_count = 2;
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://special");
	/* the template leads to no BMC that is listed for others */
	f.names[0] = "n8";
	f.name_count = 1;
	assert_int_equal(decide(&f), ACCESS_NO_TARGET);
	static const char *const bad[] = {"*",     "*.cluster", "a/b", "n1@evil",
					  "n1:80", "..",        "-n1", "n1-.x",
					  "n 1",   "",          "n1\n"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f.names[0] = bad[i];
		assert_int_equal(decide(&f), ACCESS_BAD_CREDENTIAL);
	}
}

static void credential_names_the_node(void **state)
{
	static const char munge[] = "redfish_proxy: {identity: [munge]}";
	struct config c;

	(void)state;
	if (config_parse(munge, strlen(munge), "c", false, &c, NULL) == -ENOTSUP)
		skip(); /* built without libmunge */
	config_done(&c);
	use("redfish_proxy:\n"
	    "  identity: [munge, address]\n"
	    "  munge_users: [0, 990]\n"
	    "  target_url: https://{node}-bmc\n"
	    "  targets:\n"
	    "    - {host_ip_addrs: [10.0.0.1], nodes: [n1], url: 'https://bmc1'}\n");
	struct access_facts f = from("10.0.0.1");

	f.munge = ACCESS_MUNGE_GOOD;
	f.munge_node = "n1";
	f.munge_uid = 990;
	f.munge_origin = addr("10.0.0.1");
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://bmc1");
	/* a job's user has munge too */
	f.munge_uid = 1000;
	assert_int_equal(decide(&f), ACCESS_BAD_CREDENTIAL);
	f.munge_uid = 0;
	/* another node's root says that it is n1 */
	f.munge_origin = addr("10.0.0.2");
	assert_int_equal(decide(&f), ACCESS_BAD_CREDENTIAL);
	f.munge_node = "n7";
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.url, "https://n7-bmc");
	/* a bad one is the end, whatever the address */
	f.munge = ACCESS_MUNGE_BAD;
	assert_int_equal(decide(&f), ACCESS_BAD_CREDENTIAL);
	assert_string_equal(d.who, "10.0.0.1");
	f.munge = ACCESS_MUNGE_NONE;
	assert_int_equal(decide(&f), ACCESS_GRANTED);
}

static void facts_of_ways_that_are_off_do_not_count(void **state)
{
	(void)state;
	use(two_nodes);
	struct access_facts f = from("10.0.0.3");

	f.names[0] = "n1";
	f.name_count = 1;
	f.munge = ACCESS_MUNGE_GOOD;
	f.munge_node = "n1";
	assert_int_equal(decide(&f), ACCESS_NO_TARGET);
	use("redfish_proxy:\n  identity: [tls]\n  targets:\n"
	    "    - {host_ip_addrs: [10.0.0.3], url: 'https://bmc1'}\n");
	f.name_count = 0;
	assert_int_equal(decide(&f), ACCESS_UNIDENTIFIED);
}

static void paths_are_checked_whoever_asks(void **state)
{
	(void)state;
	use(two_nodes);
	struct access_facts f = from("10.0.0.1");

	f.target = "/redfish/v1/AccountService/Accounts";
	assert_int_equal(decide(&f), ACCESS_PATH);
	f.target = "/redfish/v1/Chassis/1/../../AccountService";
	assert_int_equal(decide(&f), ACCESS_BAD_PATH);
	f.target = "/redfish/v1/Chassis/%2e%2e/AccountService";
	assert_int_equal(decide(&f), ACCESS_BAD_PATH);
	f.target = POWER "?$expand=.";
	assert_int_equal(decide(&f), ACCESS_BAD_PATH);
	f.target = "/redfish/v1/Ch%61ssis/1/Power";
	assert_int_equal(decide(&f), ACCESS_GRANTED);
	assert_string_equal(d.path, POWER);
}

static void who_is_not_known_learns_nothing_of_paths(void **state)
{
	static const char *const paths[] = {
		POWER, "/redfish/v1/AccountService/Accounts", "//", POWER "?a=b"};

	(void)state;
	use("redfish_proxy:\n  identity: [munge]\n  targets:\n"
	    "    - {nodes: [n1], url: 'https://bmc1'}\n");
	struct access_facts f = from("10.0.0.1");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		f.target = paths[i];
		f.munge = ACCESS_MUNGE_NONE;
		assert_int_equal(decide(&f), ACCESS_UNIDENTIFIED);
		f.munge = ACCESS_MUNGE_BAD;
		assert_int_equal(decide(&f), ACCESS_BAD_CREDENTIAL);
	}
}

static void without_configuration_nothing_is_allowed(void **state)
{
	(void)state;
	use("");
	struct access_facts f = from("127.0.0.1");

	assert_int_equal(decide(&f), ACCESS_NO_TARGET);
	named(&f, "http://bmc");
	assert_int_equal(decide(&f), ACCESS_OTHER_TARGET);
	f.has_peer = false;
	assert_int_equal(decide(&f), ACCESS_UNIDENTIFIED);
	use("redfish_proxy:\n  allowed_api_resources: []\n  targets:\n"
	    "    - {host_ip_addrs: [127.0.0.1], url: 'https://bmc1'}\n");
	f = from("127.0.0.1");
	assert_int_equal(decide(&f), ACCESS_PATH);
}

static void what_is_listed_twice_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"redfish_proxy: {targets: ["
		"{host_ip_addrs: [10.0.0.1], url: 'http://a'},"
		"{host_ip_addrs: ['::ffff:10.0.0.1'], url: 'http://b'}]}",
		"redfish_proxy: {targets: [{nodes: [N1], url: 'http://a'},"
		"{nodes: [n1], url: 'http://b'}]}",
		"redfish_proxy: {targets: [{nodes: [n1], url: 'http://a'},"
		"{nodes: [n2], url: 'HTTP://A:80/'}]}",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct config c;
		struct access *x = NULL;
		struct err err;
		assert_int_equal(
			config_parse(bad[i], strlen(bad[i]), "c", false, &c, &err), 0);
		assert_int_equal(access_new(&c, &x, &err), -EINVAL);
		config_done(&c);
	}
}

static unsigned pick(unsigned n)
{
	return (unsigned)random() % n;
}

/* Whatever a request holds, a grant is for a canonical path of the list and for a BMC
 * that the operator gave to this identity; written anew here, without the tables. */
static void every_grant_was_given_by_the_operator(void **state)
{
	(void)state;
	static const char *const addrs[] = {"10.0.0.1", "10.0.0.2",  "10.0.0.3",
					    "10.9.0.1", "192.0.2.1", "fd00::1"};
	static const char *const urls[] = {"",
					   "https://bmc1",
					   "https://bmc2:8443",
					   "https://n1-bmc",
					   "http://evil",
					   "https://bmc1/x"};
	static const char *const names[] = {"n1", "n2.cluster", "n5", "*", "admin"};
	static const char *const targets[] = {POWER,
					      "/redfish/v1/Chassis/%31/Power",
					      "/redfish/v1/Managers",
					      "/redfish/v1/Chassis/../Managers",
					      "/",
					      "//redfish/v1/Chassis"};
	unsigned granted = 0;

	use("redfish_proxy:\n"
	    "  identity: [address, tls]\n"
	    "  trusted_proxies: [192.0.2.1]\n"
	    "  named_clients: [10.9.0.1, admin]\n"
	    "  target_url: https://{node}-bmc\n"
	    "  targets:\n"
	    "    - {host_ip_addrs: [10.0.0.1, 'fd00::1'], nodes: [n1],"
	    " url: 'https://bmc1'}\n"
	    "    - {host_ip_addrs: [10.0.0.2], nodes: [n2.cluster],"
	    " url: 'https://bmc2:8443'}\n");
	srandom(7);
	for (unsigned i = 0; i < 200000; i++) {
		const char *peer = addrs[pick(6)], *real = addrs[pick(6)];
		const char *url = urls[pick(6)], *name = names[pick(5)];
		struct access_facts f = from(peer);
		f.target = targets[pick(6)];
		f.real_ips = pick(3);
		f.real_ip = f.real_ips ? real : "";
		f.redfish_urls = *url ? 1 + (pick(8) == 0) : 0;
		f.redfish_url = url;
		f.name_count = pick(2);
		f.names[0] = name;
		f.munge = (enum access_munge)pick(3);
		f.munge_node = "n1";
		if (decide(&f) != ACCESS_GRANTED)
			continue;
		granted++;
		const char *who = f.name_count                     ? name
				  : strcmp(peer, "192.0.2.1") == 0 ? real
								   : peer;
		bool own = (strcmp(d.url, "https://bmc1") == 0 &&
			    (strcmp(who, "10.0.0.1") == 0 ||
			     strcmp(who, "fd00::1") == 0 || strcmp(who, "n1") == 0)) ||
			   (strcmp(d.url, "https://bmc2:8443") == 0 &&
			    (strcmp(who, "10.0.0.2") == 0 ||
			     strcmp(who, "n2.cluster") == 0)) ||
			   (strcmp(d.url, "https://n5-bmc") == 0 &&
			    strcmp(who, "n5") == 0) ||
			   (strcmp(d.url, "https://admin-bmc") == 0 &&
			    strcmp(who, "admin") == 0);
		bool other =
			(strcmp(who, "admin") == 0 || strcmp(who, "10.9.0.1") == 0) &&
			strcmp(d.url, url) == 0 &&
			(strcmp(url, "https://bmc1") == 0 ||
			 strcmp(url, "https://bmc2:8443") == 0);
		assert_string_equal(d.path, POWER);
		assert_true(own || other);
		assert_true(f.redfish_urls == 0 ||
			    (f.redfish_urls == 1 && strcmp(url, d.url) == 0));
		assert_true(f.name_count || strcmp(peer, "192.0.2.1") != 0 ||
			    f.real_ips == 1);
	}
	assert_true(granted > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_reads_its_own_bmc_and_no_other),
		cmocka_unit_test(client_chooses_no_url),
		cmocka_unit_test(own_url_may_be_named),
		cmocka_unit_test(urls_that_are_ignored_change_nothing),
		cmocka_unit_test(headers_of_a_client_say_nothing_about_it),
		cmocka_unit_test(trusted_proxy_says_who_asks),
		cmocka_unit_test(named_clients_may_name_listed_targets_only),
		cmocka_unit_test(certificate_names_the_node),
		cmocka_unit_test(credential_names_the_node),
		cmocka_unit_test(facts_of_ways_that_are_off_do_not_count),
		cmocka_unit_test(paths_are_checked_whoever_asks),
		cmocka_unit_test(who_is_not_known_learns_nothing_of_paths),
		cmocka_unit_test(without_configuration_nothing_is_allowed),
		cmocka_unit_test(what_is_listed_twice_is_refused),
		cmocka_unit_test(every_grant_was_given_by_the_operator),
	};
	return cmocka_run_group_tests(tests, NULL, done);
}
