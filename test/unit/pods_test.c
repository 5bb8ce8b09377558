/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pods of control groups and of lists, as records in a real ring. */
#include "test/unit/pods_lab.h"

static uint32_t running(const struct lab *l)
{
	struct pods_stats s;

	pods_stats(l->pods, &s);
	return s.running;
}

static void group_that_comes_and_goes_becomes_records(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	make_path(&l, "kubepods/burstable");
	make_path(&l, "kubepods/besteffort");
	assert_int_equal(pod_tree_look(l.tree, true, true), 3);
	make_path(&l, GROUP);
	make_path(&l, GROUP "/abcdef");
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_int_equal(l.last.manager, MANAGER_K8S);
	assert_string_equal(l.last.unit, UID);
	assert_string_equal(record_cgroup(&l.last, CGROUP_UNIFIED), GROUP);
	assert_int_equal(l.last.flags, RECORD_MILLICPUS);
	assert_int_equal(l.last.uid, 0); /* nobody's */
	assert_string_equal(l.last.user, "");
	uint32_t run = l.last.step;
	assert_true(run > 0);
	assert_false(next_record(&l)); /* a container is no unit */

	remove_path(&l, GROUP "/abcdef");
	remove_path(&l, GROUP);
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.step, run);
	assert_int_equal(l.last.flags, RECORD_LAST | RECORD_MILLICPUS);
	assert_false(next_record(&l));
	assert_int_equal(running(&l), 0);
	lab_done(&l);
}

static void folders_of_systemd_may_come_later(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	assert_int_equal(pod_tree_look(l.tree, true, true), 0);
	make_path(&l, "kubepods.slice/kubepods-besteffort.slice/"
		      "kubepods-besteffort-podab_1.slice");
	make_path(&l, "kubepods.slice/kubepods-burstable.slice");
	make_path(&l, "kubepods.slice/kubepods-podab_2.slice/cri-containerd-01.scope");
	assert_int_equal(pod_tree_look(l.tree, false, false), 3);
	assert_int_equal(running(&l), 2);
	assert_true(next_record(&l));
	assert_string_equal(l.last.unit, "ab-2");
	assert_true(next_record(&l));
	assert_string_equal(l.last.unit, "ab-1");
	assert_string_equal(record_cgroup(&l.last, CGROUP_UNIFIED),
			    "/kubepods.slice/kubepods-besteffort.slice/"
			    "kubepods-besteffort-podab_1.slice");
	assert_false(next_record(&l));
	/* kubelet makes its folders anew */
	remove_path(&l, "kubepods.slice/kubepods-burstable.slice");
	pod_tree_read(l.tree);
	assert_int_equal(pod_tree_look(l.tree, false, false), 2);
	make_path(&l, "kubepods.slice/kubepods-burstable.slice/"
		      "kubepods-burstable-podab_3.slice");
	assert_int_equal(pod_tree_look(l.tree, false, false), 3);
	assert_int_equal(running(&l), 3);
	lab_done(&l);
}

static void names_may_come_before_or_after_the_group(void **state)
{
	(void)state;
	struct lab l;
	struct pod_info one = info_of(UID, "team", "web-0"),
			two = info_of(OTHER, "team", "web-1");
	lab_init(&l, true);
	make_path(&l, "kubepods");
	pod_tree_look(l.tree, true, true);
	pods_see_info(l.pods, 0, &one);
	assert_false(next_record(&l)); /* it does not run */
	make_path(&l, "kubepods/pod" UID);
	make_path(&l, "kubepods/pod" OTHER);
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_string_equal(l.last.name, "web-0");
	assert_string_equal(l.last.account, "team");
	assert_int_equal(l.last.cpus, 250);
	assert_true(l.last.memory_bytes == 64 << 20);
	assert_true(next_record(&l));
	assert_string_equal(l.last.name, "");
	pods_see_info(l.pods, 1, &two);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_string_equal(l.last.unit, OTHER);
	assert_string_equal(l.last.name, "web-1");
	pods_see_info(l.pods, 0, &two); /* the same again */
	assert_false(next_record(&l));
	two.cpu_milli = 500; /* resized in place */
	pods_see_info(l.pods, 0, &two);
	assert_true(next_record(&l));
	assert_int_equal(l.last.cpus, 500);
	lab_done(&l);
}

static void names_of_the_runtime_count_where_nobody_else_tells(void **state)
{
	(void)state;
	struct lab l;
	struct pod_info names = info_of(UID, "team", "web-0"),
			whole = info_of(OTHER, "team", "web-1");
	names.cpu_milli = 0;
	names.memory_bytes = 0;
	lab_init(&l, true);
	make_path(&l, "kubepods/pod" UID);
	make_path(&l, "kubepods/pod" OTHER);
	pod_tree_look(l.tree, true, true);
	pods_see_info(l.pods, 1, &whole);
	while (next_record(&l))
		;
	pods_see_names(l.pods, 2, &names);
	assert_true(next_record(&l));
	assert_string_equal(l.last.unit, UID);
	assert_string_equal(l.last.name, "web-0");
	assert_int_equal(l.last.cpus, 0);
	names = info_of(OTHER, "other", "name");
	pods_see_names(l.pods, 2, &names);
	assert_false(next_record(&l)); /* the API server knows more */
	pods_drop_info(l.pods, 1, OTHER);
	pods_see_names(l.pods, 2, &names);
	assert_true(next_record(&l));
	assert_string_equal(l.last.name, "name");
	lab_done(&l);
}

