/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAPL through the kernel's powercap zones, which know the registers' units. Since
 * Linux 5.10 energy_uj is for root only: it is opened before privileges are dropped (or
 * by a site's own file permissions) and kept open. */
#include "daemon/sources/rapl_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/rapl_zone.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"

#define ROOT "class/powercap"
#define FOLDER_BYTES 64
#define CONSTRAINTS 4
#define SLOW_NS (10 * NSEC_PER_SEC) /* limits, and zones that failed */

struct powercap_zone {
	char folder[FOLDER_BYTES], name[RAPL_NAME_BYTES];
	uint32_t index;
	enum source_domain domain;
	struct energy_counter counter;
	int fd; /* of energy_uj; -1: to be opened again */
	uint64_t limit_uw, limit_ns;
	bool has_limit;
};

struct powercap {
	int dirfd; /* of the powercap class */
	const struct env *env;
	char root[96]; /* as it appears in labels */
	struct powercap_zone *zones;
	size_t count;
	uint64_t slow_ns, resets;
};

static void powercap_close(void *state)
{
	struct powercap *r = state;

	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++) {
		if (r->zones[i].fd >= 0)
			close(r->zones[i].fd);
	}
	if (r->dirfd >= 0)
		close(r->dirfd);
	free(r->zones);
	free(r);
}

static int zone_path(const char *folder, const char *file, char *ret, size_t size)
{
	int n = snprintf(ret, size, "%s/%s", folder, file);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static int zone_u64(const struct powercap *r, const char *folder, const char *file,
		    uint64_t *ret, struct err *err)
{
	char path[FOLDER_BYTES + 48];
	int rc = zone_path(folder, file, path, sizeof(path));

	return rc < 0 ? rc : fs_read_u64_at(r->dirfd, path, ret, err);
}

/* The limit of the constraint with the longest window; other constraint files may not
 * exist. */
static void read_limit(struct powercap *r, struct powercap_zone *z, uint64_t now_ns)
{
	uint64_t longest = 0, limit = 0;
	bool found = false;

	for (unsigned i = 0; i < CONSTRAINTS; i++) {
		char file[40];
		uint64_t window = 0, uw;
		(void)snprintf(file, sizeof(file), "constraint_%u_time_window_us", i);
		(void)zone_u64(r, z->folder, file, &window, NULL);
		if (found && window <= longest)
			continue;
		(void)snprintf(file, sizeof(file), "constraint_%u_power_limit_uw", i);
		if (zone_u64(r, z->folder, file, &uw, NULL) < 0)
			continue;
		found = true;
		longest = window;
		limit = uw;
	}
	z->has_limit = found;
	z->limit_uw = limit;
	z->limit_ns = now_ns;
}

static int open_energy(struct powercap *r, struct powercap_zone *z, struct err *err)
{
	char path[FOLDER_BYTES + 16];
	int rc = zone_path(z->folder, "energy_uj", path, sizeof(path));
	int fd = rc < 0 ? rc : fs_open_at(r->dirfd, path, err);

	if (fd == -EACCES || fd == -EPERM)
		return err_set(err, fd,
			       "%s/%s: %s: start ceemsd as root or with "
			       "CAP_DAC_READ_SEARCH, or let its user read the file",
			       r->root, path, strerror(-fd));
	if (fd >= 0)
		z->fd = fd;
	return fd < 0 ? fd : 0;
}

static uint32_t same_name_before(const struct powercap *r,
				 const struct powercap_zone *z)
{
	uint32_t n = 0;
	size_t control = strcspn(z->folder, ":") + 1;

	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->zones[i].name, z->name) == 0 &&
		    strncmp(r->zones[i].folder, z->folder, control) == 0)
			n++;
	}
	return n;
}

