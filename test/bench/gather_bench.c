/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one question of Slurm's costs in slurmstepd: the page of a node with 100 jobs of
 * two steps, rewritten ten times a second by another process, and the CPU counter of a
 * real control group. Between two questions the caches are somebody else's for 100 us,
 * as they are when Slurm asks.
 *
 *	gather_bench PID-OF-A-TASK FOLDER
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acct_gather/gather.h"
#include "lib/clock.h"
#include "lib/parse.h"

#define JOBS 100u
#define QUESTIONS 20000u

static void write_page(struct energy_page_writer *w)
{
	struct energy_page_node n = {
		.tick_ns = clock_boottime_ns(),
		.interval_ns = NSEC_PER_SEC,
		.total_mask = 1u << ENERGY_PAGE_HOST,
		.dynamic_uj_per_cpu_s = 10000000,
	};
	energy_page_begin(w, &n);
	for (uint32_t job = 1; job <= JOBS; job++) {
		for (uint32_t step = 0; step < 3; step++) {
			struct energy_page_row r = {
				.job = job,
				.step = step < 2 ? step : ENERGY_PAGE_JOB,
				.stepd_pid = job * 10,
				.total_uj = n.tick_ns / 1000,
				.alloc_mcpu = 1000,
			};
			(void)energy_page_add(w, &r);
		}
	}
	(void)energy_page_commit(w, NULL);
}

static pid_t start_writer(struct energy_page_writer *w)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		write_page(w);
		usleep(100000);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void sweep(void)
{
	static volatile char memory[4 << 20];
	for (size_t i = 0; i < sizeof(memory); i += 64)
		memory[i]++;
}

int main(int argc, char *argv[])
{
	static uint64_t ns[QUESTIONS];
	struct gather_options options;
	struct energy_page_writer *w;
	struct gather g;
	struct err err;
	uint32_t pid;
	uint64_t uj = 0;

	if (argc != 3 || parse_u32(argv[1], &pid) < 0)
		return 2;
	gather_options_init(&options);
	snprintf(options.page, sizeof(options.page), "%s/bench-page", argv[2]);
	if (energy_page_writer_open(options.page, ENERGY_PAGE_ROWS_DEFAULT, &w, &err) <
	    0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	write_page(w);
	pid_t writer = start_writer(w);
	gather_init(&g, &options, &gather_host_default);
	gather_step_begin(&g, &(struct gather_step){.job = 57,
						    .step = 1,
						    .stepd_pid = 570,
						    .alloc_mcpu = 1000});
	if (gather_step_cgroup(&g, (pid_t)pid) < 0)
		fprintf(stderr, "process %u is in no step's control group\n", pid);
	bool good = g.cpu != NULL;
	for (uint32_t i = 0; i < QUESTIONS && good; i++) {
		if (i % 10 == 0)
			sweep();
		uint64_t from = clock_boottime_ns();
		good = gather_step_now(&g, &uj) == 0;
		ns[i] = clock_boottime_ns() - from;
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	unlink(options.page);
	if (!good)
		return 1;
	qsort(ns, QUESTIONS, sizeof(ns[0]), by_value);
	double p50 = (double)ns[QUESTIONS / 2] / 1000;
	double p99 = (double)ns[QUESTIONS / 100 * 99] / 1000;
	printf("{\"bench\":\"energy_plugin\",\"metric\":\"get_data_p50\",\"value\":%."
	       "2f,"
	       "\"unit\":\"us\"}\n"
	       "{\"bench\":\"energy_plugin\",\"metric\":\"get_data_p99\",\"value\":%."
	       "2f,"
	       "\"unit\":\"us\",\"reach\":\"< 20\",\"ok\":%s}\n",
	       p50, p99, p99 < 20 ? "true" : "false");
	gather_done(&g);
	energy_page_writer_free(w);
	return 0;
}
