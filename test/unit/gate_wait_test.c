/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What waits and what does not: tokens, questions that are shared, the end; who reads
 * by a role; what is told about decisions. */
#include "lb/gate/gate.h"
#include "lb/gate/gate_impl.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "lib/fs.h"
#include "lib/log.h"
#include "test/unit/gate_lab.h"
#include "test/unit/jwt_make.h"
#include "test/unit/scratch.h"

#define HOUR_MS (60 * LAB_MINUTE_MS)
#define NOW LAB_NOW_MS

static const struct lab_run runs[] = {
	{"1", "alpha", "ann", NOW - HOUR_MS, INT64_MAX},
	{"2", "alpha", "ann", NOW - 10 * HOUR_MS, NOW - 5 * HOUR_MS},
	{"3", "alpha", "bob", NOW - HOUR_MS, INT64_MAX},
	{"7", "beta", "bob", NOW - HOUR_MS, INT64_MAX},
};
#define RUNS (sizeof(runs) / sizeof(runs[0]))

/* ---- tokens ---------------------------------------------------------------------- */

struct tokens {
	struct lab lab;
	char dir[64], keys[96];
	gnutls_privkey_t key;
};

/* A gate that takes tokens; its clock is the machine's, as that of tokens is. */
static void tokens_open(struct tokens *t)
{
	static const char *const headers[] = {"X-Grafana-User"};
	static const char *const issuers[] = {"https://grafana"};
	static const char *const audiences[] = {"org:1"};
	auto_buf struct buf set = BUF_INIT;
	struct identity_params p = {.user_headers = headers,
				    .user_header_count = 1,
				    .token_keys = t->keys,
				    .token_issuers = issuers,
				    .token_issuer_count = 1,
				    .token_audiences = audiences,
				    .token_audience_count = 1};
	struct err err;
	int fd;

	snprintf(t->dir, sizeof(t->dir), "/tmp/ceems-test.XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	snprintf(t->keys, sizeof(t->keys), "%s/keys", t->dir);
	t->key = jwt_new_key();
	buf_puts(&set, "{\"keys\":[");
	jwt_put_jwk(&set, t->key, "one");
	buf_puts(&set, "]}");
	fd = open(t->keys, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fs_write_all(fd, set.data, set.len), 0);
	close(fd);
	lab_open(&t->lab, runs, RUNS);
	t->lab.now_ms = (int64_t)time(NULL) * 1000;
	if (gate_set_identity(t->lab.gate, &p, &err))
		fail_msg("%s", err.text);
}

static void tokens_close(struct tokens *t)
{
	lab_close(&t->lab);
	gnutls_privkey_deinit(t->key);
	unlink(t->keys);
	rmdir(t->dir);
}

static void token(struct tokens *t, const char *login, int life_s, struct buf *ret)
{
	char claims[256];
	long now = (long)(t->lab.now_ms / 1000); /* a second may begin meanwhile */

	snprintf(claims, sizeof(claims),
		 "{\"iss\":\"https://"
		 "grafana\",\"aud\":\"org:1\",\"sub\":\"user:1\",\"iat\":%ld,"
		 "\"exp\":%ld,\"username\":\"%s\"}",
		 now - 10, now + life_s, login);
	buf_reset(ret);
	jwt_sign(ret, t->key, "{\"alg\":\"ES256\",\"kid\":\"one\"}", claims);
}

static unsigned by_token(struct lab *l, const char *text, const char *user,
			 struct lab_asked *ret)
{
	struct lab_asked a = {
		.facts = {.method = "GET",
			  .target = "/",
			  .tokens = 1,
			  .token = text,
			  .user[0] = {.count = user ? 1 : 0, .first = user}},
		.r = {.input = {.path = "/api/v1/query", .query = "query=1"},
		      .cluster_headers = 1,
		      .cluster_header = "alpha"}};

	lab_pass(l, &a);
	*ret = a;
	return a.r.status;
}

static void
a_token_is_verified_by_a_thread_and_remembered_until_it_expires(void **state)
{
	struct tokens t = {.dir = ""};
	auto_buf struct buf ann = BUF_INIT, bob = BUF_INIT;
	struct lab_asked a;

	(void)state;
	tokens_open(&t);
	token(&t, "ann", 100, &ann);
	token(&t, "bob", 100, &bob);
	assert_int_equal(by_token(&t.lab, ann.data, NULL, &a), 0);
	assert_int_equal(a.waits, 1);
	assert_int_equal(by_token(&t.lab, ann.data, NULL, &a), 0);
	assert_int_equal(a.waits, 0);
	/* nothing beside it is taken for good because it was good */
	assert_int_equal(by_token(&t.lab, ann.data, "ann", &a), 0);
	assert_int_equal(a.waits, 1);
	assert_int_equal(by_token(&t.lab, ann.data, "bob", &a), 403);
	assert_int_equal(by_token(&t.lab, ann.data, "bob", &a), 403);
	assert_int_equal(by_token(&t.lab, bob.data, NULL, &a), 0);
	assert_int_equal(a.waits, 1);
	/* one that is spoilt is none, and is looked at each time */
	ann.data[ann.len - 2] = ann.data[ann.len - 2] == 'A' ? 'B' : 'A';
	assert_int_equal(by_token(&t.lab, ann.data, NULL, &a), 401);
	assert_int_equal(by_token(&t.lab, ann.data, NULL, &a), 401);
	assert_int_equal(a.waits, 1);
	/* its time is over, by the gate's clock */
	lab_wait_ms(&t.lab, 100000);
	assert_int_equal(by_token(&t.lab, bob.data, NULL, &a), 0);
	assert_int_equal(a.waits, 1); /* looked at again */
	tokens_close(&t);
}

struct collected {
	struct lab_asked a;
	const struct identity_params *next; /* a reload, once it is collected */
	struct lab *lab;
	char header[64];
};

static void collect(void *arg, const struct identity *id)
{
	struct collected *c = arg;
	struct err err;

	snprintf(c->header, sizeof(c->header), "%s", identity_user_header(id, 0));
	c->a.r.facts = &c->a.facts;
	if (c->next)
		assert_int_equal(gate_set_identity(c->lab->gate, c->next, &err), 0);
}

static void no_wake(void *arg)
{
	(void)arg;
	fail();
}

/* A request whose user header was read by one configuration is not judged by the next,
 * to which the same place is another header. */
static void facts_are_collected_for_the_identity_that_proves_them(void **state)
{
	static const char *const fronts[] = {"password:grafana"};
	static const char *const first[] = {"X-Grafana-User"}, *const second[] = {
								       "X-B"};
	const struct identity_params before = {.front_ends = fronts,
					       .front_end_count = 1,
					       .user_headers = first,
					       .user_header_count = 1};
	const struct identity_params after = {.user_headers = second,
					      .user_header_count = 1};
	struct lab l;
	struct err err;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(gate_set_identity(l.gate, &before, &err), 0);
	for (int round = 0; round < 2; round++) {
		struct collected c = {
			.lab = &l,
			.next = round ? NULL : &after,
			.a = {.facts = {.method = "GET",
					.target = "/",
					.password_user = "grafana",
					.user[0] = {.count = 1, .first = "ann"}},
			      .r = {.input = {.path = "/api/v1/query",
					      .query = "query=1"},
				    .collect = collect,
				    .cluster_headers = 1,
				    .cluster_header = "alpha"}}};
		struct gate_request *r = &c.a.r;

		r->wake = no_wake;
		r->arg = &c;
		assert_int_equal(gate_pass(l.gate, r), GATE_DONE);
		assert_string_equal(c.header, round ? "X-B" : "X-Grafana-User");
		assert_int_equal(r->status, round ? 401 : 0);
		gate_end(l.gate, r);
	}
	lab_close(&l);
}

static void a_reload_of_identity_forgets_tokens(void **state)
{
	static const char *const headers[] = {"X-Grafana-User"};
	const struct identity_params none = {.user_headers = headers,
					     .user_header_count = 1};
	struct tokens t = {.dir = ""};
	auto_buf struct buf ann = BUF_INIT;
	struct lab_asked a;
	struct err err;

	(void)state;
	tokens_open(&t);
	token(&t, "ann", 100, &ann);
	assert_int_equal(by_token(&t.lab, ann.data, NULL, &a), 0);
	assert_int_equal(gate_set_identity(t.lab.gate, &none, &err), 0);
	assert_int_equal(by_token(&t.lab, ann.data, NULL, &a), 401);
	tokens_close(&t);
}

/* ---- questions ------------------------------------------------------------------- */

struct waiting {
	struct lab_asked a;
	atomic_uint woken;
};

static void woken(void *arg)
{
	struct waiting *w = arg;

	atomic_fetch_add(&w->woken, 1);
}

static void begin(struct lab *l, struct waiting *w, const char *user, const char *form)
{
	*w = (struct waiting){
		.a = {.r = {.input = {.path = "/api/v1/query", .query = form},
			    .facts = &w->a.facts,
			    .cluster_headers = 1,
			    .cluster_header = "alpha",
			    .wake = woken,
			    .arg = w}}};
	lab_user(&w->a, user);
	assert_int_equal(gate_pass(l->gate, &w->a.r), GATE_WAIT);
}

static void finish(struct lab *l, struct waiting *w, unsigned status)
{
	for (int i = 0; i < 60000 && !atomic_load(&w->woken); i++)
		usleep(1000);
	assert_int_equal(atomic_load(&w->woken), 1);
	assert_int_equal(gate_pass(l->gate, &w->a.r), GATE_DONE);
	assert_int_equal(w->a.r.status, status);
	gate_end(l->gate, &w->a.r);
}

static void who_wants_to_know_the_same_waits_for_one_question(void **state)
{
	struct lab l;
	struct waiting w[4];

	(void)state;
	lab_open(&l, runs, RUNS);
	pthread_mutex_lock(&l.mutex); /* the aggregator takes its time */
	begin(&l, &w[0], "ann", "query=ceems_a%7Buuid%3D%221%22%7D");
	begin(&l, &w[1], "ann", "query=ceems_b%7Buuid%3D%221%22%7D");
	begin(&l, &w[2], "ann", "query=ceems_c%7Buuid%3D%221%22%7D");
	begin(&l, &w[3], "bob", "query=ceems_a%7Buuid%3D%221%22%7D");
	pthread_mutex_unlock(&l.mutex);
	finish(&l, &w[2], 0);
	finish(&l, &w[0], 0);
	finish(&l, &w[1], 0);
	finish(&l, &w[3], 403); /* another user's question is another one */
	assert_int_equal(l.asked, 2);
	lab_close(&l);
}

static void at_the_end_all_are_woken_and_refused(void **state)
{
	struct lab l;
	struct waiting w[4];
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.fail = -EHOSTDOWN;
	pthread_mutex_lock(&l.mutex);
	for (unsigned i = 0; i < 4; i++) {
		char form[64];

		snprintf(form, sizeof(form), "query=ceems_a%%7Buuid%%3D%%22%u%%22%%7D",
			 i);
		begin(&l, &w[i], "ann", form);
	}
	pthread_mutex_unlock(&l.mutex);
	gate_stop(l.gate);
	for (unsigned i = 0; i < 4; i++)
		finish(&l, &w[i], 503);
	assert_int_equal(lab_query(&l, "ann", "1+1", &a), 503);
	lab_close(&l);
}

static void another_site_forgets_what_was_decided_under_the_old(void **state)
{
	static const struct lab_run after[] = {
		{"1", "alpha", "bob", NOW - HOUR_MS, INT64_MAX},
	};
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 0);
	l.runs = after;
	l.run_count = 1;
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 0);
	gate_set_site(l.gate, &l.site);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL), 403);
	lab_close(&l);
}

