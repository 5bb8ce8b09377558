/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lb/site/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lb/site/backend_impl.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "test/fake/starve.h"
#include "test/unit/unit.h"

#define FOLDER "test/fixture/lb_config/"
#define DAY_MS 86400000ll
#define ONE "ceems_lb:\n  backends:\n    - id: a\n      tsdb:\n        - web: {url: "

static struct site *parse(const char *text, const struct site *before)
{
	struct site *s = NULL;
	struct err err = {""};
	int rc = site_parse(text, strlen(text), "/etc/ceems/lb.yaml", true, before, &s,
			    NULL, &err);

	if (rc < 0)
		fail_msg("%s", err.text);
	return s;
}

static void refused(const char *text, const char *why)
{
	struct site *s = NULL;
	struct err err = {""};
	int rc = site_parse(text, strlen(text), "lb.yaml", true, NULL, &s, NULL, &err);

	if (rc >= 0)
		fail_msg("taken: %s", text);
	if (!strstr(err.text, why))
		fail_msg("'%s' does not say '%s'", err.text, why);
	assert_null(s);
}

static struct site *fixture(const char *name, bool *ret_secrets)
{
	char path[256];
	auto_buf struct buf text = BUF_INIT;
	struct site *s = NULL;
	struct err err = {""};

	snprintf(path, sizeof(path), FOLDER "%s.yaml", name);
	assert_int_equal(fs_read_buf_at(AT_FDCWD, path, 1 << 20, &text, &err), 0);
	int rc = site_parse(text.data, text.len, path, false, NULL, &s, ret_secrets,
			    &err);
	if (rc < 0)
		fail_msg("%s", err.text);
	return s;
}

static struct backend_server *server(const struct site *s, const char *cluster,
				     enum site_protocol p, size_t i)
{
	const struct site_cluster *c = site_cluster(s, cluster);

	assert_non_null(c);
	assert_non_null(c->backends[p]);
	assert_true(i < backend_set_count(c->backends[p]));
	return backend_set_at(c->backends[p], i);
}

/* ---- the peer's documented examples ---------------------------------------------- */

static void the_documented_sample_is_taken(void **state)
{
	struct site *s = fixture("documented-sample", NULL);

	(void)state;
	assert_int_equal(s->cluster_count, 3);
	assert_string_equal(server(s, "slurm-0", SITE_PROMETHEUS, 0)->pub.name,
			    "http://localhost:9090");
	assert_string_equal(server(s, "slurm-0", SITE_PYROSCOPE, 0)->pub.name,
			    "http://localhost:4040");
	assert_null(site_cluster(s, "slurm-1")->backends[SITE_PYROSCOPE]);
	assert_null(site_cluster(s, "slurm-2")->backends[SITE_PROMETHEUS]);
	assert_null(site_cluster(s, "slurm"));
	site_unref(s);
}

/* Hole 20 of the peer: equal job numbers of two clusters in one server */
static void clusters_in_one_server_are_kept_apart_by_its_label(void **state)
{
	struct site *s = fixture("documented-sample", NULL);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct access_policy *p = s->clusters[i].policy;

		for (int k = 0; k < SITE_PROTOCOLS; k++) {
			assert_string_equal(p[k].cluster_label, "ceems_id");
			assert_string_equal(p[k].cluster, s->clusters[i].id);
		}
	}
	assert_non_null(strstr(s->notes, "shares a server"));
	site_unref(s);
	/* its other names are found as far as they can be */
	s = parse(ONE "\"http://localhost:90\"}\n    - id: b\n      tsdb: [{web: {url: "
		      "\"https://127.0.0.1:90/\"}}]\n",
		  NULL);
	assert_string_equal(s->clusters[0].policy[0].cluster_label, "ceems_id");
	site_unref(s);
	s = fixture("documented-replicas", NULL);
	assert_null(s->clusters[0].policy[0].cluster_label);
	site_unref(s);
}

