/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of an API server, good, cut in half and hostile; names of users. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "aggregator/kubernetes/kube_json.h"
#include "test/unit/unit.h"

#define META                                                                           \
	"\"metadata\":{\"uid\":\"u1\",\"namespace\":\"web\",\"name\":\"p\","           \
	"\"creationTimestamp\":\"2026-11-24T00:00:00Z\","                              \
	"\"annotations\":{\"ceems.io/created-by\":\"bob\",\"other\":\"x\"}}"

static struct err err;

static const char *read_pods(const struct kube *k, const char *text, struct buf *rows,
			     struct kube_list *list)
{
	buf_reset(rows);
	return kube_json_pods(text, strlen(text), k, rows, list, &err) < 0 ? NULL
	       : rows->len                                                 ? rows->data
									   : "";
}

static void cpus_are_what_is_requested_to_a_thousandth(void **state)
{
	(void)state;
	static const struct kube none = {0};
	struct kube_list list;
	auto_buf struct buf rows = BUF_INIT;
	static const struct {
		const char *containers, *want;
	} cases[] = {
		{"{\"resources\":{\"requests\":{\"cpu\":\"250m\"},\"limits\":"
		 "{\"cpu\":\"2\"}}}",
		 "\"cpus\":1,\"millicpus\":250"},
		{"{\"resources\":{\"requests\":{\"cpu\":\"250m\"}}},"
		 "{\"resources\":{\"limits\":{\"cpu\":\"1\"}}}",
		 "\"cpus\":2,\"millicpus\":1250"},
		{"{\"resources\":{\"requests\":{\"cpu\":\"3\"}}}",
		 "\"cpus\":3,\"millicpus\":3000"},
		{"{\"resources\":{\"requests\":{\"memory\":\"1Mi\"}}}", NULL},
		/* as nodes have it: an init container, one that was resized */
		{"{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"100m\"}}}],"
		 "\"initContainers\":[{\"name\":\"i\",\"resources\":{\"requests\":"
		 "{\"cpu\":\"150m\"}}}",
		 "\"cpus\":1,\"millicpus\":150"},
		{"{\"name\":\"a\",\"resources\":{\"requests\":{\"cpu\":\"250m\"}}}]},"
		 "\"status\":{\"containerStatuses\":[{\"name\":\"a\",\"resources\":"
		 "{\"requests\":{\"cpu\":\"500m\"}}}",
		 "\"cpus\":1,\"millicpus\":500"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024];
		snprintf(text, sizeof(text),
			 "{\"metadata\":{},\"items\":[{" META
			 ",\"spec\":{\"containers\":[%s]}}]}",
			 cases[i].containers);
		const char *got = read_pods(&none, text, &rows, &list);
		assert_non_null(got);
		if (cases[i].want)
			assert_non_null(strstr(got, cases[i].want));
		else
			assert_null(strstr(got, "cpus"));
	}
}

static void annotations_count_only_where_the_site_says_so(void **state)
{
	(void)state;
	static const char *names[] = {"ceems.io/created-by"};
	const struct kube none = {.id = "k1"};
	const struct kube one = {.owner_annotations = names,
				 .owner_annotation_count = 1};
	struct buf rows = BUF_INIT;
	struct kube_list list;
	const char *text = "{\"metadata\":{},\"items\":[{" META "}]}";

	assert_null(strstr(read_pods(&none, text, &rows, &list), "owner"));
	assert_non_null(
		strstr(read_pods(&one, text, &rows, &list), "\"owner\":\"bob\""));
	buf_done(&rows);
}

#define HASH "0123456789abcdef0123456789abcdef"
#define MIRROR(mirror, hash)                                                           \
	"{\"metadata\":{},\"items\":[{\"metadata\":{\"uid\":\"u1\",\"namespace\":"     \
	"\"web\",\"name\":\"p\",\"creationTimestamp\":\"2026-11-24T00:00:00Z\","       \
	"\"annotations\":{\"kubernetes.io/config.mirror\":\"" mirror                   \
	"\",\"kubernetes.io/config.hash\":\"" hash "\"}}}]}"

