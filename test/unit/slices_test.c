/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What devices of dynamic resource allocation are, by ResourceSlices. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "contrib/k8s/slices.h"
#include "lib/http/json.h"
#include "test/unit/unit.h"

static struct err err;
static struct slices *slices;

static int begin_test(void **state)
{
	(void)state;
	slices = slices_new();
	return slices ? 0 : -1;
}

static int end_test(void **state)
{
	(void)state;
	slices_free(slices);
	return 0;
}

static int see_slice(const char *text)
{
	auto_json struct json_object *o = json_tokener_parse(text);

	assert_non_null(o);
	err.text[0] = '\0';
	return slices_see(slices, o, &err);
}

static void drop_slice(const char *name)
{
	char text[100];

	(void)snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%s\"}}", name);
	auto_json struct json_object *o = json_tokener_parse(text);
	assert_non_null(o);
	assert_int_equal(slices_drop(slices, o, &err), 0);
}

#define SLICE(name, pool, generation, devices)                                         \
	"{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"driver\":"                  \
	"\"gpu.nvidia.com\",\"pool\":{\"name\":\"" pool                                \
	"\",\"generation\":" generation "},\"nodeName\":\"n1\",\"devices\":[" devices  \
	"]}}"
#define UUID(device, uuid)                                                             \
	"{\"name\":\"" device "\",\"attributes\":{\"uuid\":{\"string\":\"" uuid "\"}}" \
	"}"

static void expect_device(const char *driver, const char *device, const char *uuid,
			  const char *pci)
{
	struct record_device d;

	slices_device(slices, driver, "n1", device, &d);
	assert_string_equal(d.uuid, uuid);
	assert_string_equal(d.pci, pci);
	assert_string_equal(d.mig, "");
	assert_int_equal(d.share_permille, 1000);
}

static void device_is_what_its_slice_says(void **state)
{
	(void)state;
	assert_false(slices_are_asked(slices));
	expect_device("gpu.nvidia.com", "gpu-0", "gpu.nvidia.com/n1/gpu-0", "");
	assert_true(slices_are_asked(slices));
	assert_int_equal(
		see_slice(SLICE(
			"s1", "n1", "1",
			UUID("gpu-0", "GPU-0001") "," UUID(
				"gpu-1-mig-1g",
				"MIG-0002") ",{\"name\":\"gpu-2\",\"attributes\":{"
					    "\"type\":{\"string\":\"gpu\"},"
					    "\"gpu.nvidia.com/uuid\":{\"string\":"
					    "\"GPU-0003\"},"
					    "\"resource.kubernetes.io/pciBusID\":{"
					    "\"string\":\"0000:3b:00.0\"}}}")),
		0);
	expect_device("gpu.nvidia.com", "gpu-0", "GPU-0001", "");
	expect_device("gpu.nvidia.com", "gpu-1-mig-1g", "MIG-0002", "");
	expect_device("gpu.nvidia.com", "gpu-2", "GPU-0003", "0000:3b:00.0");
	expect_device("gpu.nvidia.com", "gpu-9", "gpu.nvidia.com/n1/gpu-9", "");
	expect_device("gpu.amd.com", "gpu-0", "gpu.amd.com/n1/gpu-0", "");
}

static void name_that_is_too_long_keeps_its_pool(void **state)
{
	(void)state;
	char pool[400];
	struct record_device d, other;

	slices_device(slices, "gpu.nvidia.com", "a-node-of-a-long.name.example.com",
		      "gpu-0", &d);
	slices_device(slices, "gpu.nvidia.com", "a-node-of-a-long.name.example.org",
		      "gpu-0", &other);
	assert_memory_equal(d.uuid, "gpu.nvidia.com/a-node-of-a-lon#", 31);
	assert_int_equal(strlen(d.uuid), RECORD_DEVICE_ID_MAX - 1);
	assert_string_not_equal(d.uuid, other.uuid);
	/* as long as names of Kubernetes may be, and longer */
	memset(pool, 'p', sizeof(pool));
	pool[253] = '\0';
	slices_device(slices, "gpu.nvidia.com", pool, "gpu-0", &d);
	assert_string_not_equal(d.uuid, "");
	pool[253] = 'p';
	pool[sizeof(pool) - 1] = '\0';
	slices_device(slices, "gpu.nvidia.com", pool, "gpu-0", &d);
	assert_string_equal(d.uuid, "");
}

