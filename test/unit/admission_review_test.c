/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose an object is said to be: what users, controllers, hubs and nodes may write. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contrib/k8s/admission/review.h"
#include "lib/base64.h"
#include "lib/buf.h"
#include "test/unit/unit.h"

#define HUB "system:serviceaccount:hub:hub"
#define REPLICASETS "system:serviceaccount:kube-system:replicaset-controller"
#define OWNED(who) "{\"annotations\":{\"ceems.io/created-by\":\"" who "\"}}"

static char own[] = "hub:hub", other[] = "hub:hub@students", all[] = "ci:runner@*";
static char *namer_items[] = {own, other, all};
static const struct conf_list namers = {namer_items, 3};
static const struct conf_list none = {NULL, 0};
static const struct owner_rules rules = {&namers, &none};
static struct review_result result;
static struct err err;
static char body[1 << 16], patch[1 << 16];

/* The answer's patch, decoded, "" for none; into `patch` */
static const char *answer(enum review_path path)
{
	struct buf out = BUF_INIT;

	patch[0] = '\0';
	int rc = review_answer(&rules, path, body, strlen(body), &out, &result, &err);
	if (rc == 0) {
		assert_non_null(strstr(out.data, "\"uid\":\"r1\",\"allowed\":true"));
		const char *p = strstr(out.data, "\"patch\":\"");
		assert_true(!p == !result.patched);
		if (p) {
			p += 9;
			ssize_t n = base64_decode(p, strcspn(p, "\""), BASE64_PADDED,
						  patch, sizeof(patch) - 1);
			assert_true(n > 0);
			patch[n] = '\0';
		}
	}
	buf_done(&out);
	return rc == 0 ? patch : NULL;
}

/* What a review holds. Parts that are NULL are not there. */
struct asked {
	const char *version, *operation, *kind, *namespace, *user, *uid, *object, *old,
		*more;
};

static const char *ask(struct asked a, enum review_path path)
{
	const char *slash = a.kind ? strchr(a.kind, '/') : NULL;

	snprintf(
		body, sizeof(body),
		"{\"apiVersion\":\"admission.k8s.io/%s\",\"kind\":\"AdmissionReview\","
		"\"request\":{\"uid\":\"r1\",\"operation\":\"%s\",\"namespace\":\"%s\","
		"\"kind\":{\"group\":\"%.*s\",\"version\":\"v1\",\"kind\":\"%s\"},"
		"\"userInfo\":{\"username\":\"%s\",\"uid\":\"%s\",\"groups\":[\"g\"]}"
		"%s%s%s%s%s}}",
		a.version ? a.version : "v1", a.operation ? a.operation : "CREATE",
		a.namespace ? a.namespace : "web", slash ? (int)(slash - a.kind) : 0,
		a.kind ? a.kind : "",
		slash    ? slash + 1
		: a.kind ? a.kind
			 : "Pod",
		a.user ? a.user : "alice", a.uid ? a.uid : "",
		a.object ? ",\"object\":" : "", a.object ? a.object : "",
		a.old ? ",\"oldObject\":" : "", a.old ? a.old : "",
		a.more ? a.more : "");
	return answer(path);
}

static const char *mutate(struct asked a)
{
	return ask(a, REVIEW_MUTATE);
}

#define ADD_MAP(at)                                                                    \
	"{\"op\":\"add\",\"path\":\"" at "/metadata/annotations\",\"value\":{}}"
#define ADD(at, who)                                                                   \
	"{\"op\":\"add\",\"path\":\"" at                                               \
	"/metadata/annotations/ceems.io~1created-by\",\"value\":\"" who "\"}"
#define ADD_UID(at, uid)                                                               \
	"{\"op\":\"add\",\"path\":\"" at                                               \
	"/metadata/annotations/ceems.io~1created-by-uid\",\"value\":\"" uid "\"}"
#define REMOVE(at)                                                                     \
	"{\"op\":\"remove\",\"path\":\"" at                                            \
	"/metadata/annotations/ceems.io~1created-by\"}"

static void one_annotation_is_added_and_the_map_only_if_absent(void **state)
{
	(void)state;
	assert_string_equal(mutate((struct asked){.object = "{\"metadata\":{}}"}),
			    "[" ADD_MAP("") "," ADD("", "alice") "]");
	assert_string_equal(
		mutate((struct asked){
			.object = "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}",
			.uid = "42"}),
		"[" ADD("", "alice") "," ADD_UID("", "42") "]");
	assert_string_equal(mutate((struct asked){
				    .object = "{\"metadata\":{\"annotations\":null}}"}),
			    "[" ADD_MAP("") "," ADD("", "alice") "]");
	assert_false(result.overwritten);
}

