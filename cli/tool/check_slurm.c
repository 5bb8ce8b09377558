/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.conf, cgroup.conf and job_container.conf: the lines that doc/slurm.md requires,
 * and those that would silently make figures wrong. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/tool/check.h"
#include "lib/cgroup.h"
#include "lib/cleanup.h"
#include "lib/exec.h"
#include "lib/records/ring.h"

struct slurm_check {
	const struct check_options *o;
	const char *path;
	const struct slurmconf *c;
	struct findings *f;
};

static bool is_yes(const struct slurmconf_pair *p)
{
	return p && (strcasecmp(p->value, "yes") == 0 || strcmp(p->value, "1") == 0 ||
		     strcasecmp(p->value, "true") == 0);
}

static void say_good(const struct slurm_check *k, const struct slurmconf_pair *p)
{
	finding(k->f, LEVEL_OK, NULL, "%s:%u: %s=%s", p->file, p->line, p->key,
		p->value);
}

/* key must contain word; if not, reports it with the reason. */
static void want_word(const struct slurm_check *k, enum level level, const char *key,
		      const char *prefix, const char *word, const char *why,
		      const char *todo)
{
	const struct slurmconf_pair *p = slurmconf_get(k->c, key);

	if (p && slurmconf_names(p->value, prefix, word))
		say_good(k, p);
	else if (p)
		finding(k->f, level, todo, "%s:%u: %s=%s: %s", p->file, p->line, p->key,
			p->value, why);
	else
		finding(k->f, level, todo, "%s: %s is not set: %s", k->path, key, why);
}

static void check_tracking(const struct slurm_check *k)
{
	want_word(k, LEVEL_FAIL, "ProctrackType", "proctrack/", "cgroup",
		  "a job without a cgroup is known only by its tasks' own usage",
		  "set ProctrackType=proctrack/cgroup");
	want_word(k, LEVEL_WARN, "TaskPlugin", "task/", "cgroup",
		  "without task/cgroup allocated CPUs and memory cannot be read",
		  "set TaskPlugin=task/cgroup,task/affinity");
	want_word(k, LEVEL_WARN, "JobAcctGatherType", "jobacct_gather/", "cgroup",
		  "Slurm then makes no cgroup of its own per step for CPU time and "
		  "memory "
		  "(v1)",
		  "set JobAcctGatherType=jobacct_gather/cgroup");
	const struct slurmconf_pair *p = slurmconf_get(k->c, "PrologFlags");
	if (p && slurmconf_names(p->value, NULL, "X11") &&
	    !slurmconf_names(p->value, NULL, "Contain"))
		say_good(k, p); /* X11 implies it */
	else
		want_word(k, LEVEL_WARN, "PrologFlags", NULL, "Contain",
			  "without an extern step a job is known only while one of its "
			  "steps runs, and ssh sessions are not counted",
			  "set PrologFlags=Contain");
}

/* Whether the folder hides the ring (or its other name, /var/run). */
static bool hides_ring(const char *dir, size_t len, const char *ring)
{
	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (len > 4 && strncmp(dir, "/var/run", 8) == 0) {
		dir += 4;
		len -= 4;
	}
	return len && strncmp(ring, dir, len) == 0 && (ring[len] == '/' || len == 1);
}

static void check_container(const struct slurm_check *k, const char *ring)
{
	const struct slurmconf_pair *type = slurmconf_get(k->c, "JobContainerType");
	auto_slurmconf struct slurmconf jc = {0};
	struct err err = {""};
	unsigned bad = 0;

	if (!type || !slurmconf_names(type->value, "job_container/", "tmpfs"))
		return;
	auto_free char *path = path_beside(k->path, "job_container.conf");
	if (!path || slurmconf_read(&jc, path, &err) < 0) {
		finding(k->f, LEVEL_WARN, "check that its Dirs= does not contain /run",
			"%s", err.text);
		return;
	}
	for (size_t i = 0; i < jc.count; i++) {
		const struct slurmconf_pair *p = &jc.pairs[i];
		if (strcasecmp(p->key, "Dirs") != 0)
			continue;
		for (const char *s = p->value; *s; s += *s == ',') {
			size_t len = strcspn(s, ",");
			if (hides_ring(s, len, ring)) {
				finding(k->f, LEVEL_FAIL, "take it out of Dirs",
					"%s:%u: Dirs contains %.*s: jobs get one of "
					"their own, and %s is not seen from them",
					p->file, p->line, (int)len, s, ring);
				bad++;
			}
			s += len;
		}
	}
	if (!bad)
		finding(k->f, LEVEL_OK, NULL, "%s: Dirs leaves %s visible", path, ring);
}

