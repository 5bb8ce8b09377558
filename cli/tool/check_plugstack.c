/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plugstack.conf: checks that our plugin is loaded, cannot stop jobs, and that this
 * Slurm accepts the file. Format: spank(7). */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/check.h"
#include "cli/tool/elfsym.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"
/* arguments are parsed by the code that also runs in slurmstepd */
#include "lib/plugin/spank_options.h"

#define PLUGIN_NAME "spank_ceems.so"
#define JOB_PLUGIN_NAME "spank_ceems_job.so"
#define FILES_MAX 256
#define WORDS_MAX 64

struct stack {
	const struct check_options *o;
	const struct slurmconf *slurm_conf;
	struct findings *f;
	struct policy policy;
	unsigned files, found;
	struct {
		dev_t dev;
		ino_t ino;
	} seen[FILES_MAX];
};

unsigned check_parse_version(const char *text)
{
	const char *end = text + strlen(text), *p = text;
	uint64_t v[3];

	for (int i = 0; i < 3; i++) {
		if (scan_u64(&p, end, &v[i]) < 0 || v[i] > 255)
			return 0;
		if (i < 2 && (p == end || *p++ != '.'))
			return 0;
	}
	if (p != end && *p != '-' && *p != '\n')
		return 0;
	return (unsigned)(v[0] << 16 | v[1] << 8 | v[2]);
}

void check_version_text(unsigned version, char ret[32])
{
	snprintf(ret, 32, "%u.%02u.%u", version >> 16 & 255, version >> 8 & 255,
		 version & 255);
}

/* ---- plugin files ---------------------------------------------------------------- */

static bool trusted_file(const char *path, struct findings *f)
{
	struct stat st;

	if (stat(path, &st) < 0 || !(st.st_mode & 022))
		return true;
	finding(f, LEVEL_FAIL, "chmod go-w, and see who changed it",
		"%s: mode %04o, others can write what Slurm loads as root", path,
		st.st_mode & 07777);
	return false;
}

/* spank: only major.minor must agree (src/common/plugstack.c); else all three. */
static void check_plugin_version(const struct check_options *o, const char *path,
				 bool spank, struct findings *f)
{
	struct err err = {""};
	uint32_t built, api;
	char a[32], b[32];
	int rc = elfsym_file_u32(path, "plugin_version", &built, &err);

	if (rc == 0 && spank)
		rc = elfsym_file_u32(path, "spank_plugin_version", &api, &err);
	if (rc < 0) {
		finding(f, LEVEL_FAIL, "install the plugin again",
			"%s, so Slurm refuses it", err.text);
		return;
	}
	check_version_text(built, a);
	if (!o->version) {
		finding(f, LEVEL_WARN,
			"compare with slurmd -V, or give --slurm-version",
			"%s: built for Slurm %s, this host's version is not known",
			path, a);
		return;
	}
	check_version_text(o->version, b);
	unsigned mask = spank ? 0xffff00 : 0xffffff;
	if ((built & mask) == (o->version & mask))
		finding(f, LEVEL_OK, NULL, "%s: built for Slurm %s, this is %s", path,
			a, b);
	else
		finding(f, LEVEL_FAIL,
			spank ? "install the one built for this major.minor version"
			      : "build it from exactly this version's source",
			"%s: built for Slurm %s, this is %s, so Slurm refuses it", path,
			a, b);
}

/* Where Slurm finds a plugin: an absolute path, or a name in PluginDir. NULL: not
 * found. The caller frees. */
