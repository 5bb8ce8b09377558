/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAPL through perf events of the PMU "power": the kernel extends the registers to 64
 * bits, and an open event needs no further rights. Each event counts on one CPU per
 * package (the PMU's cpumask). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/rapl_pmu.h"
#include "daemon/sources/rapl_reader.h"
#include "daemon/sources/rapl_zone.h"
#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define ROOT "bus/event_source/devices/power"
#define EVENT_BYTES 48
#define ENTRIES_MAX 1024u
#define PACKAGES_MAX 256u

struct event {
	char file[EVENT_BYTES];
	char name[RAPL_NAME_BYTES];
	enum source_domain domain;
	uint32_t index; /* of the package: its index in the cpumask */
	uint64_t scale; /* see rapl_pmu_scale() */
	int fd;
	struct energy_counter counter;
};

struct perf {
	const struct env *env;
	int dirfd;     /* of the PMU */
	char root[96]; /* as it appears in labels */
	uint32_t type, cpus[PACKAGES_MAX];
	size_t cpu_count;
	struct event *events;
	size_t count;
	uint64_t resets;
};

static void perf_close(void *state)
{
	struct perf *p = state;

	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++)
		close(p->events[i].fd);
	if (p->dirfd >= 0)
		close(p->dirfd);
	free(p->events);
	free(p);
}

static ssize_t read_pmu_text(const struct perf *p, const char *path, char *ret,
			     size_t size, struct err *err)
{
	ssize_t n = fs_read_at(p->dirfd, path, ret, size, err);
	return n < 0 ? err_prefix(err, (int)n, "%s", p->root) : n;
}

static int read_pmu(struct perf *p, struct err *err)
{
	char text[1024];
	uint64_t type;
	int rc = fs_read_u64_at(p->dirfd, "type", &type, err);

	if (rc < 0)
		return err_prefix(err, rc, "%s", p->root);
	if (type > UINT32_MAX)
		return err_set(err, -ERANGE, "%s/type: too large", p->root);
	p->type = (uint32_t)type;
	ssize_t n = read_pmu_text(p, "cpumask", text, sizeof(text), err);
	if (n < 0)
		return (int)n;
	rc = parse_cpus(text, (size_t)n, p->cpus, PACKAGES_MAX);
	if (rc < 0)
		return err_set(err, rc, "%s/cpumask: not a list of CPUs", p->root);
	p->cpu_count = (size_t)rc;
	return 0;
}

/* Parses an event's files; -ENOENT: not an energy event. */
static int read_event(const struct perf *p, const char *file, struct event *ret,
		      uint64_t *ret_config, struct err *err)
{
	char path[EVENT_BYTES + 16], text[128];
	struct event e = {.fd = -1};

	if (strlen(file) >= sizeof(e.file) ||
	    !rapl_pmu_name(file, e.name, sizeof(e.name), &e.domain))
		return -ENOENT;
	(void)snprintf(e.file, sizeof(e.file), "%.*s", EVENT_BYTES - 1, file);
	(void)snprintf(path, sizeof(path), "events/%s", e.file);
	ssize_t n = read_pmu_text(p, path, text, sizeof(text), err);
	if (n < 0)
		return (int)n;
	int rc = rapl_pmu_event(text, (size_t)n, ret_config);
	if (rc < 0)
		return err_set(err, rc, "%s/%s: not understood", p->root, path);
	(void)snprintf(path, sizeof(path), "events/%s.scale", e.file);
	n = read_pmu_text(p, path, text, sizeof(text), err);
	if (n < 0)
		return (int)n;
	rc = rapl_pmu_scale(text, (size_t)n, &e.scale);
	if (rc < 0)
		return err_set(err, rc, "%s/%s: not a scale in joules", p->root, path);
	e.counter.worst_uw = rapl_zone_worst_uw(e.name, 0);
	*ret = e;
	return 0;
}

/* The event on each package; all or none of them */
static int add_event(struct perf *p, const char *file, struct err *err)
{
	struct event e;
	uint64_t config = 0;
	size_t before = p->count;
	int rc = read_event(p, file, &e, &config, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < p->cpu_count && p->count < RAPL_ZONES_MAX; i++) {
		e.index = (uint32_t)i;
		e.fd = p->env->perf_open(p->type, config, (int)p->cpus[i]);
		if (e.fd < 0)
			break;
		p->events[p->count++] = e;
	}
	if (e.fd >= 0)
		return 0;
	while (p->count > before)
		close(p->events[--p->count].fd);
	return err_set(err, e.fd, "%s/events/%s: perf_event_open: %s%s", p->root, file,
		       strerror(-e.fd),
		       e.fd == -EACCES || e.fd == -EPERM
			       ? ": start ceemsd as root or with CAP_PERFMON"
			       : "");
}