static void a_new_unit_opens_as_soon_as_its_refusal_is_forgotten(void **state)
{
	static const struct lab_run after[] = {
		{"9", "alpha", "ann", NOW, INT64_MAX},
	};
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"9\"}", NULL), 403);
	pthread_mutex_lock(&l.mutex);
	l.runs = after;
	l.run_count = 1;
	pthread_mutex_unlock(&l.mutex);
	lab_wait_ms(&l, 4999);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"9\"}", NULL), 403);
	lab_wait_ms(&l, 1);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"9\"}", NULL), 0);
	lab_close(&l);
}

static void a_query_without_a_time_is_sent_for_now_each_time_by_one_proof(void **state)
{
	struct lab l;
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", &a), 0);
	assert_non_null(strstr(a.text, "time=1700000000.000"));
	lab_wait_ms(&l, 999);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", &a), 0);
	assert_non_null(strstr(a.text, "time=1700000000.999"));
	lab_wait_ms(&l, 1);
	assert_int_equal(lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", &a), 0);
	assert_non_null(strstr(a.text, "time=1700000001.000"));
	assert_int_equal(atomic_load(&l.gate->decision_hits), 2);
	lab_close(&l);
}

/* Workers of their own, while another site and identity come into force. */
struct worker {
	struct lab *l;
	const char *user;
	pthread_t thread;
	unsigned allowed, refused, wrong;
};

static void *work(void *arg)
{
	static const char *const forms[] = {"query=ceems_a%7Buuid%3D%221%22%7D",
					    "query=ceems_a%7Buuid%3D%223%22%7D",
					    "query=ceems_a%7Buuid%3D~%221%7C2%22%7D",
					    "query=1", "query=ceems_a"};
	/* by ann, by bob: what may be sent */
	static const bool may[2][5] = {{true, false, true, true, false},
				       {false, true, false, true, false}};
	struct worker *w = arg;
	bool bob = !strcmp(w->user, "bob");

	for (unsigned i = 0; i < 2000; i++) {
		struct waiting one = {.a = {.r = {.input = {.path = "/api/v1/query",
							    .query = forms[i % 5]},
						  .cluster_headers = 1,
						  .cluster_header = "alpha",
						  .wake = woken}}};

		one.a.r.facts = &one.a.facts;
		one.a.r.arg = &one;
		lab_user(&one.a, w->user);
		while (gate_pass(w->l->gate, &one.a.r) == GATE_WAIT) {
			while (!atomic_load(&one.woken))
				sched_yield();
			atomic_store(&one.woken, 0);
		}
		if (one.a.r.status == 0)
			w->allowed++;
		else
			w->refused++;
		w->wrong += (one.a.r.status == 0) != may[bob][i % 5];
		gate_end(w->l->gate, &one.a.r);
	}
	return NULL;
}

static void many_threads_pass_while_all_is_replaced(void **state)
{
	static const char *const fronts[] = {"password:lb"};
	static const char *const headers[] = {"X-Grafana-User"};
	const struct identity_params identity = {.front_ends = fronts,
						 .front_end_count = 1,
						 .user_headers = headers,
						 .user_header_count = 1};
	struct worker w[4] = {{.allowed = 0}};
	struct lab l;
	struct err err;

	(void)state;
	lab_open(&l, runs, RUNS);
	for (unsigned i = 0; i < 4; i++) {
		w[i].l = &l;
		w[i].user = i % 2 ? "bob" : "ann";
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		gate_set_site(l.gate, &l.site);
		assert_int_equal(gate_set_identity(l.gate, &identity, &err), 0);
		lab_wait_ms(&l, 1000);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].wrong, 0);
		assert_true(w[i].allowed && w[i].refused);
	}
	lab_close(&l);
}