static char *find_plugin(const struct check_options *o,
			 const struct slurmconf *slurm_conf, const char *name)
{
	static const char *const usual[] = {"/usr/lib/x86_64-linux-gnu/slurm-wlm",
					    "/usr/lib/aarch64-linux-gnu/slurm-wlm",
					    "/usr/lib64/slurm", "/usr/lib/slurm",
					    "/usr/local/lib/slurm"};
	const struct slurmconf_pair *dir = slurmconf_get(slurm_conf, "PluginDir");
	struct buf b = BUF_INIT;

	if (name[0] == '/')
		return access(name, F_OK) == 0 ? strdup(name) : NULL;
	auto_free char *conf_dirs = strdup(dir ? dir->value : "");
	char *rest = conf_dirs;
	size_t usual_count = dir ? 0 : sizeof(usual) / sizeof(usual[0]);
	size_t i = 0, given = o->plugin_dir_count;
	for (;;) {
		const char *d = rest && *rest ? strsep(&rest, ":") : NULL;
		if (!d && i < given)
			d = o->plugin_dirs[i++];
		else if (!d && i - given < usual_count)
			d = usual[i++ - given];
		if (!d)
			break;
		buf_reset(&b);
		buf_printf(&b, "%s/%s", d, name);
		if (!buf_error(&b) && access(b.data, F_OK) == 0)
			return b.data;
	}
	buf_done(&b);
	return NULL;
}

void check_plugin_dirs(const struct slurmconf *slurm_conf, struct findings *f)
{
	const struct slurmconf_pair *p = slurmconf_get(slurm_conf, "PluginDir");
	auto_free char *dirs = strdup(p ? p->value : "");
	char *rest = dirs;

	for (const char *d; rest && *rest;) {
		struct stat st;
		d = strsep(&rest, ":");
		if (stat(d, &st) < 0 || !S_ISDIR(st.st_mode))
			finding(f, LEVEL_FAIL,
				"take it out of PluginDir (ceems-slurm-plugins links "
				"our plugins into Slurm's own folder), or make it",
				"%s:%u: PluginDir names %s, which is no folder here: "
				"no daemon and no command of Slurm starts on this host",
				p->file, p->line, d);
	}
}

void check_plugin_file(const struct check_options *o,
		       const struct slurmconf *slurm_conf, const char *name, bool exact,
		       const char *who, struct findings *f)
{
	auto_free char *path = find_plugin(o, slurm_conf, name);

	if (!path)
		finding(f, LEVEL_FAIL,
			"ceems-slurm-plugins link, or name its folder with "
			"--plugin-dir",
			"%s: configured, but not found; %s not start without it", name,
			who);
	else if (trusted_file(path, f))
		check_plugin_version(o, path, !exact, f);
}

/* ---- lines ----------------------------------------------------------------------- */

/* False: a word was refused and reported. */
static bool check_words(struct stack *s, const char *where, char *const words[],
			size_t count)
{
	bool good = true;

	for (size_t i = 1; i < count; i++) {
		struct err err = {""};
		if (policy_apply(&s->policy, words[i], &err) == 0)
			continue;
		good = false;
		finding(s->f, LEVEL_WARN,
			"correct it; ceems-spank(8) has the arguments",
			"%s: %s (the plugin ignores it)", where, err.text);
	}
	return good;
}