static int by_event(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	return c ? c : (int)x->index - (int)y->index;
}

static int find_events(struct perf *p, struct err *err)
{
	int fd = fs_opendir_at(p->dirfd, "events", err), first_rc = 0;
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct err why = {""};
	unsigned seen = 0;

	p->events = calloc(RAPL_ZONES_MAX, sizeof(*p->events));
	if (!d || !p->events) {
		if (!d && fd >= 0)
			close(fd);
		return err_set(err, fd < 0 ? fd : -ENOMEM, "%s: cannot be listed",
			       p->root);
	}
	for (const struct dirent *e = readdir(d); e && seen++ < ENTRIES_MAX;
	     e = readdir(d)) {
		int rc = add_event(p, e->d_name, &why);
		if (rc < 0 && rc != -ENOENT && !first_rc) {
			first_rc = rc;
			(void)err_set(err, rc, "%s", why.text);
		}
	}
	if (p->count) {
		qsort(p->events, p->count, sizeof(*p->events), by_event);
		return 0;
	}
	return first_rc ? first_rc
			: err_set(err, -ENODEV, "%s: no event of energy", p->root);
}

static int perf_open(const struct env *env, void **ret_state, struct err *err)
{
	struct perf *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->env = env;
	p->dirfd = -1;
	(void)snprintf(p->root, sizeof(p->root), "%s/" ROOT, env->options->path_sysfs);
	int rc = env->perf_open ? 0 : err_set(err, -ENODEV, "no perf events");
	if (rc == 0) {
		p->dirfd = fs_opendir_at(env->sysfd, ROOT, err);
		rc = p->dirfd == -ENOENT ? -ENODEV : p->dirfd < 0 ? p->dirfd : 0;
	}
	if (rc == 0)
		rc = read_pmu(p, err);
	if (rc == 0)
		rc = find_events(p, err);
	if (rc < 0) {
		perf_close(p);
		return rc;
	}
	*ret_state = p;
	return 0;
}

static int read_counter(struct perf *p, struct event *e, struct err *err)
{
	uint64_t count;
	ssize_t n = read(e->fd, &count, sizeof(count));

	if (n != (ssize_t)sizeof(count)) {
		int rc = n < 0 ? -errno : -EIO;
		return err_set(err, rc, "%s/events/%s: read: %s", p->root, e->file,
			       strerror(-rc));
	}
	if (energy_counter_take(&e->counter, rapl_pmu_uj(count, e->scale),
				p->env->boottime_ns()) == ENERGY_STEP_RESET)
		p->resets++;
	return 0;
}

static int put_perf_channel(const struct perf *p, const struct event *e,
			    struct source_snapshot *out)
{
	struct source_channel *c = source_snapshot_add(out);

	if (!c)
		return -ENOMEM;
	c->kind = SOURCE_ENERGY;
	c->domain = e->domain;
	c->index = e->index;
	(void)snprintf(c->name, sizeof(c->name), "%s", e->name);
	(void)snprintf(c->chip, sizeof(c->chip), "%s/events/%s", p->root, e->file);
	c->value = e->counter.total_uj;
	c->raw = e->counter.raw_uj;
	c->measured_ns = e->counter.at_ns;
	return 0;
}

static int perf_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct perf *p = state;
	size_t read = 0;
	int last_rc = -EIO;

	for (size_t i = 0; i < p->count; i++) {
		struct event *e = &p->events[i];
		int rc = read_counter(p, e, &out->partial);
		if (rc < 0)
			last_rc = rc;
		read += rc == 0;
		/* an event that never advances is for a missing unit, or in a virtual
		 * machine */
		if (!e->counter.at_ns || energy_counter_is_dead(&e->counter))
			continue;
		if (put_perf_channel(p, e, out) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	out->resets = p->resets;
	if (!read)
		return err_set(err, last_rc, "%s", out->partial.text);
	if (!out->count)
		(void)err_set(&out->partial, -ENODATA,
			      "%s: no counter ever moves, there is no RAPL here",
			      p->root);
	return 0;
}

const struct source rapl_perf = {
	.name = "perf",
	.open = perf_open,
	.sample = perf_sample,
	.close = perf_close,
};
