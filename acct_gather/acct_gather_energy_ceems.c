/* SPDX-License-Identifier: GPL-2.0-or-later */
/* acct_gather_energy_ceems.so: passes the energy page's joules to Slurm: in slurmd
 * those of the node, in slurmstepd those of its step; in slurmctld (which loads it for
 * its configuration) and elsewhere nothing, as no file is opened before energy is
 * requested. It starts no thread, and a failure costs the number, never the job.
 *
 * Built against the private headers of one exact Slurm release, as its loader wants. */
#include <src/common/slurm_xlator.h>

#include <src/common/read_config.h>
#include <src/common/run_in_daemon.h>
#include <src/slurmd/slurmstepd/slurmstepd_job.h>
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(22, 11, 0)
#include <src/interfaces/acct_gather_energy.h>
#include <src/interfaces/cgroup.h>
#include <src/interfaces/jobacct_gather.h>
#else
#include <src/common/slurm_acct_gather_energy.h>
#include <src/common/slurm_jobacct_gather.h>
#endif

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "acct_gather/gather.h"
#include "acct_gather/keep.h"
#include "lib/clock.h"
#include "lib/parse.h"

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
typedef list_t **conf_values_t;
#else
typedef List *conf_values_t;
#endif

#pragma GCC visibility push(default)
const char plugin_name[] = "CEEMS energy plugin";
const char plugin_type[] = "acct_gather_energy/ceems";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

extern int init(void);
extern int fini(void);
extern int acct_gather_energy_p_update_node_energy(void);
extern int acct_gather_energy_p_get_data(enum acct_energy_type type, void *data);
extern int acct_gather_energy_p_set_data(enum acct_energy_type type, void *data);
extern void acct_gather_energy_p_conf_options(s_p_options_t **options, int *count);
extern void acct_gather_energy_p_conf_set(int context, s_p_hashtbl_t *table);
extern void acct_gather_energy_p_conf_values(conf_values_t data);
#pragma GCC visibility pop

/* Slurm gives plugins no place for state. A process is one slurmd or one step; its
 * framework serialises all calls except fini() by a lock of its own. */
static struct {
	bool refused; /* not the only plugin */
	bool begun;
	struct gather gather;
	stepd_step_rec_t *step; /* borrowed until fini() */
	struct keep keep;       /* for an extern step */
	/* the previous answer, for watts and as the previous value */
	uint64_t uj, at_ns;
	uint64_t first_uj, first_ns;
} plugin;

/* ---- plain numbers --------------------------------------------------------------- */

static uint32_t mean_watts(uint64_t uj, uint64_t ns)
{
	/* uJ per us is W */
	uint64_t w = ns >= 1000 ? uj / (ns / 1000) : 0;

	return w < NO_VAL ? (uint32_t)w : 0;
}

static uint64_t subtract_joules(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void not_known(acct_gather_energy_t *e)
{
	memset(e, 0, sizeof(*e));
	e->consumed_energy = NO_VAL64;
}

static void fill_energy(acct_gather_energy_t *e, uint64_t uj)
{
	uint64_t now_ns = clock_boottime_ns();

	if (!plugin.first_ns) {
		plugin.first_uj = uj;
		plugin.first_ns = now_ns;
	}
	memset(e, 0, sizeof(*e));
	e->consumed_energy = gather_joules(uj);
	e->previous_consumed_energy = gather_joules(plugin.at_ns ? plugin.uj : uj);
	e->current_watts = plugin.at_ns ? mean_watts(subtract_joules(uj, plugin.uj),
						     now_ns - plugin.at_ns)
					: 0;
	e->ave_watts = mean_watts(subtract_joules(uj, plugin.first_uj),
				  now_ns - plugin.first_ns);
	e->poll_time = time(NULL);
	plugin.uj = uj;
	plugin.at_ns = now_ns;
}

/* ---- beginning ------------------------------------------------------------------- */

/* With a second plugin the framework adds their answers to a running sum, so a total
 * would be added again at every poll. */
static bool is_only_plugin(void)
{
	const char *types = slurm_conf.acct_gather_energy_type;

	return !types || !strchr(types, ',');
}

static void begin_plugin(void)
{
	struct gather_options options;
	struct err err;
	const char *path = secure_getenv(GATHER_OPTIONS_VARIABLE);

	if (plugin.begun)
		return;
	plugin.begun = true;
	if (gather_options_read(&options, path ? path : GATHER_OPTIONS_PATH, 0, &err) <
	    0)
		error("ceems: %s, the plugin uses its defaults", err.text);
	gather_init(&plugin.gather, &options, &gather_host_default);
}

static uint32_t count_cores(const char *list)
{
	uint32_t n;

	return list && parse_list_count(list, strlen(list), &n) == 0 ? n : 0;
}

/* CPUs of this step from its cores and the job's threads per core; for the extern step
 * Slurm has cores only. */
static uint32_t allocated_mcpu(const stepd_step_rec_t *step, bool whole_job)
{
	uint32_t job_cores = count_cores(step->job_alloc_cores);
	uint32_t mine = whole_job ? job_cores : count_cores(step->step_alloc_cores);
	uint32_t cpus = step->cpus ? step->cpus : job_cores;

	if (!job_cores || mine > job_cores)
		return cpus * 1000;
	return (uint32_t)((uint64_t)cpus * 1000 * mine / job_cores);
}

/* Called before the job's first step can have come and gone. slurmstepd's own cgroup
 * path does not show it yet; it is built as Slurm builds it. */
static void keep_job_group(const stepd_step_rec_t *step)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
	struct err err;

	if (!slurm_cgroup_conf.cgroup_prepend || !step->node_name)
		return;
	char *slurm = slurm_conf_expand_slurmd_path(slurm_cgroup_conf.cgroup_prepend,
						    step->node_name, step->node_name);
	if (keep_make(&plugin.keep, gather_host_default.cgroup, slurm, step->uid,
		      step->step_id.job_id, &err) < 0)
		debug("ceems: a job's CPU counter is lost whenever all of its steps "
		      "have ended: %s",
		      err.text);
	else
		(void)gather_step_group(&plugin.gather, plugin.keep.step);
	xfree(slurm);
#else
	(void)step; /* Slurm keeps the group */
#endif
}