/* Anybody who may make pods writes annotations. */
static void no_pod_is_another_by_its_annotations(void **state)
{
	(void)state;
	static const char other[] = "5b8f7fd4-0000-4000-8000-000000000007";
	const struct kube k = {.id = "k1"};
	struct buf rows = BUF_INIT;
	struct kube_list list;

	assert_non_null(strstr(read_pods(&k, MIRROR(HASH, HASH), &rows, &list),
			       "\"uid\":\"" HASH "\",\"static\":true"));
	assert_null(strstr(read_pods(&k,
				     MIRROR("5b8f7fd4-0000-4000-8000-000000000007",
					    "5b8f7fd4-0000-4000-8000-000000000007"),
				     &rows, &list),
			   other));
	assert_non_null(strstr(rows.data, "\"uid\":\"u1\""));
	assert_null(strstr(rows.data, "static"));
	assert_null(strstr(read_pods(&k, MIRROR(HASH, "x"), &rows, &list), HASH));
	buf_done(&rows);
}

static void the_class_of_qos_is_read(void **state)
{
	(void)state;
	const struct kube k = {.id = "k1"};
	struct buf rows = BUF_INIT;
	struct kube_list list;

	assert_non_null(strstr(read_pods(&k,
					 "{\"metadata\":{},\"items\":[{" META
					 ",\"status\":{\"qosClass\":\"BestEffort\"}}]}",
					 &rows, &list),
			       "\"qos\":\"BestEffort\""));
	assert_null(strstr(read_pods(&k,
				     "{\"metadata\":{},\"items\":[{" META
				     ",\"status\":{\"qosClass\":7}}]}",
				     &rows, &list),
			   "qos"));
	buf_done(&rows);
}

static void lists_that_are_cut_short_are_refused(void **state)
{
	(void)state;
	const struct kube k = {.id = "k1"};
	struct buf rows = BUF_INIT;
	struct kube_list list;
	char text[] =
		"{\"metadata\":{\"resourceVersion\":\"7\"},\"items\":[{" META "}]}";
	size_t n = strlen(text);

	assert_non_null(read_pods(&k, text, &rows, &list));
	assert_string_equal(list.version, "7");
	assert_int_equal(list.items, 1);
	while (--n) {
		text[n] = '\0';
		assert_null(read_pods(&k, text, &rows, &list));
	}
	assert_null(read_pods(&k, "<html>", &rows, &list));
	assert_null(read_pods(&k, "{\"metadata\":{},\"items\":7}", &rows, &list));
	/* one without a uid is left out */
	assert_string_equal(read_pods(&k, "{\"metadata\":{},\"items\":[{},{" META "}]}",
				      &rows, &list)
				    ? ""
				    : "x",
			    "");
	assert_int_equal(list.bad, 1);
	assert_int_equal(list.items, 2);
	assert_null(read_pods(&k, "{\"metadata\":{},\"items\":[7]}", &rows, &list));
	assert_string_equal(
		read_pods(&k, "{\"metadata\":{},\"items\":null}", &rows, &list), "");
	buf_done(&rows);
}

static void watches_end_where_they_must(void **state)
{
	(void)state;
	const struct kube k = {.id = "k1"};
	struct buf rows = BUF_INIT;
	struct kube_watch w = {.version = "5"};
	const char *text =
		"{\"type\":\"ADDED\",\"object\":{" META "}}\n"
		"{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":"
		"\"9\"}}}\n{\"type\":\"MODI";

	assert_int_equal(kube_json_watch(text, strlen(text), &k, &rows, &w, &err), 0);
	assert_int_equal(w.events, 2);
	assert_true(w.added && !w.expired);
	assert_string_equal(w.version, "9");
	text = "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n";
	assert_int_equal(kube_json_watch(text, strlen(text), &k, &rows, &w, &err), 0);
	assert_true(w.expired);
	assert_true(kube_json_watch("{]\n", 3, &k, &rows, &w, &err) < 0);
	buf_done(&rows);
}

