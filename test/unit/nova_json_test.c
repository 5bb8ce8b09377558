/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Nova says of servers, and what it never should. */
#include "aggregator/openstack/nova_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/unit.h"

#define ID "315e918b-5616-40a2-be41-7e38b4c214ae"
#define OWNER                                                                          \
	"\"user_id\": \"u1\", \"tenant_id\": \"p1\", "                                 \
	"\"created\": \"2026-11-23T23:30:41Z\""

static struct err err;
static struct buf out;
static struct nova_page page;

static int rows(const char *text)
{
	buf_reset(&out);
	page = (struct nova_page){.servers = 77};
	return nova_page_rows(text, strlen(text), &out, &page, &err);
}

static int done(void **state)
{
	(void)state;
	buf_done(&out);
	return 0;
}

static void a_server_is_a_row(void **state)
{
	(void)state;
	assert_int_equal(
		rows("{\"servers\": [{\"id\": \"" ID "\", " OWNER ", \"name\": \"h2\", "
		     "\"status\": \"ACTIVE\", \"flavor\": {\"original_name\": \"m1 "
		     "\\\"x\", \"vcpus\": 2, \"ram\": 64, \"extra_specs\": "
		     "{\"resources:VGPU\": \"1\"}}, "
		     "\"OS-SRV-USG:launched_at\": \"2026-11-23T23:30:42.000000\", "
		     "\"OS-SRV-USG:terminated_at\": null}]}"),
		0);
	assert_string_equal(out.data,
			    "[{\"id\":\"" ID "\",\"stub\":false,\"user\":\"u1\","
			    "\"project\":\"p1\",\"state\":\"ACTIVE\",\"name\":\"h2\","
			    "\"created\":1795476641,\"launched\":1795476642,"
			    "\"flavour\":\"m1 \\\"x\","
			    "\"cpus\":2,\"memory\":64,\"gpus\":1}]");
	assert_int_equal(page.servers, 1);
	assert_false(page.more);
	assert_string_equal(page.last, ID);
}

static void only_what_is_deleted_has_ended(void **state)
{
	(void)state;
	assert_int_equal(rows("{\"servers\": [{\"id\": \"" ID "\", " OWNER
			      ", \"name\": \"\", \"status\": \"SHUTOFF\", "
			      "\"OS-SRV-USG:terminated_at\": "
			      "\"2026-11-23T23:30:50.000000\"}]}"),
			 0);
	assert_null(strstr(out.data, "ended"));
	assert_int_equal(rows("{\"servers\": [{\"id\": \"" ID "\", " OWNER
			      ", \"name\": \"\", \"status\": \"DELETED\", "
			      "\"OS-SRV-USG:terminated_at\": "
			      "\"2026-11-23T23:30:50.000000\"}]}"),
			 0);
	assert_non_null(strstr(out.data, "\"ended\":1795476650"));
}

static void a_server_of_a_silent_cell_is_a_stub(void **state)
{
	(void)state;
	assert_int_equal(rows("{\"servers\": [{\"id\": \"" ID "\", " OWNER
			      ", \"status\": \"UNKNOWN\"}]}"),
			 0);
	assert_string_equal(out.data, "[{\"id\":\"" ID "\",\"stub\":true}]");
	assert_int_equal(page.stubs, 1);
}

static void there_is_more_where_nova_links_to_it(void **state)
{
	(void)state;
	assert_int_equal(rows("{\"servers\": [{\"id\": \"" ID
			      "\"}], \"servers_links\": [{\"rel\": \"next\"}]}"),
			 0);
	assert_true(page.more);
	assert_string_equal(page.last, ID);
	assert_int_equal(page.skipped, 1);
	assert_int_equal(rows("{\"servers\": [], \"servers_links\": [{}]}"), 0);
	assert_false(page.more);
	assert_int_equal(rows("{\"servers\": [{\"id\": 7}], \"servers_links\": [{}]}"),
			 -EBADMSG);
}