static void source_that_forgets_a_pod_does_not_end_it(void **state)
{
	(void)state;
	struct lab l;
	struct pods_stats s;
	struct pod_info one = info_of(UID, "team", "web-0");
	lab_init(&l, true);
	make_path(&l, "kubepods/pod" UID);
	pod_tree_look(l.tree, true, true);
	assert_true(next_record(&l));
	assert_true(l.last.flags & RECORD_RUNNING);
	pods_see_info(l.pods, 0, &one);
	assert_true(next_record(&l));
	pods_list_infos_begin(l.pods, 0);
	pods_list_infos_end(l.pods, 0);
	pods_drop_info(l.pods, 0, UID);
	assert_false(next_record(&l));
	assert_int_equal(running(&l), 1);
	remove_path(&l, "kubepods/pod" UID);
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	pods_stats(l.pods, &s);
	assert_int_equal(s.known, 0);
	lab_done(&l);
}

/* The same manifest put back has the same UID, and another group. */
static void static_pod_that_starts_again_is_another_step(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	make_path(&l, "kubepods/pod" STATIC);
	pod_tree_look(l.tree, true, false);
	assert_true(next_record(&l));
	uint32_t first = l.last.step;
	make_path(&l, "kubepods/x"); /* so that the inode is not used again */
	remove_path(&l, "kubepods/pod" STATIC);
	make_path(&l, "kubepods/y");
	make_path(&l, "kubepods/pod" STATIC);
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.step, first);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_string_equal(l.last.unit, STATIC);
	lab_done(&l);
}

/* While we hung it came, went and came back. */
static void end_that_is_heard_late_is_not_that_of_the_next_group(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	make_path(&l, "kubepods");
	pod_tree_look(l.tree, true, false);
	make_path(&l, "kubepods/pod" STATIC);
	make_path(&l, "kubepods/x"); /* so that the inode is not used again */
	remove_path(&l, "kubepods/pod" STATIC);
	make_path(&l, "kubepods/pod" STATIC);
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_false(next_record(&l));
	assert_int_equal(running(&l), 1);
	lab_done(&l);
}

#define EVENTS "kubepods/pod" STATIC "/cgroup.events"
#define STAT "kubepods/pod" STATIC "/cpu.stat"
/* The list shows the next group before the event of the first one's end is read. */
static void last_counters_are_of_one_group(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	make_path(&l, "kubepods/pod" STATIC);
	put_file(&l, EVENTS, "populated 1\n");
	put_file(&l, STAT, "usage_usec 700\nuser_usec 400\nsystem_usec 300\n");
	pod_tree_look(l.tree, true, false);
	assert_true(next_record(&l));
	uint32_t first = l.last.step;
	put_file(&l, EVENTS, "populated 0\n");
	pod_tree_read(l.tree);
	make_path(&l, "kubepods/x");
	assert_int_equal(unlinkat(l.place.cgroupfd, EVENTS, 0), 0);
	assert_int_equal(unlinkat(l.place.cgroupfd, STAT, 0), 0);
	remove_path(&l, "kubepods/pod" STATIC);
	make_path(&l, "kubepods/y");
	make_path(&l, "kubepods/pod" STATIC);
	pod_tree_look(l.tree, true, false);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.step, first);
	assert_int_equal(l.last.counters.cpu_user_ns, 400000);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	pod_tree_read(l.tree);
	assert_false(next_record(&l));
	remove_path(&l, "kubepods/pod" STATIC);
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.counters.source, COUNTERS_NONE);
	lab_done(&l);
}

/* A manifest may name any UID, also that of a pod that runs: the one that came last
 * counts. */
static void uid_that_is_used_again_is_another_step(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	make_path(&l, "kubepods/burstable");
	pod_tree_look(l.tree, true, false);
	make_path(&l, GROUP);
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	uint32_t first = l.last.step;
	make_path(&l, "kubepods/pod" UID); /* guaranteed, by the manifest */
	pod_tree_read(l.tree);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.step, first);
	assert_true(next_record(&l));
	assert_int_equal(l.last.type, RECORD_STEP_START);
	assert_string_equal(record_cgroup(&l.last, CGROUP_UNIFIED),
			    "/kubepods/pod" UID);
	remove_path(&l, GROUP); /* the first one's end is not the second's */
	pod_tree_read(l.tree);
	assert_false(next_record(&l));
	assert_int_equal(running(&l), 1);
	lab_done(&l);
}