static void check_gres(const struct slurm_check *k, bool *ret_gpus)
{
	const struct slurmconf_pair *p = slurmconf_get(k->c, "GresTypes");

	*ret_gpus = p && slurmconf_names(p->value, NULL, "gpu");
	if (*ret_gpus)
		say_good(k, p);
	else
		finding(k->f, LEVEL_OK, NULL,
			"%s: no GresTypes=gpu: jobs are recorded without GPUs",
			k->path);
}

static void want_constrained(const struct slurm_check *k, const char *key,
			     const char *why)
{
	const struct slurmconf_pair *p = slurmconf_get(k->c, key);
	char todo[64];

	snprintf(todo, sizeof(todo), "set %s=yes", key);
	if (is_yes(p))
		say_good(k, p);
	else if (p)
		finding(k->f, LEVEL_WARN, todo, "%s:%u: %s=%s: %s", p->file, p->line,
			key, p->value, why);
	else
		finding(k->f, LEVEL_WARN, todo, "%s: %s is not set: %s", k->path, key,
			why);
}

/* v2 (Slurm 25.11): where the jobs' directories lie, by default in system.slice. */
static void check_slice(const struct slurm_check *k)
{
	const struct slurmconf_pair *p = slurmconf_get(k->c, "CgroupSlice");

	if (p && cgroup_never_slurm(p->value))
		finding(k->f, LEVEL_WARN, "give Slurm a slice of its own",
			"%s:%u: CgroupSlice=%s: ceemsd does not search it, so jobs "
			"that it has no record of are not found",
			p->file, p->line, p->value);
	else if (p)
		say_good(k, p);
}

static void check_cgroup_conf(const struct slurm_check *k, bool gpus)
{
	auto_slurmconf struct slurmconf c = {0};
	struct err err = {""};
	auto_free char *path = k->o->cgroup_conf ? strdup(k->o->cgroup_conf)
						 : path_beside(k->path, "cgroup.conf");
	int rc = path ? slurmconf_read(&c, path, &err) : -ENOMEM;

	if (rc == -ENOENT) {
		finding(k->f, LEVEL_WARN, "write one with ConstrainRAMSpace=yes",
			"%s: not there: Slurm limits nothing and takes its defaults",
			path);
		return;
	}
	if (rc < 0) {
		finding(k->f, LEVEL_FAIL, "correct it", "%s", err.text);
		return;
	}
	const struct slurm_check cg = {.o = k->o, .path = path, .c = &c, .f = k->f};
	const struct slurmconf_pair *p = slurmconf_get(&c, "CgroupPlugin");
	if (p && slurmconf_names(p->value, "cgroup/", "disabled"))
		finding(k->f, LEVEL_FAIL, "set CgroupPlugin=autodetect",
			"%s:%u: CgroupPlugin=%s: jobs get no cgroups", p->file, p->line,
			p->value);
	else if (p)
		say_good(&cg, p);
	check_slice(&cg);
	want_constrained(&cg, "ConstrainRAMSpace",
			 "a job's memory limit is then the machine's memory");
	want_constrained(&cg, "ConstrainCores", "a job can use CPUs it was not given");
	if (gpus)
		want_constrained(
			&cg, "ConstrainDevices",
			"a job can use a GPU it was not given, and its use is charged "
			"to another");
}

/* ---- installed files ------------------------------------------------------------- */

const char *check_find_slurm_conf(const struct check_options *o)
{
	static const char *const usual[] = {
		"/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf",
		"/etc/slurm-llnl/slurm.conf", "/usr/local/etc/slurm.conf",
		"/opt/slurm/etc/slurm.conf"};
	const char *env = getenv("SLURM_CONF");

	if (o->slurm_conf)
		return o->slurm_conf;
	if (env && *env)
		return env;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (access(usual[i], F_OK) == 0)
			return usual[i];
	}
	return usual[0];
}

/* The version that a Slurm program prints: "slurm 24.11.5", "slurm-wlm 22.05.8". 0:
 * it is not there, or not one. */