static void what_makes_no_sense_is_left_out(void **state)
{
	(void)state;
	assert_int_equal(
		rows("{\"servers\": [7, null, [], {}, \"x\", {\"id\": 5}, {\"id\": "
		     "\"../../x\", " OWNER "}, {\"id\": \"" ID
		     "\", \"user_id\": \"a b\", \"tenant_id\": \"p\", \"created\": "
		     "\"2026-11-23T23:30:41Z\", \"name\": \"\"}, {\"id\": \"" ID
		     "\", \"user_id\": \"u\", \"tenant_id\": \"p\", \"created\": "
		     "\"yesterday\", \"name\": \"\"}, {\"id\": \"" ID "\", " OWNER
		     ", \"name\": [\"x\"], \"status\": 5, \"flavor\": {\"vcpus\": -1, "
		     "\"ram\": \"64\"}}]}"),
		0);
	assert_int_equal(page.servers, 1);
	assert_int_equal(page.skipped, 9);
	assert_non_null(strstr(out.data, "\"state\":\"UNKNOWN\",\"name\":\"\""));
	assert_null(strstr(out.data, "cpus"));
	assert_null(strstr(out.data, "memory"));
}

static void what_is_no_list_is_refused(void **state)
{
	(void)state;
	assert_int_equal(rows("{\"servers\": {}}"), -EBADMSG);
	assert_int_equal(rows("[]"), -EBADMSG);
	assert_int_equal(rows("{\"servers\": [{\"id\": \"3"), -EBADMSG);
	assert_int_equal(rows(""), -EBADMSG);
	assert_int_equal(rows("<html>"), -EBADMSG);
	assert_int_equal(page.servers, 77);
}

static void a_name_of_ten_megabytes_is_cut_between_characters(void **state)
{
	const size_t n = 10u << 20;
	char *name = malloc(n + 1);
	struct buf text = {.max = 12u << 20};

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < n; i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[n] = '\0';
	buf_printf(&text, "{\"servers\": [{\"id\": \"%s\", %s, \"name\": \"x", ID,
		   OWNER);
	buf_puts(&text, name);
	buf_puts(&text, "\"}]}");
	free(name);
	assert_int_equal(buf_error(&text), 0);
	assert_int_equal(rows(text.data), 0);
	assert_in_range(out.len, NOVA_NAME_BYTES, NOVA_NAME_BYTES + 300);
	assert_true(utf8_is_text(out.data, out.len));
	buf_done(&text);
}

static void one_server_is_a_row_too(void **state)
{
	const char *good = "{\"server\": {\"id\": \"" ID "\", " OWNER
			   ", \"name\": \"h\", \"status\": \"ACTIVE\"}}";

	(void)state;
	buf_reset(&out);
	assert_int_equal(nova_server_row(good, strlen(good), &out, &page, &err), 0);
	assert_non_null(strstr(out.data, ID));
	assert_int_equal(nova_server_row("{}", 2, &out, &page, &err), -EBADMSG);
}

static void a_version_is_read(void **state)
{
	const char *v = "{\"version\": {\"id\": \"v2.1\", \"version\": \"2.104\"}}";
	unsigned minor = 0;

	(void)state;
	assert_int_equal(nova_version(v, strlen(v), &minor, &err), 0);
	assert_int_equal(minor, 104);
	v = "{\"version\": {\"version\": \"\"}}"; /* Nova's v2.0 */
	assert_int_equal(nova_version(v, strlen(v), &minor, &err), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_is_a_row),
		cmocka_unit_test(only_what_is_deleted_has_ended),
		cmocka_unit_test(a_server_of_a_silent_cell_is_a_stub),
		cmocka_unit_test(there_is_more_where_nova_links_to_it),
		cmocka_unit_test(what_makes_no_sense_is_left_out),
		cmocka_unit_test(what_is_no_list_is_refused),
		cmocka_unit_test(a_name_of_ten_megabytes_is_cut_between_characters),
		cmocka_unit_test(one_server_is_a_row_too),
		cmocka_unit_test(a_version_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, done);
}