/* ---- roles ----------------------------------------------------------------------- */

static unsigned query_on(struct lab *l, const char *user, const char *cluster,
			 const char *path, const char *query, struct lab_asked *ret)
{
	struct lab_asked a = {.r = {.input = {.path = path, .query = query},
				    .cluster_headers = 1,
				    .cluster_header = cluster}};

	lab_user(&a, user);
	lab_pass(l, &a);
	if (ret)
		*ret = a;
	return a.r.status;
}

static void roles_read_what_the_site_lets_them_and_stay_in_their_cluster(void **state)
{
	static const char *const admins[] = {"boss"}, *const operators[] = {"olga"};
	struct lab l;
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.site.admins = admins;
	l.site.admin_count = 1;
	l.site.operators = operators;
	l.site.operator_count = 1;
	gate_set_site(l.gate, &l.site);
	/* an admin by the file needs no aggregator */
	l.fail = -EHOSTDOWN;
	assert_int_equal(query_on(&l, "boss", "alpha", "/api/v1/query",
				  "query=sum(node_load1)", &a),
			 0);
	assert_non_null(strstr(a.text, "cluster%3D%22alpha%22"));
	assert_int_equal(query_on(&l, "boss", "alpha", "/api/v1/labels", NULL, &a), 0);
	assert_non_null(strstr(a.text, "cluster%3D%22alpha%22"));
	assert_int_equal(query_on(&l, "boss", "alpha", "/federate",
				  "match%5B%5D=up&x=%26%3d", &a),
			 0);
	assert_string_equal(a.text, "/federate?match%5B%5D=up&x=%26%3D ");
	assert_int_equal(query_on(&l, "boss", "alpha", "/api/v1/write", NULL, NULL),
			 403);
	l.fail = 0;
	/* operators: as users, unless the site says more */
	assert_int_equal(query_on(&l, "olga", "alpha", "/api/v1/query",
				  "query=node_load1", NULL),
			 403);
	l.site.operators_read_all = true;
	gate_set_site(l.gate, &l.site);
	assert_int_equal(
		query_on(&l, "olga", "alpha", "/api/v1/query", "query=node_load1", &a),
		0);
	assert_non_null(strstr(a.text, "cluster%3D%22alpha%22"));
	/* what cannot be narrowed shows a server that several clusters share */
	assert_int_equal(
		query_on(&l, "olga", "alpha", "/federate", "match%5B%5D=up", NULL),
		403);
	l.clusters[0].policy[SITE_PROMETHEUS].cluster_label = NULL;
	gate_set_site(l.gate, &l.site);
	assert_int_equal(
		query_on(&l, "olga", "alpha", "/federate", "match%5B%5D=up", NULL), 0);
	lab_close(&l);
}

