/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/http_text.h"

#include <string.h>

#include "test/unit/unit.h"

/* RFC 9110, 5.6.2, as it is written there */
static const char token[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static void names_are_of_the_bytes_of_tokens_alone(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char name[3] = {'X', (char)c, 'y'};
		bool good = c && strchr(token, c);

		if (http_text_is_token(name, sizeof(name)) != good)
			fail_msg("byte %d", c);
	}
	assert_false(http_text_is_token("X", 0));
}

static void values_hold_no_control_character_but_tabs(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char value[3] = {'x', (char)c, 'y'};
		bool good = c == '\t' || (c >= ' ' && c != 0x7f);

		if (http_text_is_value(value, sizeof(value)) != good)
			fail_msg("byte %d", c);
	}
	assert_true(http_text_is_value("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_of_the_bytes_of_tokens_alone),
		cmocka_unit_test(values_hold_no_control_character_but_tabs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
