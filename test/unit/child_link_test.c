/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/sources/child_link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/courier_args.h"
#include "daemon/options.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "test/unit/unit.h"

static union {
	struct child_snapshot m;
	uint64_t align;
	char bytes[CHILD_MESSAGE_MAX];
} in;

static struct child_link *link_to(const char *how)
{
	struct conf_list args = {.items = calloc(1, sizeof(char *)), .count = 1};
	struct child_link *l = NULL;
	struct err err;
	char path[4096], arg[64];
	const char *build = getenv("BUILD");

	snprintf(path, sizeof(path), "%s/courier_rude", build ? build : "build");
	snprintf(arg, sizeof(arg), "--how=%s", how);
	args.items[0] = strdup(arg);
	if (child_link_new("courier", path, &args, &l, &err) < 0)
		fail_msg("%s", err.text);
	conf_list_done(&args);
	assert_int_equal(child_link_start(l, &err), 0);
	return l;
}

static int get_snapshot(struct child_link *l)
{
	return child_link_get(l, CHILD_SNAPSHOT, "redfish", &in, sizeof(in));
}

static void pause_ms(unsigned ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
	nanosleep(&t, NULL);
}

/* Until the child that is alive has said something: its pid is the value */
static uint64_t wait_value(struct child_link *l, uint64_t other_than)
{
	for (int i = 0; i < 2000; i++) {
		if (get_snapshot(l) > 0 && in.m.channels[0].value != other_than)
			return in.m.channels[0].value;
		pause_ms(10);
	}
	fail_msg("the child says nothing");
	return 0;
}

static bool wait_starts(struct child_link *l, uint64_t n)
{
	for (int i = 0; i < 2000 && child_link_starts(l) < n; i++)
		pause_ms(10);
	return child_link_starts(l) >= n;
}

static void the_newest_message_is_kept(void **state)
{
	(void)state;
	struct child_link *l = link_to("good");
	wait_value(l, 0);
	assert_int_equal(in.m.head.count, 1);
	assert_string_equal(in.m.channels[0].name, "host");
	assert_int_equal(child_link_get(l, CHILD_SNAPSHOT, "other", &in, sizeof(in)),
			 -EAGAIN);
	assert_int_equal(child_link_get(l, CHILD_HEALTH, "redfish", &in, sizeof(in)),
			 -EAGAIN);
	assert_int_equal(child_link_get(l, CHILD_SNAPSHOT, "redfish", &in, 10), -EFBIG);
	child_link_free(l);
	l = link_to("floods");
	while (wait_value(l, 0) != 99999)
		pause_ms(1);
	assert_int_equal(child_link_starts(l), 1);
	child_link_free(l);
}

static void a_child_that_is_killed_is_started_again(void **state)
{
	(void)state;
	struct child_link *l = link_to("good");
	uint64_t pid = wait_value(l, 0);
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	/* what it said stays, and ages */
	assert_true(get_snapshot(l) > 0 && in.m.channels[0].value == pid);
	assert_true(wait_value(l, pid) != pid);
	assert_int_equal(child_link_starts(l), 2);
	child_link_free(l);
}

/* SIGHUP: it reads its files anew, at once and without the gaps of one that dies */
static void a_child_is_started_anew_when_it_is_wanted(void **state)
{
	(void)state;
	struct child_link *l = link_to("good");
	uint64_t pid = wait_value(l, 0);
	for (uint64_t n = 2; n <= 4; n++) {
		child_link_restart(l);
		assert_true(wait_starts(l, n));
		assert_true(kill((pid_t)pid, 0) < 0 && errno == ESRCH);
		pid = wait_value(l, pid);
	}
	assert_int_equal(child_link_starts(l), 4);
	child_link_restart(l);
	child_link_free(l); /* both at once end well */
	child_link_restart(NULL);
}

/* Each life costs at least the gap: 1 s, 2 s, ... */
static void a_child_that_keeps_dying_is_started_ever_more_seldom(void **state)
{
	(void)state;
	struct child_link *l = link_to("dies");
	assert_true(wait_starts(l, 3));
	uint64_t start = clock_boottime_ns();
	pause_ms(2000);
	/* the third gap is 4 s: none starts as long as half of it */
	if (clock_boottime_ns() - start < 3 * NSEC_PER_SEC)
		assert_int_equal(child_link_starts(l), 3);
	assert_int_equal(get_snapshot(l), -EAGAIN);
	child_link_free(l);
}

static void a_child_that_speaks_nonsense_is_ended(void **state)
{
	(void)state;
	static const char *const hows[] = {"nonsense", "long"};
	for (size_t i = 0; i < 2; i++) {
		struct child_link *l = link_to(hows[i]);
		uint64_t pid = wait_value(l, 0);
		assert_true(wait_starts(l, 2));
		assert_true(kill((pid_t)pid, 0) < 0 && errno == ESRCH);
		child_link_free(l);
	}
}

static void the_child_ends_with_us_even_if_it_hangs(void **state)
{
	(void)state;
	static const char *const hows[] = {"good", "hangs"};
	for (size_t i = 0; i < 2; i++) {
		struct child_link *l = link_to(hows[i]);
		uint64_t pid = wait_value(l, 0);
		assert_int_equal(kill((pid_t)pid, 0), 0);
		child_link_free(l);
		assert_true(kill((pid_t)pid, 0) < 0 && errno == ESRCH);
	}
}

static void a_program_that_is_not_there_is_said_at_once(void **state)
{
	(void)state;
	struct conf_list none = {0};
	struct child_link *l = NULL;
	struct err err;
	assert_int_equal(
		child_link_new("courier", "/nonexistent/courier", &none, &l, &err),
		-ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/courier"));
	child_link_free(NULL);
}

/* So that nobody waits for a mute BMC's address when the file has a name */
static void a_redfish_file_that_names_a_host_is_seen(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool named;
	} cases[] = {
		{"redfish_config:\n  hostname: \"{hostname}-bmc\"\n", true},
		{"redfish_config:\n  hostname: node1-bmc", true},
		{"redfish_config:\n  # hostname: node1-bmc\n  port: 443\n", false},
		{"redfish_config:\n  hostname:\n  port: 443\n", false},
		{"redfish_config:\n  hostname: \"\"\n", false},
		{"", false},
	};
	char path[] = "/tmp/ceems-courier-test.XXXXXX";
	struct options o = {.redfish_config_file = path};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = strlen(cases[i].text);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, cases[i].text, len, 0), (ssize_t)len);
		if (courier_names_bmc(&o) != cases[i].named)
			fail_msg("case %zu", i);
	}
	close(fd);
	unlink(path);
	assert_false(courier_names_bmc(&o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_redfish_file_that_names_a_host_is_seen),
		cmocka_unit_test(the_newest_message_is_kept),
		cmocka_unit_test(a_child_that_is_killed_is_started_again),
		cmocka_unit_test(a_child_is_started_anew_when_it_is_wanted),
		cmocka_unit_test(a_child_that_keeps_dying_is_started_ever_more_seldom),
		cmocka_unit_test(a_child_that_speaks_nonsense_is_ended),
		cmocka_unit_test(the_child_ends_with_us_even_if_it_hangs),
		cmocka_unit_test(a_program_that_is_not_there_is_said_at_once),
	};
	log_init("child_link_test", LOG_LOGFMT, LOG_ERR);
	return cmocka_run_group_tests_name("child_link_test", tests, NULL, NULL);
}
