/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A slurmctld in the shape of one release (test/fixture/slurm_shape), as far as a
 * jobcomp plugin sees it: loads the plugin, calls it for one job as that release would,
 * and is also the plugin that is chained behind ours. Prints what that one
 * was called with.
 *
 *	jobcomp_shape_host PLUGIN */
#include <src/common/slurm_xlator.h>

#include <src/common/assoc_mgr.h>
#include <src/common/plugin.h>
#include <src/common/read_config.h>
#include <src/common/run_in_daemon.h>
#include <src/slurmctld/slurmctld.h>

#include <dlfcn.h>
#include <stdarg.h>

#define SINCE(a, b) (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(a, b, 0))

slurm_conf_t slurm_conf = {.cluster_name = (char *)"shape"};
static slurmdb_tres_rec_t cpu = {.id = 1, .type = (char *)"cpu"};
static slurmdb_tres_rec_t *all_tres[] = {&cpu};
slurmdb_tres_rec_t **assoc_mgr_tres_array = all_tres;
uint32_t g_tres_count = 1;
static int locked;

void assoc_mgr_lock(assoc_mgr_lock_t *locks)
{
	locked += locks->tres == READ_LOCK && locks->qos == READ_LOCK;
}

void assoc_mgr_unlock(assoc_mgr_lock_t *locks)
{
	(void)locks;
	locked--;
}

bool running_in_slurmctld(void)
{
	return true;
}

char *bit_fmt_full(bitstr_t *b)
{
	(void)b;
	return strdup("1-2");
}

static void print_line(const char *kind, const char *format, va_list args)
{
	printf("%s: ", kind);
	vprintf(format, args);
	putchar('\n');
}

void error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("error", format, args);
	va_end(args);
}

void info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line("info", format, args);
	va_end(args);
}

#if SINCE(24, 5)
const char *job_state_reason_string(unsigned reason);
const char *job_state_reason_string(unsigned reason)
#else
const char *job_reason_string(unsigned reason)
#endif
{
	return reason == 7 ? "NonZeroExitCode" : "None";
}

/* ---- the chained plugin ---------------------------------------------------------- */

#if SINCE(25, 5)
static int chained_end(job_record_t *j, uint32_t event)
{
	return printf("chained: end of %u, event %u\n", j->job_id, event) < 0;
}

static int chained_start(job_record_t *j, uint32_t event)
{
	return printf("chained: start of %u, event %u\n", j->job_id, event) < 0;
}
#else
static int chained_end(job_record_t *j)
{
	return printf("chained: end of %u\n", j->job_id) < 0;
}
#endif

static int chained_location(void)
{
	return 0;
}

static struct xlist *chained_jobs(slurmdb_job_cond_t *cond)
{
	(void)cond;
	return NULL;
}

static const struct {
	const char *name;
	void *call;
} chained[] = {
	{"jobcomp_p_set_location", (void *)chained_location},
	{"jobcomp_p_get_jobs", (void *)chained_jobs},
#if SINCE(25, 5)
	{"jobcomp_p_record_job_end", (void *)chained_end},
	{"jobcomp_p_record_job_start", (void *)chained_start},
#else
	{"jobcomp_p_log_record", (void *)chained_end},
#endif
};
#define CHAINED (sizeof(chained) / sizeof(chained[0]))

/* As Slurm's loader: all names or nothing, into the calls in their order. */
plugin_context_t *plugin_context_create(const char *kind, const char *type,
					void *calls[], const char *names[], size_t size)
{
	size_t found = 0;

	for (size_t i = 0; i < size / sizeof(names[0]); i++)
		for (size_t k = 0; k < CHAINED; k++)
			if (strcmp(chained[k].name, names[i]) == 0) {
				calls[i] = chained[k].call;
				found++;
			}
	printf("chained: %s %s, %s\n", kind, type,
	       found == CHAINED && found == size / sizeof(names[0]) ? "all calls"
								    : "wrong calls");
	return (plugin_context_t *)(void *)all_tres;
}

