/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of --collector.perf.raw-events-file: each key accepted or refused by name.
 * All of it is checked, whichever CPU this node has. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/groups/perf_figures.h"
#include "daemon/options.h"
#include "lib/cleanup.h"
#include "lib/conf/yaml_rows.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/parse.h"

#define FILE_MAX ((size_t)256 << 10)
#define CPUS_MAX 64
#define MODELS_MAX 32
#define WEIGHT_MAX 1000000u
#define CPUINFO_MAX 4096

struct model_range {
	uint64_t from, to;
};

struct event_entry {
	const char *pmu, *group;
	uint64_t config, config1, config2, weight;
};

struct figure_entry {
	const char *name, *help;
	struct event_entry *events;
	size_t event_count;
};

struct cpu_entry {
	const char *name, *vendor;
	uint64_t family; /* UINT64_MAX: any */
	struct model_range *models;
	size_t model_count; /* 0: any */
	struct figure_entry *figures, *node_figures;
	size_t figure_count, node_count;
};

struct figures_file {
	struct cpu_entry *cpus;
	size_t cpu_count;
};

/* ---- values ---------------------------------------------------------------------- */

/* Decimal, or 0x and hexadecimal as manuals have it */
static int parse_code(const char *s, size_t len, uint64_t *ret)
{
	uint64_t v = 0;

	if (len < 3 || len > 18 || s[0] != '0' || (s[1] | 32) != 'x')
		return parse_u64_len(s, len, ret);
	for (size_t i = 2; i < len; i++) {
		int digit = parse_hex_digit(s[i]);
		if (digit < 0)
			return -EINVAL;
		v = v << 4 | (unsigned)digit;
	}
	*ret = v;
	return 0;
}

static int read_code(struct yaml_reader *r, const struct yaml_row *row, const char *key,
		     yaml_node_t *v, void *at)
{
	const char *s = "";
	int rc = yaml_reader_text(r, key, v, &s);

	(void)row;
	if (rc == 0 && parse_code(s, strlen(s), at) < 0)
		return yaml_walk_fail(&r->w, v, key,
				      "must be a number, such as 0x1f03");
	return rc;
}

/* "1" or "0x10-0x1f" */
static int read_models(struct yaml_reader *r, const struct yaml_row *row,
		       const char *key, yaml_node_t *v, void *at)
{
	struct model_range m;
	const char *s = "";
	int rc = yaml_reader_text(r, key, v, &s);

	(void)row;
	if (rc < 0)
		return rc;
	size_t len = strcspn(s, "-");
	const char *to = s[len] ? s + len + 1 : s;
	if (parse_code(s, len, &m.from) < 0 || parse_code(to, strlen(to), &m.to) < 0 ||
	    m.to < m.from)
		return yaml_walk_fail(&r->w, v, key,
				      "must be numbers, such as 0x10-0x1f");
	*(struct model_range *)at = m;
	return 0;
}

static bool is_word_of(const char *s, const char *letters, size_t max)
{
	size_t len = strlen(s);

	return len && len <= max && strspn(s, letters) == len;
}

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789_"

static int read_figure_name(struct yaml_reader *r, const struct yaml_row *row,
			    const char *key, yaml_node_t *v, void *at)
{
	int rc = yaml_read_text(r, row, key, v, at);

	if (rc == 0 && !is_word_of(*(const char **)at, LOWER, PERF_FIGURE_NAME_MAX))
		return yaml_walk_fail(&r->w, v, key,
				      "must be of a to z, 0 to 9 and _, at most 40");
	return rc;
}