static void a_url_without_a_port_has_the_one_of_its_scheme(void **state)
{
	struct site *s = fixture("documented-replicas", NULL);
	const struct backend *b = &server(s, "slurm-0", SITE_PROMETHEUS, 1)->pub;

	(void)state;
	assert_string_equal(b->host, "tsdb-0-replica");
	assert_int_equal(b->port, 80);
	assert_string_equal(b->base_path, "");
	assert_string_equal(b->fixed_headers, "Host: tsdb-0-replica\r\n");
	site_unref(s);
}

static void a_file_shared_with_the_api_server_is_taken(void **state)
{
	struct site *s = fixture("documented-merged", NULL);

	(void)state;
	assert_int_equal(s->cluster_count, 2);
	assert_int_equal(s->api.url_count, 1);
	assert_string_equal(s->api.urls[0], "http://localhost:9020");
	assert_true(s->api.munge);
	assert_int_equal(s->admin_count, 1);
	assert_string_equal(s->admins[0], "adm1");
	assert_non_null(strstr(s->notes, "no database file"));
	site_unref(s);
}

static void without_an_api_server_users_are_refused_not_let_through(void **state)
{
	bool secrets = false;
	struct site *s = fixture("documented-guide", &secrets);

	(void)state;
	assert_false(s->open);
	assert_int_equal(s->api.url_count, 0);
	assert_non_null(strstr(s->notes, "users are refused"));
	assert_true(secrets);
	assert_non_null(strstr(server(s, "slurm-cluster", 0, 0)->pub.fixed_headers,
			       "Authorization: Basic cmVhZGVyOnBsYW50ZWQtaHVudGVyMg=="
			       "\r\n"));
	assert_null(strstr(s->notes, "hunter"));
	site_unref(s);
}

static void the_old_spelling_of_servers_is_taken(void **state)
{
	struct site *s = fixture("documented-old", NULL);

	(void)state;
	assert_string_equal(server(s, "slurm-two", 0, 1)->pub.name,
			    "http://slurm-two-tsdb-two:9090");
	site_unref(s);
}

static void the_reference_of_its_keys_is_taken(void **state)
{
	bool secrets = false;
	struct site *s = fixture("documented-reference", &secrets);
	const struct backend *b = &server(s, "default", 0, 0)->pub;

	(void)state;
	assert_true(secrets);
	assert_true(b->tls);
	assert_int_equal(b->port, 443);
	assert_string_equal(b->base_path, "/prometheus");
	assert_string_equal(b->name, "https://tsdb.example:443/prometheus");
	assert_string_equal(b->ca_file, FOLDER "ca.pem");
	assert_string_equal(b->server_name, "tsdb.internal");
	assert_string_equal(b->fixed_headers,
			    "Host: tsdb.example\r\nAuthorization: Bearer "
			    "planted-token\r\nX-Scope-OrgID: site\r\nX-Two: "
			    "planted-two\r\n");
	assert_int_equal(b->filter_label_count, 2);
	assert_string_equal(b->filter_labels[1], "hostname");
	assert_int_equal(s->clusters[0].policy[SITE_PROMETHEUS].hidden_count, 2);
	assert_string_equal(s->clusters[0].policy[SITE_PROMETHEUS].hidden[1],
			    "hostname");
	assert_string_equal(s->api.user, "lb");
	assert_string_equal(s->api.password_file, FOLDER "api.password");
	assert_false(s->api.munge);
	site_unref(s);
}

/* ---- ours ------------------------------------------------------------------------ */

