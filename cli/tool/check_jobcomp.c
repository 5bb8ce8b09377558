/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of jobs: checks what doc/jobcomp.md requires, if the plugins are switched on
 * and, of completion records, this may be a host of slurmctld, which alone loads
 * theirs. */
#include <errno.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/check.h"
#include "lib/cleanup.h"
#include "lib/netaddr.h"
#include "lib/own_host.h"
#include "lib/plugin/jobcomp_options.h"

#define PREFIX "jobcomp/"
#define PREP_PREFIX "prep/"

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

/* Whether "ctl" or "ctl(10.0.0.1)" is this host; what cannot be found out counts as
 * yes. Blocks: it asks the name service. */
static bool may_be_this_host(const char *controller)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	auto_free char *name = strdup(controller);
	char *addr = name ? strchr(name, '(') : NULL;
	bool here = false;

	if (!name || strpbrk(name, "[,"))
		return true;
	if (addr) {
		*addr++ = '\0';
		addr[strcspn(addr, ")")] = '\0';
	}
	own_host_learn_name(name);
	if (own_host_is_named(name) ||
	    getaddrinfo(addr ? addr : name, NULL, &hints, &list) != 0)
		return true;
	for (const struct addrinfo *i = list; i && !here; i = i->ai_next) {
		struct netaddr a;
		here = netaddr_from(i->ai_addr, &a) == 0 && netaddr_is_own(&a);
	}
	freeaddrinfo(list);
	return here;
}

/* The first host of slurmctld, when none of them is this host; else NULL. */
static const char *find_other_controller(const struct slurmconf *c)
{
	static const char *const keys[] = {"SlurmctldHost", "ControlMachine",
					   "BackupController"};
	const char *other = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const struct slurmconf_pair *p = &c->pairs[i];
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
			if (strcasecmp(p->key, keys[k]) != 0)
				continue;
			if (may_be_this_host(p->value))
				return NULL;
			other = other ? other : p->value;
		}
	}
	return other;
}

void check_jobcomp(const struct check_options *o, const struct slurmconf *slurm_conf,
		   struct findings *f)
{
	const struct slurmconf_pair *p = slurmconf_get(slurm_conf, "JobCompType");

	if (!p || !slurmconf_names(p->value, PREFIX, "ceems"))
		return;
	finding(f, LEVEL_OK, NULL, "%s:%u: %s=%s", p->file, p->line, p->key, p->value);
	const char *other = find_other_controller(slurm_conf);
	if (other) {
		finding(f, LEVEL_OK, NULL,
			"jobcomp_ceems.so: not looked for on this host: slurmctld "
			"loads it, on %s, and here only sacct -c",
			other);
		return;
	}
	check_plugin_file(o, slurm_conf, "jobcomp_ceems.so", true,
			  "slurmctld (no other host needs it) does", f);
	check_jobcomp_options(slurm_conf, f);
}

void check_prep(const struct check_options *o, const struct slurmconf *slurm_conf,
		struct findings *f)
{
	const struct slurmconf_pair *p = slurmconf_get(slurm_conf, "PrEpPlugins");
	const struct slurmconf_pair *jobcomp = slurmconf_get(slurm_conf, "JobCompType");

	if (!p || !slurmconf_names(p->value, PREP_PREFIX, "ceems"))
		return;
	if (!slurmconf_names(p->value, PREP_PREFIX, "script"))
		finding(f, LEVEL_WARN, "PrEpPlugins=prep/script,prep/ceems",
			"%s:%u: %s=%s: without prep/script no Prolog and no Epilog of "
			"the site runs",
			p->file, p->line, p->key, p->value);
	else if (!jobcomp || !slurmconf_names(jobcomp->value, PREFIX, "ceems"))
		finding(f, LEVEL_WARN, "JobCompType=jobcomp/ceems",
			"%s:%u: %s=%s: prep/ceems records no start of a job without "
			"our jobcomp plugin",
			p->file, p->line, p->key, p->value);
	else
		finding(f, LEVEL_OK, NULL, "%s:%u: %s=%s", p->file, p->line, p->key,
			p->value);
	check_plugin_file(o, slurm_conf, "prep_ceems.so", true,
			  "slurmctld and slurmd do", f);
}
