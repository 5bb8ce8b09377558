/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power counters of Cray EX nodes, updated by the node's controller ten times a second.
 * A reading is valid only if the controller did not write while the files were read,
 * and new only if its clock has advanced. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sources/cray_text.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/source.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"

#define ROOT "cray/pm_counters"
#define FILES_MAX 256u
#define ENTRIES_MAX 4096u
#define NAME_BYTES 32
#define TRIES 4
#define WORST_UW 20000000000ull
/* Difference of the controller's clock and ours: beyond it its times order readings,
 * but are not converted to ours. */
#define CLOCKS_APART_NS (10 * NSEC_PER_SEC)

struct file {
	char name[NAME_BYTES];
	struct source_channel channel;
	uint64_t scale;
	const char *unit;
	struct energy_counter counter;
	uint64_t us;               /* of the last reading */
	struct cray_reading fresh; /* being taken */
	int rc;
};

/* The controller's marks for all files */
struct marks {
	uint64_t freshness, generation, startup;
	bool has_freshness, has_generation, has_startup;
};

struct cray {
	const struct env *env;
	int dirfd;
	struct file *files;
	size_t count;
	struct marks marks;
	bool sampled;
	uint64_t resets;
};

static void cray_close(void *state)
{
	struct cray *c = state;

	if (!c)
		return;
	if (c->dirfd >= 0)
		close(c->dirfd);
	free(c->files);
	free(c);
}

static int compare_cray_files(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static bool cray_has_domain(const struct cray *c, const char *domain)
{
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->files[i].channel.name, domain) == 0)
			return true;
	}
	return false;
}

static bool has_energy(const struct cray *c, const char *domain)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->files[i].channel.kind == SOURCE_ENERGY &&
		    strcmp(c->files[i].channel.name, domain) == 0)
			return true;
	}
	return false;
}

/* If there is a sum ("cpu"), its parts ("cpu0") are exported but not divided. */
static enum source_domain domain_of(const struct cray *c, const struct file *f)
{
	const char *name = f->channel.name;

	if (f->channel.kind != SOURCE_ENERGY && f->channel.kind != SOURCE_POWER)
		return SOURCE_DOMAIN_NONE;
	if (f->channel.kind == SOURCE_POWER && has_energy(c, name))
		return SOURCE_DOMAIN_NONE;
	if (strcmp(name, "node") == 0)
		return SOURCE_DOMAIN_HOST;
	if (strncmp(name, "accel", 5) == 0)
		return !name[5] || !cray_has_domain(c, "accel") ? SOURCE_DOMAIN_GPU
								: SOURCE_DOMAIN_NONE;
	if (strncmp(name, "cpu", 3) == 0)
		return !name[3] || !cray_has_domain(c, "cpu") ? SOURCE_DOMAIN_PACKAGE
							      : SOURCE_DOMAIN_NONE;
	return !name[6] || !cray_has_domain(c, "memory") ? SOURCE_DOMAIN_DRAM
							 : SOURCE_DOMAIN_NONE;
}

static void add_file(struct cray *c, const char *name)
{
	struct file f = {0};
	bool numbered;
	_Static_assert(CRAY_DOMAIN_BYTES <= sizeof(f.channel.name), "domain fits");

	if (strlen(name) >= sizeof(f.name) ||
	    !cray_file(name, f.channel.name, &f.channel.kind, &f.channel.index,
		       &numbered))
		return;
	(void)snprintf(f.name, sizeof(f.name), "%s", name);
	f.unit = cray_unit(f.channel.kind, &f.scale);
	f.counter.worst_uw = WORST_UW;
	c->files[c->count++] = f;
}

static int find_files(struct cray *c, struct err *err)
{
	int fd = fs_opendir_at(c->dirfd, ".", err);
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	unsigned seen = 0;

	c->files = calloc(FILES_MAX, sizeof(*c->files));
	if (!d || !c->files) {
		if (!d && fd >= 0)
			close(fd);
		return err_set(err, fd < 0 ? fd : -ENOMEM, ROOT ": cannot be listed");
	}
	for (const struct dirent *e = readdir(d);
	     e && seen++ < ENTRIES_MAX && c->count < FILES_MAX; e = readdir(d))
		add_file(c, e->d_name);
	qsort(c->files, c->count, sizeof(*c->files), compare_cray_files);
	for (size_t i = 0; i < c->count; i++)
		c->files[i].channel.domain = domain_of(c, &c->files[i]);
	return c->count ? 0 : err_set(err, -ENODEV, ROOT ": no counter in it");
}

static int cray_open(const struct env *env, void **ret_state, struct err *err)
{
	struct cray *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->env = env;
	c->dirfd = fs_opendir_at(env->sysfd, ROOT, err);
	int rc = c->dirfd == -ENOENT ? -ENODEV : c->dirfd;
	if (rc >= 0)
		rc = find_files(c, err);
	if (rc < 0) {
		cray_close(c);
		return rc;
	}
	*ret_state = c;
	return 0;
}

