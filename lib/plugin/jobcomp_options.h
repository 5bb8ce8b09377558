/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_LIB_PLUGIN_JOBCOMP_OPTIONS_H
#define CEEMS_LIB_PLUGIN_JOBCOMP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

/* What the plugin may be told. Not in slurm.conf: JobCompLoc, JobCompParams and
 * JobCompHost there are those of the plugin it chains. Flat YAML, one "key: value" a
 * line (no YAML library inside slurmctld):
 *
 *	spool: /var/spool/ceems/jobcomp	folder, of SlurmUser
 *	max_bytes: 4GiB			most that the spool takes
 *	chain: jobcomp/kafka		another plugin that gets every record, too
 *	cluster: name			in place of slurm.conf's ClusterName
 *	submit_line: yes		command lines as well, which may hold secrets
 */

#define JOBCOMP_OPTIONS_PATH "/etc/ceems/jobcomp.yaml"
/* Names another file; of the environment of slurmctld. */
#define JOBCOMP_OPTIONS_VARIABLE "CEEMS_JOBCOMP_CONF"
#define JOBCOMP_OPTIONS_MAX 16384 /* bytes of the file */
#define JOBCOMP_SPOOL_DEFAULT "/var/spool/ceems/jobcomp"
#define JOBCOMP_MAX_BYTES_DEFAULT (4ull << 30)
#define JOBCOMP_MAX_BYTES_MIN (1u << 20)
#define JOBCOMP_VALUE_MAX 256

struct jobcomp_options {
	char spool[JOBCOMP_VALUE_MAX];
	uint64_t max_bytes;
	char chain[JOBCOMP_VALUE_MAX];   /* "jobcomp/x"; "": none */
	char cluster[JOBCOMP_VALUE_MAX]; /* "": slurm.conf's */
	bool submit_line;
};

/* What is wrong with a line, which is left out; the others hold. */
typedef void (*jobcomp_complain_f)(void *arg, const char *text);

void jobcomp_options_init(struct jobcomp_options *o);
/* Total on any bytes. Complaints read "line N: what". */
void jobcomp_options_parse(struct jobcomp_options *o, const char *text, size_t len,
			   jobcomp_complain_f complain, void *arg);
/* The file must be root's or owner's and not be writable by others. One that is not
 * there is no failure: the defaults. On failure the defaults hold. */
int jobcomp_options_read(struct jobcomp_options *o, const char *path, uid_t owner,
			 jobcomp_complain_f complain, void *arg, struct err *err);

#endif
