/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion records: checks what doc/jobcomp.md requires, if the plugin is switched
 * on. The spool is checked where slurmctld runs; elsewhere there is none. */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/check.h"
#include "lib/plugin/jobcomp_options.h"

#define PREFIX "jobcomp/"

struct lines {
	const char *path;
	struct findings *f;
	unsigned bad;
};

static void complain_of_line(void *arg, const char *text)
{
	struct lines *l = arg;

	l->bad++;
	finding(l->f, LEVEL_FAIL, "correct it; doc/jobcomp.md has the keys",
		"%s: %s (slurmctld leaves it out)", l->path, text);
}

/* The uid that slurmctld runs as; false: unknown here. */
static bool slurm_user(const struct slurmconf *c, uid_t *ret)
{
	const struct slurmconf_pair *p = slurmconf_get(c, "SlurmUser");
	const struct passwd *pw = getpwnam(p ? p->value : "root");

	if (!pw)
		return false;
	*ret = pw->pw_uid;
	return true;
}

static void check_spool(const char *spool, const uid_t *owner, struct findings *f)
{
	struct stat st;

	if (lstat(spool, &st) < 0) {
		finding(f, LEVEL_WARN,
			"on slurmctld's host: create it, owned by SlurmUser, mode "
			"0700; elsewhere it is not needed",
			"%s: %s", spool, strerror(errno));
		return;
	}
	if (!S_ISDIR(st.st_mode) || (st.st_mode & 07777) != 0700 ||
	    (owner && st.st_uid != *owner))
		finding(f, LEVEL_FAIL, "make it a folder owned by SlurmUser, mode 0700",
			"%s: mode %04o, owner %u: completion records wait in memory "
			"until they are lost",
			spool, (unsigned)(st.st_mode & 07777), (unsigned)st.st_uid);
	else
		finding(f, LEVEL_OK, NULL, "%s: for completion records of jobs", spool);
}

static void check_jobcomp_options(const struct slurmconf *c, struct findings *f)
{
	const char *env = getenv(JOBCOMP_OPTIONS_VARIABLE);
	struct lines l = {.path = env ? env : JOBCOMP_OPTIONS_PATH, .f = f};
	struct jobcomp_options options;
	struct err err = {""};
	uid_t uid = 0;
	bool known = slurm_user(c, &uid);

	int rc =
		jobcomp_options_read(&options, l.path, uid, complain_of_line, &l, &err);
	if (rc == -EACCES && geteuid() != 0) {
		finding(f, LEVEL_WARN, "run this as root", "%s", err.text);
		return;
	}
	if (rc < 0)
		finding(f, LEVEL_FAIL, "correct it",
			"%s (the plugin uses its defaults)", err.text);
	check_spool(options.spool, known ? &uid : NULL, f);
	if (options.chain[0])
		finding(f, LEVEL_OK, NULL, "%s: %s gets every record as well", l.path,
			options.chain);
}

void check_jobcomp(const struct check_options *o, const struct slurmconf *slurm_conf,
		   struct findings *f)
{
	const struct slurmconf_pair *p = slurmconf_get(slurm_conf, "JobCompType");

	if (!p || !slurmconf_names(p->value, PREFIX, "ceems"))
		return;
	finding(f, LEVEL_OK, NULL, "%s:%u: %s=%s", p->file, p->line, p->key, p->value);
	check_plugin_file(o, slurm_conf, "jobcomp_ceems.so", true,
			  "slurmctld (no other host needs it) does", f);
	check_jobcomp_options(slurm_conf, f);
}
