/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The view of a live ring, and the program that prints it. */
#include "test/unit/ring_fixture.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "cli/tool/ringview.h"
#include "lib/records/record.h"

static int publish_step(struct ring *r, uint32_t step, const char *name)
{
	unsigned char wire[RING_RECORD_MAX];
	struct record rec;

	record_init(&rec, RECORD_STEP_START, MANAGER_SLURM);
	rec.realtime_ns = rec.boottime_ns = 5;
	rec.step = step;
	record_set(&rec, rec.unit, sizeof(rec.unit), "4711");
	record_set(&rec, rec.name, sizeof(rec.name), name);
	record_add_cgroup(&rec, CGROUP_MEMORY, "/slurm/uid_0/job_4711");
	int len = record_encode(&rec, wire, sizeof(wire));
	assert_true(len > 0);
	return ring_publish(r, wire, (size_t)len);
}

static void consume_one(struct fixture *f)
{
	char text[RING_RECORD_MAX + 1];

	assert_string_not_equal(consume_text(&f->consumer, text), "(empty)");
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in:\n%s", part, text);
}

static char *view_json(struct fixture *f, uint64_t pos, struct buf *b)
{
	struct ringview v;

	buf_reset(b);
	ringview_look(&f->consumer, pos, &v);
	ringview_put_json(b, &v);
	return b->data;
}

static void each_state_of_a_position_is_told_apart(void **state)
{
	struct fixture *f = *state;
	auto_buf struct buf b = BUF_INIT;
	uint64_t first, end;

	assert_int_equal(publish_step(&f->producer, 0, "a"), 0);
	assert_int_equal(publish_step(&f->producer, 1, "b"), 0);
	assert_int_equal(publish_text(&f->producer, "not a record"), 0);
	has(view_json(f, 0, &b), "\"state\":\"pending\"");
	consume_one(f);
	has(view_json(f, 0, &b), "\"state\":\"consumed\"");
	has(b.data, "\"unit\":\"4711\",\"step\":\"0\"");
	has(b.data, "\"cgroups\":{\"memory\":\"/slurm/uid_0/job_4711\"}");
	has(b.data, "\"hints\":{\"name\":\"a\"}}\n");
	f->consumer.slots[1].data[3] ^= 1; /* damaged: the consumer skips it */
	has(view_json(f, 1, &b), "checksum");
	consume_one(f);
	has(view_json(f, 1, &b), "\"state\":\"hole\"");
	has(view_json(f, 2, &b), "\"error\":\"record: unknown type");
	has(view_json(f, 3, &b), "\"state\":\"none\"");
	for (uint32_t i = 0; i < SLOTS; i++) { /* to the next lap */
		assert_int_equal(publish_step(&f->producer, i, "c"), 0);
		consume_one(f);
	}
	has(view_json(f, 2, &b), "\"state\":\"gone\"");
	ringview_range(&f->consumer, &first, &end);
	assert_int_equal(end, SLOTS + 3);
	assert_int_equal(first, 3);
}

static void hostile_text_stays_json(void **state)
{
	struct fixture *f = *state;
	auto_buf struct buf b = BUF_INIT;

	assert_int_equal(publish_step(&f->producer, 0, "\"\n\\\xff\xc3\xa4"), 0);
	has(view_json(f, 0, &b), "\"name\":\"\\\"\\u000a\\\\\\ufffd\xc3\xa4\"");
	assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1);
}

/* ---- the program ----------------------------------------------------------------- */

static const char *program(void)
{
	static char path[512];
	const char *build = getenv("BUILD");

	snprintf(path, sizeof(path), "%s/ceems-ringdump", build ? build : "build");
	return path;
}

struct run {
	pid_t pid;
	int out;
};

/* stdout and stderr together */
static struct run start(const char *option, const char *ring)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		execl(program(), "ceems-ringdump", option, ring, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	return (struct run){pid, fds[0]};
}