static int read_cray_file(const struct cray *c, const char *name, const char *unit,
			  struct cray_reading *ret)
{
	char text[128];
	ssize_t n = fs_read_at(c->dirfd, name, text, sizeof(text), NULL);

	return n < 0 ? (int)n : cray_parse(text, (size_t)n, unit, ret);
}

static bool read_mark(const struct cray *c, const char *name, uint64_t *ret)
{
	struct cray_reading r;

	if (read_cray_file(c, name, NULL, &r) < 0)
		return false;
	*ret = r.value;
	return true;
}

static struct marks read_marks(const struct cray *c)
{
	struct marks m = {0};

	m.has_freshness = read_mark(c, "freshness", &m.freshness);
	m.has_generation = read_mark(c, "generation", &m.generation);
	m.has_startup = read_mark(c, "startup", &m.startup);
	return m;
}

static bool same_marks(const struct marks *a, const struct marks *b)
{
	return a->freshness == b->freshness && a->generation == b->generation &&
	       a->startup == b->startup && a->has_freshness == b->has_freshness &&
	       a->has_generation == b->has_generation &&
	       a->has_startup == b->has_startup;
}

/* Reads all files between two writes of the controller */
static int read_all(struct cray *c, struct marks *ret, struct err *err)
{
	struct marks before = read_marks(c);

	for (unsigned try = 0; try < TRIES; try++) {
		for (size_t i = 0; i < c->count; i++) {
			struct file *f = &c->files[i];
			f->rc = read_cray_file(c, f->name, f->unit, &f->fresh);
			if (f->rc == 0 && f->fresh.value > UINT64_MAX / f->scale)
				f->rc = -ERANGE;
		}
		struct marks after = read_marks(c);
		if (same_marks(&before, &after)) {
			*ret = after;
			return 0;
		}
		before = after;
	}
	return err_set(err, -EAGAIN,
		       ROOT ": changed during each of %d readings, none is whole",
		       TRIES);
}

/* Boot time of a measurement */
static uint64_t place_cray_time(const struct cray *c, uint64_t us)
{
	uint64_t boot_ns = c->env->boottime_ns(), real_ns = c->env->realtime_ns();

	if (!us || us > real_ns / 1000)
		return boot_ns;
	uint64_t ago_ns = real_ns - us * 1000;
	return ago_ns > CLOCKS_APART_NS || ago_ns > boot_ns ? boot_ns
							    : boot_ns - ago_ns;
}

/* Takes over the reading of one file, if it is new. */
static void take_cray_reading(struct cray *c, struct file *f, bool moved,
			      bool restarted)
{
	struct source_channel *ch = &f->channel;

	if (restarted) {
		energy_counter_restart(&f->counter);
		f->us = 0;
	}
	/* files without times are new if the controller's marks have changed */
	bool fresh = f->fresh.us ? f->fresh.us > f->us : moved;
	if (!fresh && ch->measured_ns)
		return;
	f->us = f->fresh.us;
	ch->measured_ns = place_cray_time(c, f->us);
	ch->raw = ch->value = f->fresh.value * f->scale;
	if (ch->kind != SOURCE_ENERGY)
		return;
	if (energy_counter_take(&f->counter, ch->raw, ch->measured_ns) ==
	    ENERGY_STEP_RESET)
		c->resets++;
	ch->value = f->counter.total_uj;
}

static int cray_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct cray *c = state;
	struct marks m;
	size_t read = 0;
	int last_rc = -ENODEV, rc = read_all(c, &m, err);

	if (rc < 0)
		return rc;
	bool restarted = c->sampled && m.startup != c->marks.startup;
	bool moved =
		!c->sampled || !m.has_freshness || m.freshness != c->marks.freshness;
	c->resets += restarted;
	for (size_t i = 0; i < c->count; i++) {
		struct file *f = &c->files[i];
		if (f->rc == 0) {
			take_cray_reading(c, f, moved, restarted);
			read++;
		} else {
			last_rc = f->rc;
			(void)err_set(&out->partial, f->rc, ROOT "/%s: %s", f->name,
				      strerror(-f->rc));
			if (restarted)
				energy_counter_restart(&f->counter);
		}
		if (!f->channel.measured_ns)
			continue;
		struct source_channel *ch = source_snapshot_add(out);
		if (!ch)
			return err_set(err, -ENOMEM, "out of memory");
		*ch = f->channel;
		ch->worst_uw = f->counter.worst_uw;
		ch->epoch = m.startup;
	}
	c->marks = m;
	c->sampled = true;
	out->resets = c->resets;
	return read ? 0 : err_set(err, last_rc, "%s", out->partial.text);
}

const struct source source_cray_pm_counters = {
	.name = "cray_pm_counters",
	.open = cray_open,
	.sample = cray_sample,
	.close = cray_close,
};