/* Neither by the file nor by the aggregator's word, fresh or remembered. */
static void who_is_only_named_has_no_role(void **state)
{
	static const char *const admins[] = {"boss"};
	struct identity_params identity = {.front_ends = lab_fronts,
					   .front_end_count = 1,
					   .front_end_roles = true,
					   .user_headers = lab_headers,
					   .user_header_count = 1};
	struct err err;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.site.admins = admins;
	l.site.admin_count = 1;
	l.role = "admin";
	l.role_of = "olga";
	gate_set_site(l.gate, &l.site);
	for (int trusted = 1; trusted >= 0; trusted--) {
		identity.front_end_roles = trusted;
		assert_int_equal(gate_set_identity(l.gate, &identity, &err), 0);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(query_on(&l, i ? "olga" : "boss", "alpha",
						  "/api/v1/query", "query=node_load1",
						  NULL),
					 trusted ? 0 : 403);
			assert_int_equal(query_on(&l, i ? "olga" : "boss", "alpha",
						  "/federate", "match%5B%5D=up", NULL),
					 trusted ? 0 : 403);
		}
	}
	lab_close(&l);
}

static void an_open_site_asks_nobody_and_says_so(void **state)
{
	struct lab l;
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.site.open = true;
	gate_set_site(l.gate, &l.site);
	assert_int_equal(lab_query(&l, NULL, "node_load1", &a), 0);
	assert_int_equal(lab_get(&l, NULL, "/api/v1/write", NULL, NULL), 403);
	assert_int_equal(l.asked, 0);
	lab_close(&l);
}