static void both_versions_are_answered_in_their_own(void **state)
{
	(void)state;
	struct buf out = BUF_INIT;

	mutate((struct asked){.version = "v1beta1", .object = "{\"metadata\":{}}"});
	assert_true(result.patched);
	assert_int_equal(review_answer(&rules, REVIEW_MUTATE, body, strlen(body), &out,
				       &result, &err),
			 0);
	assert_non_null(
		strstr(out.data, "\"apiVersion\":\"admission.k8s.io/v1beta1\""));
	buf_done(&out);
	assert_null(mutate((struct asked){.version = "v2", .object = "{}"}));
}

static void templates_of_all_kinds_get_the_owner(void **state)
{
	(void)state;
	static const char *const kinds[] = {"apps/Deployment", "apps/StatefulSet",
					    "apps/DaemonSet",  "apps/ReplicaSet",
					    "batch/Job",       "ReplicationController"};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		mutate((struct asked){.kind = kinds[i],
				      .object =
					      "{\"metadata\":{},\"spec\":{\"template\":"
					      "{\"spec\":{}}}}"});
		assert_string_equal(
			patch,
			"[" ADD_MAP("") "," ADD(
				"",
				"alice") ","
					 "{\"op\":\"add\",\"path\":\"/spec/template/"
					 "metadata\",\"value\":{}}," ADD_MAP(
						 "/spec/template") "," ADD("/spec/"
									   "template",
									   "alice") "]");
	}
	mutate((struct asked){
		.kind = "batch/CronJob",
		.object = "{\"metadata\":{},\"spec\":{\"jobTemplate\":{\"metadata\":{},"
			  "\"spec\":{\"template\":{\"metadata\":{}}}}}}"});
	assert_non_null(strstr(patch, ADD("/spec/jobTemplate", "alice")));
	assert_non_null(strstr(patch, ADD("/spec/jobTemplate/spec/template", "alice")));
	/* a kind of that name in another group has no template of ours */
	mutate((struct asked){.kind = "evil.example/Deployment",
			      .object =
				      "{\"metadata\":{},\"spec\":{\"template\":{}}}"});
	assert_string_equal(patch, "[" ADD_MAP("") "," ADD("", "alice") "]");
}

static void an_owner_that_a_user_names_is_replaced(void **state)
{
	(void)state;
	mutate((struct asked){.object = "{\"metadata\":" OWNED("bob") "}"});
	assert_string_equal(patch, "[" ADD("", "alice") "]");
	assert_true(result.overwritten);
	/* with somebody else's uid */
	mutate((struct asked){
		.object = "{\"metadata\":{\"annotations\":{\"ceems.io/created-by\":"
			  "\"alice\",\"ceems.io/created-by-uid\":\"7\"}}}"});
	assert_string_equal(patch,
			    "[{\"op\":\"remove\",\"path\":\"/metadata/annotations/"
			    "ceems.io~1created-by-uid\"}]");
	/* in a template, where pods take it from */
	mutate((struct asked){.kind = "apps/Deployment",
			      .object = "{\"metadata\":{},\"spec\":{\"template\":{"
					"\"metadata\":" OWNED("bob") "}}}"});
	assert_non_null(strstr(patch, ADD("/spec/template", "alice")));
}

static void a_service_account_is_itself(void **state)
{
	(void)state;
	mutate((struct asked){.user = "system:serviceaccount:web:default",
			      .object = "{\"metadata\":" OWNED("bob") "}"});
	assert_string_equal(patch,
			    "[" ADD("", "system:serviceaccount:web:default") "]");
	/* one of a listed name, of another namespace */
	mutate((struct asked){.user = "system:serviceaccount:evil:hub",
			      .namespace = "hub",
			      .object = "{\"metadata\":" OWNED("bob") "}"});
	assert_string_equal(patch, "[" ADD("", "system:serviceaccount:evil:hub") "]");
	/* and one that has a controller's name */
	mutate((struct asked){.user = "system:serviceaccount:web:replicaset-controller",
			      .object = "{\"metadata\":" OWNED("bob") "}"});
	assert_true(result.overwritten);
}

