/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/conf/kubeconfig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/unit.h"

static struct err err;

static int parse_kubeconfig(const char *text, struct kubeconfig *ret)
{
	return kubeconfig_parse(text, strlen(text), "/etc/ceems/k1.conf", ret, &err);
}

#define CONTEXTS                                                                       \
	"current-context: two\n"                                                       \
	"contexts:\n"                                                                  \
	"- {name: one, context: {cluster: c1, user: u1}}\n"                            \
	"- {name: two, context: {cluster: c2, user: u2, namespace: x}}\n"              \
	"preferences: {colors: true}\n"
#define CLUSTERS                                                                       \
	"clusters:\n"                                                                  \
	"- {name: c1, cluster: {server: 'https://one:6443'}}\n"                        \
	"- {name: c2, cluster: {server: 'https://two:6443/', certificate-authority: "  \
	"pki/ca.crt}}\n"

static void only_the_current_context_counts(void **state)
{
	struct kubeconfig c;

	(void)state;
	assert_int_equal(parse_kubeconfig(CONTEXTS CLUSTERS
					  "users:\n"
					  "- {name: u1, user: {token: wrong}}\n"
					  "- {name: u2, user: {token: t2}}\n",
					  &c),
			 0);
	assert_string_equal(c.url, "https://two:6443");
	assert_string_equal(c.ca_file, "/etc/ceems/pki/ca.crt");
	assert_string_equal(c.token, "t2");
	assert_null(c.token_file);
	assert_false(c.insecure);
	kubeconfig_done(&c);
	/* a token's file wins, as in kubectl: it is renewed */
	assert_int_equal(
		parse_kubeconfig(
			CONTEXTS CLUSTERS
			"users: [{name: u2, user: {token: t, tokenFile: t2}}]\n",
			&c),
		0);
	assert_string_equal(c.token_file, "/etc/ceems/t2");
	assert_null(c.token);
	kubeconfig_done(&c);
}

static void certificates_may_stand_in_it_as_text(void **state)
{
	struct kubeconfig c;
	char text[16] = "";

	(void)state;
	assert_int_equal(
		parse_kubeconfig(
			CONTEXTS CLUSTERS
			"users:\n"
			"- {name: u2, user: {client-certificate-data: Y2VydA==, "
			"client-key: /other, client-key-data: a2V5}}\n",
			&c),
		0);
	int fd = open(c.key_file, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 3);
	assert_string_equal(text, "key");
	close(fd);
	assert_int_equal(access(c.cert_file, R_OK), 0);
	char *path = strdup(c.cert_file);
	kubeconfig_done(&c);
	assert_int_equal(access(path, F_OK), -1);
	free(path);
}

static void what_cannot_be_used_is_said(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"a: [", "not YAML"},
		{"7", "current-context"},
		{"", "current-context"},
		{CONTEXTS, "current-context"},
		{CONTEXTS "clusters: [{name: c2, cluster: {x: 1}}]\n", "no server"},
		{CONTEXTS CLUSTERS "users: [{name: u2, user: {exec: {command: x}}}]\n",
		 "exec"},
		{CONTEXTS CLUSTERS
		 "users: [{name: u2, user: {token: t, as: viewer}}]\n",
		 "as is not supported"},
		{CONTEXTS CLUSTERS
		 "users: [{name: u2, user: {username: u, password: p}}]\n",
		 "username is not supported"},
		{CONTEXTS "clusters: [{name: c2, cluster: {server: 'https://two', "
			  "tls-server-name: one}}]\n"
			  "users: [{name: u2, user: {token: t}}]\n",
		 "tls-server-name is not supported"},
		{CONTEXTS "clusters: [{name: c2, cluster: {server: 'https://two', "
			  "proxy-url: 'http://proxy'}}]\n"
			  "users: [{name: u2, user: {token: t}}]\n",
		 "proxy-url is not supported"},
		{CONTEXTS CLUSTERS "users: [{name: u1, user: {token: t}}]\n",
		 "user u2 is not in users"},
		{CONTEXTS CLUSTERS
		 "users: [{name: u2, user: {client-key-data: '***'}}]\n",
		 "not base64"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kubeconfig c;
		assert_int_equal(parse_kubeconfig(cases[i].text, &c), -EINVAL);
		assert_non_null(strstr(err.text, cases[i].says));
		assert_non_null(strstr(err.text, "/etc/ceems/k1.conf"));
	}
}

static void others_may_not_read_it(void **state)
{
	char path[] = "/tmp/ceems-kubeconfig-test.XXXXXX";
	static const char text[] =
		CONTEXTS CLUSTERS "users: [{name: u2, user: {token: t}}]\n";
	struct kubeconfig c;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(kubeconfig_read(path, &c, &err), -EPERM);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(kubeconfig_read(path, &c, &err), 0);
	kubeconfig_done(&c);
	close(fd);
	unlink(path);
	assert_int_equal(kubeconfig_read(path, &c, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_current_context_counts),
		cmocka_unit_test(certificates_may_stand_in_it_as_text),
		cmocka_unit_test(what_cannot_be_used_is_said),
		cmocka_unit_test(others_may_not_read_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
