/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <string.h>

#include "lib/crc32c.h"
#include "test/unit/unit.h"

/* RFC 3720 appendix B.4 */
static void crc32c_gives_the_rfc_3720_examples(void **state)
{
	unsigned char b[32];
	(void)state;

	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
	memset(b, 0, sizeof(b));
	assert_int_equal(crc32c(0, b, sizeof(b)), 0x8a9136aau);
	memset(b, 0xff, sizeof(b));
	assert_int_equal(crc32c(0, b, sizeof(b)), 0x62a8ab43u);
	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = (unsigned char)i;
	assert_int_equal(crc32c(0, b, sizeof(b)), 0x46dd794eu);
	assert_int_equal(crc32c(0, b, 0), 0);
}

static void instruction_and_table_agree_at_every_length_and_alignment(void **state)
{
	unsigned char b[300];
	uint32_t x = 1;
	(void)state;

	for (unsigned i = 0; i < sizeof(b); i++) {
		x = x * 1664525u + 1013904223u;
		b[i] = (unsigned char)(x >> 24);
	}
	for (size_t at = 0; at < 9; at++)
		for (size_t len = 0; len + at <= sizeof(b); len++)
			assert_int_equal(crc32c(0, b + at, len),
					 crc32c_portable(0, b + at, len));
}

static void crc32c_of_pieces_is_that_of_the_whole(void **state)
{
	static const char text[] = "one slot holds one record, and one record one step";
	(void)state;

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		uint32_t c = crc32c(0, text, cut);
		assert_int_equal(crc32c(c, text + cut, sizeof(text) - cut),
				 crc32c(0, text, sizeof(text)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c_gives_the_rfc_3720_examples),
		cmocka_unit_test(
			instruction_and_table_agree_at_every_length_and_alignment),
		cmocka_unit_test(crc32c_of_pieces_is_that_of_the_whole),
	};
	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
