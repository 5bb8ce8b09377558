/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What slurmctld waits for when it tells our plugin of a job: the real plugin, loaded
 * into a process that says it is slurmctld, with a real job_record_t, its spool on the
 * disk and nobody who fetches from it. Calls come 1000 a second, and the caches are
 * somebody else's for 100 us before every tenth, as in a slurmctld that does other
 * things. The control is the same loop around a function that does nothing.
 *
 *	jobcomp_bench PLUGIN FOLDER
 */
#include <src/common/slurm_xlator.h>

#include <src/common/assoc_mgr.h>
#include <src/common/read_config.h>
#include <src/slurmctld/slurmctld.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clock.h"

#define CALLS 5000u

extern char *slurm_prog_name;

typedef int log_record_f(job_record_t *job);

static int nothing(job_record_t *job)
{
	(void)job;
	return 0;
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

static void fill(job_record_t *j, struct job_details *d)
{
	static char *gres[] = {(char *)"gpu:a100:4(IDX:0-3)",
			       (char *)"gpu:a100:4(IDX:0-3)"};

	d->submit_time = d->begin_time = time(NULL) - 100;
	d->work_dir = (char *)"/home/ann/projects/simulation/run-42";
	d->num_tasks = 8;
	j->details = d;
	j->account = (char *)"physics";
	j->name = (char *)"simulation-with-a-name";
	j->comment = (char *)"a comment of some length";
	j->partition = (char *)"main";
	j->user_name = (char *)"ann";
	j->nodes = (char *)"node[001-002]";
	j->job_state = JOB_COMPLETING | JOB_COMPLETE;
	j->array_task_id = NO_VAL;
	j->time_limit = 60;
	j->start_time = time(NULL) - 90;
	j->end_time = time(NULL);
	j->total_cpus = 64;
	j->total_nodes = 2;
	j->tres_req_str = (char *)"1=64,2=524288,4=2,5=64";
	j->tres_alloc_str = (char *)"1=64,2=524288,3=18446744073709551614,4=2,5=64";
	j->gres_detail_cnt = 2;
	j->gres_detail_str = gres;
}

static void measure(log_record_f *call, const char *what, bool reach)
{
	static uint64_t ns[CALLS];
	static struct job_details details;
	static job_record_t job;

	fill(&job, &details);
	for (uint32_t i = 0; i < CALLS; i++) {
		job.job_id = i + 1;
		usleep(1000);
		if (i % 10 == 0)
			sweep();
		uint64_t from = clock_read_ns(CLOCK_MONOTONIC);
		call(&job);
		ns[i] = clock_read_ns(CLOCK_MONOTONIC) - from;
	}
	qsort(ns, CALLS, sizeof(ns[0]), by_value);
	double p50 = (double)ns[CALLS / 2] / 1000;
	double p99 = (double)ns[CALLS / 100 * 99] / 1000;
	printf("{\"bench\":\"jobcomp\",\"metric\":\"%s_p50\",\"value\":%.2f,\"unit\":"
	       "\"us\"}\n",
	       what, p50);
	printf("{\"bench\":\"jobcomp\",\"metric\":\"%s_p99\",\"value\":%.2f,\"unit\":"
	       "\"us\"",
	       what, p99);
	if (reach)
		printf(",\"reach\":\"< 20\",\"ok\":%s", p99 < 20 ? "true" : "false");
	printf("}\n");
}

static void *symbol(void *plugin, const char *name)
{
	void *f = dlsym(plugin, name);

	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return f;
}

int main(int argc, char *argv[])
{
	char options[512];

	if (argc != 3)
		return 2;
	snprintf(options, sizeof(options), "%s/jobcomp.yaml", argv[2]);
	FILE *f = fopen(options, "we");
	if (!f || fprintf(f, "spool: %s/spool\n", argv[2]) < 0 || fclose(f) != 0)
		return 1;
	setenv("CEEMS_JOBCOMP_CONF", options, 1);
	slurm_prog_name = (char *)"slurmctld";
	slurm_conf.cluster_name = (char *)"bench";
	void *plugin = dlopen(argv[1], RTLD_LAZY);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	int (*init)(void) = (int (*)(void))symbol(plugin, "init");
	int (*fini)(void) = (int (*)(void))symbol(plugin, "fini");
	log_record_f *call = (log_record_f *)symbol(plugin, "jobcomp_p_log_record");
	if (init() != SLURM_SUCCESS)
		return 1;
	measure(nothing, "empty_call", false);
	measure(call, "call", true);
	return fini() == SLURM_SUCCESS ? 0 : 1;
}
