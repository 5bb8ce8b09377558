/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Energy in sacct: checks what doc/acct_gather.md requires, if the plugin is switched
 * on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/check.h"
#include "lib/clock.h"
#include "lib/plugin/gather_options.h"
#include "lib/records/energy_page.h"

#define PREFIX "acct_gather_energy/"

struct energy_check {
	const char *path;
	const struct slurmconf *c;
	struct findings *f;
};

/* With another plugin absolute joules would be added again at each poll. */
static void check_alone(const struct energy_check *k, const struct slurmconf_pair *p)
{
	if (strchr(p->value, ','))
		finding(k->f, LEVEL_FAIL,
			"set AcctGatherEnergyType=" PREFIX "ceems alone",
			"%s:%u: %s=%s: with a second plugin Slurm adds totals up again "
			"at each poll, so ours gives nothing",
			p->file, p->line, p->key, p->value);
	else
		finding(k->f, LEVEL_OK, NULL, "%s:%u: %s=%s", p->file, p->line, p->key,
			p->value);
}

static void check_lines(const struct energy_check *k)
{
	const struct slurmconf_pair *gather = slurmconf_get(k->c, "JobAcctGatherType");
	const struct slurmconf_pair *freq = slurmconf_get(k->c, "AcctGatherNodeFreq");
	const struct slurmconf_pair *flags = slurmconf_get(k->c, "PrologFlags");

	if (!gather || slurmconf_names(gather->value, "jobacct_gather/", "none"))
		finding(k->f, LEVEL_FAIL, "set JobAcctGatherType=jobacct_gather/cgroup",
			"%s: JobAcctGatherType is none, so Slurm never asks for energy",
			k->path);
	if (!flags || (!slurmconf_names(flags->value, NULL, "Contain") &&
		       !slurmconf_names(flags->value, NULL, "X11")))
		finding(k->f, LEVEL_FAIL, "set PrologFlags=Contain",
			"%s: without PrologFlags=Contain a job's energy is that of its "
			"numbered steps only: a script without srun has none",
			k->path);
	if (!freq || strcmp(freq->value, "0") == 0)
		finding(k->f, LEVEL_WARN, "set AcctGatherNodeFreq=30",
			"%s: AcctGatherNodeFreq is 0: scontrol show node keeps the "
			"watts of the node's start",
			k->path);
}

static void check_page(const char *path, struct findings *f)
{
	struct energy_page page;
	struct energy_page_node node;
	struct err err = {""};

	int rc = energy_page_open(path, &page, &err);
	if (rc < 0) {
		finding(f, LEVEL_WARN,
			rc == -ENOENT
				? "on a compute node: start ceemsd"
				: "run this as root, and see who else writes there",
			"%s", err.text);
		return;
	}
	rc = energy_page_find(&page, 0, 0, 0, &node, NULL);
	energy_page_close(&page);
	uint64_t now = clock_boottime_ns();
	uint64_t age_s =
		now > node.tick_ns && rc == 0 ? (now - node.tick_ns) / NSEC_PER_SEC : 0;
	if (rc < 0)
		finding(f, LEVEL_WARN,
			"see ceemsd's log: does it have an energy source?",
			"%s: no energy has been written yet", path);
	else if (age_s > ENERGY_PAGE_DEAD_NS / NSEC_PER_SEC &&
		 age_s > ENERGY_PAGE_DEAD_INTERVALS * node.interval_ns / NSEC_PER_SEC)
		finding(f, LEVEL_FAIL, "start ceemsd",
			"%s: the last energy is %llu s old, steps get none", path,
			(unsigned long long)age_s);
	else
		finding(f, LEVEL_OK, NULL, "%s: ceemsd is writing energy", path);
}

static void check_gather_options(struct findings *f)
{
	const char *path = getenv(GATHER_OPTIONS_VARIABLE);
	struct gather_options options;
	struct err err = {""};

	if (gather_options_read(&options, path ? path : GATHER_OPTIONS_PATH, 0, &err) <
	    0)
		finding(f, LEVEL_WARN, "correct it; doc/acct_gather.md has the names",
			"%s (the plugin uses its defaults)", err.text);
	check_page(options.page, f);
}

void check_energy(const struct check_options *o, const char *path,
		  const struct slurmconf *slurm_conf, struct findings *f)
{
	const struct energy_check k = {path, slurm_conf, f};
	const struct slurmconf_pair *p =
		slurmconf_get(slurm_conf, "AcctGatherEnergyType");

	if (!p || !slurmconf_names(p->value, PREFIX, "ceems"))
		return;
	check_alone(&k, p);
	check_lines(&k);
	check_plugin_file(o, slurm_conf, "acct_gather_energy_ceems.so", true,
			  "slurmctld and slurmd do", f);
	check_gather_options(f);
}