/* Good is a line of which nothing else is said. */
static void check_our_line(struct stack *s, const char *where, bool required,
			   char *const words[], size_t count)
{
	struct findings *f = s->f;
	auto_free char *path = find_plugin(s->o, s->slurm_conf, words[0]);
	bool again = s->found++;

	if (again)
		finding(f, LEVEL_WARN, "remove one of the lines",
			"%s: %s is loaded a second time, each step is recorded twice",
			where, words[0]);
	if (required)
		finding(f, LEVEL_WARN, "write optional",
			"%s: %s is required: if the file is missing or refused after "
			"an "
			"update, no job starts any more",
			where, words[0]);
	if (!path)
		finding(f, LEVEL_FAIL,
			"install it there, or correct the path (it must be the same on "
			"all hosts)",
			"%s: there is no %s", where, words[0]);
	if (check_words(s, where, words, count) && !again && !required && path)
		finding(f, LEVEL_OK, NULL, "%s: optional %s", where, words[0]);
	if (path && trusted_file(path, f))
		check_plugin_version(s->o, path, true, f);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void read_stack(struct stack *s, const char *path, unsigned depth);

static void follow_plugstack_include(struct stack *s, const char *where,
				     const char *path, const char *pattern,
				     unsigned depth)
{
	auto_free char *full = path_beside(path, pattern);
	glob_t g = {0};

	if (!full)
		return;
	if (depth >= SLURMCONF_DEPTH_MAX) {
		finding(s->f, LEVEL_FAIL, "remove the loop",
			"%s: includes nested deeper than %d", where,
			SLURMCONF_DEPTH_MAX);
		return;
	}
	/* to Slurm a pattern without matches means no files */
	if (glob(full, 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc; i++)
			read_stack(s, g.gl_pathv[i], depth + 1);
		globfree(&g);
	}
}

static void read_plugstack_line(struct stack *s, const char *path, unsigned line_no,
				char *line, unsigned depth)
{
	char *words[WORDS_MAX], *rest = line, *word;
	char where[512];
	size_t count = 0;

	while (count < WORDS_MAX && (word = strsep(&rest, " \t"))) {
		if (*word)
			words[count++] = word;
	}
	if (!count)
		return;
	snprintf(where, sizeof(where), "%.480s:%u", path, line_no);
	bool required = strcmp(words[0], "required") == 0;
	if (strcmp(words[0], "include") == 0 && count > 1) {
		for (size_t i = 1; i < count; i++)
			follow_plugstack_include(s, where, path, words[i], depth);
	} else if (count < 2 || (!required && strcmp(words[0], "optional") != 0)) {
		finding(s->f, LEVEL_FAIL,
			"write: optional PLUGIN [ARGUMENT ...], or: include FILE",
			"%s: Slurm does not understand \"%.60s\"", where, words[0]);
	} else if (strcmp(base_name(words[1]), PLUGIN_NAME) == 0) {
		check_our_line(s, where, required, words + 1, count - 1);
	} else if (strcmp(base_name(words[1]), JOB_PLUGIN_NAME) == 0) {
		finding(s->f, LEVEL_WARN,
			"leave it out unless its job records are needed",
			"%s: with " JOB_PLUGIN_NAME
			" Slurm starts two more processes per job and node",
			where);
	}
}

/* Whether the file to be read as number s->files was read before. */
static bool seen_before(struct stack *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	unsigned last = s->files - 1;
	s->seen[last].dev = st.st_dev;
	s->seen[last].ino = st.st_ino;
	for (unsigned i = 0; i < last; i++) {
		if (s->seen[i].dev == st.st_dev && s->seen[i].ino == st.st_ino)
			return true;
	}
	return false;
}

static void read_stack(struct stack *s, const char *path, unsigned depth)
{
	auto_buf struct buf text = BUF_INIT;
	auto_buf struct buf line = BUF_INIT;
	struct err err = {""};
	unsigned next_no = 1, line_no;

	if (s->files++ >= FILES_MAX) {
		if (s->files == FILES_MAX + 1)
			finding(s->f, LEVEL_FAIL, "include fewer",
				"%s: more than %d files included", path, FILES_MAX);
		return;
	}
	if (seen_before(s, path)) {
		finding(s->f, LEVEL_FAIL, "include it once",
			"%s: included a second time, its plugins are loaded twice",
			path);
		return;
	}
	if (fs_read_buf_at(AT_FDCWD, path, SLURMCONF_BYTES_MAX, &text, &err) < 0) {
		finding(s->f, depth ? LEVEL_WARN : LEVEL_FAIL,
			"write it: optional .../" PLUGIN_NAME, "%s", err.text);
		return;
	}
	const char *p = text.data ? text.data : "", *end = p + text.len;
	while (slurmconf_line(&p, end, &next_no, &line_no, &line))
		read_plugstack_line(s, path, line_no, line.data, depth);
}

void check_plugstack(const struct check_options *o, const char *path,
		     const struct slurmconf *slurm_conf, char *ret_ring,
		     size_t ret_ring_size, struct findings *f)
{
	struct stack s = {.o = o, .slurm_conf = slurm_conf, .f = f};
	unsigned before = f->count[LEVEL_FAIL];

	policy_init(&s.policy);
	read_stack(&s, path, 0);
	if (!s.found && (s.files > 1 || f->count[LEVEL_FAIL] == before))
		finding(f, LEVEL_FAIL,
			"add the line: optional .../" PLUGIN_NAME
			" perf=allow report=allow profile=allow",
			"%s: " PLUGIN_NAME " is not loaded", path);
	snprintf(ret_ring, ret_ring_size, "%s", s.found ? s.policy.ring : "");
}
