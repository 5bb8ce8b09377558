/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/ticker/gpu_sharing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/sources/child_link.h"
#include "lib/cgroup.h"
#include "test/unit/unit.h"

#define SEC 1000000000ull

static uint64_t now_ns = 100 * SEC;
/* pids 10..19 are of unit 1, 20..29 of unit 2; others of none. "": they are gone */
static bool gone;
static uint64_t serial = 7;

static union {
	struct child_gpu_processes m;
	char bytes[sizeof(struct child_gpu_processes) +
		   8 * sizeof(struct child_gpu_process)];
} said;

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size);
void __wrap_cgroup_unit_of_pid(int procfd, uint32_t pid, char *ret);
uint32_t __wrap_steps_find_path(const struct units *u, const char *path);
uint32_t __wrap_steps_unit(const struct units *u, uint32_t i);
uint64_t __wrap_unit_serial(const struct units *u, uint32_t i);

int __wrap_child_link_get(struct child_link *l, enum child_kind kind, const char *name,
			  void *buf, size_t size)
{
	(void)l;
	if (kind != CHILD_GPU_PROCESSES || strcmp(name, "gpu0") != 0)
		return -EAGAIN;
	assert_true(said.m.head.bytes <= size);
	assert_int_equal(child_msg_check(&said, said.m.head.bytes, NULL), kind);
	memcpy(buf, &said, said.m.head.bytes);
	return (int)said.m.head.bytes;
}

void __wrap_cgroup_unit_of_pid(int procfd, uint32_t pid, char *ret)
{
	(void)procfd;
	snprintf(ret, RECORD_CGROUP_MAX, "%s", gone ? "" : pid / 10 == 1 ? "1" : "2");
	if (pid >= 30)
		*ret = '\0';
}

uint32_t __wrap_steps_find_path(const struct units *u, const char *path)
{
	(void)u;
	return (uint32_t)(path[0] - '0') * 100;
}

uint32_t __wrap_steps_unit(const struct units *u, uint32_t i)
{
	(void)u;
	return i / 100;
}

uint64_t __wrap_unit_serial(const struct units *u, uint32_t i)
{
	(void)u;
	return serial + i;
}

static uint64_t lab_boottime_ns(void)
{
	return now_ns;
}

/* Three processes with these busy milliseconds, a second later */
static void say_processes(const uint32_t pids[3], const uint64_t busy_ms[3])
{
	now_ns += SEC;
	memset(&said, 0, sizeof(said));
	said.m.read_ns = now_ns;
	snprintf(said.m.uuid, sizeof(said.m.uuid), "GPU-0");
	for (uint32_t i = 0; i < 3; i++)
		said.m.items[i] =
			(struct child_gpu_process){.pid = pids[i],
						   .gi = CHILD_GPU_NONE,
						   .ci = CHILD_GPU_NONE,
						   .have = 1u << CHILD_GPU_PROCESS_BUSY,
						   .busy_ns = busy_ms[i] * 1000000,
						   .seen_ns = now_ns};
	child_msg_head(&said.m.head, CHILD_GPU_PROCESSES, "gpu0", 3,
		       sizeof(said.m) + 3 * sizeof(said.m.items[0]));
}

static struct gpu_sharing *new_sharing(void)
{
	static int anything;
	static struct env env;

	env = (struct env){.gpu = (struct child_link *)&anything,
			   .boottime_ns = lab_boottime_ns};
	gone = false;
	return gpu_sharing_new(&env);
}

static void use_of_one_is(const struct gpu_sharing *s, int memory_mib, int busy_ppm)
{
	struct gpu_shared_use use = gpu_sharing_use(s, NULL, 0, 1);

	assert_int_equal(use.has_memory, memory_mib >= 0);
	assert_int_equal(use.has_busy, busy_ppm >= 0);
	if (memory_mib >= 0)
		assert_int_equal(use.memory_bytes, (uint64_t)memory_mib << 20);
	if (busy_ppm >= 0)
		assert_int_equal(use.busy_ppm, busy_ppm);
}

