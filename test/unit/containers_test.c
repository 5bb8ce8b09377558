/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Containers as parts of their pod's step: the group tells when they ended and what
 * they used, the status what they are called. */
#include "contrib/k8s/containers.h"
#include "contrib/k8s/pod_info.h"
#include "test/unit/pods_lab.h"

#define POD "kubepods/burstable/pod" UID
#define ID1 "1111111111111111111111111111111111111111111111111111111111111111"
#define ID2 "2222222222222222222222222222222222222222222222222222222222222222"
#define ID3 "3333333333333333333333333333333333333333333333333333333333333333"

static void begin_lab(struct lab *l)
{
	lab_init(l, true);
	make_path(l, "kubepods/burstable");
	pod_tree_look(l->tree, true, true);
	make_path(l, POD);
	pod_tree_read(l->tree);
	assert_true(next_record(l));
	assert_int_equal(l->last.type, RECORD_STEP_START);
}

static void make_group(struct lab *l, const char *path)
{
	char file[512];

	make_path(l, path);
	(void)snprintf(file, sizeof(file), "%s/cgroup.events", path);
	put_file(l, file, "populated 1\nfrozen 0\n");
	pod_tree_read(l->tree);
}

/* As when its last process ends: the counters are read when it is empty */
static void empty_files(const struct lab *l, const char *path, const char *usage)
{
	char file[512], text[200];

	(void)snprintf(file, sizeof(file), "%s/cpu.stat", path);
	(void)snprintf(text, sizeof(text),
		       "usage_usec %s\nuser_usec %s\nsystem_usec 0\n", usage, usage);
	put_file(l, file, text);
	(void)snprintf(file, sizeof(file), "%s/memory.peak", path);
	put_file(l, file, "4096\n");
	(void)snprintf(file, sizeof(file), "%s/cgroup.events", path);
	put_file(l, file, "populated 0\nfrozen 0\n");
}

static void empty_group(struct lab *l, const char *path, const char *usage)
{
	empty_files(l, path, usage);
	pod_tree_read(l->tree);
}

/* the kernel removes files with their group */
static void remove_files(const struct lab *l, const char *path)
{
	static const char *const files[] = {"cpu.stat", "memory.peak", "cgroup.events"};
	char file[600];

	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(file, sizeof(file), "%s/%s/%s", l->cgroup, path,
			       files[i]);
		(void)unlink(file);
	}
}

static void end_group(struct lab *l, const char *path)
{
	remove_files(l, path);
	remove_path(l, path);
	pod_tree_read(l->tree);
}

static struct pod_info status_of(const char *id, const char *name, const uint32_t *code)
{
	struct pod_info i = info_of(UID, "team", "web-0");
	char url[100];

	(void)snprintf(url, sizeof(url), "containerd://%s", id);
	pod_info_add_container(&i, name, url, code);
	return i;
}

static bool next_of_part(struct lab *l, enum record_type type)
{
	while (next_record(l)) {
		if (l->last.flags & RECORD_PART && l->last.type == type)
			return true;
	}
	return false;
}

/* the next end of one */
static bool next_part(struct lab *l)
{
	return next_of_part(l, RECORD_STEP_STOP);
}

static void container_that_ends_is_a_part_of_its_pod(void **state)
{
	(void)state;
	struct lab l;
	const uint32_t code = 3;
	begin_lab(&l);
	uint32_t run = l.last.step;
	make_group(&l, POD "/" ID1);
	struct pod_info i = status_of(ID1, "main", NULL);
	pods_see_info(l.pods, 0, &i);
	empty_group(&l, POD "/" ID1, "1500000");
	end_group(&l, POD "/" ID1);
	assert_false(next_part(&l)); /* its status may still have an exit code */
	i = status_of(ID1, "main", &code);
	pods_see_info(l.pods, 0, &i);
	assert_true(next_part(&l));
	assert_int_equal(l.last.type, RECORD_STEP_STOP);
	assert_string_equal(l.last.unit, UID);
	assert_string_equal(l.last.command, "main");
	assert_string_equal(l.last.name, "");
	assert_true(l.last.step && l.last.step != run);
	assert_int_equal(l.last.exit_status, 3 << 8);
	assert_true(l.last.counters.cpu_user_ns == 1500000000);
	assert_true(l.last.counters.memory_peak_bytes == 4096);
	assert_true(l.last.began_ns && l.last.began_ns <= l.last.boottime_ns);
	assert_false(next_part(&l)); /* once */
	pods_see_info(l.pods, 0, &i);
	assert_false(next_part(&l));
	lab_done(&l);
}

