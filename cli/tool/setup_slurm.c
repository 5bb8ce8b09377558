/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool setup: the lines that Slurm's own files need. They are printed, and
 * written only for who says so: on a cluster these files come from somewhere else. */
#include <ctype.h>
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

/* Whether a plugstack.conf loads our plugin, as far as it can be seen here. */
static bool loads_spank(const struct buf *text, bool *ret_includes)
{
	for (const char *line = text->data; line && *line;) {
		size_t len = strcspn(line, "\n");
		const char *word = line + strspn(line, " \t");
		const char *found = strstr(line, "spank_ceems.so");
		if (strncasecmp(word, "include", 7) == 0)
			*ret_includes = true;
		if (*word != '#' && found && found < line + len)
			return true;
		line += len + (line[len] == '\n');
	}
	return false;
}

static void want_spank(struct setup *s, const struct slurmconf *conf, const char *path,
		       bool add)
{
	const struct slurmconf_pair *p = slurmconf_get(conf, "PlugStackConfig");
	auto_free char *stack =
		p ? strdup(p->value) : path_beside(path, "plugstack.conf");
	auto_buf struct buf text = BUF_INIT;
	bool includes = false;

	if (!stack)
		return;
	int rc = fs_read_buf_at(AT_FDCWD, stack, 1 << 20, &text, NULL);
	buf_putc(&text, '\0');
	if (rc < 0 && rc != -ENOENT)
		finding(&s->f, LEVEL_WARN, "see that it has: " PLUGSTACK_LINE, "%s: %s",
			stack, strerror(-rc));
	else if (loads_spank(&text, &includes))
		finding(&s->f, LEVEL_OK, NULL, "%s: loads spank_ceems.so", stack);
	else
		want_slurm_line(s, stack, PLUGSTACK_LINE, add && !includes);
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
