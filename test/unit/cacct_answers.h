/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_TEST_CACCT_ANSWERS_H
#define CEEMS_TEST_CACCT_ANSWERS_H

/* What the tests of cacct have in common: answers of the API and when they were given.
 */

struct json_object;

#define NOW 1774526400

/* test/fixture/api/<name>; the test fails where it cannot be read */
struct json_object *load_answer(const char *name);

/* In golden files characters are of UTF-8 and times of UTC. */
void set_environment(void);

#endif
