/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of PMUs that count for a whole package. No such PMU need be here: a folder
 * names the kernel's own clock of a CPU as one, which is opened for real where that is
 * allowed; readings of a PMU whose events take turns are made up. */
#include "daemon/groups/node_figures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/groups/perf_figures.h"
#include "daemon/sources/perf_cpu.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "test/unit/scratch.h"
#include "test/unit/unit.h"

#define CLOCK                                                                          \
	"cpus: [{node_figures: [{name: clock, events: [{pmu: socket}, {pmu: socket, "  \
	"weight: 2}]}]}]\n"

static char folder[SCRATCH_PATH];
static int rootfd;
static struct perf_figures figures;
static struct env env = {.hostname = "h", .perf_figures = &figures};
static struct node_figures *node;
static struct buf text;

static void put_pmu_file(const char *pmu, const char *name, const char *content)
{
	char path[256];
	struct err err;

	(void)mkdirat(rootfd, "bus", 0755);
	(void)mkdirat(rootfd, "bus/event_source", 0755);
	(void)mkdirat(rootfd, "bus/event_source/devices", 0755);
	(void)snprintf(path, sizeof(path), "bus/event_source/devices/%s", pmu);
	(void)mkdirat(rootfd, path, 0755);
	(void)snprintf(path, sizeof(path), "bus/event_source/devices/%s/%s", pmu, name);
	assert_int_equal(
		fs_write_atomic_at(rootfd, path, content, strlen(content), 0644, &err),
		0);
}

static int open_folder(void **state)
{
	struct err err;

	(void)state;
	scratch_make(folder);
	rootfd = fs_opendir_at(AT_FDCWD, folder, &err);
	put_pmu_file("socket", "type", "1\n"); /* PERF_TYPE_SOFTWARE, 0: cpu-clock */
	put_pmu_file("socket", "cpumask", "0\n");
	env.perf_open_raw = perf_open_raw;
	return 0;
}

static int close_folder(void **state)
{
	(void)state;
	node_figures_free(node);
	node = NULL;
	perf_figures_done(&figures);
	buf_done(&text);
	close(rootfd);
	scratch_remove(folder);
	return 0;
}

static void load_figures(const char *file)
{
	char path[512];
	auto_buf struct buf notes = BUF_INIT;
	struct err err = {""};

	assert_int_equal(
		fs_write_atomic_at(rootfd, "f.yaml", file, strlen(file), 0644, &err),
		0);
	(void)snprintf(path, sizeof(path), "%s/f.yaml", folder);
	assert_int_equal(
		perf_figures_load(path, rootfd, rootfd, &figures, &notes, &err), 0);
	assert_int_equal(notes.len, 0);
}

/* The value of `clock` on a CPU, -1: absent */
static long long value_on(unsigned cpu)
{
	struct prom *p = prom_new(0);
	char line[128];
	long long v;

	node_figures_export(node, p);
	buf_reset(&text);
	assert_int_equal(prom_render(p, PROM_TEXT, &text), 0);
	prom_free(p);
	int n = snprintf(line, sizeof(line),
			 "ceems_perf_node_figure_total{hostname=\"h\",cpu=\"%u\","
			 "figure=\"clock\"} ",
			 cpu);
	const char *at = text.len ? strstr(text.data, line) : NULL;
	v = at ? strtoll(at + n, NULL, 10) : -1;
	return v;
}

static void a_package_is_read_on_the_cpu_that_its_pmu_names(void **state)
{
	const struct timespec moment = {.tv_nsec = 20 * 1000 * 1000};

	(void)state;
	load_figures(CLOCK);
	assert_int_equal(figures.count, 0);
	assert_int_equal(figures.raws.count, 0); /* none is opened for units */
	int rc = node_figures_new(&env, &node);
	if (rc < 0) {
		print_message("the kernel does not let events be opened here\n");
		skip();
	}
	(void)nanosleep(&moment, NULL);
	long long first = value_on(0);
	/* a clock of the CPU, once and twice */
	assert_true(first >= 3 * moment.tv_nsec);
	(void)nanosleep(&moment, NULL);
	assert_true(value_on(0) >= first + 3 * moment.tv_nsec);
	assert_int_equal(value_on(1), -1);
}

static const struct perf_reading *made_up;
static size_t made_up_bytes;
static int opened, refuse_from;

static int open_made_up(const struct hardware_raw *event, int cpu)
{
	(void)event;
	(void)cpu;
	if (refuse_from && ++opened >= refuse_from)
		return -ENOSPC;
	int fd = memfd_create("event", MFD_CLOEXEC);
	assert_true(write(fd, made_up, made_up_bytes) == (ssize_t)made_up_bytes);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void what_took_turns_is_scaled_and_never_falls(void **state)
{
	static const struct perf_reading readings[] = {{100, 1000, 1000},
						       {200, 2000, 1500},
						       {50, 3000, 2500},
						       {210, 4000, 2500}};

	(void)state;
	put_pmu_file("socket", "cpumask", "0,18-18\n");
	made_up = readings;
	made_up_bytes = sizeof(readings);
	refuse_from = 0;
	env.perf_open_raw = open_made_up;
	load_figures("cpus: [{node_figures: [{name: clock, events: [{pmu: socket, "
		     "config: 7, weight: 10}]}]}]\n");
	assert_int_equal(node_figures_new(&env, &node), 0);
	assert_int_equal(value_on(0), 1000);
	assert_int_equal(value_on(18), 3000); /* its second reading: 100 + 2 x 100 */
	assert_int_equal(value_on(0), 3000);  /* one that fell is passed over */
	assert_int_equal(value_on(0), 3200);  /* 10 in half of the time, scaled */
	assert_int_equal(value_on(0), 3200);  /* the event is gone */
}

static void one_that_never_counts_is_absent(void **state)
{
	static const struct perf_reading readings[] = {{0, 1000, 1000}};

	(void)state;
	made_up = readings;
	made_up_bytes = sizeof(readings);
	refuse_from = 0;
	env.perf_open_raw = open_made_up;
	load_figures(CLOCK);
	assert_int_equal(node_figures_new(&env, &node), 0);
	assert_int_equal(value_on(0), -1);
}

static void one_whose_event_is_refused_is_left_out(void **state)
{
	(void)state;
	made_up_bytes = 0;
	opened = 0;
	refuse_from = 2;
	env.perf_open_raw = open_made_up;
	load_figures(CLOCK);
	assert_int_equal(node_figures_new(&env, &node), -ENODEV);
	assert_null(node);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_folder, close_folder)
	const struct CMUnitTest tests[] = {
		TEST(a_package_is_read_on_the_cpu_that_its_pmu_names),
		TEST(what_took_turns_is_scaled_and_never_falls),
		TEST(one_that_never_counts_is_absent),
		TEST(one_whose_event_is_refused_is_left_out),
	};
	log_init("test", LOG_LOGFMT, LOG_EMERG);
	return cmocka_run_group_tests_name("node_figures", tests, NULL, NULL);
}