/* 0: a zone was added. -ENOENT: not a zone. */
static int add_zone(struct powercap *r, const char *folder, struct err *err)
{
	struct powercap_zone z = {.fd = -1};
	char text[128], path[FOLDER_BYTES + 16];
	uint64_t max_uj = 0, max_uw = 0;
	bool indexed = false;

	(void)snprintf(z.folder, sizeof(z.folder), "%s", folder);
	if (zone_path(folder, "name", path, sizeof(path)) < 0)
		return -ENOENT;
	ssize_t n = fs_read_at(r->dirfd, path, text, sizeof(text), err);
	if (n < 0)
		return n == -ENOENT || n == -ENOTDIR ? -ENOENT : (int)n;
	int rc = rapl_zone_name(text, (size_t)n, z.name, &z.index, &indexed);
	if (rc < 0)
		return err_set(err, rc, "%s/%s: not a name", r->root, path);
	rc = zone_u64(r, folder, "max_energy_range_uj", &max_uj, err);
	if (rc < 0)
		return rc == -ENOENT ? rc : err_prefix(err, rc, "%s", r->root);
	if (!max_uj)
		return err_set(err, -EINVAL, "%s/%s/max_energy_range_uj: 0", r->root,
			       folder);
	(void)zone_u64(r, folder, "constraint_0_max_power_uw", &max_uw, NULL);
	if (!indexed)
		z.index = same_name_before(r, &z);
	z.domain = rapl_zone_domain(folder, z.name);
	z.counter.range_uj = rapl_zone_range_uj(max_uj);
	z.counter.worst_uw = rapl_zone_worst_uw(z.name, max_uw);
	rc = open_energy(r, &z, err);
	/* An unreadable zone keeps its place, since it counts for the indices of
	 * others. */
	r->zones[r->count++] = z;
	return rc;
}

