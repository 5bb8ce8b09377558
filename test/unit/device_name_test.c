/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "contrib/k8s/device_name.h"
#include "test/unit/unit.h"

static void short_name_is_kept_whole(void **state)
{
	char name[RECORD_DEVICE_ID_MAX], want[RECORD_DEVICE_ID_MAX];
	(void)state;

	memset(want, 'x', sizeof(want) - 1);
	want[sizeof(want) - 1] = '\0';
	device_name_put(name, want, sizeof(want) - 1);
	assert_string_equal(name, want);
	device_name_put(name, want, 3);
	assert_string_equal(name, "xxx");
	device_name_put(name, want, 0);
	assert_string_equal(name, "");
}

/* The hash is what nodes and releases have in common: it is not to change. */
static void long_name_is_its_beginning_and_a_hash(void **state)
{
	static const char text[] = "gpu.example.com/pool-of-a-node/device-0123456789";
	char name[RECORD_DEVICE_ID_MAX], other[RECORD_DEVICE_ID_MAX];
	(void)state;

	assert_int_equal(strlen(text), RECORD_DEVICE_ID_MAX);
	device_name_put(name, text, strlen(text));
	assert_string_equal(name, "gpu.example.com/pool-of-a-node#ba930d610c5c6c9a");
	assert_int_equal(strlen(name), RECORD_DEVICE_ID_MAX - 1);
	device_name_put(other, text, strlen(text) - 1);
	assert_string_not_equal(name, other);
}

static void long_names_with_one_beginning_stay_apart(void **state)
{
	char text[200], names[200][RECORD_DEVICE_ID_MAX];
	(void)state;

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < 200 - RECORD_DEVICE_ID_MAX; i++) {
		device_name_put(names[i], text, RECORD_DEVICE_ID_MAX + i);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
	}
}

static struct record_device device_of(const char *id)
{
	struct record_device d;

	device_name_of_plugin(id, &d);
	return d;
}

static void ids_of_device_plugins_are_told_apart(void **state)
{
	(void)state;
	assert_string_equal(device_of("0000:3b:00.0").pci, "0000:3b:00.0");
	assert_string_equal(device_of("0000:3b:00.0").uuid, "");
	assert_string_equal(device_of("GPU-0001").uuid, "GPU-0001");
	assert_int_equal(device_of("GPU-0001").share_permille, 1000);
	assert_string_equal(device_of("GPU-0001::3").uuid, "GPU-0001");
	assert_int_equal(device_of("GPU-0001::3").share_permille, 0);
	assert_string_equal(device_of("::").uuid, "");
	assert_string_equal(device_of("").uuid, "");
	assert_string_equal(device_of("").pci, "");
}

static void old_names_of_instances_have_room_in_parts(void **state)
{
	static const char gpu[] = "GPU-4b20d080-1b54-4048-85b3-a6a62d165c01";
	struct record_device d =
		device_of("MIG-GPU-4b20d080-1b54-4048-85b3-a6a62d165c01/13/0");
	(void)state;

	assert_string_equal(d.uuid, gpu);
	assert_string_equal(d.mig, "13/0");
	d = device_of("MIG-GPU-4b20d080-1b54-4048-85b3-a6a62d165c01/1/0::2");
	assert_string_equal(d.uuid, gpu);
	assert_string_equal(d.mig, "1/0");
	assert_int_equal(d.share_permille, 0);
	/* not one, or nothing that has room */
	assert_string_equal(device_of("MIG-GPU-1").uuid, "MIG-GPU-1");
	assert_string_equal(device_of("MIG-GPU-1/123456789012345/0").mig, "");
	assert_string_equal(device_of("MIG-GPU-1/").uuid, "MIG-GPU-1/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_name_is_kept_whole),
		cmocka_unit_test(long_name_is_its_beginning_and_a_hash),
		cmocka_unit_test(long_names_with_one_beginning_stay_apart),
		cmocka_unit_test(ids_of_device_plugins_are_told_apart),
		cmocka_unit_test(old_names_of_instances_have_room_in_parts),
	};

	return cmocka_run_group_tests_name("device_name", tests, NULL, NULL);
}