static void use_is(struct gpu_sharing *s, uint32_t one_ppm, uint32_t two_ppm)
{
	gpu_sharing_take(s, NULL, 2);
	assert_int_equal(gpu_sharing_ppm(s, NULL, 0, 1), one_ppm);
	assert_int_equal(gpu_sharing_ppm(s, NULL, 0, 2), two_ppm);
	assert_int_equal(gpu_sharing_ppm(s, NULL, 1, 1), 0);
}

static const uint32_t pids[] = {10, 11, 20};

static void use_is_of_the_time_between_two_readings(void **state)
{
	(void)state;
	struct gpu_sharing *s = new_sharing();

	say_processes(pids, (uint64_t[]){500, 0, 900});
	use_is(s, 0, 0); /* of which time is not known */
	say_processes(pids, (uint64_t[]){800, 100, 1000});
	use_is(s, 400000, 100000);
	/* nothing new was said: it still holds */
	now_ns += SEC / 2;
	use_is(s, 400000, 100000);
	/* another ceems-gpu counts from 0 */
	now_ns -= SEC / 2;
	say_processes(pids, (uint64_t[]){0, 100, 1200});
	use_is(s, 0, 200000);
	/* more than a device has */
	say_processes(pids, (uint64_t[]){900, 1000, 1200});
	use_is(s, 1000000, 0);
	now_ns += 11 * SEC;
	use_is(s, 0, 0);
	gpu_sharing_free(s);
	assert_int_equal(gpu_sharing_ppm(NULL, NULL, 0, 1), 0);
}

static void processes_count_for_the_unit_in_which_they_were_seen_first(void **state)
{
	(void)state;
	struct gpu_sharing *s = new_sharing();

	say_processes(pids, (uint64_t[]){0, 0, 0});
	use_is(s, 0, 0);
	/* they ended, and their last use is told */
	gone = true;
	say_processes(pids, (uint64_t[]){300, 0, 200});
	use_is(s, 300000, 200000);
	/* the unit's place in the table is another one's now */
	say_processes(pids, (uint64_t[]){600, 0, 400});
	gpu_sharing_take(s, NULL, 1);
	serial++;
	assert_int_equal(gpu_sharing_ppm(s, NULL, 0, 1), 0);
	gpu_sharing_free(s);
	/* of no unit */
	s = new_sharing();
	say_processes((uint32_t[]){10, 30, 31}, (uint64_t[]){0, 0, 0});
	use_is(s, 0, 0);
	say_processes((uint32_t[]){10, 30, 31}, (uint64_t[]){100, 500, 0});
	use_is(s, 100000, 0);
	gpu_sharing_free(s);
}

static void what_is_not_told_of_all_processes_is_not_known(void **state)
{
	(void)state;
	struct gpu_sharing *s = new_sharing();
	use_of_one_is(s, -1, -1); /* nothing was told */
	say_processes(pids, (uint64_t[]){0, 0, 0});
	gpu_sharing_take(s, NULL, 1);
	use_of_one_is(s, -1, 0); /* no memory is told */
	say_processes(pids, (uint64_t[]){100, 200, 400});
	for (int i = 0; i < 3; i++) {
		said.m.items[i].have |= 1u << CHILD_GPU_PROCESS_MEMORY;
		said.m.items[i].memory_bytes = (uint64_t)(i + 1) << 20;
	}
	gpu_sharing_take(s, NULL, 1);
	use_of_one_is(s, 3, 300000);
	now_ns += 60 * SEC; /* long ago */
	use_of_one_is(s, -1, -1);
	gpu_sharing_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(use_is_of_the_time_between_two_readings),
		cmocka_unit_test(
			processes_count_for_the_unit_in_which_they_were_seen_first),
		cmocka_unit_test(what_is_not_told_of_all_processes_is_not_known),
	};
	return cmocka_run_group_tests_name("gpu_sharing_test", tests, NULL, NULL);
}
