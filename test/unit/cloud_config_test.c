/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of clusters, as the peer spells it. */
#include "aggregator/openstack/cloud_config.h"

#include <errno.h>
#include <string.h>

#include "test/unit/unit.h"

static struct err err;
static struct clouds clouds;
static bool secrets;

static int parse(const char *text)
{
	clouds_done(&clouds);
	secrets = false;
	return clouds_parse(text, strlen(text), "/etc/ceems/c.yaml", &clouds, NULL,
			    &secrets, &err);
}

static int done(void **state)
{
	(void)state;
	clouds_done(&clouds);
	return 0;
}

#define HEAD "clusters:\n  - id: cloud\n    manager: openstack\n    extra_config:\n"
#define AT "      api_service_endpoints: {identity: 'http://k:5000'}\n"
#define PASSWORD                                                                       \
	"      auth:\n        identity:\n          methods: [password]\n"              \
	"          password: {user: {name: u, password_file: p, domain: {id: d}}}\n"   \
	"        scope: {project: {id: x}}\n"

static void the_peers_file_is_read(void **state)
{
	(void)state;
	/* of CEEMS' documentation, other sections and clusters included */
	assert_int_equal(
		parse("ceems_api_server: {data: {path: /x}}\nupdaters: []\n"
		      "clusters:\n  - id: slurm-0\n    manager: slurm\n    cli: {path: "
		      "/usr/bin}\n  - id: os-0\n    manager: openstack\n    updaters: "
		      "[tsdb]\n    web:\n      http_headers:\n        "
		      "X-OpenStack-Nova-API-Version: {values: [latest]}\n    "
		      "extra_config:\n      api_service_endpoints:\n        compute: "
		      "https://openstack.example:8774/v2.1\n        identity: "
		      "https://openstack.example:5000\n      auth:\n        identity:\n"
		      "          methods: [password]\n          password:\n            "
		      "user:\n              name: admin\n              password: "
		      "supersecret\n        scope: {project: {name: admin}}\n"),
		0);
	assert_int_equal(clouds.count, 1);
	assert_string_equal(clouds.items[0].id, "os-0");
	assert_string_equal(clouds.items[0].compute,
			    "https://openstack.example:8774/v2.1");
	assert_string_equal(clouds.items[0].auth.user.password, "supersecret");
	assert_true(secrets);
	assert_int_equal(clouds.items[0].page, 1000);
	assert_int_equal(clouds.items[0].refresh_ms, 60000);
}

static void files_of_secrets_are_beside_it(void **state)
{
	(void)state;
	assert_int_equal(parse(HEAD AT PASSWORD), 0);
	assert_string_equal(clouds.items[0].auth.user.password_file, "/etc/ceems/p");
	assert_false(secrets);
	assert_null(clouds.items[0].compute);
}

static void what_is_wrong_is_said(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{HEAD AT, "needs extra_config.auth"},
		{HEAD PASSWORD, "api_service_endpoints.identity"},
		{HEAD AT "      auth: {identity: {methods: [password]}}\n",
		 "auth needs a password"},
		{HEAD AT PASSWORD "      colour: red\n", "colour"},
		{HEAD "      api_service_endpoints: {identity: k}\n" PASSWORD,
		 "identity"},
		{"clusters:\n  - 7\n", "not a mapping"},
		{HEAD AT "      auth: {identity: {application_credential: {id: x}}}\n",
		 "needs a secret"},
		{HEAD AT "      auth: {identity: {application_credential: {id: x, "
			 "secret: y}}, scope: {project: {id: z}}}\n",
		 "remove scope"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text), -EINVAL);
		if (!strstr(err.text, cases[i].said))
			fail_msg("%s: not %s", err.text, cases[i].said);
	}
}

static void two_of_one_id_are_refused(void **state)
{
	(void)state;
	assert_int_equal(parse(HEAD AT PASSWORD
			       "  - id: cloud\n    manager: openstack\n"
			       "    extra_config:\n" AT PASSWORD),
			 -EINVAL);
	assert_non_null(strstr(err.text, "two clusters are called cloud"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peers_file_is_read),
		cmocka_unit_test(files_of_secrets_are_beside_it),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(two_of_one_id_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