static void names_may_come_after_the_pods_end(void **state)
{
	(void)state;
	struct lab l;
	const uint32_t code = 0;
	struct pod_info i = info_of(UID, "team", "web-0");
	begin_lab(&l);
	pods_see_info(l.pods, 0, &i); /* Pending: no container has a status */
	make_group(&l, POD "/" ID1);
	empty_group(&l, POD "/" ID1, "1000");
	end_group(&l, POD "/" ID1);
	remove_path(&l, POD);
	pod_tree_read(l.tree);
	assert_false(next_part(&l));
	i = status_of(ID1, "short", &code);
	pods_see_info(l.pods, 0, &i);
	assert_true(next_part(&l));
	assert_string_equal(l.last.command, "short");
	lab_done(&l);
}

static void pause_container_is_no_part(void **state)
{
	(void)state;
	struct lab l;
	begin_lab(&l);
	make_group(&l, POD "/" ID1);
	make_group(&l, POD "/" ID2);
	struct pod_info i = status_of(ID2, "main", NULL);
	pods_see_info(l.pods, 0, &i);
	end_group(&l, POD "/" ID1);
	end_group(&l, POD "/" ID2);
	remove_path(&l, POD);
	pod_tree_read(l.tree);
	assert_true(next_part(&l)); /* the pod is over: no status is waited for */
	assert_string_equal(l.last.command, "main");
	assert_int_equal(l.last.counters.source, COUNTERS_NONE);
	assert_false(next_part(&l));
	lab_done(&l);
}

/* The status has the present container and the one before. */
static void restarts_are_parts_of_their_own(void **state)
{
	(void)state;
	struct lab l;
	const uint32_t code = 1;
	begin_lab(&l);
	make_group(&l, POD "/" ID1);
	make_group(&l, POD "/" ID2); /* now: inodes of folders are used again */
	end_group(&l, POD "/" ID1);
	struct pod_info i = status_of(ID1, "main", &code);
	pod_info_add_container(&i, "main", "cri-o://" ID2, NULL);
	assert_int_equal(i.container_count, 2);
	pods_see_info(l.pods, 0, &i);
	assert_true(next_part(&l));
	uint32_t first = l.last.step;
	assert_int_equal(l.last.exit_status, 1 << 8);
	end_group(&l, POD "/" ID2);
	remove_path(&l, POD);
	pod_tree_read(l.tree);
	assert_true(next_part(&l));
	assert_string_equal(l.last.command, "main");
	assert_true(l.last.step != first);
	assert_false(next_part(&l));
	lab_done(&l);
}

static void containers_that_were_there_before_are_found(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, true);
	make_path(&l,
		  "kubepods.slice/kubepods-podab_1.slice/cri-containerd-" ID1 ".scope");
	make_path(&l,
		  "kubepods.slice/kubepods-podab_1.slice/crio-conmon-" ID2 ".scope");
	make_path(&l, "kubepods.slice/kubepods-podab_1.slice/other");
	pod_tree_look(l.tree, true, true);
	struct pod_info i = status_of(ID1, "main", NULL);
	pod_info_add_container(&i, "monitor", "cri-o://" ID2, NULL);
	(void)snprintf(i.uid, sizeof(i.uid), "ab-1");
	pods_see_info(l.pods, 0, &i);
	remove_path(&l, "kubepods.slice/kubepods-podab_1.slice/cri-containerd-" ID1
			".scope");
	remove_path(&l,
		    "kubepods.slice/kubepods-podab_1.slice/crio-conmon-" ID2 ".scope");
	remove_path(&l, "kubepods.slice/kubepods-podab_1.slice/other");
	remove_path(&l, "kubepods.slice/kubepods-podab_1.slice");
	pod_tree_look(l.tree, true, false); /* not by events */
	assert_true(next_part(&l));
	assert_string_equal(l.last.command, "main");
	assert_false(next_part(&l));
	lab_done(&l);
}