static int compare_zone_folders(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* Folders of the class that look like zones, sorted as in the peer. */
static int list_zone_folders(int dirfd, char ***ret, size_t *ret_count, struct err *err)
{
	int fd = fs_opendir_at(dirfd, ".", err);
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	char **names = calloc(RAPL_ZONES_MAX, sizeof(*names));
	size_t n = 0;
	unsigned depth;

	if (!d && fd >= 0)
		close(fd);
	if (!d || !names) {
		free(names);
		return err_set(err, -ENOMEM, "%s: out of memory", ROOT);
	}
	for (const struct dirent *e = readdir(d); e && n < RAPL_ZONES_MAX;
	     e = readdir(d)) {
		if (strlen(e->d_name) >= FOLDER_BYTES ||
		    !rapl_zone_folder(e->d_name, &depth))
			continue;
		names[n] = strdup(e->d_name);
		if (names[n])
			n++;
	}
	qsort(names, n, sizeof(*names), compare_zone_folders);
	*ret = names;
	*ret_count = n;
	return 0;
}

static int find_zones(struct powercap *r, struct err *err)
{
	struct err first = {""};
	char **names = NULL;
	size_t count = 0, readable = 0;
	int first_rc = 0;
	int rc = list_zone_folders(r->dirfd, &names, &count, err);

	if (rc < 0)
		return rc;
	r->zones = calloc(count + 1, sizeof(*r->zones));
	for (size_t i = 0; r->zones && i < count; i++) {
		rc = add_zone(r, names[i], err);
		if (rc == 0)
			readable++;
		else if (rc != -ENOENT && first_rc == 0) {
			first_rc = rc;
			first = *err;
		}
	}
	free_names(names, count);
	if (!r->zones)
		return err_set(err, -ENOMEM, "out of memory");
	if (readable)
		return 0;
	if (first_rc)
		return err_set(err, first_rc, "%s", first.text);
	return err_set(err, -ENODEV, "%s: no zone with a counter", r->root);
}

static int powercap_open(const struct env *env, void **ret_state, struct err *err)
{
	struct powercap *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->env = env;
	(void)snprintf(r->root, sizeof(r->root), "%s/" ROOT, env->options->path_sysfs);
	r->dirfd = fs_opendir_at(env->sysfd, ROOT, err);
	int rc = r->dirfd == -ENOENT ? -ENODEV : r->dirfd;
	if (rc >= 0)
		rc = find_zones(r, err);
	if (rc < 0) {
		powercap_close(r);
		return rc;
	}
	*ret_state = r;
	return 0;
}

static struct source_channel *put_powercap_channel(const struct powercap *r,
						   const struct powercap_zone *z,
						   enum source_kind kind,
						   struct source_snapshot *out)
{
	struct source_channel *c = source_snapshot_add(out);

	if (!c)
		return NULL;
	c->kind = kind;
	c->index = z->index;
	(void)snprintf(c->name, sizeof(c->name), "%s", z->name);
	(void)snprintf(c->chip, sizeof(c->chip), "%s/%s", r->root, z->folder);
	return c;
}

/* When a zone's driver has been reloaded its file is new; the total stays. */
static int read_zone(struct powercap *r, struct powercap_zone *z, bool slow,
		     struct err *err)
{
	uint64_t raw;

	if (z->fd < 0) {
		int rc = slow ? open_energy(r, z, err) : -EAGAIN;
		if (rc < 0)
			return rc == -EAGAIN && err->text[0] == '\0'
				       ? err_set(err, rc, "%s/%s: cannot be read",
						 r->root, z->folder)
				       : rc;
		energy_counter_restart(&z->counter);
	}
	int rc = fs_pread_u64(z->fd, &raw);
	if (rc < 0) {
		close(z->fd);
		z->fd = -1;
		return err_set(err, rc, "%s/%s/energy_uj: %s", r->root, z->folder,
			       strerror(-rc));
	}
	enum energy_step step =
		energy_counter_take(&z->counter, raw, r->env->boottime_ns());
	if (step == ENERGY_STEP_RESET || step == ENERGY_STEP_LATE)
		r->resets++;
	return 0;
}

static int put_zone(struct powercap *r, struct powercap_zone *z,
		    struct source_snapshot *out)
{
	struct source_channel *c;

	if (z->has_limit) {
		c = put_powercap_channel(r, z, SOURCE_POWER_LIMIT, out);
		if (!c)
			return -ENOMEM;
		c->value = c->raw = z->limit_uw;
		c->measured_ns = z->limit_ns;
	}
	if (!z->counter.at_ns || energy_counter_is_dead(&z->counter))
		return 0;
	c = put_powercap_channel(r, z, SOURCE_ENERGY, out);
	if (!c)
		return -ENOMEM;
	c->domain = z->domain;
	c->value = z->counter.total_uj;
	c->raw = z->counter.raw_uj;
	c->worst_uw = z->counter.worst_uw;
	c->range_uj = z->counter.range_uj;
	c->measured_ns = z->counter.at_ns;
	return 0;
}

static int powercap_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct powercap *r = state;
	uint64_t now_ns = r->env->boottime_ns();
	bool slow = now_ns >= r->slow_ns;
	size_t alive = 0, read = 0;
	struct err last = {""};
	int last_rc = -EIO;

	if (slow)
		r->slow_ns = now_ns + SLOW_NS;
	for (size_t i = 0; i < r->count; i++) {
		struct powercap_zone *z = &r->zones[i];
		if (slow)
			read_limit(r, z, now_ns);
		int rc = read_zone(r, z, slow, &last);
		if (rc < 0) {
			last_rc = rc;
			out->partial = last;
		}
		read += rc == 0;
		alive += z->counter.at_ns && !energy_counter_is_dead(&z->counter);
		if (put_zone(r, z, out) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	out->resets = r->resets;
	if (!read)
		return err_set(err, last_rc, "%s",
			       last.text[0] ? last.text : "no zone can be read");
	if (!alive) {
		/* no RAPL, whatever files exist: limits alone would mislead */
		out->count = 0;
		(void)err_set(&out->partial, -ENODATA,
			      "%s: no counter ever moves, there is no RAPL here",
			      r->root);
	}
	return 0;
}

static uint64_t powercap_gap_ms(const void *state)
{
	const struct powercap *r = state;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < r->count; i++) {
		uint64_t ms = energy_counter_gap_ms(&r->zones[i].counter);
		if (ms < least)
			least = ms;
	}
	return least;
}

const struct source rapl_powercap = {
	.name = "powercap",
	.open = powercap_open,
	.sample = powercap_sample,
	.gap_ms = powercap_gap_ms,
	.close = powercap_close,
};