static void failed_pod_ends_with_a_status(void **state)
{
	(void)state;
	struct lab l;
	struct pod_info one = info_of(UID, "team", "job-x");
	lab_init(&l, true);
	one.failed = one.finished = true;
	make_path(&l, "kubepods/pod" UID);
	pod_tree_look(l.tree, true, true);
	pods_see_info(l.pods, 0, &one);
	remove_path(&l, "kubepods/pod" UID);
	pod_tree_look(l.tree, true, false); /* not by an event */
	while (next_record(&l) && l.last.type != RECORD_STEP_STOP)
		;
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_int_equal(l.last.exit_status, 1 << 8);
	lab_done(&l);
}

/* StatefulSets give a new pod the name of the one before. */
static void devices_are_of_the_one_live_pod_of_a_name(void **state)
{
	(void)state;
	struct lab l;
	struct pod_info old = info_of(UID, "team", "web-0"),
			new = info_of(OTHER, "team", "web-0"),
			same_name = info_of(STATIC, "other", "web-0");
	const struct record_device gpu = {.uuid = "GPU-0001"};
	lab_init(&l, true);
	make_path(&l, "kubepods/pod" UID);
	make_path(&l, "kubepods/pod" OTHER);
	make_path(&l, "kubepods/pod" STATIC);
	pod_tree_look(l.tree, true, true);
	pods_see_info(l.pods, 0, &old);
	pods_see_info(l.pods, 0, &new);
	pods_see_info(l.pods, 0, &same_name);
	while (next_record(&l))
		;
	pods_list_devices_begin(l.pods);
	pods_see_devices(l.pods, "team", "web-0", &gpu, 1);
	pods_list_devices_end(l.pods);
	assert_false(next_record(&l)); /* two of them live: nobody's */
	old.finished = true;
	pods_see_info(l.pods, 0, &old);
	pods_list_devices_begin(l.pods);
	pods_see_devices(l.pods, "team", "web-0", &gpu, 1);
	pods_list_devices_end(l.pods);
	assert_true(next_record(&l));
	assert_string_equal(l.last.unit, OTHER);
	assert_int_equal(l.last.device_count, 1);
	assert_string_equal(l.last.devices[0].uuid, "GPU-0001");
	assert_false(next_record(&l));
	/* an empty list takes it away */
	pods_list_devices_begin(l.pods);
	pods_list_devices_end(l.pods);
	assert_true(next_record(&l));
	assert_int_equal(l.last.device_count, 0);
	lab_done(&l);
}

static void new_ring_is_told_all_again(void **state)
{
	(void)state;
	struct lab l;
	struct pods_stats s;
	lab_init(&l, false);
	make_path(&l, "kubepods/pod" UID);
	pod_tree_look(l.tree, true, false);
	pods_stats(l.pods, &s);
	assert_int_equal(s.unsent, 1);
	make_ring(&l);
	pods_refresh(l.pods);
	assert_true(next_record(&l));
	assert_true(l.last.flags & RECORD_RUNNING); /* told late */
	replace_ring(&l);
	pods_refresh(l.pods);
	assert_true(next_record(&l));
	assert_string_equal(l.last.unit, UID);
	pods_refresh(l.pods);
	assert_false(next_record(&l));
	lab_done(&l);
}

static void more_pods_than_there_is_room_for_are_left_out(void **state)
{
	(void)state;
	struct lab l;
	struct pods_stats s;
	char uid[CGROUP_POD_UID_SIZE];
	lab_init(&l, false);
	for (unsigned i = 0; i < PODS_MAX + 10; i++) {
		(void)snprintf(uid, sizeof(uid), "pod-%u", i);
		struct pod_info info = info_of(uid, "team", uid);
		pods_see_info(l.pods, 0, &info);
	}
	pods_stats(l.pods, &s);
	assert_int_equal(s.known, PODS_MAX);
	pods_list_infos_begin(l.pods, 0);
	pods_list_infos_end(l.pods, 0);
	pods_stats(l.pods, &s);
	assert_int_equal(s.known, 0);
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(group_that_comes_and_goes_becomes_records),
		cmocka_unit_test(folders_of_systemd_may_come_later),
		cmocka_unit_test(names_may_come_before_or_after_the_group),
		cmocka_unit_test(names_of_the_runtime_count_where_nobody_else_tells),
		cmocka_unit_test(source_that_forgets_a_pod_does_not_end_it),
		cmocka_unit_test(static_pod_that_starts_again_is_another_step),
		cmocka_unit_test(end_that_is_heard_late_is_not_that_of_the_next_group),
		cmocka_unit_test(last_counters_are_of_one_group),
		cmocka_unit_test(uid_that_is_used_again_is_another_step),
		cmocka_unit_test(failed_pod_ends_with_a_status),
		cmocka_unit_test(devices_are_of_the_one_live_pod_of_a_name),
		cmocka_unit_test(new_ring_is_told_all_again),
		cmocka_unit_test(more_pods_than_there_is_room_for_are_left_out),
	};

	return cmocka_run_group_tests_name("pods", tests, NULL, NULL);
}
