/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "lib/base64.h"
#include "test/unit/unit.h"

/* RFC 4648, section 10 */
static const struct {
	const char *bytes, *text;
} vectors[] = {
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
};

static ssize_t decode_text(const char *text, enum base64_form form, char ret[64])
{
	return base64_decode(text, strlen(text), form, ret, 64);
}

static void vectors_of_the_rfc(void **state)
{
	(void)state;
	char bytes[64];

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		size_t len = strlen(vectors[i].bytes);
		auto_buf struct buf text = BUF_INIT;
		base64_put(&text, vectors[i].bytes, len);
		assert_string_equal(text.data ? text.data : "", vectors[i].text);
		assert_int_equal(decode_text(vectors[i].text, BASE64_PADDED, bytes),
				 len);
		assert_memory_equal(bytes, vectors[i].bytes, len);
		assert_int_equal(decode_text(vectors[i].text, BASE64_URL_EITHER, bytes),
				 len);
	}
}

static void padding_is_as_the_form_says(void **state)
{
	(void)state;
	char bytes[64];

	assert_int_equal(decode_text("Zg", BASE64_URL, bytes), 1);
	assert_int_equal(decode_text("Zg", BASE64_URL_EITHER, bytes), 1);
	assert_int_equal(decode_text("Zg", BASE64_PADDED, bytes), -EINVAL);
	assert_int_equal(decode_text("Zg==", BASE64_URL, bytes), -EINVAL);
	assert_int_equal(decode_text("Zg=", BASE64_URL_EITHER, bytes), -EINVAL);
	assert_int_equal(decode_text("Z===", BASE64_PADDED, bytes), -EINVAL);
	assert_int_equal(decode_text("====", BASE64_PADDED, bytes), -EINVAL);
	assert_int_equal(decode_text("Zg==Zg==", BASE64_PADDED, bytes), -EINVAL);
}

static void each_alphabet_has_its_own_letters(void **state)
{
	(void)state;
	char bytes[64];

	assert_int_equal(decode_text("--__", BASE64_URL, bytes), 3);
	assert_int_equal(decode_text("++//", BASE64_PADDED, bytes), 3);
	assert_memory_equal(bytes, "\xfb\xef\xff", 3);
	assert_int_equal(decode_text("++//", BASE64_URL, bytes), -EINVAL);
	assert_int_equal(decode_text("--__", BASE64_PADDED, bytes), -EINVAL);
	assert_int_equal(decode_text("Zm9v\n", BASE64_URL, bytes), -EINVAL);
	assert_int_equal(decode_text("Zm 9v", BASE64_URL, bytes), -EINVAL);
}

static void bits_that_stand_for_nothing_are_0(void **state)
{
	(void)state;
	char bytes[64];

	assert_int_equal(decode_text("Zh==", BASE64_PADDED, bytes), -EINVAL);
	assert_int_equal(decode_text("Zm9", BASE64_URL, bytes), -EINVAL);
	assert_int_equal(decode_text("Z", BASE64_URL, bytes), -EINVAL);
}

static void more_than_there_is_room_for_is_refused(void **state)
{
	(void)state;
	char bytes[2];

	assert_int_equal(base64_decode("Zm9v", 4, BASE64_PADDED, bytes, 2), -ENOSPC);
	assert_int_equal(base64_decode("Zm8=", 4, BASE64_PADDED, bytes, 2), 2);
	assert_int_equal(base64_decode("", 0, BASE64_PADDED, bytes, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_of_the_rfc),
		cmocka_unit_test(padding_is_as_the_form_says),
		cmocka_unit_test(each_alphabet_has_its_own_letters),
		cmocka_unit_test(bits_that_stand_for_nothing_are_0),
		cmocka_unit_test(more_than_there_is_room_for_is_refused),
	};
	return cmocka_run_group_tests_name("base64_test", tests, NULL, NULL);
}