static void our_own_end_ends_no_container(void **state)
{
	(void)state;
	struct lab l;
	begin_lab(&l);
	make_group(&l, POD "/" ID1);
	struct pod_info i = status_of(ID1, "main", NULL);
	pods_see_info(l.pods, 0, &i);
	pod_tree_free(l.tree);
	l.tree = NULL;
	assert_false(next_part(&l));
	lab_done(&l);
}

static void hostile_statuses_name_nothing(void **state)
{
	(void)state;
	struct pod_info i = info_of(UID, "team", "web-0");
	char id[100];

	pod_info_add_container(&i, "main", NULL, NULL);
	pod_info_add_container(&i, NULL, "containerd://" ID1, NULL);
	pod_info_add_container(&i, "main", "", NULL);
	pod_info_add_container(&i, "main", ID1, NULL);
	pod_info_add_container(&i, "main", "containerd://../../x", NULL);
	pod_info_add_container(&i, "a b\n", "containerd://" ID1, NULL);
	pod_info_add_container(&i, "", "containerd://" ID1, NULL);
	assert_int_equal(i.container_count, 0);
	for (unsigned k = 0; k < 2 * POD_CONTAINERS_MAX; k++) {
		(void)snprintf(id, sizeof(id), "containerd://%064x", k);
		pod_info_add_container(&i, "main", id, NULL);
		pod_info_add_container(&i, "main", id, NULL); /* twice is once */
	}
	assert_int_equal(i.container_count, POD_CONTAINERS_MAX);
}

static void ends_that_nobody_names_do_not_grow(void **state)
{
	(void)state;
	struct containers c = {.named = NULL};
	struct container_run end = {.run = 1, .ended_ns = 1};

	for (unsigned k = 0; k < 2 * CONTAINERS_MAX; k++) {
		(void)snprintf(end.id, sizeof(end.id), "%064x", k);
		containers_end(&c, &end);
	}
	assert_int_equal(c.count, CONTAINERS_MAX);
	containers_done(&c);
}

static void first_of_a_crowd_of_containers_are_told(void **state)
{
	(void)state;
	struct lab l;
	char path[200];
	begin_lab(&l);
	for (unsigned k = 0; k < 500; k++) {
		(void)snprintf(path, sizeof(path), POD "/%064x", k);
		make_group(&l, path);
	}
	struct pod_info i = info_of(UID, "team", "web-0");
	for (unsigned k = 0; k < 500; k++) {
		(void)snprintf(path, sizeof(path), "containerd://%064x", k);
		pod_info_add_container(&i, "main", path, NULL);
	}
	pods_see_info(l.pods, 0, &i);
	unsigned told = 0;
	for (unsigned round = 0; round < 20; round++) { /* the ring is small */
		while (next_of_part(&l, RECORD_PART_START))
			told++;
		pods_refresh(l.pods);
	}
	assert_int_equal(told, POD_CONTAINERS_MAX);
	lab_done(&l);
}

static void container_that_runs_is_told_by_its_name_and_group(void **state)
{
	(void)state;
	struct lab l;
	begin_lab(&l);
	make_group(&l, POD "/" ID1); /* the pause container */
	make_group(&l, POD "/" ID2);
	assert_false(next_of_part(&l, RECORD_PART_START)); /* nobody named it */
	struct pod_info i = status_of(ID2, "main", NULL);
	pods_see_info(l.pods, 0, &i);
	assert_true(next_of_part(&l, RECORD_PART_START));
	uint32_t run = l.last.step;
	assert_string_equal(l.last.unit, UID);
	assert_string_equal(l.last.command, "main");
	assert_string_equal(record_cgroup(&l.last, CGROUP_UNIFIED), "/" POD "/" ID2);
	assert_true(l.last.began_ns && l.last.began_ns <= l.last.boottime_ns);
	pods_see_info(l.pods, 0, &i);
	pods_refresh(l.pods);
	assert_false(next_of_part(&l, RECORD_PART_START)); /* once */
	end_group(&l, POD "/" ID2);
	const uint32_t code = 0;
	i = status_of(ID2, "main", &code);
	pods_see_info(l.pods, 0, &i);
	assert_true(next_part(&l));
	assert_int_equal(l.last.step, run);
	lab_done(&l);
}

