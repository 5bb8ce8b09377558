/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of control groups that are pods', and those that only look like it. */
#include <stdio.h>
#include <string.h>

#include "lib/cgroup.h"
#include "test/unit/unit.h"

#define UID "3f1d2c7a-0000-4000-8000-00000000002a"
#define SLICE_UID "3f1d2c7a_0000_4000_8000_00000000002a"
#define HASH "0123456789abcdef0123456789abcdef"

static const char *uid_of(const char *parent, const char *name)
{
	static char uid[CGROUP_POD_UID_SIZE];

	return cgroup_pod_uid(parent, name, uid) ? uid : NULL;
}

static void both_drivers_and_all_classes_are_known(void **state)
{
	(void)state;
	static const char *const classes[] = {"", "-burstable", "-besteffort"};
	static const char *const parents[] = {"kubepods", "burstable", "besteffort"};
	static const char *const before[] = {"", "kubelet-"};
	char name[160];

	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(uid_of(parents[i], "pod" UID), UID);
		assert_string_equal(uid_of(parents[i], "pod" HASH), HASH);
		for (size_t k = 0; k < 2; k++) {
			(void)snprintf(name, sizeof(name), "%skubepods%s-pod%s.slice",
				       before[k], classes[i], SLICE_UID);
			assert_string_equal(uid_of("any", name), UID);
			(void)snprintf(name, sizeof(name), "%skubepods%s-pod%s.slice",
				       before[k], classes[i], HASH);
			assert_string_equal(uid_of("any", name), HASH);
		}
	}
}

/* The peer made units "s-burstable" and "s-besteffort" of these. */
static void groups_of_classes_and_containers_are_no_pods(void **state)
{
	(void)state;
	static const char *const names[] = {
		"kubepods",
		"burstable",
		"besteffort",
		"kubepods.slice",
		"kubepods-burstable.slice",
		"kubepods-besteffort.slice",
		"kubelet-kubepods-burstable.slice",
		"kubepods-pod.slice",
		"kubepods-burstable-pod.slice",
		"kubepods-pod" SLICE_UID,
		"kubepods-pod" SLICE_UID ".scope",
		"kubepods-guaranteed-pod" SLICE_UID ".slice",
		"cri-containerd-" HASH HASH ".scope",
		"crio-conmon-" HASH ".scope",
		HASH HASH,
		"pod",
		"podman",
		"machine.slice",
		"",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (uid_of("kubepods.slice", names[i]))
			fail_msg("%s: a pod", names[i]);
	}
	assert_null(uid_of("system.slice", "pod" UID));
	assert_null(uid_of("pod" UID, "pod" UID));
}

static void hostile_names_are_refused(void **state)
{
	(void)state;
	char name[300] = "pod";

	assert_null(uid_of("kubepods", "pod../../x"));
	assert_null(uid_of("kubepods", "pod\n"));
	assert_null(uid_of("kubepods", "pod\xc3\xa9"));
	assert_null(uid_of("kubepods", "poda b"));
	assert_null(uid_of("kubepods", "poda_b"));
	assert_null(uid_of("any", "kubepods-poda\"b.slice"));
	memset(name + 3, 'a', CGROUP_POD_UID_SIZE - 1);
	assert_non_null(uid_of("kubepods", name));
	name[3 + CGROUP_POD_UID_SIZE - 1] = 'a';
	assert_null(uid_of("kubepods", name));
}

static void containers_are_known_by_their_ids(void **state)
{
	(void)state;
	static const char id[] =
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const char *const runtimes[] = {"cri-containerd-", "crio-", "docker-"};
	char name[200], ret[CGROUP_CONTAINER_ID_SIZE] = "";

	assert_true(cgroup_container_id(id, ret));
	assert_string_equal(ret, id);
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		(void)snprintf(name, sizeof(name), "%s%s.scope", runtimes[i], id);
		ret[0] = '\0';
		assert_true(cgroup_container_id(name, ret));
		assert_string_equal(ret, id);
	}
	static const char *const others[] = {"%s.scope",  "crio-conmon-%s.scope",
					     "x%s.scope", "cri-%s",
					     "%s0",       "cri-%sg.scope"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const char *at = strstr(others[i], "%s");
		(void)snprintf(name, sizeof(name), "%.*s%s%s", (int)(at - others[i]),
			       others[i], id, at + 2);
		assert_false(cgroup_container_id(name, ret));
	}
	for (size_t n = 0; n < sizeof(id) - 1; n++) {
		(void)snprintf(name, sizeof(name), "%.*s", (int)n, id);
		assert_false(cgroup_container_id(name, ret));
		(void)snprintf(name, sizeof(name), "-%.*s.scope", (int)n, id);
		assert_false(cgroup_container_id(name, ret));
	}
	assert_false(cgroup_container_id("0123456789ABCDEF0123456789ABCDEF"
					 "0123456789ABCDEF0123456789ABCDEF",
					 ret));
	assert_string_equal(ret, id); /* untouched */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_drivers_and_all_classes_are_known),
		cmocka_unit_test(groups_of_classes_and_containers_are_no_pods),
		cmocka_unit_test(hostile_names_are_refused),
		cmocka_unit_test(containers_are_known_by_their_ids),
	};

	return cmocka_run_group_tests_name("cgroup_pod", tests, NULL, NULL);
}
