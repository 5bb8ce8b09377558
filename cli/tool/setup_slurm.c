/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool setup: the lines that Slurm's own files need. They are printed, and
 * written only for who says so: on a cluster these files come from somewhere else. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/tool/check.h"
#include "cli/tool/setup.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/own_host.h"
#include "lib/slurmconf.h"

#define PLUGSTACK_LINE "optional spank_ceems.so"
#define JOBCOMP_LINE "JobCompType=jobcomp/ceems"

static const char *find_own_slurm_conf(void)
{
	static const struct check_options none;

	return check_find_slurm_conf(&none);
}

bool setup_slurm_is_here(void)
{
	return access(find_own_slurm_conf(), R_OK) == 0;
}

/* Whether a line names this host as slurmctld's: "host" or "host(address)". */
static bool names_own_controller(const struct slurmconf_pair *p)
{
	char name[256];

	if (strcasecmp(p->key, "SlurmctldHost") != 0 &&
	    strcasecmp(p->key, "ControlMachine") != 0)
		return false;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(p->value, "("),
		       p->value);
	return own_host_is_named(name) || strcasecmp(name, "localhost") == 0;
}

void setup_guess_controller(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	auto_slurmconf struct slurmconf conf = {.count = 0};
	bool own = false;

	(void)s;
	if (slurmconf_read(&conf, find_own_slurm_conf(), NULL) == 0)
		for (size_t i = 0; i < conf.count && !own; i++)
			own = names_own_controller(&conf.pairs[i]);
	(void)snprintf(ret, SETUP_ANSWER_MAX, "%s", own ? "yes" : "no");
}

void setup_guess_cluster(const struct setup *s, char ret[SETUP_ANSWER_MAX])
{
	auto_slurmconf struct slurmconf conf = {.count = 0};
	const struct slurmconf_pair *p = NULL;

	(void)s;
	if (slurmconf_read(&conf, find_own_slurm_conf(), NULL) == 0)
		p = slurmconf_get(&conf, "ClusterName");
	(void)snprintf(ret, SETUP_ANSWER_MAX, "%s", p ? p->value : "mycluster");
}

/* Appends a line to a file of Slurm's, below what is there, whose owner and mode stay.
 */
static void append_slurm_line(struct setup *s, const char *path, const char *line)
{
	char text[256];
	auto_close int fd =
		open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);
	off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	char last = '\n';

	if (end > 0 && pread(fd, &last, 1, end - 1) != 1)
		end = -1;
	int n = snprintf(text, sizeof(text), "%s%s\n", last == '\n' ? "" : "\n", line);
	if (end < 0 || fs_write_all(fd, text, (size_t)n) < 0)
		finding(&s->f, LEVEL_FAIL, "write it yourself", "%s: %s: %s", path,
			line, strerror(errno));
	else
		finding(&s->f, LEVEL_OK, NULL, "%s: %s added", path, line);
}

static void want_slurm_line(struct setup *s, const char *path, const char *line,
			    bool add)
{
	if (add)
		append_slurm_line(s, path, line);
	else
		finding(&s->f, LEVEL_WARN,
			"add it on all hosts, or run setup with --slurm yes here",
			"%s lacks: %s", path, line);
}

static void want_jobcomp(struct setup *s, const struct slurmconf *conf,
			 const char *path, bool add)
{
	const struct slurmconf_pair *p = slurmconf_get(conf, "JobCompType");

	if (!p || strcasecmp(p->value, "jobcomp/none") == 0)
		want_slurm_line(s, path, JOBCOMP_LINE, add && !p);
	else if (!slurmconf_names(p->value, "jobcomp/", "ceems"))
		finding(&s->f, LEVEL_WARN,
			"change it to " JOBCOMP_LINE
			", and name the old one as chain: in jobcomp.yaml",
			"%s:%u: JobCompType=%s: jobs have no owner and no name in the "
			"records",
			p->file, p->line, p->value);
	else
		finding(&s->f, LEVEL_OK, NULL, "%s:%u: " JOBCOMP_LINE, p->file,
			p->line);
}

/* Whether plugstack.conf or what it includes loads our plugin, as check slurm sees it.
 */
static bool loads_spank(const char *stack, const struct slurmconf *conf)
{
	static const struct check_options none;
	auto_fclose FILE *nowhere = fopen("/dev/null", "we");
	struct findings unsaid = {.out = nowhere};
	char ring[4096] = "";

	if (nowhere && access(stack, F_OK) == 0)
		check_plugstack(&none, stack, conf, ring, sizeof(ring), &unsaid);
	return *ring;
}

static void want_spank(struct setup *s, const struct slurmconf *conf, const char *path,
		       bool add)
{
	const struct slurmconf_pair *p = slurmconf_get(conf, "PlugStackConfig");
	auto_free char *stack =
		p ? strdup(p->value) : path_beside(path, "plugstack.conf");

	if (!stack)
		return;
	if (loads_spank(stack, conf))
		finding(&s->f, LEVEL_OK, NULL, "%s: loads spank_ceems.so", stack);
	else
		want_slurm_line(s, stack, PLUGSTACK_LINE, add);
}

void setup_slurm_lines(struct setup *s, bool add)
{
	auto_slurmconf struct slurmconf conf = {.count = 0};
	const char *path = find_own_slurm_conf();
	struct err err = {""};
	unsigned before = s->f.count[LEVEL_FAIL];

	int rc = slurmconf_read(&conf, path, &err);
	if (rc < 0) {
		finding(&s->f, rc == -ENOENT ? LEVEL_OK : LEVEL_WARN,
			rc == -ENOENT ? NULL : "correct it",
			rc == -ENOENT ? "%s: no Slurm is configured here" : "%s",
			rc == -ENOENT ? path : err.text);
		return;
	}
	want_spank(s, &conf, path, add);
	if (setup_is_yes(s, "controller"))
		want_jobcomp(s, &conf, path, add);
	if (add && s->start && s->f.count[LEVEL_FAIL] == before)
		(void)fputs("next: systemctl restart slurmctld slurmd, where they run; "
			    "then ceems_tool doctor\n",
			    s->f.out);
}