/* Reads until the text is there, or the end; never waits for longer than 20 s. */
static void read_until(struct run r, const char *wanted, char *text, size_t size)
{
	size_t len = strlen(text);
	struct pollfd p = {.fd = r.out, .events = POLLIN};

	while (!wanted || !strstr(text, wanted)) {
		if (poll(&p, 1, 20000) <= 0)
			fail_msg("no %s in:\n%s", wanted ? wanted : "end", text);
		ssize_t n = read(r.out, text + len, size - len - 1);
		assert_true(n >= 0);
		if (n == 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
	}
}

static int end(struct run r)
{
	int status = -1;

	assert_int_equal(waitpid(r.pid, &status, 0), r.pid);
	close(r.out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void dump_prints_pending_and_recent_and_consumes_nothing(void **state)
{
	struct fixture *f = *state;
	char text[16384] = "";

	assert_int_equal(publish_step(&f->producer, 0, "recent"), 0);
	assert_int_equal(publish_step(&f->producer, 1, "waiting"), 0);
	consume_one(f);
	unsigned char *before = malloc(f->consumer.bytes);
	assert_non_null(before);
	memcpy(before, f->consumer.header, f->consumer.bytes);
	struct run r = start(f->path, NULL);
	read_until(r, NULL, text, sizeof(text));
	assert_int_equal(end(r), 0);
	has(text, "{\"pos\":0,\"state\":\"consumed\",\"type\":\"step_start\"");
	has(text, "\"name\":\"recent\"");
	has(text, "{\"pos\":1,\"state\":\"pending\",");
	has(text, "\"name\":\"waiting\"");
	assert_null(strstr(text, "\"pos\":2"));
	assert_memory_equal(before, f->consumer.header, f->consumer.bytes);
	free(before);
}

static void state_is_one_object(void **state)
{
	struct fixture *f = *state;
	char text[4096] = "";

	for (unsigned i = 0; i < SLOTS + 3; i++)
		(void)!publish_step(&f->producer, i, "x");
	consume_one(f);
	struct run r = start("-s", f->path);
	read_until(r, NULL, text, sizeof(text));
	assert_int_equal(end(r), 0);
	has(text,
	    "\"slots\":16,\"slot_bytes\":1024,\"head\":16,\"tail\":1,\"pending\":15,"
	    "\"dropped\":3,\"torn\":0,\"heartbeat_age_seconds\":");
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void follow_prints_each_new_record_also_of_a_new_ring(void **state)
{
	struct fixture *f = *state;
	char text[65536] = "", name[32];
	bool made;

	struct run r = start("-f", f->path);
	for (uint32_t i = 0; i < 3 * SLOTS; i++) {
		snprintf(name, sizeof(name), "\"name\":\"n%u\"", i);
		name[strlen(name) - 1] = '\0';
		assert_int_equal(publish_step(&f->producer, i, name + 8), 0);
		consume_one(f);
		snprintf(name, sizeof(name), "\"name\":\"n%u\"", i);
		read_until(r, name, text, sizeof(text));
	}
	ring_consumer_close(&f->consumer);
	assert_int_equal(
		ring_consumer_open(f->path, SLOTS * 2, &f->consumer, &made, &f->err),
		0);
	assert_true(made);
	assert_int_equal(ring_send(f->path, geteuid(), "other", 5, &f->err), 0);
	read_until(r, "\"error\":\"record: unknown type", text, sizeof(text));
	assert_int_equal(kill(r.pid, SIGTERM), 0);
	assert_int_equal(end(r), -SIGTERM);
}

static void what_is_no_ring_is_said_and_exits_1(void **state)
{
	struct fixture *f = *state;
	char text[4096] = "";

	struct run r = start("-s", f->other);
	read_until(r, NULL, text, sizeof(text));
	assert_int_equal(end(r), 1);
	has(text, "ceems-ringdump: open ");
	has(text, "No such file");
}

static void wrong_arguments_exit_2_and_help_0(void **state)
{
	struct fixture *f = *state;
	char text[4096] = "";

	struct run r = start("-x", f->path);
	read_until(r, NULL, text, sizeof(text));
	assert_int_equal(end(r), 2);
	r = start("-fs", f->path);
	read_until(r, NULL, text, sizeof(text));
	assert_int_equal(end(r), 2);
	r = start("--help", NULL);
	read_until(r, NULL, text, sizeof(text));
	assert_int_equal(end(r), 0);
	has(text, "--follow");
}

#define RING_TEST(t) cmocka_unit_test_setup_teardown(t, fixture_up, fixture_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RING_TEST(each_state_of_a_position_is_told_apart),
		RING_TEST(hostile_text_stays_json),
		RING_TEST(dump_prints_pending_and_recent_and_consumes_nothing),
		RING_TEST(state_is_one_object),
		RING_TEST(follow_prints_each_new_record_also_of_a_new_ring),
		RING_TEST(what_is_no_ring_is_said_and_exits_1),
		RING_TEST(wrong_arguments_exit_2_and_help_0),
	};
	return cmocka_run_group_tests_name("ringdump", tests, NULL, NULL);
}