/* A slurmstepd that fails before fini() exits, and must leave nothing behind. */
__attribute__((destructor)) static void remove_group(void)
{
	keep_remove(&plugin.keep);
}

static void begin_step(stepd_step_rec_t *step)
{
	bool whole_job = step->step_id.step_id == SLURM_EXTERN_CONT;
	struct gather_step s = {
		.job = step->step_id.job_id,
		.step = whole_job ? ENERGY_PAGE_JOB : step->step_id.step_id,
		.stepd_pid = (uint32_t)getpid(),
		.alloc_mcpu = allocated_mcpu(step, whole_job),
	};

	begin_plugin();
	plugin.step = step;
	gather_step_begin(&plugin.gather, &s);
	if (whole_job)
		keep_job_group(step);
}

/* The tasks' control group exists by the first poll, and is remembered, since the last
 * poll comes when no task is left. */
static void find_cgroup(void)
{
	const stepd_step_rec_t *step = plugin.step;

	if (!gather_step_wants_cgroup(&plugin.gather))
		return;
	if (plugin.gather.step.step == ENERGY_PAGE_JOB) {
		gather_step_cgroup(&plugin.gather, 0);
		return;
	}
	for (uint32_t i = 0; step->task && i < step->node_tasks; i++) {
		pid_t pid = step->task[i] ? step->task[i]->pid : 0;
		if (pid > 0 && gather_step_cgroup(&plugin.gather, pid) == 0)
			return;
	}
}

/* ---- answers --------------------------------------------------------------------- */

static void step_energy(acct_gather_energy_t *e)
{
	uint64_t uj;

	find_cgroup();
	if (gather_step_now(&plugin.gather, &uj) < 0)
		not_known(e);
	else
		fill_energy(e, uj);
}

static void node_energy(acct_gather_energy_t *e)
{
	struct energy_page_node node;

	begin_plugin();
	if (gather_node_now(&plugin.gather, &node) < 0) {
		not_known(e);
		return;
	}
	fill_energy(e, energy_page_total(&node, node.uj));
	/* the daemon's mean over a tick, not ours between two polls */
	e->current_watts = mean_watts(energy_page_total(&node, node.uw), NSEC_PER_SEC);
}

extern int acct_gather_energy_p_get_data(enum acct_energy_type type, void *data)
{
	switch (type) {
	case ENERGY_DATA_NODE_ENERGY:
	case ENERGY_DATA_NODE_ENERGY_UP:
	case ENERGY_DATA_STRUCT:
	case ENERGY_DATA_JOULES_TASK:
		if (plugin.refused)
			not_known(data);
		else if (plugin.step)
			step_energy(data);
		else
			node_energy(data);
		break;
	case ENERGY_DATA_LAST_POLL:
		*(time_t *)data = time(NULL);
		break;
	case ENERGY_DATA_SENSOR_CNT:
		*(uint16_t *)data = 1;
		break;
	default:
		break;
	}
	return SLURM_SUCCESS;
}

extern int acct_gather_energy_p_set_data(enum acct_energy_type type, void *data)
{
	if (type == ENERGY_DATA_STEP_PTR && data && !plugin.refused)
		begin_step(data);
	return SLURM_SUCCESS;
}

extern int acct_gather_energy_p_update_node_energy(void)
{
	return SLURM_SUCCESS; /* the next poll reads the page */
}

/* ---- the plugin ------------------------------------------------------------------ */

extern int init(void)
{
	memset(&plugin, 0, sizeof(plugin));
	plugin.refused = !is_only_plugin();
	if (plugin.refused && !running_in_slurmstepd())
		error("ceems: acct_gather_energy/ceems is not the only plugin in "
		      "AcctGatherEnergyType=%s: it reports no energy: remove the other "
		      "plugins",
		      slurm_conf.acct_gather_energy_type);
	return SLURM_SUCCESS;
}

/* In slurmstepd this is called after the step's last process was killed, with its
 * cgroup still there, and before its completion is sent: the counter now includes use
 * after the last poll and that of orphaned children. */
static void write_final(void)
{
	jobacctinfo_t *jobacct = plugin.step->jobacct;
	acct_gather_energy_t e;

	if (!jobacct)
		return;
	step_energy(&e);
	if (e.consumed_energy == NO_VAL64)
		return;
	jobacct->energy.consumed_energy = e.consumed_energy;
}

extern int fini(void)
{
	if (plugin.step && plugin.gather.options.final)
		write_final();
	if (plugin.begun)
		gather_done(&plugin.gather);
	keep_remove(&plugin.keep);
	plugin.step = NULL;
	plugin.begun = false;
	return SLURM_SUCCESS;
}

/* no key of ours in acct_gather.conf: see options.h */
extern void acct_gather_energy_p_conf_options(s_p_options_t **options, int *count)
{
	(void)options;
	(void)count;
}

extern void acct_gather_energy_p_conf_set(int context, s_p_hashtbl_t *table)
{
	(void)context;
	(void)table;
}

extern void acct_gather_energy_p_conf_values(conf_values_t data)
{
	(void)data;
}