static void only_a_clear_yes_is_a_right(void **state)
{
	(void)state;
	static const char *const no[] = {
		"{\"status\":{\"allowed\":false}}",
		"{\"status\":{\"allowed\":true,\"denied\":true}}",
	};
	static const char *const bad[] = {
		"{}",
		"{\"status\":{}}",
		"{\"status\":{\"allowed\":\"true\"}}",
		"{\"status\":{\"allowed\":1}}",
		"{\"allowed\":true}",
		"",
	};
	bool yes = true;

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(kube_json_allowed(no[i], strlen(no[i]), &yes, &err),
				 0);
		assert_false(yes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(kube_json_allowed(bad[i], strlen(bad[i]), &yes, &err) < 0);
	assert_int_equal(
		kube_json_allowed("{\"status\":{\"allowed\":true}}", 27, &yes, &err),
		0);
	assert_true(yes);
}

static void a_login_is_a_user_only_where_the_site_says_so(void **state)
{
	(void)state;
	char user[KUBE_USER_BYTES];
	const struct kube none = {.id = "k"}, same = {.prefix = ""};
	const struct kube oidc = {.prefix = "oidc:", .suffix = "@site"};
	const struct kube evil = {.prefix = "system:"};

	assert_int_equal(kube_user(&none, "alice", user), -ENOENT);
	assert_int_equal(kube_user(&same, "alice", user), 0);
	assert_string_equal(user, "alice");
	assert_int_equal(kube_user(&oidc, "alice", user), 0);
	assert_string_equal(user, "oidc:alice@site");
	assert_int_equal(kube_user(&evil, "masters", user), -ENOENT);
	assert_int_equal(kube_user(&same, "", user), -ENOENT);
}

static int parse_clusters(const char *text, struct kubes *ret)
{
	return kubes_parse(text, strlen(text), "f", ret, NULL, &err);
}

static void the_peers_keys_are_read(void **state)
{
	(void)state;
	struct kubes k;

	assert_int_equal(
		parse_clusters(
			"clusters:\n- id: k1\n  manager: k8s\n  extra_config:\n"
			"    gpu_resource_names: [a/gpu]\n    username_annotations: "
			"[x]\n"
			"    project_annotations: [y]\n    ns_users_list_file: /users\n"
			"- {id: c1, manager: slurm, cli: {path: /bin}}\n",
			&k),
		0);
	assert_int_equal(k.count, 1);
	assert_string_equal(k.items[0].gpu_names[0], "a/gpu");
	assert_string_equal(k.items[0].users_file, "/users");
	assert_null(k.items[0].prefix);
	kubes_done(&k);
	assert_int_equal(parse_clusters("clusters:\n- {manager: k8s}\n", &k), -EINVAL);
	assert_int_equal(
		parse_clusters("clusters:\n- {id: k, manager: k8s, extra_config: "
			       "{server: 'ftp://x'}}\n",
			       &k),
		-EINVAL);
	assert_int_equal(
		parse_clusters("clusters:\n- {id: k, manager: k8s, extra_config: "
			       "{unknown: x}}\n",
			       &k),
		-EINVAL);
}

static void a_kubeconfig_says_it_all(void **state)
{
	(void)state;
	struct kubes k;

	assert_int_equal(
		parse_clusters("clusters:\n- {id: k, manager: k8s, extra_config: "
			       "{kubeconfig_file: /f, server: 'https://x'}}\n",
			       &k),
		-EINVAL);
	assert_non_null(strstr(err.text, "kubeconfig_file"));
	assert_int_equal(
		parse_clusters("clusters:\n- {id: k, manager: k8s, extra_config: "
			       "{kubeconfig_file: /not/there}}\n",
			       &k),
		-ENOENT);
	assert_non_null(strstr(err.text, "cluster k: kubeconfig_file: "));
	assert_non_null(strstr(err.text, "/not/there"));
}

static void users_files_are_read(void **state)
{
	(void)state;
	struct buf out = BUF_INIT;
	const char *text = "users:\n  web: [alice, \"b\\\"ob\"]\n  lab: []\n";

	assert_int_equal(kube_users_parse(text, strlen(text), "f", &out, &err), 0);
	assert_string_equal(out.data, "[{\"namespace\":\"web\",\"user\":\"alice\"},"
				      "{\"namespace\":\"web\",\"user\":\"b\\\"ob\"}]");
	buf_reset(&out);
	assert_true(kube_users_parse("users: 7", 8, "f", &out, &err) < 0);
	buf_reset(&out);
	text = "groups:\n  students: [alice]\n";
	assert_int_equal(kube_groups_parse(text, strlen(text), "f", &out, &err), 0);
	assert_string_equal(out.data, "[{\"group\":\"students\",\"user\":\"alice\"}]");
	buf_reset(&out);
	assert_true(kube_users_parse(text, strlen(text), "f", &out, &err) < 0);
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpus_are_what_is_requested_to_a_thousandth),
		cmocka_unit_test(annotations_count_only_where_the_site_says_so),
		cmocka_unit_test(no_pod_is_another_by_its_annotations),
		cmocka_unit_test(the_class_of_qos_is_read),
		cmocka_unit_test(lists_that_are_cut_short_are_refused),
		cmocka_unit_test(watches_end_where_they_must),
		cmocka_unit_test(only_a_clear_yes_is_a_right),
		cmocka_unit_test(a_login_is_a_user_only_where_the_site_says_so),
		cmocka_unit_test(the_peers_keys_are_read),
		cmocka_unit_test(a_kubeconfig_says_it_all),
		cmocka_unit_test(users_files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