static void a_listed_account_names_owners_where_it_may(void **state)
{
	(void)state;
	struct asked a = {.user = HUB, .object = "{\"metadata\":" OWNED("bob") "}"};

	a.namespace = "hub";
	assert_string_equal(mutate(a), "");
	a.namespace = "students";
	assert_string_equal(mutate(a), "");
	a.namespace = "web";
	assert_string_equal(mutate(a), "[" ADD("", HUB) "]");
	a.user = "system:serviceaccount:ci:runner";
	assert_string_equal(mutate(a), "");
	/* no system account, and nothing that is no name */
	a.user = HUB;
	a.namespace = "hub";
	a.object = "{\"metadata\":" OWNED("system:admin") "}";
	assert_string_equal(mutate(a), "[" ADD("", HUB) "]");
	a.object = "{\"metadata\":" OWNED("bob\\u0000x") "}";
	mutate(a);
	a.object = "{\"metadata\":" OWNED("bob\\nx") "}";
	assert_string_equal(mutate(a), "[" ADD("", HUB) "]");
	/* a template gets the object's */
	a.kind = "apps/Deployment";
	a.object = "{\"metadata\":" OWNED("bob") ",\"spec\":{\"template\":{"
						 "\"metadata\":{}}}}";
	assert_string_equal(mutate(a), "[" ADD_MAP("/spec/template") "," ADD(
					       "/spec/template", "bob") "]");
}

static void a_controllers_pod_keeps_its_templates_owner(void **state)
{
	(void)state;
	struct asked a = {.user = REPLICASETS,
			  .object = "{\"metadata\":" OWNED("alice") "}"};

	assert_string_equal(mutate(a), "");
	/* and without one it is nobody's, not the controller's */
	a.object = "{\"metadata\":{}}";
	assert_string_equal(mutate(a), "");
	a.user = "system:node:n1";
	a.object = "{\"metadata\":" OWNED("bob") "}";
	assert_string_equal(mutate(a), "[" REMOVE("") "]");
}

static void the_first_owner_stays(void **state)
{
	(void)state;
	struct asked a = {.operation = "UPDATE", .user = "mallory"};

	a.old = "{\"metadata\":" OWNED("alice") "}";
	a.object = "{\"metadata\":" OWNED("mallory") "}";
	assert_string_equal(mutate(a), "[" ADD("", "alice") "]");
	a.object = "{\"metadata\":{}}";
	assert_string_equal(mutate(a), "[" ADD_MAP("") "," ADD("", "alice") "]");
	/* nobody becomes the owner by an edit */
	a.old = "{\"metadata\":{}}";
	assert_string_equal(mutate(a), "");
	a.object = "{\"metadata\":" OWNED("mallory") "}";
	assert_string_equal(mutate(a), "[" REMOVE("") "]");
	/* nor an account that may name owners of new objects */
	a.user = HUB;
	a.namespace = "hub";
	a.old = "{\"metadata\":" OWNED("alice") "}";
	a.object = "{\"metadata\":" OWNED("bob") "}";
	assert_string_equal(mutate(a), "[" ADD("", "alice") "]");
	/* a template that had no owner does not change: its pods would restart */
	a.kind = "apps/Deployment";
	a.old = "{\"metadata\":" OWNED(
		"alice") ",\"spec\":{\"template\":{\"metadata\":{}}}}";
	a.object = a.old;
	assert_string_equal(mutate(a), "");
}

static void other_requests_are_let_through_as_they_are(void **state)
{
	(void)state;
	assert_string_equal(mutate((struct asked){.operation = "DELETE",
						  .old = "{\"metadata\":{}}"}),
			    "");
	assert_string_equal(mutate((struct asked){.operation = "CONNECT",
						  .object = "{\"metadata\":{}}"}),
			    "");
	assert_string_equal(
		mutate((struct asked){.object = "{\"metadata\":{}}",
				      .more = ",\"subResource\":\"scale\""}),
		"");
	assert_string_equal(mutate((struct asked){.object = "null"}), "");
	/* an annotation that is no text is the API server's to refuse */
	assert_string_equal(
		mutate((struct asked){.object = "{\"metadata\":{\"annotations\":{"
						"\"ceems.io/created-by\":7}}}"}),
		"");
}

static const struct claim *claim(struct asked a)
{
	assert_non_null(ask(a, REVIEW_VALIDATE));
	assert_false(result.patched);
	return result.has_claim ? &result.claim : NULL;
}