/* The name of a folder in sysfs */
static int read_pmu_name(struct yaml_reader *r, const struct yaml_row *row,
			 const char *key, yaml_node_t *v, void *at)
{
	int rc = yaml_read_text(r, row, key, v, at);

	if (rc == 0 &&
	    !is_word_of(*(const char **)at, LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ-", 60))
		return yaml_walk_fail(
			&r->w, v, key,
			"must be a name in /sys/bus/event_source/devices");
	return rc;
}

/* ---- the file -------------------------------------------------------------------- */

static int check_figures(struct yaml_reader *r, yaml_node_t *v, const char *key,
			 const struct figure_entry *figures, size_t count, bool node)
{
	size_t events = 0;

	for (size_t i = 0; i < count; i++) {
		const struct figure_entry *f = &figures[i];
		events += f->event_count;
		if (!f->name || !f->event_count)
			return yaml_walk_fail(&r->w, v, f->name ? f->name : key,
					      "a figure needs a name and events");
		for (size_t k = 0; k < i; k++) {
			if (strcmp(figures[k].name, f->name) == 0)
				return yaml_walk_fail(&r->w, v, f->name,
						      "two figures of this name");
		}
		for (size_t k = 0; node && k < f->event_count; k++) {
			if (f->events[k].group)
				return yaml_walk_fail(&r->w, v, f->name,
						      "no groups in node_figures");
		}
	}
	return events > HARDWARE_RAW_MAX
		       ? yaml_walk_fail(&r->w, v, key, "more than 12 events of one CPU")
		       : 0;
}

static int check_events(struct yaml_reader *r, const char *key, yaml_node_t *v,
			void *at)
{
	const struct cpu_entry *c = at;
	const char *name = c->name ? c->name : "cpus";
	int rc = check_figures(r, v, name, c->figures, c->figure_count, false);

	(void)key;
	return rc < 0 ? rc
		      : check_figures(r, v, name, c->node_figures, c->node_count, true);
}

static const struct yaml_row event_rows[] = {
	YAML_ROW("pmu", read_pmu_name, struct event_entry, pmu, ),
	YAML_ROW("config", read_code, struct event_entry, config, ),
	YAML_ROW("config1", read_code, struct event_entry, config1, ),
	YAML_ROW("config2", read_code, struct event_entry, config2, ),
	YAML_RANGE("weight", number, struct event_entry, weight, 1, 1, WEIGHT_MAX),
	YAML_TEXT("group", struct event_entry, group),
	YAML_END,
};
static const struct yaml_row event_item = {.read = yaml_read_map, .rows = event_rows};

static const struct yaml_row figure_rows[] = {
	YAML_ROW("name", read_figure_name, struct figure_entry, name, ),
	YAML_TEXT("help", struct figure_entry, help),
	YAML_LIST("events", &event_item, struct figure_entry, events, event_count,
		  HARDWARE_RAW_MAX),
	YAML_END,
};
static const struct yaml_row figure_item = {.read = yaml_read_map, .rows = figure_rows};

static const struct yaml_row model_item = {.read = read_models};

static const struct yaml_row cpu_rows[] = {
	YAML_TEXT("name", struct cpu_entry, name),
	YAML_TEXT("vendor", struct cpu_entry, vendor),
	YAML_ROW("family", read_code, struct cpu_entry, family, .def = UINT64_MAX),
	YAML_LIST("models", &model_item, struct cpu_entry, models, model_count,
		  MODELS_MAX),
	YAML_LIST("figures", &figure_item, struct cpu_entry, figures, figure_count,
		  PERF_FIGURES_MAX),
	YAML_LIST("node_figures", &figure_item, struct cpu_entry, node_figures,
		  node_count, PERF_FIGURES_MAX),
	YAML_END,
};
static const struct yaml_row cpu_item = {
	.read = yaml_read_map, .rows = cpu_rows, .check = check_events};

static const struct yaml_row root_rows[] = {
	YAML_LIST("cpus", &cpu_item, struct figures_file, cpus, cpu_count, CPUS_MAX),
	YAML_END,
};

static int read_figures_file(const char *name, struct arena *arena,
			     struct figures_file *ret, struct err *err)
{
	auto_buf struct buf text = {.max = FILE_MAX};
	struct yaml_reader r = {.w = {.file = name, .err = err}, .arena = arena};
	int rc = fs_read_buf_at(AT_FDCWD, name, FILE_MAX, &text, err);

	if (rc < 0)
		return rc;
	rc = yaml_rows_read(&r, text.data ? text.data : "", text.len, FILE_MAX,
			    "the file", root_rows, ret);
	if (rc == 0 && !ret->cpu_count)
		rc = err_set(err, -EINVAL, "%s: no cpus in it", name);
	return rc;
}

/* ---- this node ------------------------------------------------------------------- */

struct own_cpu {
	char vendor[64];
	uint64_t family, model;
};

/* One that is no number was not told. */
static uint64_t number_of_cpu(const char *value)
{
	uint64_t v = UINT64_MAX;

	return parse_u64(value, &v) < 0 ? UINT64_MAX : v;
}

static void take_cpuinfo(struct own_cpu *c, const char *key, size_t len,
			 const char *value)
{
	if (len == 9 && memcmp(key, "vendor_id", len) == 0)
		(void)snprintf(c->vendor, sizeof(c->vendor), "%s", value);
	else if (len == 10 && memcmp(key, "cpu family", len) == 0)
		c->family = number_of_cpu(value);
	else if (len == 5 && memcmp(key, "model", len) == 0)
		c->model = number_of_cpu(value);
}

/* Of the first processor; UINT64_MAX: not told. */
static struct own_cpu read_own_cpu(int procfd)
{
	struct own_cpu c = {.family = UINT64_MAX, .model = UINT64_MAX};
	char text[CPUINFO_MAX + 1], value[64];
	ssize_t n = fs_read_at(procfd, "cpuinfo", text, sizeof(text), NULL);
	const char *line, *p = text, *end = text + (n > 0 ? n : 0);
	size_t len;

	while (scan_line(&p, end, &line, &len) && len) {
		const char *colon = memchr(line, ':', len);
		if (!colon)
			continue;
		size_t key = (size_t)(colon - line);
		while (key && (line[key - 1] == '\t' || line[key - 1] == ' '))
			key--;
		const char *from = colon + 1;
		while (from < line + len && *from == ' ')
			from++;
		(void)snprintf(value, sizeof(value), "%.*s", (int)(line + len - from),
			       from);
		take_cpuinfo(&c, line, key, value);
	}
	return c;
}

static bool is_of_cpu(const struct cpu_entry *e, const struct own_cpu *own)
{
	bool model = !e->model_count;

	for (size_t i = 0; i < e->model_count; i++)
		model |= e->models[i].from <= own->model &&
			 own->model <= e->models[i].to;
	return model && (!e->vendor || strcmp(e->vendor, own->vendor) == 0) &&
	       (e->family == UINT64_MAX || e->family == own->family);
}

/* A PMU of the package counts for all of its tasks at once: it has a list of the CPUs
 * on which it is read, -ENOENT for others. */
static int read_cpumask(int sysfd, const char *pmu, uint32_t cpus[PERF_NODE_CPUS_MAX])
{
	char path[128], text[512];

	(void)snprintf(path, sizeof(path), "bus/event_source/devices/%s/cpumask", pmu);
	ssize_t n = fs_read_at(sysfd, path, text, sizeof(text), NULL);
	return n < 0 ? (int)n : parse_cpus(text, (size_t)n, cpus, PERF_NODE_CPUS_MAX);
}

static int find_pmu(int sysfd, const char *name, uint32_t *ret, struct err *err)
{
	char path[128];
	uint64_t type;

	(void)snprintf(path, sizeof(path), "bus/event_source/devices/%s/type", name);
	int rc = fs_read_u64_at(sysfd, path, &type, NULL);
	if (rc < 0 || type > UINT32_MAX)
		return err_set(err, -ENODEV, "this node has no PMU %s", name);
	*ret = (uint32_t)type;
	return 0;
}

static const char *group_of(const struct figure_entry *f, const struct event_entry *e)
{
	return e->group ? e->group : f->name;
}

/* Groups go on from one figure to the next. */
static int take_figure(struct perf_figures *to, int sysfd, const struct figure_entry *f,
		       const char **last_group, struct err *err)
{
	struct perf_figure figure = {.name = f->name, .help = f->help};
	struct hardware_raws raws = to->raws;
	const char *group = *last_group;

	for (size_t i = 0; i < f->event_count; i++) {
		const struct event_entry *e = &f->events[i];
		struct hardware_raw raw = {.config = e->config,
					   .config1 = e->config1,
					   .config2 = e->config2};
		const char *pmu = e->pmu ? e->pmu : "cpu";
		uint32_t cpus[PERF_NODE_CPUS_MAX];
		if (read_cpumask(sysfd, pmu, cpus) != -ENOENT)
			return err_set(
				err, -EINVAL,
				"PMU %s counts for a whole package, which has no "
				"units: it belongs to node_figures",
				pmu);
		int rc = find_pmu(sysfd, pmu, &raw.type, err);
		if (rc < 0)
			return rc;
		raw.leads = !group || strcmp(group, group_of(f, e)) != 0;
		group = group_of(f, e);
		figure.events |= 1u << (HARDWARE_RAW + raws.count);
		to->weight[raws.count] = e->weight;
		raws.event[raws.count++] = raw;
	}
	to->raws = raws;
	to->figure[to->count++] = figure;
	*last_group = group;
	return 0;
}

static int take_node_figure(struct perf_figures *to, int sysfd,
			    const struct figure_entry *f, struct err *err)
{
	struct perf_node_figure figure = {
		.name = f->name, .help = f->help, .first = to->node_events};
	uint32_t cpus[PERF_NODE_CPUS_MAX];

	for (size_t i = 0; i < f->event_count; i++) {
		const struct event_entry *e = &f->events[i];
		struct perf_node_event *event = &to->node_event[figure.first + i];
		*event = (struct perf_node_event){.raw = {.config = e->config,
							  .config1 = e->config1,
							  .config2 = e->config2},
						  .weight = e->weight,
						  .pmu = e->pmu ? e->pmu : "cpu"};
		int rc = find_pmu(sysfd, event->pmu, &event->raw.type, err);
		if (rc < 0)
			return rc;
		int n = read_cpumask(sysfd, event->pmu, cpus);
		if (n < 0)
			return err_set(err, -EINVAL,
				       "PMU %s does not count for a whole package (it "
				       "has no cpumask): it belongs to figures",
				       event->pmu);
		if (i && ((uint32_t)n != figure.cpu_count ||
			  memcmp(cpus, figure.cpus, (size_t)n * sizeof(*cpus)) != 0))
			return err_set(err, -EINVAL,
				       "PMUs %s and %s are read on different CPUs",
				       to->node_event[figure.first].pmu, event->pmu);
		figure.cpu_count = (uint32_t)n;
		memcpy(figure.cpus, cpus, (size_t)n * sizeof(*cpus));
		figure.count++;
	}
	to->node_events += figure.count;
	to->node_figure[to->node_count++] = figure;
	return 0;
}

static void take_section(struct perf_figures *to, int sysfd, const struct cpu_entry *c,
			 struct buf *notes)
{
	const char *group = NULL;
	struct err err;

	to->cpu = c->name ? c->name : "any CPU";
	for (size_t i = 0; i < c->figure_count; i++) {
		if (take_figure(to, sysfd, &c->figures[i], &group, &err) < 0)
			buf_printf(notes, "%s: %s\n", c->figures[i].name, err.text);
	}
	for (size_t i = 0; i < c->node_count; i++) {
		if (take_node_figure(to, sysfd, &c->node_figures[i], &err) < 0)
			buf_printf(notes, "%s: %s\n", c->node_figures[i].name,
				   err.text);
	}
}

int perf_figures_load(const char *file, int procfd, int sysfd, struct perf_figures *ret,
		      struct buf *notes, struct err *err)
{
	struct perf_figures f = {.count = 0};
	struct figures_file all = {.cpu_count = 0};
	int rc = read_figures_file(file, &f.arena, &all, err);

	if (rc < 0) {
		perf_figures_done(&f);
		return rc;
	}
	struct own_cpu own = read_own_cpu(procfd);
	for (size_t i = 0; i < all.cpu_count && !f.cpu; i++) {
		if (is_of_cpu(&all.cpus[i], &own))
			take_section(&f, sysfd, &all.cpus[i], notes);
	}
	auto_buf struct buf text = {.max = sizeof(f.text) - 1};
	hardware_raws_put(&text, &f.raws);
	(void)snprintf(f.text, sizeof(f.text), "%s", text.data ? text.data : "");
	*ret = f;
	return 0;
}

static void say_figures(const struct perf_figures *f, const char *file,
			const struct buf *notes)
{
	const char *line, *p = notes->data, *end = p + notes->len;
	size_t len;

	if (!f->cpu) {
		log_warn("%s: none of its sections is of this node's CPU: no figures "
			 "of raw events",
			 file);
		return;
	}
	for (uint32_t i = 0; i < f->count; i++)
		log_info("perf: %s of %s: %d raw events", f->figure[i].name, f->cpu,
			 __builtin_popcount(f->figure[i].events));
	for (uint32_t i = 0; i < f->node_count; i++)
		log_info("perf: %s of %s: %u raw events of the node on %u CPUs",
			 f->node_figure[i].name, f->cpu, f->node_figure[i].count,
			 f->node_figure[i].cpu_count);
	while (notes->len && scan_line(&p, end, &line, &len))
		log_warn("%s: %.*s: this figure is left out", file, (int)len, line);
}

int perf_figures_open(const struct options *o, struct perf_figures *ret,
		      struct err *err)
{
	auto_buf struct buf notes = BUF_INIT;

	memset(ret, 0, sizeof(*ret));
	if (!*o->perf_raw_file)
		return 0;
	auto_close int procfd = fs_opendir_at(AT_FDCWD, o->path_procfs, NULL);
	auto_close int sysfd = fs_opendir_at(AT_FDCWD, o->path_sysfs, NULL);
	int rc = perf_figures_load(o->perf_raw_file, procfd, sysfd, ret, &notes, err);
	if (rc == 0)
		say_figures(ret, o->perf_raw_file, &notes);
	return rc;
}