static void what_is_ours_is_read(void **state)
{
	struct site *s = fixture("ours", NULL);
	const struct access_policy *a = site_cluster(s, "alpha")->policy;
	const struct access_policy *b = site_cluster(s, "beta")->policy;

	(void)state;
	assert_string_equal(a[0].cluster_label, "cluster");
	assert_string_equal(b[0].cluster_label, "ceems_id");
	assert_int_equal(a[0].lookback_ms, 120000);
	assert_int_equal(a[0].inject_max, 50);
	assert_int_equal(b[0].inject_max, 0);
	assert_int_equal(b[0].narrow_max, 1000);
	assert_string_equal(a[0].families[0].metric, "DCGM_*");
	assert_string_equal(a[0].families[0].label, "hpc_job");
	assert_null(a[0].families[1].label);
	assert_string_equal(b[0].families[0].metric, "amd_*");
	assert_string_equal(a[1].families[0].label, "unit");
	assert_string_equal(b[1].families[0].label, "service_name");
	assert_int_equal(s->limits.user_requests, 7);
	assert_int_equal(s->limits.user_burst, 60);
	assert_int_equal(s->limits.ownership_s, 30);
	assert_int_equal(s->limits.linger_s, 600);
	assert_int_equal(s->admin_count, 2);
	assert_string_equal(s->operators[0], "bob");
	assert_true(s->operators_read_all);
	assert_true(s->audit);
	assert_false(s->audit_query);
	assert_false(s->identity.munge);
	assert_string_equal(s->identity.front_ends[0], "password:grafana");
	assert_int_equal(s->identity.user_header_count, 2);
	assert_int_equal(s->api.url_count, 2);
	assert_string_equal(s->api.cert_file, FOLDER "lb.pem");
	assert_string_equal(s->api.ca_file, "/etc/ca.pem");
	site_unref(s);
}