static void container_is_told_after_its_pod_and_again_to_a_new_ring(void **state)
{
	(void)state;
	struct lab l;
	lab_init(&l, false); /* ceemsd comes later */
	make_path(&l, POD);
	make_path(&l, POD "/" ID1);
	pod_tree_look(l.tree, true, true);
	struct pod_info i = status_of(ID1, "main", NULL);
	pods_see_info(l.pods, 0, &i);
	for (unsigned k = 0; k < 2; k++) {
		if (k)
			replace_ring(&l);
		else
			make_ring(&l);
		pods_refresh(l.pods);
		assert_true(next_record(&l));
		assert_int_equal(l.last.type, RECORD_STEP_START);
		assert_true(next_of_part(&l, RECORD_PART_START));
		assert_string_equal(l.last.command, "main");
	}
	lab_done(&l);
}

/* More than the kernel keeps for us: what happens next it does not tell. */
static void fill_queue(const struct lab *l)
{
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	unsigned most = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%u", &most), 1);
	(void)fclose(f);
	for (unsigned i = 0; i <= most / 2; i++) {
		make_path(l, "kubepods/burstable/other");
		remove_path(l, "kubepods/burstable/other");
	}
}

/* Of this unit, among those that have come: its stop, once. */
static void expect_stop(struct lab *l, const char *unit, uint64_t cpu_ns)
{
	unsigned n = 0;

	while (next_record(l)) {
		if (l->last.type != RECORD_STEP_STOP ||
		    strcmp(l->last.unit, unit) != 0 || l->last.flags & RECORD_PART)
			continue;
		assert_true(l->last.counters.cpu_user_ns == cpu_ns);
		n++;
	}
	assert_int_equal(n, 1);
}

/* A pod goes, one becomes empty, and the group of a static one is made again at its
 * path, in which containers are seen. */
static void what_happened_while_events_were_lost_is_found(void **state)
{
	(void)state;
	static const char gone[] = "kubepods/burstable/pod" OTHER,
			  empty[] = "kubepods/burstable/pod" STATIC;
	struct lab l;
	struct pods_stats s;
	const uint32_t code = 0;
	begin_lab(&l);
	make_group(&l, POD "/" ID1);
	make_group(&l, gone);
	make_group(&l, empty);
	empty_group(&l, gone, "300000");
	fill_queue(&l);
	remove_files(&l, gone);
	remove_path(&l, gone);
	empty_files(&l, empty, "700000");
	remove_files(&l, POD "/" ID1);
	remove_path(&l, POD "/" ID1);
	remove_path(&l, POD);
	make_path(&l, "kubepods/burstable/x/y/z"); /* so that no inode comes again */
	make_path(&l, POD);
	put_file(&l, POD "/cgroup.events", "populated 1\nfrozen 0\n");
	pod_tree_read(l.tree);
	pods_stats(l.pods, &s);
	assert_int_equal(s.running, 3); /* nobody has told */
	assert_int_equal(pod_tree_look(l.tree, false, false), 2);
	expect_stop(&l, OTHER, 300000000);
	pods_stats(l.pods, &s);
	assert_int_equal(s.running, 2);
	end_group(&l, empty);
	expect_stop(&l, STATIC, 700000000);

	struct pod_info i = status_of(ID2, "main", &code);
	pods_see_info(l.pods, 0, &i);
	make_group(&l, POD "/" ID2);
	empty_group(&l, POD "/" ID2, "1500000");
	end_group(&l, POD "/" ID2);
	assert_true(next_part(&l));
	assert_true(l.last.counters.cpu_user_ns == 1500000000);
	empty_group(&l, POD, "1600000");
	end_group(&l, POD);
	expect_stop(&l, UID, 1600000000);
	lab_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(container_that_ends_is_a_part_of_its_pod),
		cmocka_unit_test(names_may_come_after_the_pods_end),
		cmocka_unit_test(pause_container_is_no_part),
		cmocka_unit_test(restarts_are_parts_of_their_own),
		cmocka_unit_test(containers_that_were_there_before_are_found),
		cmocka_unit_test(our_own_end_ends_no_container),
		cmocka_unit_test(hostile_statuses_name_nothing),
		cmocka_unit_test(ends_that_nobody_names_do_not_grow),
		cmocka_unit_test(first_of_a_crowd_of_containers_are_told),
		cmocka_unit_test(container_that_runs_is_told_by_its_name_and_group),
		cmocka_unit_test(
			container_is_told_after_its_pod_and_again_to_a_new_ring),
		cmocka_unit_test(what_happened_while_events_were_lost_is_found),
	};

	return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