static void a_created_pod_is_claimed_by_who_asked(void **state)
{
	(void)state;
	struct asked a = {.uid = "42",
			  .object = "{\"metadata\":{\"uid\":\"u-1\",\"name\":\"p\","
				    "\"annotations\":{\"ceems.io/created-by\":\"bob\"},"
				    "\"ownerReferences\":[{\"uid\":\"bobs\","
				    "\"controller\":true}]}}"};
	const struct claim *c = claim(a);

	assert_non_null(c);
	assert_string_equal(c->kind, "Pod");
	assert_string_equal(c->uid, "u-1");
	assert_string_equal(c->namespace, "web");
	assert_string_equal(c->name, "p");
	assert_string_equal(c->owner, "alice");
	assert_string_equal(c->owner_uid, "42");
	/* a user's word on whose part a pod is does not count */
	assert_string_equal(c->controller, "");
	assert_int_equal(c->by, CLAIM_BY_USER);
	a.user = REPLICASETS;
	c = claim(a);
	assert_string_equal(c->owner, "bob");
	assert_string_equal(c->controller, "bobs");
	assert_int_equal(c->by, CLAIM_BY_CONTROLLER);
	a.user = HUB;
	a.namespace = "hub";
	c = claim(a);
	assert_string_equal(c->owner, "bob");
	assert_int_equal(c->by, CLAIM_BY_NAMER);
	a.user = "system:node:n1";
	c = claim(a);
	assert_string_equal(c->owner, "");
}

static void nothing_is_claimed_that_will_not_be(void **state)
{
	(void)state;
	static char user[2000];
	struct asked a = {.object = "{\"metadata\":{\"uid\":\"u-1\"}}"};

	assert_non_null(claim(a));
	a.more = ",\"dryRun\":true";
	assert_null(claim(a));
	assert_true(result.dry_run);
	a.more = ",\"subResource\":\"status\"";
	assert_null(claim(a));
	a.more = NULL;
	a.operation = "UPDATE";
	assert_null(claim(a));
	a.operation = NULL;
	a.object = "{\"metadata\":{}}";
	assert_null(claim(a));
	/* a name that does not fit is not cut: it would be somebody else's */
	memset(user, 'x', sizeof(user) - 1);
	a.user = user;
	a.object = "{\"metadata\":{\"uid\":\"u-1\"}}";
	assert_null(claim(a));
}

static void what_is_no_review_is_refused(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{}",
		"{\"apiVersion\":\"admission.k8s.io/v1\"}",
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{}}",
		"{\"apiVersion\":\"v1\",\"request\":{\"uid\":\"r1\"}}",
		"{\"apiVersion\":7,\"request\":{\"uid\":\"r1\"}}",
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":[]}}",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		snprintf(body, sizeof(body), "%s", texts[i]);
		assert_null(answer(REVIEW_MUTATE));
		assert_true(err.text[0]);
		assert_null(answer(REVIEW_VALIDATE));
	}
	/* nested without end */
	memset(body, '[', 5000);
	body[5000] = '\0';
	assert_null(answer(REVIEW_MUTATE));
	snprintf(body, sizeof(body),
		 "{\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":\"r1\","
		 "\"operation\":\"CREATE\",\"object\":{\"metadata\":{}}}}");
	assert_string_equal(answer(REVIEW_MUTATE), ""); /* nobody asked */
}

static void lists_of_accounts_are_checked(void **state)
{
	(void)state;
	static const char *const bad[] = {"hub",    ":hub",  "hub:", "hub:@x",
					  "hub:h@", "a:b:c", "a b:c"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct conf_list one = {NULL, 0};
		const struct owner_rules r = {&one, &none};
		assert_int_equal(conf_list_add(&one, bad[i]), 0);
		assert_int_equal(owner_check(&r, &err), -EINVAL);
		assert_non_null(strstr(err.text, bad[i]));
		conf_list_done(&one);
	}
	assert_int_equal(owner_check(&rules, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_annotation_is_added_and_the_map_only_if_absent),
		cmocka_unit_test(both_versions_are_answered_in_their_own),
		cmocka_unit_test(templates_of_all_kinds_get_the_owner),
		cmocka_unit_test(an_owner_that_a_user_names_is_replaced),
		cmocka_unit_test(a_service_account_is_itself),
		cmocka_unit_test(a_listed_account_names_owners_where_it_may),
		cmocka_unit_test(a_controllers_pod_keeps_its_templates_owner),
		cmocka_unit_test(the_first_owner_stays),
		cmocka_unit_test(other_requests_are_let_through_as_they_are),
		cmocka_unit_test(a_created_pod_is_claimed_by_who_asked),
		cmocka_unit_test(nothing_is_claimed_that_will_not_be),
		cmocka_unit_test(what_is_no_review_is_refused),
		cmocka_unit_test(lists_of_accounts_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