/* ---- Pyroscope ------------------------------------------------------------------- */

static unsigned pyro(struct lab *l, const char *user, const char *body,
		     struct lab_asked *ret)
{
	struct lab_asked a = {.r = {.protocol = SITE_PYROSCOPE,
				    .input = {.path = "/querier.v1.QuerierService/"
						      "SelectMergeStacktraces",
					      .post = true,
					      .body = body,
					      .body_len = strlen(body),
					      .content_type = "application/json"},
				    .cluster_headers = 1,
				    .cluster_header = "alpha"}};

	lab_user(&a, user);
	lab_pass(l, &a);
	*ret = a;
	return a.r.status;
}

static void profiles_pass_the_same_gate(void **state)
{
	static const struct access_family families[] = {{"*", "service_name", false}};
	static const char own[] =
		"{\"profile_typeID\":\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\","
		"\"label_selector\":\"{service_name=\\\"1\\\"}\","
		"\"start\":1699999000000,\"end\":1700000000000}";
	static const char others[] =
		"{\"profile_typeID\":\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\","
		"\"label_selector\":\"{service_name=\\\"3\\\"}\","
		"\"start\":1699999000000,\"end\":1700000000000}";
	struct lab l;
	struct lab_asked a;

	(void)state;
	lab_open(&l, runs, RUNS);
	l.clusters[0].backends[SITE_PYROSCOPE] = (struct backend_set *)&l;
	l.clusters[0].policy[SITE_PYROSCOPE] = (struct access_policy){
		.families = families, .family_count = 1, .cluster = "alpha"};
	gate_set_site(l.gate, &l.site);
	assert_int_equal(pyro(&l, "ann", own, &a), 0);
	assert_int_equal(pyro(&l, "ann", own, &a), 0);
	assert_int_equal(a.waits, 0);
	assert_int_equal(pyro(&l, "ann", others, &a), 403);
	assert_non_null(strstr(a.text, "\"permission_denied\""));
	assert_int_equal(pyro(&l, NULL, own, &a), 401);
	lab_close(&l);
}

/* ---- what is told ---------------------------------------------------------------- */