/* A Prometheus of two clusters, and a Pyroscope for each. */
static void profiles_have_a_label_of_their_own_for_the_cluster(void **state)
{
#define TWO(top, own, second)                                                          \
	"ceems_lb:\n" top "  backends:\n"                                              \
	"    - id: a\n" own "      tsdb: [{web: {url: http://h}}]\n"                   \
	"      pyroscope: [{web: {url: http://p}}]\n"                                  \
	"    - id: b\n      tsdb: [{web: {url: http://h}}]\n"                          \
	"      pyroscope: [{web: {url: " second "}}]\n"
	static const struct {
		const char *text, *prom, *pyro;
	} rows[] = {
		{TWO("", "", "http://q"), "ceems_id", "ceems_id"},
		{TWO("  cluster_label: c\n", "", "http://q"), "c", "c"},
		{TWO("  profile_cluster_label: d\n", "", "http://q"), "ceems_id", "d"},
		{TWO("  profile_cluster_label: \"\"\n", "", "http://q"), "ceems_id",
		 NULL},
		{TWO("  cluster_label: c\n", "      profile_cluster_label: d\n",
		     "http://p"),
		 "c", "d"},
		{TWO("  profile_cluster_label: d\n",
		     "      profile_cluster_label: \"\"\n", "http://q"),
		 "ceems_id", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct site *s = parse(rows[i].text, NULL);
		const struct access_policy *p = site_cluster(s, "a")->policy;

		assert_string_equal(p[SITE_PROMETHEUS].cluster_label, rows[i].prom);
		if (rows[i].pyro)
			assert_string_equal(p[SITE_PYROSCOPE].cluster_label,
					    rows[i].pyro);
		else
			assert_null(p[SITE_PYROSCOPE].cluster_label);
		assert_string_equal(p[SITE_PYROSCOPE].cluster, "a");
		site_unref(s);
	}
	/* what would show one cluster's profiles in the other */
	refused(TWO("  profile_cluster_label: \"\"\n", "", "http://p"),
		"another cluster has the same Pyroscope");
	refused(TWO("  profile_cluster_label: a-b\n", "", "http://q"),
		"not the name of a label");
#undef TWO
}

static void servers_have_their_times_and_limits(void **state)
{
	struct site *s = fixture("ours", NULL);
	const struct backend_params *hot = &server(s, "alpha", 0, 0)->p;
	const struct backend_params *old = &server(s, "alpha", 0, 1)->p;
	const struct backend_server *pyro = server(s, "beta", SITE_PYROSCOPE, 0);

	(void)state;
	assert_int_equal(hot->retention_ms, 15 * DAY_MS);
	assert_int_equal(hot->max_requests, 64);
	assert_int_equal(hot->timeout_ms, 30000);
	assert_int_equal(hot->connect_timeout_ms, 500);
	assert_int_equal(hot->first_byte_timeout_ms, 10000);
	assert_int_equal(old->first_byte_timeout_ms, 0);
	assert_int_equal(hot->dialect, PROMQL_3);
	assert_int_equal(hot->care.interval_ms, 1000);
	assert_int_equal(hot->care.fall, 3);
	assert_int_equal(hot->care.slow_start_ms, 0);
	assert_int_equal(old->from_ms, 1577836800000ll);
	assert_int_equal(old->to_ms, 1735689600000ll);
	assert_string_equal(pyro->pub.host, "::1");
	assert_true(pyro->p.pyroscope);
	assert_string_equal(pyro->pub.name, "http://[::1]:4040");
	site_unref(s);
}

static void defaults_are_closed(void **state)
{
	struct site *s = parse(ONE "\"http://h\"}\n", NULL);
	const struct access_policy *p = s->clusters[0].policy;

	(void)state;
	assert_false(s->open);
	assert_int_equal(p->inject_max, 0);
	assert_int_equal(p->lookback_ms, 300000);
	assert_int_equal(s->identity.front_end_count, 0);
	assert_int_equal(s->limits.ownership_s, 60);
	assert_int_equal(s->limits.unknown_s, 3);
	for (size_t i = 0; i < p->family_count; i++) {
		/* nothing that is of each node is for everybody */
		if (!p->families[i].label && !p->families[i].operators)
			assert_null(strchr(p->families[i].metric, '*'));
		assert_string_not_equal(p->families[i].metric, "*");
	}
	site_unref(s);
}

/* What a user is told who names no unit. */
static void refusal(const struct access_policy *policy, const char *metric,
		    struct err *err)
{
	struct promql *q = NULL;
	struct access_plan *plan = NULL;

	err->text[0] = '\0';
	assert_int_equal(promql_parse(metric, strlen(metric), PROMQL_2, NULL, &q, err),
			 0);
	assert_int_equal(access_plan_new(policy, &plan), 0);
	int rc = access_plan_add(plan, q, 0, 0, err);
	assert_int_equal(rc < 0, *err->text != '\0');
	access_plan_free(plan);
	promql_free(q);
}

/* By the labels that the documentation gives each of our metrics */
static void metrics_without_units_are_said_to_be_for_operators(void **state)
{
	struct site *s = parse(ONE "\"http://h\"}\n", NULL);
	const struct access_policy *p = s->clusters[0].policy;
	FILE *doc = fopen("doc/metrics.md", "re");
	unsigned of_units = 0, of_nodes = 0;
	char line[4096];

	(void)state;
	assert_non_null(doc);
	while (fgets(line, sizeof(line), doc)) {
		char name[128], *cell[4] = {NULL};
		struct err err;

		for (size_t i = 0; i < 4; i++)
			cell[i] = strtok(i ? NULL : line, "|");
		if (!cell[3] || sscanf(cell[0], " `%127[a-zA-Z0-9_]", name) != 1 ||
		    strncmp(name, "ceems_", 6) != 0)
			continue;
		bool unit = strstr(cell[2], " U,") || strstr(cell[2], " U ") ||
			    strstr(cell[2], " uuid");

		refusal(p, name, &err);
		of_units += unit;
		of_nodes += !unit;
		if (unit && !strstr(err.text, "add: uuid=") &&
		    !strstr(err.text, "add uuid="))
			fail_msg("%s: '%s'", name, err.text);
		if (!unit && *err.text && !strstr(err.text, "operators may read it"))
			fail_msg("%s: '%s'", name, err.text);
		if (!unit && !*err.text && strncmp(name, "ceems_emissions_", 16) != 0)
			fail_msg("%s is open", name);
	}
	fclose(doc);
	assert_true(of_units > 20);
	assert_true(of_nodes > 100);
	site_unref(s);
}

/* What a tired administrator writes, and what he is told. */
static void each_slip_is_named_with_its_line_and_what_to_do(void **state)
{
#define GOOD ONE "http://h}\n"
	static const struct {
		const char *text, *why;
	} rows[] = {
		{"ceems_lb:\n\tbackends: []\n", "lb.yaml:2: "},
		{"ceems_lb:\n\tbackends: []\n", "with spaces, not with tabs"},
		{"ceems_lb:\n  backends:\n    - id: a\n\t  tsdb: []\n",
		 "with spaces, not with tabs"},
		{GOOD "  stategy: x\n",
		 "lb.yaml:6: unknown key: stategy (known here: strategy, "},
		{"cems_lb:\n  x: 1\n", "lb.yaml:1: unknown key: cems_lb (known here: "
				       "ceems_lb, ceems_api_server, "},
		{ONE "http://h, port: 1}\n", "lb.yaml:5: unknown key: port"},
		{"ceems_lb:\n  backends:\n    - id: a\n      tsdb: []\n",
		 "lb.yaml:3: backends: a cluster needs servers"},
		{"ceems_lb:\n  backends: []\n", "ceems_lb.backends: none given"},
		{"", "ceems_lb.backends: none given"},
		{GOOD "    - id: a\n      tsdb: [{web: {url: http://i}}]\n",
		 "lb.yaml:6: this id appears twice: a"},
		{GOOD "      tsdb: []\n", "lb.yaml:6: key given twice: tsdb"},
		{GOOD "---\n" GOOD,
		 "a second document (---): a file may have only one"},
		{GOOD "  cluster_label: a-b\n",
		 "lb.yaml:6: cluster_label: not the name of a label (letters"},
		{GOOD "  limits: {owned: 60}\n",
		 "lb.yaml:6: owned: not a duration, such as 10s or 30d"},
		{GOOD "  limits: {user_requests: many}\n",
		 "lb.yaml:6: user_requests: not a number"},
		{GOOD "  identity: {front_ends: [grafana]}\n",
		 "lb.yaml:6: identity: identity.front-end: grafana: must be "
		 "one of certificate:NAME, password:USER, munge:LOGIN"},
		{GOOD "  identity: {front_end_addresses: [h.example]}\n",
		 "lb.yaml:6: identity: identity.front-end-address: h.example: not an "
		 "address or range"},
		{GOOD "  identity: {user_headers: [\"X User\"]}\n",
		 "lb.yaml:6: identity: header that names users: X User: not the name"},
		{GOOD "  identity: {user_headers: []}\n",
		 "lb.yaml:6: user_headers: names no header"},
		{GOOD "  identity: {token_keys: /k.json}\n",
		 "lb.yaml:6: identity.token_keys: needs token_issuers and "
		 "token_audiences"},
		{GOOD
		 "ceems_api_server:\n  web: {url: http://h, basic_auth: {username: "
		 "lb}}\n",
		 "basic_auth needs password or password_file"},
		{GOOD "  open: false\n  roles: {admins: [\"a b\"]}\n",
		 "lb.yaml:7: roles: not a login or login:number: a b"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refused(rows[i].text, rows[i].why);
	/* a document's end is none */
	site_unref(parse(GOOD "...\n# nothing more\n", NULL));
	site_unref(parse("---\n" GOOD, NULL));
#undef GOOD
}

static void servers_that_stay_the_same_keep_their_state(void **state)
{
	struct site *s =
		parse(ONE "\"http://h\"}\n        - web: {url: http://i}\n", NULL);
	struct backend *h = backend_ref(&server(s, "a", 0, 0)->pub);
	struct backend *i = backend_ref(&server(s, "a", 0, 1)->pub);
	struct site *t = parse(ONE "\"http://h\"}\n        - web: {url: http://i}\n"
				   "          max_requests: 5\n",
			       s);

	(void)state;
	assert_ptr_equal(&server(t, "a", 0, 0)->pub, h);
	assert_ptr_not_equal(&server(t, "a", 0, 1)->pub, i);
	site_unref(s);
	assert_int_equal(server(t, "a", 0, 0)->refs, 2);
	assert_int_equal(backend_server(i)->refs, 1);
	site_unref(t);
	backend_unref(h);
	backend_unref(i);
}

static void values_can_come_from_the_environment(void **state)
{
	(void)state;
	setenv("LB_TEST_HOST", "h.example", 1);
	struct site *s = parse(ONE "\"http://${LB_TEST_HOST}:81\"}\n", NULL);
	assert_string_equal(s->clusters[0].id, "a");
	assert_int_equal(server(s, "a", 0, 0)->pub.port, 81);
	site_unref(s);
	refused(ONE "\"http://$LB_TEST_NOT_THERE\"}\n", "not set");
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	(void)state;
	refused("ceems_lb:\n  backend: []\n", "lb.yaml:2: unknown key: backend");
	refused("ceems_lb: {}\n", "none given");
	refused("", "none given");
	refused(ONE "\"ftp://h\"}\n", "lb.yaml:5: url: neither http nor https");
	refused(ONE "\"h:9090\"}\n",
		"lb.yaml:5: url: must begin with http:// or https://");
	refused(ONE "\"\"}\n", "lb.yaml:5: url: must begin with http:// or https://");
	refused(ONE "\"http://h:99999\"}\n",
		"lb.yaml:5: url: not a URL (http://HOST:PORT, "
		"a port must be 1 to 65535)");
	refused(ONE "\"http://h:0\"}\n", "lb.yaml:5: url: a port must be 1 to 65535");
	refused(ONE "\"http://u:p@h\"}\n", "must not contain user and password");
	refused(ONE "\"http://h/a b\"}\n", "blank");
	refused(ONE "\"http://h//x\"}\n", "url");
	refused(ONE "\"http://h?x=1\"}\n", "query");
	refused(ONE "\"http://h\\r\\nX: y\"}\n", "control");
	refused(ONE "\"http://h\"}\n        - web: {url: http://H:80/}\n",
		"appears twice");
	refused(ONE "http://h}\n    - id: a\n      tsdb: [{web: {url: http://i}}]\n",
		"appears twice");
	refused(ONE "http://h}\nclusters: [{id: b}]\n", "has no such cluster: a");
	refused(ONE "http://h}\n          retention: 15\n", "duration");
	refused(ONE "http://h}\n          range: {from: 2025-01-02, to: 2025-01-01}\n",
		"ends before");
	refused(ONE "http://h}\n          range: {from: yesterday}\n", "neither a day");
	refused(ONE "http://h}\n          dialect: 4\n", "auto, 2, 3 or a version");
	refused(ONE "http://h}\n          dialect: 2.41\n", "from 2.42 on");
	refused(ONE "http://h}\n          dialect: x.y\n", "from 2.42 on");
	refused(ONE "http://h}\n          promql_features: [old-ui]\n",
		"--enable-feature");
	refused(ONE "http://h, basic_auth: {password: x}}\n", "username");
	refused(ONE "http://h, oauth2: {}}\n", "not supported: oauth2");
	refused(ONE "http://h, tls_config: {cert_file: x}}\n", "go together");
	refused(ONE "http://h, http_headers: {Host: {values: [x]}}}\n",
		"not a header to set: Host");
	refused(ONE "http://h, http_headers: {X-Y: {values: [\"a\\nb\"]}}}\n",
		"control character");
	refused(ONE "http://h}\n  strategy: random\n", "must be round-robin");
	refused(ONE "http://h}\n  enforce: maybe\n", "refuse or inject");
	refused(ONE
		"http://h}\n          timeout: 5s\n          first_byte_timeout: 6s\n",
		"longer than timeout");
	refused(ONE "http://h}\n  families: [{metric: x}]\n", "public: true");
	refused(ONE "http://h}\n  families: [{metric: x, label: y, operators: true}]\n",
		"operators: true");
	refused(ONE
		"http://h}\n  families: [{metric: x, public: true, operators: true}]\n",
		"one of");
	refused(ONE "http://h}\n  families: [{metric: x, label: y, public: true}]\n",
		"public: true");
	refused(ONE "http://h}\n  families: [{metric: \"a*b\", label: y}]\n", "prefix");
	refused(ONE "http://h}\n  families: [{metric: \"a.*\", label: y}]\n", "prefix");
	refused(ONE "http://h}\n  limits: {owned: 1ms}\n", "must be from");
	refused(ONE "http://h}\n  roles: {admins: [\"a b\"]}\n", "not a login");
	refused(ONE "http://h}\n  audit: {query_text: true}\n", "needs decisions");
	refused(ONE "http://h}\n  identity: {token_keys: /k}\n", "token_issuers");
	refused(ONE "http://h}\nceems_api_server: {web: {url: http://x, "
		    "authorization: {credentials: y}}}\n",
		"MUNGE");
	refused("ceems_lb:\n  backends:\n    - id: a/b\n", "letters");
	refused("ceems_lb:\n  backends:\n    - id: a\n", "needs servers");
	refused("ceems_lb:\n  backends:\n    - tsdb: [{web: {url: http://h}}]\n",
		"needs an id");
	refused("ceems_lb:\n  backends:\n    - id: a\n      pyroscope:\n        - web: "
		"{url: http://h}\n          filter_labels: [x]\n",
		"tsdb alone");
	refused("ceems_lb: [", "lb.yaml:");
}

static void files_that_others_may_write_or_read_secrets_of_are_refused(void **state)
{
	char path[] = "/tmp/ceems-lb-site.XXXXXX";
	struct site *s = NULL;
	struct err err = {""};
	const char text[] = ONE "http://h, basic_auth: {username: a, password: p}}\n";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(site_read(path, false, NULL, &s, &err), -EPERM);
	assert_int_equal(fchmod(fd, 0660), 0);
	assert_int_equal(site_read(path, false, NULL, &s, &err), -EPERM);
	assert_null(s);
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(site_read(path, false, NULL, &s, &err), 0);
	site_unref(s);
	close(fd);
	unlink(path);
	assert_true(site_read(path, false, NULL, &s, &err) < 0);
}

/* A file of which a line was not kept for want of memory would be another file. */
static void without_memory_a_file_is_not_taken(void **state)
{
	static const char path[] = FOLDER "ours.yaml";
	auto_buf struct buf text = BUF_INIT;
	bool failed = true;
	unsigned n;

	(void)state;
	assert_int_equal(fs_read_buf_at(AT_FDCWD, path, 1 << 20, &text, NULL), 0);
	for (n = 1; failed; n++) {
		struct site *s = NULL;
		struct err err = {""};

		starve_at(n, false);
		int rc = site_parse(text.data, text.len, path, false, NULL, &s, NULL,
				    &err);
		failed = starve_end();
		if (failed != (rc < 0) || failed != !s)
			fail_msg("allocation %u: %d %s", n, rc, err.text);
		if (failed && !err.text[0])
			fail_msg("allocation %u: fails without a word", n);
		if (s)
			site_unref(s);
	}
	assert_true(n > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_documented_sample_is_taken),
		cmocka_unit_test(clusters_in_one_server_are_kept_apart_by_its_label),
		cmocka_unit_test(a_url_without_a_port_has_the_one_of_its_scheme),
		cmocka_unit_test(a_file_shared_with_the_api_server_is_taken),
		cmocka_unit_test(
			without_an_api_server_users_are_refused_not_let_through),
		cmocka_unit_test(the_old_spelling_of_servers_is_taken),
		cmocka_unit_test(the_reference_of_its_keys_is_taken),
		cmocka_unit_test(what_is_ours_is_read),
		cmocka_unit_test(profiles_have_a_label_of_their_own_for_the_cluster),
		cmocka_unit_test(servers_have_their_times_and_limits),
		cmocka_unit_test(defaults_are_closed),
		cmocka_unit_test(metrics_without_units_are_said_to_be_for_operators),
		cmocka_unit_test(each_slip_is_named_with_its_line_and_what_to_do),
		cmocka_unit_test(servers_that_stay_the_same_keep_their_state),
		cmocka_unit_test(values_can_come_from_the_environment),
		cmocka_unit_test(what_is_wrong_is_named_with_its_line),
		cmocka_unit_test(without_memory_a_file_is_not_taken),
		cmocka_unit_test(
			files_that_others_may_write_or_read_secrets_of_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
