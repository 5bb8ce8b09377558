/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_CLI_TOOL_CHECK_H
#define CEEMS_CLI_TOOL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/finding.h"
#include "lib/slurmconf.h"

/* The checks of `ceems_tool check`; each prints findings and never fails by itself. */

#define PLUGIN_DIRS_MAX 16

struct check_options {
	const char *slurm_conf;  /* NULL: where Slurm looks */
	const char *plugstack;   /* NULL: as slurm.conf says */
	const char *cgroup_conf; /* NULL: beside slurm.conf */
	const char *ring;        /* NULL: as plugstack.conf says */
	const char *plugin_dirs[PLUGIN_DIRS_MAX];
	size_t plugin_dir_count;
	unsigned version; /* SLURM_VERSION_NUMBER, 0: unknown */
};

/* "22.05.8" or "24.11.5-0rc1" to SLURM_VERSION_NUMBER; 0: not a version. */
unsigned check_parse_version(const char *text);
void check_version_text(unsigned version, char ret[32]);

/* The slurm.conf that Slurm would read; it need not be there. Borrowed from o, the
 * environment, or static. */
const char *check_find_slurm_conf(const struct check_options *o);

void check_slurm(const struct check_options *o, struct findings *f);

/* plugstack.conf and the plugins it loads. slurm_conf may be empty. ret_ring gets the
 * ring that the plugin writes to, "" when it is not loaded. */
void check_plugstack(const struct check_options *o, const char *path,
		     const struct slurmconf *slurm_conf, char *ret_ring,
		     size_t ret_ring_size, struct findings *f);
/* Folders that PluginDir names: each must be there on every host that reads the file.
 */
void check_plugin_dirs(const struct slurmconf *slurm_conf, struct findings *f);
/* A plugin of ours by file name ("jobcomp_ceems.so"): there, and of a fitting version.
 * exact: also the last number must agree (all but SPANK); who: "slurmctld does". */
void check_plugin_file(const struct check_options *o,
		       const struct slurmconf *slurm_conf, const char *name, bool exact,
		       const char *who, struct findings *f);

/* What acct_gather_energy_ceems.so needs, when slurm.conf names it: its lines, file,
 * options and the energy page. path: of slurm.conf */
void check_energy(const struct check_options *o, const char *path,
		  const struct slurmconf *slurm_conf, struct findings *f);

/* What jobcomp_ceems.so needs, when slurm.conf names it: its file, options and spool.
 */
void check_jobcomp(const struct check_options *o, const struct slurmconf *slurm_conf,
		   struct findings *f);

/* What prep_ceems.so needs, when PrEpPlugins names it: its file, our jobcomp plugin,
 * and Slurm's prep/script beside it. */
void check_prep(const struct check_options *o, const struct slurmconf *slurm_conf,
		struct findings *f);

/* The ring as a plugin would find it. must: not being there is wrong, not a question of
 * what this host is. */
void check_ring(const char *path, uid_t owner, bool must, struct findings *f);

#endif