static void the_audit_names_units_in_quotes_and_no_query(void **state)
{
	auto_buf struct buf text = BUF_INIT;
	char file[] = "/tmp/ceems-test.XXXXXX";
	int fd = mkstemp(file), old = dup(2);
	struct lab l;

	(void)state;
	log_init("gate_wait_test", LOG_LOGFMT, LOG_INFO);
	lab_open(&l, runs, RUNS);
	l.site.audit = true;
	gate_set_site(l.gate, &l.site);
	dup2(fd, 2);
	lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL);
	/* once more, which is remembered: the line is the same but for its time */
	lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL);
	assert_int_equal(atomic_load(&l.gate->decision_hits), 1);
	lab_query(&l, "ann", "ceems_a{uuid=\"3\"}", NULL);
	lab_query(&l, "ann",
		  "ceems_secret{uuid=\"x\\nlevel=info msg=\\\"audit: user=bob\\\"\"}",
		  NULL);
	dup2(old, 2);
	close(old);
	assert_int_equal(fs_read_buf_at(AT_FDCWD, file, 65536, &text, NULL), 0);
	close(fd);
	unlink(file);
	assert_non_null(strstr(text.data, "user=ann by=front_end cluster=alpha"));
	assert_non_null(strstr(text.data, "verdict=allowed status=0 reason=own units="
					  "\\\"1\\\""));
	assert_non_null(strstr(text.data, "verdict=refused status=403 reason=foreign "
					  "units=\\\"3\\\""));
	assert_null(strstr(text.data, "ceems_secret"));
	const char *first = strstr(text.data, "audit: "),
		   *second = strstr(first + 1, "audit: ");
	assert_int_equal(strcspn(first, "\n"), strcspn(second, "\n"));
	assert_memory_equal(first, second, strcspn(first, "\n"));
	/* four lines, none of them made by a unit's id */
	unsigned lines = 0;
	for (const char *p = text.data; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 4);
	for (const char *p = text.data; p && *p; p = strchr(p, '\n') + 1)
		assert_int_equal(strncmp(p, "ts=", 3), 0);
	lab_close(&l);
}

static void decisions_are_counted(void **state)
{
	struct prom *p = prom_new(1 << 20);
	auto_buf struct buf text = BUF_INIT;
	struct lab l;

	(void)state;
	lab_open(&l, runs, RUNS);
	lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL);
	lab_query(&l, "ann", "ceems_a{uuid=\"1\"}", NULL);
	lab_query(&l, "ann", "ceems_a{uuid=\"3\"}", NULL);
	lab_query(&l, "ann", "1", NULL);
	gate_metrics(l.gate, p);
	assert_int_equal(prom_render(p, PROM_TEXT, &text), 0);
	static const char *const lines[] = {
		"ceems_lb_decisions_total{protocol=\"prometheus\",verdict=\"allowed\","
		"reason=\"own\"} 2\n",
		"ceems_lb_decisions_total{protocol=\"prometheus\",verdict=\"refused\","
		"reason=\"foreign\"} 1\n",
		"reason=\"public\"} 1\n",
		"ceems_lb_cache_lookups_total{cache=\"decision\",result=\"hit\"} 1\n",
		"ceems_lb_ownership_questions_total 2\n",
		"ceems_lb_ownership_units_total 2\n",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(text.data, lines[i]))
			fail_msg("%s is not in\n%s", lines[i], text.data);
	prom_free(p);
	lab_close(&l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_token_is_verified_by_a_thread_and_remembered_until_it_expires),
		cmocka_unit_test(a_reload_of_identity_forgets_tokens),
		cmocka_unit_test(facts_are_collected_for_the_identity_that_proves_them),
		cmocka_unit_test(who_wants_to_know_the_same_waits_for_one_question),
		cmocka_unit_test(at_the_end_all_are_woken_and_refused),
		cmocka_unit_test(another_site_forgets_what_was_decided_under_the_old),
		cmocka_unit_test(many_threads_pass_while_all_is_replaced),
		cmocka_unit_test(a_new_unit_opens_as_soon_as_its_refusal_is_forgotten),
		cmocka_unit_test(
			a_query_without_a_time_is_sent_for_now_each_time_by_one_proof),
		cmocka_unit_test(
			roles_read_what_the_site_lets_them_and_stay_in_their_cluster),
		cmocka_unit_test(who_is_only_named_has_no_role),
		cmocka_unit_test(an_open_site_asks_nobody_and_says_so),
		cmocka_unit_test(profiles_pass_the_same_gate),
		cmocka_unit_test(the_audit_names_units_in_quotes_and_no_query),
		cmocka_unit_test(decisions_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