static unsigned version_of(const char *folder, size_t len, const char *program)
{
	char path[PATH_MAX];
	const char *const argv[] = {path, "-V", NULL};
	auto_buf struct buf out = {.max = 4096};
	auto_buf struct buf errout = {.max = 4096};
	int status = 0;
	int n = snprintf(path, sizeof(path), "%.*s/%s", (int)len, folder, program);

	if (n < 0 || (size_t)n >= sizeof(path) || path[0] != '/' ||
	    access(path, X_OK) < 0 ||
	    exec_run(argv, NULL, 5000, &out, &errout, &status, NULL) < 0 ||
	    status != 0 || !out.data)
		return 0;
	const char *blank = strchr(out.data, ' ');
	return blank ? check_parse_version(blank + 1) : 0;
}

/* Of the Slurm in PATH, or else where it usually lies. */
static unsigned installed_version(void)
{
	static const char usual[] =
		"/usr/sbin:/usr/local/sbin:/opt/slurm/sbin:/usr/bin:"
		"/usr/local/bin:/opt/slurm/bin";
	static const char *const programs[] = {"slurmd", "slurmctld", "srun"};
	const char *path = getenv("PATH");
	const char *const lists[] = {path ? path : "", usual};

	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; i < 3; i++) {
			const char *d = lists[l];
			while (*d) {
				size_t len = strcspn(d, ":");
				unsigned v = version_of(d, len, programs[i]);
				if (v)
					return v;
				d += len + (d[len] == ':');
			}
		}
	}
	return 0;
}

static void check_conf(const struct slurm_check *k, const char *ring)
{
	bool gpus;

	check_plugin_dirs(k->c, k->f);
	check_tracking(k);
	check_gres(k, &gpus);
	check_energy(k->o, k->path, k->c, k->f);
	check_jobcomp(k->o, k->c, k->f);
	check_prep(k->o, k->c, k->f);
	check_container(k, ring);
	check_cgroup_conf(k, gpus);
}

static void check_slurm_version(struct check_options *o, struct findings *f)
{
	char text[32];

	if (!o->version)
		o->version = installed_version();
	check_version_text(o->version, text);
	if (!o->version)
		finding(f, LEVEL_WARN, "give --slurm-version",
			"no slurmd, slurmctld or srun found to ask for its version");
	else if (o->version < 0x160500)
		finding(f, LEVEL_FAIL, "upgrade Slurm",
			"Slurm %s is older than 22.05, the first that is supported",
			text);
	else
		finding(f, LEVEL_OK, NULL, "Slurm %s", text);
}

void check_slurm(const struct check_options *options, struct findings *f)
{
	struct check_options o = *options;
	auto_slurmconf struct slurmconf c = {0};
	struct err err = {""};
	char ring[256] = "";
	const struct slurm_check k = {
		.o = &o, .path = check_find_slurm_conf(&o), .c = &c, .f = f};

	check_slurm_version(&o, f);
	int rc = slurmconf_read(&c, k.path, &err);
	if (rc < 0)
		finding(f, LEVEL_FAIL,
			rc == -ENOENT && !c.file_count
				? "name it with --slurm-conf, or run this on a "
				  "host that has it"
				: "correct it",
			"%s", err.text);
	const struct slurmconf_pair *p = slurmconf_get(&c, "PlugStackConfig");
	auto_free char *plugstack =
		o.plugstack ? strdup(o.plugstack)
			    : path_beside(k.path, p ? p->value : "plugstack.conf");
	if (plugstack)
		check_plugstack(&o, plugstack, &c, ring, sizeof(ring), f);
	if (!ring[0])
		snprintf(ring, sizeof(ring), "%s", o.ring ? o.ring : RING_PATH_DEFAULT);
	else if (o.ring && strcmp(o.ring, ring) != 0)
		finding(f, LEVEL_FAIL, "make them the same",
			"%s: the plugin is told ring=%s, not %s", plugstack, ring,
			o.ring);
	else if (strcmp(ring, RING_PATH_DEFAULT) != 0)
		finding(f, LEVEL_OK, NULL,
			"%s: ring=%s (ceemsd must be started with --path.rundir for "
			"it)",
			plugstack, ring);
	if (rc == 0)
		check_conf(&k, o.ring ? o.ring : ring);
	check_ring(o.ring ? o.ring : ring, 0, false, f);
}
