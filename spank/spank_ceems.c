/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank_ceems.so: the options users see and the records of each step. Its hooks always
 * return success: accounting must not end a job, even if plugstack.conf says
 * "required". It starts no thread or process, installs no signal handler, does not
 * change the environment and leaves nothing open or mapped after a hook. It
 * deliberately has no job_prolog or job_epilog: Slurm would fork a slurmstepd just for
 * these symbols. */
/* exports.map exports the hooks, which spank.h declares, and the plugin's names */
#pragma GCC visibility push(default)
#include <slurm/spank.h>
SPANK_PLUGIN(ceems, 1)
#pragma GCC visibility pop

#include <string.h>

#include "lib/err.h"
#include "lib/plugin/spank_options.h"
#include "spank/step.h"

/* Slurm gives hooks no place for state: a process is one step (or one srun), so this is
 * it. slurm_spank_init resets it. */
static struct {
	struct policy policy;
	struct request asked;
	struct step step;
} plugin;

static int option_given(int val, const char *value, int remote);

static struct spank_option options[] = {
	{
		.name = (char *)"ceems-perf",
		.arginfo = (char *)"[hardware,software,cache]",
		.usage = (char *)"count CPU events of the job's steps (all groups when "
				 "none is named)",
		.has_arg = 2,
		.val = OPTION_PERF,
		.cb = option_given,
	},
	{
		.name = (char *)"ceems-profile",
		.arginfo = (char *)"[HZ][,off-cpu]",
		.usage = (char *)"profile the job's steps by sampling, HZ times a "
				 "second (19); with off-cpu also where they are "
				 "blocked",
		.has_arg = 2,
		.val = OPTION_PROFILE,
		.cb = option_given,
	},
	{
		.name = (char *)"ceems-report",
		.arginfo = (char *)"[text|json|none]",
		.usage = (char *)"report what a step has used when it ends (text)",
		.has_arg = 2,
		.val = OPTION_REPORT,
		.cb = option_given,
	},
};

/* Locally (srun, salloc, sbatch) a bad value is the user's mistake and ends the command
 * before there is a job. Remotely it can only be forged or from another version, and is
 * dropped. Options that the site does not allow never end anything. */
static int option_given(int val, const char *value, int remote)
{
	struct err err;
	struct request asked = plugin.asked;
	if (request_parse(&asked, (enum option)val, value, &err) < 0) {
		if (!remote) {
			slurm_error("ceems: %s", err.text);
			return -ESPANK_BAD_ARG; /* Slurm tests for < 0 */
		}
		slurm_verbose("ceems: %s, ignored", err.text);
		return ESPANK_SUCCESS;
	}
	if (request_limit(&asked, (enum option)val, &plugin.policy, &err)) {
		if (remote)
			slurm_verbose("ceems: %s", err.text);
		else
			slurm_info("ceems: %s", err.text);
	}
	plugin.asked = asked;
	return ESPANK_SUCCESS;
}

static void read_arguments(int ac, char *argv[])
{
	struct err err;
	policy_init(&plugin.policy);
	for (int i = 0; i < ac; i++)
		if (policy_apply(&plugin.policy, argv[i], &err) < 0)
			slurm_verbose("ceems: plugstack.conf: %s, ignored", err.text);
}

int slurm_spank_init(spank_t sp, int ac, char *argv[])
{
	memset(&plugin, 0, sizeof(plugin));
	spank_context_t context = spank_context();
	if (context == S_CTX_SLURMD || context == S_CTX_ERROR)
		return ESPANK_SUCCESS;
	read_arguments(ac, argv);
	step_init(&plugin.step, &plugin.policy, &plugin.asked);
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			slurm_verbose("ceems: option --%s not registered",
				      options[i].name);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_post_fork(spank_t sp, int ac, char *argv[])
{
	(void)ac;
	(void)argv;
	if (spank_remote(sp) == 1)
		step_task_forked(&plugin.step, sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_task_exit(spank_t sp, int ac, char *argv[])
{
	(void)ac;
	(void)argv;
	if (spank_remote(sp) == 1)
		step_task_ended(&plugin.step, sp);
	return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t sp, int ac, char *argv[])
{
	(void)ac;
	(void)argv;
	if (spank_remote(sp) == 1)
		step_exit(&plugin.step);
	return ESPANK_SUCCESS;
}
