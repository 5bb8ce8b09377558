/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/siphash.h"

#include "test/unit/unit.h"

/* The reference's key, 00 01 .. 0f, and its first result of SipHash-1-3 */
static const uint64_t key[2] = {0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull};

static void the_empty_text_has_the_references_hash(void **state)
{
	(void)state;
	assert_true(siphash13(key, "", 0) == 0xabac0158050fc4dcull);
}

static void each_byte_the_length_and_the_key_count(void **state)
{
	(void)state;
	static const uint64_t other[2] = {0x0706050403020100ull, 0};
	const char text[25] = "abcdefghijklmnopqrstuvwx";
	char changed[25];

	for (size_t len = 0; len < 24; len++) {
		uint64_t h = siphash13(key, text, len);

		assert_true(h == siphash13(key, text, len));
		assert_true(h != siphash13(key, text, len + 1));
		assert_true(h != siphash13(other, text, len));
		for (size_t i = 0; i < len; i++) {
			for (size_t k = 0; k < sizeof(text); k++)
				changed[k] = text[k];
			changed[i] ^= 1;
			assert_true(h != siphash13(key, changed, len));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_empty_text_has_the_references_hash),
		cmocka_unit_test(each_byte_the_length_and_the_key_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