/* "A consumer must only use ResourceSlices with the highest generation number" */
static void highest_generation_of_a_pool_counts(void **state)
{
	(void)state;
	assert_int_equal(see_slice(SLICE("s1", "n1", "2", UUID("gpu-0", "GPU-new"))),
			 0);
	assert_int_equal(see_slice(SLICE("s2", "n1", "1",
					 UUID("gpu-0", "GPU-old") "," UUID(
						 "gpu-1", "GPU-gone"))),
			 0);
	assert_int_equal(see_slice(SLICE("s3", "n1", "2", UUID("gpu-2", "GPU-two"))),
			 0);
	assert_int_equal(see_slice(SLICE("s4", "other", "9", UUID("gpu-0", "GPU-x"))),
			 0);
	expect_device("gpu.nvidia.com", "gpu-0", "GPU-new", "");
	expect_device("gpu.nvidia.com", "gpu-1", "gpu.nvidia.com/n1/gpu-1", "");
	expect_device("gpu.nvidia.com", "gpu-2", "GPU-two", "");
}

static void slices_change_and_go(void **state)
{
	(void)state;
	assert_int_equal(see_slice(SLICE("s1", "n1", "1", UUID("gpu-0", "GPU-0001"))),
			 0);
	assert_int_equal(see_slice(SLICE("s2", "n1", "1", UUID("gpu-1", "GPU-0002"))),
			 0);
	assert_int_equal(see_slice(SLICE("s1", "n1", "1", UUID("gpu-0", "GPU-0009"))),
			 0);
	expect_device("gpu.nvidia.com", "gpu-0", "GPU-0009", "");
	drop_slice("s1");
	drop_slice("s1");
	expect_device("gpu.nvidia.com", "gpu-0", "gpu.nvidia.com/n1/gpu-0", "");
	expect_device("gpu.nvidia.com", "gpu-1", "GPU-0002", "");
	slices_list_begin(slices);
	assert_int_equal(see_slice(SLICE("s3", "n1", "1", UUID("gpu-3", "GPU-0003"))),
			 0);
	slices_list_end(slices);
	expect_device("gpu.nvidia.com", "gpu-1", "gpu.nvidia.com/n1/gpu-1", "");
	expect_device("gpu.nvidia.com", "gpu-3", "GPU-0003", "");
}

static void wrong_slices_change_nothing(void **state)
{
	(void)state;
	static const char *const wrong[] = {
		"{}",
		"[]",
		"{\"metadata\":{\"name\":\"a/b\"}}",
		"{\"metadata\":{\"name\":\"s1\"}}",
		"{\"metadata\":{\"name\":\"s1\"},\"spec\":{\"driver\":7,"
		"\"pool\":{\"name\":\"n1\"}}}",
		"{\"metadata\":{\"name\":\"s1\"},\"spec\":{\"driver\":\"d\","
		"\"pool\":[]}}",
	};
	assert_int_equal(see_slice(SLICE("s1", "n1", "1", UUID("gpu-0", "GPU-0001"))),
			 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (see_slice(wrong[i]) != -EBADMSG || !err.text[0])
			fail_msg("%s: taken", wrong[i]);
	}
	expect_device("gpu.nvidia.com", "gpu-0", "GPU-0001", "");
	/* devices without what would help, or too long */
	assert_int_equal(
		see_slice(SLICE(
			"s2", "n1", "1",
			"1,{},{\"name\":\"gpu-1\",\"attributes\":{\"uuid\":"
			"\"GPU-1\"}},{\"name\":\"gpu-2\",\"attributes\":{\"uuid\":"
			"{\"int\":3}}}," UUID("gpu-3",
					      "a-name-of-a-device-that-no-record-has-"
					      "room-for-at-all"))),
		0);
	expect_device("gpu.nvidia.com", "gpu-1", "gpu.nvidia.com/n1/gpu-1", "");
	expect_device("gpu.nvidia.com", "gpu-3", "gpu.nvidia.com/n1/gpu-3", "");
}

static void more_slices_than_there_is_room_for_are_left_out(void **state)
{
	(void)state;
	char text[400];
	unsigned i = 0;
	int rc = 0;

	for (; rc == 0 && i < 1000; i++) {
		(void)snprintf(text, sizeof(text),
			       "{\"metadata\":{\"name\":\"s%u\"},\"spec\":{\"driver\":"
			       "\"d\",\"pool\":{\"name\":\"n1\"}}}",
			       i);
		rc = see_slice(text);
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(i, 257);
	drop_slice("s7");
	assert_int_equal(see_slice(text), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin_test, end_test)
	const struct CMUnitTest tests[] = {
		TEST(device_is_what_its_slice_says),
		TEST(name_that_is_too_long_keeps_its_pool),
		TEST(highest_generation_of_a_pool_counts),
		TEST(slices_change_and_go),
		TEST(wrong_slices_change_nothing),
		TEST(more_slices_than_there_is_room_for_are_left_out),
	};

	return cmocka_run_group_tests_name("slices", tests, NULL, NULL);
}