int plugin_context_destroy(plugin_context_t *c)
{
	(void)c;
	return 0;
}

/* ---- one job --------------------------------------------------------------------- */

static void fill_job(job_record_t *j, struct job_details *d)
{
	static slurmdb_qos_rec_t qos = {.name = (char *)"normal"};

	*d = (struct job_details)
	{
		.submit_time = 1700000000, .begin_time = 1700000001,
		.work_dir = (char *)"/home/ann",
		.submit_line = (char *)"sbatch --token=s3cret x.sh",
		.features = (char *)"avx|sse", .features_use = (char *)"avx",
#if SINCE(24, 11)
		.qos_req = (char *)"long,normal",
#endif
		.num_tasks = 2
	};
	*j = (job_record_t)
	{
		.job_id = 77, .user_id = 1000, .group_id = 1000,
		.user_name = (char *)"ann", .account = (char *)"physics",
		.partition = (char *)"main", .name = (char *)"sim",
		.admin_comment = (char *)"looked at",
		.system_comment = (char *)"by slurmctld",
		.container = (char *)"/oci/bundle", .licenses = (char *)"matlab:2",
		.db_flags = SLURMDB_JOB_FLAG_BACKFILL | SLURMDB_JOB_FLAG_START_R,
		.priority = 4711,
#if SINCE(23, 2)
		.extra = (char *)"{\"a\": 1}", .failed_node = (char *)"n2",
#endif
		.requid = INFINITE, .batch_flag = 1, .time_limit = 60,
		.job_state = JOB_RUNNING, .start_time = 1700000010,
		/* what the time limit makes of it */
			.end_time = 1700003610, .nodes = (char *)"n[1-2]",
		.total_nodes = 2, .total_cpus = 8, .tres_req_str = (char *)"1=8",
		.tres_alloc_str = (char *)"1=8", .qos_ptr = &qos, .details = d
	};
	j->db_index = 0x0123456789abcdef;
#if SINCE(25, 11)
	j->step_id.sluid = 0x0123456789abcdef;
#endif
}

static int call_plugin(void *plugin, const char *name, job_record_t *j, uint32_t event)
{
#if SINCE(25, 5)
	int (*record)(job_record_t *, uint32_t) =
		(int (*)(job_record_t *, uint32_t))dlsym(plugin, name);
	int rc = record ? record(j, event) : -1;
#else
	int (*record)(job_record_t *) = (int (*)(job_record_t *))dlsym(plugin, name);
	int rc = record ? record(j) : -1;
	(void)event;
#endif
	if (rc || locked)
		printf("%s: %d, %d locks\n", name, rc, locked);
	return rc;
}

static void tell_job(void *plugin)
{
	struct job_details d;
	job_record_t j;

	fill_job(&j, &d);
#if SINCE(25, 5)
	call_plugin(plugin, "jobcomp_p_record_job_start", &j, 2);
	const char *end = "jobcomp_p_record_job_end";
#else
	const char *end = "jobcomp_p_log_record";
#endif
	/* resized: another row in the database, and since 25.11 still the same job */
	j.job_state = JOB_RUNNING | JOB_RESIZING;
	j.resize_time = 1700000500;
	call_plugin(plugin, end, &j, 1);
	j.db_index++;
	j.job_state = JOB_COMPLETE;
	j.end_time = 1700000900;
	call_plugin(plugin, end, &j, 1);
}

int main(int argc, char *argv[])
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
	int (*start)(void) = plugin ? (int (*)(void))dlsym(plugin, "init") : NULL;
	int (*end)(void) = plugin ? (int (*)(void))dlsym(plugin, "fini") : NULL;
	const uint32_t *version = plugin ? dlsym(plugin, "plugin_version") : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!start || !end || !version) {
		printf("%s\n", dlerror());
		return 1;
	}
	if (*version != SLURM_VERSION_NUMBER)
		printf("version %x\n", *version);
	if (start() != 0)
		printf("init failed\n");
	tell_job(plugin);
	if (end() != 0)
		printf("fini failed\n");
	return 0;
}
