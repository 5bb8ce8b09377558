/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --ceems-report in a pretended slurmstepd: when it comes, where it goes, and that it
 * never waits. What it says is report_test.c's. */
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>

#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/records/energy_page.h"
#include "test/unit/spank_world.h"

/* fd 2 of the test while hooks run: the step's stderr */
struct terminal {
	int kept, in;
};

static struct terminal stderr_is(int fd)
{
	struct terminal t = {.kept = dup(STDERR_FILENO), .in = -1};
	fflush(stderr);
	assert_true(t.kept >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	return t;
}

static struct terminal stderr_is_pipe(void)
{
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	struct terminal t = stderr_is(fds[1]);
	t.in = fds[0];
	return t;
}

static void stderr_back(struct terminal *t)
{
	if (t->kept >= 0)
		dup2(t->kept, STDERR_FILENO);
	cleanup_close(&t->kept);
}

/* What has been written, at most size - 1 bytes; stderr is the test's again */
static void read_all(struct terminal *t, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;
	stderr_back(t);
	while (len < size - 1 && (n = read(t->in, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	cleanup_close(&t->in);
}

static void begin(struct world *w, const char *argument, const char *value)
{
	assert_int_equal(init(w, argument, NULL), 0);
	assert_int_equal(fake_option("ceems-report", value, 1), 0);
	fork_task(TASK_PID);
}

static void write_page(const char *path, uint32_t job, uint32_t step)
{
	struct energy_page_writer *w;
	struct err err;
	struct energy_page_node node = {
		.tick_ns = clock_boottime_ns(),
		.interval_ns = NSEC_PER_SEC,
		.total_mask = 1u << ENERGY_PAGE_PACKAGE,
		.emission_mg_per_kwh = 100000,
		.emission_provider = "global",
	};
	struct energy_page_row row = {.job = job,
				      .step = step,
				      .stepd_pid = (uint32_t)getpid(),
				      .total_uj = 7200000000,
				      .uj = {7200000000}};
	snprintf(node.source[0], sizeof(node.source[0]), "rapl");
	if (energy_page_writer_open(path, 16, &w, &err) < 0)
		fail_msg("%s", err.text);
	energy_page_begin(w, &node);
	assert_int_equal(energy_page_add(w, &row), 0);
	assert_int_equal(energy_page_commit(w, &err), 0);
	energy_page_writer_free(w);
}

static void page_of(const struct world *w, char *ret, size_t size, const char *name)
{
	int n = snprintf(ret, size, "%s/%s", w->folder, name);
	assert_true(n > 0 && (size_t)n < size);
}

/* ---- when ------------------------------------------------------------------------ */

static void report_comes_when_the_last_task_has_ended(void **state)
{
	struct world *w = *state;
	char text[8192];
	make_v1(w);
	fake.tasks = 2;
	fake.step_mem_mb = 100;
	struct terminal t = stderr_is_pipe();
	struct pollfd p = {.fd = t.in, .events = POLLIN};
	begin(w, NULL, NULL);
	end_task(0);
	int early = poll(&p, 1, 0);
	end_task(0);
	leave();
	read_all(&t, text, sizeof(text));
	assert_int_equal(early, 0);
	assert_non_null(strstr(text, "ceems: job 41, step 0\n"));
	assert_non_null(strstr(text, "CPU        0.007 s on 2 CPUs, "));
	assert_non_null(strstr(text, "4 KiB at most, of 100 MiB asked for"));
	assert_non_null(strstr(text, "not known: ceemsd does not measure any"));
	assert_null(strstr(strstr(text, "ceems:") + 1, "ceems:")); /* once */
	assert_int_equal(fake_logged(FAKE_VERBOSE), 0);
}

static void only_the_first_node_of_a_step_reports(void **state)
{
	struct world *w = *state;
	char text[8192];
	make_v1(w);
	for (uint32_t node = 0; node < 2; node++) {
		fake_reset();
		fake.nodes = 2;
		fake.node = node;
		struct terminal t = stderr_is_pipe();
		begin(w, NULL, NULL);
		end_task(0);
		leave();
		read_all(&t, text, sizeof(text));
		if (node) {
			assert_string_equal(text, "");
			continue;
		}
		assert_non_null(strstr(text, "ceems: job 41, step 0, node 1 of 2\n"));
		assert_non_null(strstr(text, "cacct --job 41\n"));
	}
}

static void nothing_is_written_or_opened_when_not_asked_or_not_allowed(void **state)
{
	struct world *w = *state;
	char text[8192], path[128];
	make_v1(w);
	page_of(w, path, sizeof(path), "energy");
	assert_int_equal(mkfifo(path, 0600), 0); /* whoever opens it is heard of */
	for (int denied = 0; denied < 2; denied++) {
		fake_reset();
		struct terminal t = stderr_is_pipe();
		if (denied) {
			begin(w, "report=deny", "json");
		} else {
			init(w, NULL, NULL);
			fork_task(TASK_PID);
		}
		end_task(0);
		leave();
		read_all(&t, text, sizeof(text));
		assert_string_equal(text, "");
		assert_null(fake_log_line("energy"));
	}
}

static void extern_step_reports_nothing(void **state)
{
	struct world *w = *state;
	char text[8192];
	fake.step = RECORD_STEP_EXTERN;
	struct terminal t = stderr_is_pipe();
	begin(w, NULL, NULL);
	end_task(0);
	leave();
	read_all(&t, text, sizeof(text));
	assert_string_equal(text, "");
}

/* ---- energy ---------------------------------------------------------------------- */

static void energy_is_that_of_the_steps_row_beside_the_ring(void **state)
{
	struct world *w = *state;
	char text[8192], path[128];
	make_v1(w);
	page_of(w, path, sizeof(path), "energy");
	write_page(path, 41, 0);
	struct terminal t = stderr_is_pipe();
	begin(w, NULL, "json");
	end_task(0);
	read_all(&t, text, sizeof(text));
	assert_non_null(strstr(text, "\"energy\":{\"wh\":2,\"joules\":7200,"
				     "\"provisional\":true,"));
	assert_non_null(strstr(text, "{\"domain\":\"package\",\"source\":\"rapl\","
				     "\"wh\":2,\"in_total\":true"));
	assert_non_null(strstr(text, "\"co2e_grams\":0.2,\"grams_per_kwh\":100,"
				     "\"provider\":\"global\"}"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void energy_page_may_be_elsewhere(void **state)
{
	struct world *w = *state;
	char text[8192], path[128], argument[160];
	make_v1(w);
	page_of(w, path, sizeof(path), "page");
	write_page(path, 41, 0);
	snprintf(argument, sizeof(argument), "energy=%s", path);
	struct terminal t = stderr_is_pipe();
	begin(w, argument, NULL);
	end_task(0);
	read_all(&t, text, sizeof(text));
	assert_non_null(strstr(text, "energy     2 Wh, provisional: package 2 (rapl)"));
}

static void page_that_cannot_be_trusted_is_not_believed(void **state)
{
	struct world *w = *state;
	char text[8192], path[128];
	make_v1(w);
	page_of(w, path, sizeof(path), "energy");
	write_page(path, 41, 0);
	assert_int_equal(chmod(path, 0644), 0);
	struct terminal t = stderr_is_pipe();
	begin(w, NULL, NULL);
	end_task(0);
	read_all(&t, text, sizeof(text));
	assert_non_null(strstr(text, "not known: ceemsd's energy page cannot be read"));
	assert_non_null(fake_log_line("mode 0644, refused"));
}

/* ---- where ----------------------------------------------------------------------- */

static void fill(int fd)
{
	static const char block[4096];
	int flags = fcntl(fd, F_GETFL);
	assert_int_equal(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
	while (write(fd, block, sizeof(block)) > 0)
		continue;
	while (write(fd, block, 1) > 0)
		continue;
	assert_int_equal(fcntl(fd, F_SETFL, flags), 0);
}

/* through a description of its own, and where /proc is not to be had */
static void full_or_broken_pipe_holds_nobody_up(void **state)
{
	struct world *w = *state;
	static const char *const procs[] = {"/proc", NULL};
	make_v1(w);
	(void)signal(SIGPIPE, SIG_DFL); /* would end the test */
	for (int i = 0; i < 4; i++) {
		fake_reset();
		step_host.proc = procs[i % 2] ? procs[i % 2] : w->proc;
		struct terminal t = stderr_is_pipe();
		if (i < 2)
			fill(STDERR_FILENO);
		else
			cleanup_close(&t.in);
		alarm(200);
		begin(w, NULL, NULL);
		end_task(0);
		alarm(0);
		stderr_back(&t);
		cleanup_close(&t.in);
		assert_non_null(fake_log_line("job 41: report not written"));
	}
}

static void stderr_of_the_other_processes_stays_as_it_is(void **state)
{
	struct world *w = *state;
	char text[8192];
	step_host.proc = "/proc";
	struct terminal t = stderr_is_pipe();
	int before = fcntl(STDERR_FILENO, F_GETFL);
	begin(w, NULL, NULL);
	end_task(0);
	int after = fcntl(STDERR_FILENO, F_GETFL);
	read_all(&t, text, sizeof(text));
	assert_non_null(strstr(text, "ceems: job 41, step 0\n"));
	assert_int_equal(before, after);
}

static void batch_scripts_output_goes_on_where_it_was(void **state)
{
	struct world *w = *state;
	char text[8192] = "", path[128];
	page_of(w, path, sizeof(path), "slurm-41.out");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "hello\n", 6), 6);
	fake.step = RECORD_STEP_BATCH;
	struct terminal t = stderr_is(fd);
	begin(w, NULL, NULL);
	end_task(0);
	ssize_t n = write(STDERR_FILENO, "slurmstepd: bye\n", 16);
	ssize_t got = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);
	stderr_back(&t);
	assert_int_equal(n, 16);
	assert_true(got > 0);
	assert_memory_equal(text, "hello\nceems: job 41, step batch\n", 32);
	assert_non_null(strstr(text, "does not measure any on this node\n"
				     "  all steps  cacct --job 41\nslurmstepd: bye\n"));
}

static void closed_stderr_is_a_log_line(void **state)
{
	struct world *w = *state;
	struct terminal t = {.kept = dup(STDERR_FILENO), .in = -1};
	close(STDERR_FILENO);
	begin(w, NULL, NULL);
	end_task(0);
	stderr_back(&t);
	assert_non_null(fake_log_line("job 41: report not written: Bad file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_NODE(report_comes_when_the_last_task_has_ended),
		ON_A_NODE(only_the_first_node_of_a_step_reports),
		ON_A_NODE(nothing_is_written_or_opened_when_not_asked_or_not_allowed),
		ON_A_NODE(extern_step_reports_nothing),
		ON_A_NODE(energy_is_that_of_the_steps_row_beside_the_ring),
		ON_A_NODE(energy_page_may_be_elsewhere),
		ON_A_NODE(page_that_cannot_be_trusted_is_not_believed),
		ON_A_NODE(full_or_broken_pipe_holds_nobody_up),
		ON_A_NODE(stderr_of_the_other_processes_stays_as_it_is),
		ON_A_NODE(batch_scripts_output_goes_on_where_it_was),
		ON_A_NODE(closed_stderr_is_a_log_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
