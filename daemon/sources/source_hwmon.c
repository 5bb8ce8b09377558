/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Power and energy sensors of the hwmon class. Drivers come and go, so the class is
 * walked again every few seconds. Source: kernel
 * Documentation/hwmon/sysfs-interface.rst (power*_input in microwatts, energy*_input in
 * microjoules). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/options.h"
#include "daemon/sources/energy_counter.h"
#include "daemon/sources/hwmon_name.h"
#include "daemon/sources/source.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define ROOT "class/hwmon"
#define CHIPS_MAX 256u
#define ENTRIES_MAX 4096u /* per folder */
#define PATH_BYTES 320
#define PCI_BYTES 12
#define WALK_NS (10 * NSEC_PER_SEC)
#define WORST_UW 20000000000ull /* a whole node */

struct sensor {
	struct source_channel channel; /* without values */
	enum source_domain domain;     /* its domain on its own */
	char path[PATH_BYTES];         /* of its file, below the class */
	struct energy_counter counter;
	uint64_t failed; /* consecutive readings */
};

struct hwmon {
	const struct env *env;
	int dirfd; /* of the class; -1: gone or not there yet */
	struct sensor *sensors;
	size_t count, cap;
	uint64_t walk_ns, resets;
};

/* The chip being examined */
struct chip {
	char folder[64];    /* hwmon3 */
	char chip[160];     /* label */
	char chip_name[64]; /* label */
};

static void hwmon_close(void *state)
{
	struct hwmon *h = state;

	if (!h)
		return;
	if (h->dirfd >= 0)
		close(h->dirfd);
	free(h->sensors);
	free(h);
}

static ssize_t read_sensor_text(int dirfd, const char *path, char *buf, size_t size)
{
	/* One read: some drivers return EAGAIN as long as one retries. */
	auto_close int fd =
		openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, buf, size - 1) : -1;

	if (n < 0)
		return -errno;
	while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
		n--;
	buf[n] = '\0';
	return n;
}

/* Label of the chip: bus and device, which are the same after a reboot, else the
 * driver's name, else hwmonN. */
static void name_chip(struct hwmon *h, struct chip *c)
{
	char path[PATH_BYTES], link[512], device[512], text[128];
	ssize_t n = readlinkat(h->dirfd, c->folder, link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	(void)snprintf(path, sizeof(path), "%s/device", c->folder);
	n = readlinkat(h->dirfd, path, device, sizeof(device) - 1);
	device[n > 0 ? n : 0] = '\0';
	if (n < 0 && faccessat(h->dirfd, path, F_OK, 0) == 0)
		(void)snprintf(device, sizeof(device), "device"); /* a real folder */
	(void)snprintf(path, sizeof(path), "%s/name", c->folder);
	n = read_sensor_text(h->dirfd, path, text, sizeof(text));
	if (n <= 0) {
		/* drivers with the older layout (acpi_power_meter) */
		(void)snprintf(path, sizeof(path), "%s/device/name", c->folder);
		n = read_sensor_text(h->dirfd, path, text, sizeof(text));
	}
	hwmon_clean(n > 0 ? text : "", c->chip_name, sizeof(c->chip_name));
	if (*device &&
	    hwmon_device_name(c->folder, link, device, c->chip, sizeof(c->chip)))
		return;
	hwmon_clean(*c->chip_name ? c->chip_name : c->folder, c->chip, sizeof(c->chip));
}

static const struct sensor *same_series(const struct hwmon *h,
					const struct source_channel *c)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct source_channel *o = &h->sensors[i].channel;
		if (o->kind == c->kind && strcmp(o->chip, c->chip) == 0 &&
		    strcmp(o->name, c->name) == 0)
			return &h->sensors[i];
	}
	return NULL;
}

static struct sensor *new_sensor(struct hwmon *h)
{
	if (h->count == h->cap) {
		size_t cap = h->cap ? h->cap * 2 : 16;
		struct sensor *p = cap <= SOURCE_CHANNELS_MAX
					   ? realloc(h->sensors, cap * sizeof(*p))
					   : NULL;
		if (!p)
			return NULL;
		h->sensors = p;
		h->cap = cap;
	}
	return memset(&h->sensors[h->count++], 0, sizeof(struct sensor));
}

/* A sensor's domain on its own. If sensors are configured for the host, only those
 * count for it, and add up. */
static enum source_domain
domain_alone(const struct hwmon *h, const struct source_channel *ch, const char *label)
{
	const struct conf_list *host = &h->env->options->hwmon_host_sensors;
	enum source_domain domain = hwmon_domain(ch->chip_name, label, ch->kind);

	for (size_t i = 0; i < host->count; i++) {
		if (hwmon_matches(host->items[i], ch->chip, ch->chip_name, ch->name))
			return ch->kind == SOURCE_POWER ||
					       ch->kind == SOURCE_POWER_AVG ||
					       ch->kind == SOURCE_ENERGY
				       ? SOURCE_DOMAIN_HOST
				       : SOURCE_DOMAIN_NONE;
	}
	return host->count && domain == SOURCE_DOMAIN_HOST ? SOURCE_DOMAIN_NONE
							   : domain;
}

/* Says which configured sensor is missing. */
static void check_declared(const struct hwmon *h, struct err *err)
{
	const struct conf_list *host = &h->env->options->hwmon_host_sensors;

	for (size_t i = 0; i < host->count; i++) {
		bool found = false;
		for (size_t k = 0; k < h->count && !found; k++) {
			const struct source_channel *c = &h->sensors[k].channel;
			found = hwmon_matches(host->items[i], c->chip, c->chip_name,
					      c->name);
		}
		if (!found)
			(void)err_set(err, -ENODEV,
				      "--collector.hwmon.host-sensor=%s: no such "
				      "sensor",
				      host->items[i]);
	}
}

static void add_sensor(struct hwmon *h, const struct chip *c, const char *dir,
		       const char *file)
{
	struct source_channel ch = {0};
	char path[PATH_BYTES], label[128] = "";

	if (!hwmon_sensor(file, &ch.kind, ch.name, sizeof(ch.name)))
		return;
	(void)snprintf(ch.chip, sizeof(ch.chip), "%s", c->chip);
	(void)snprintf(ch.chip_name, sizeof(ch.chip_name), "%s", c->chip_name);
	int n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(path))
		return;
	const struct sensor *same = same_series(h, &ch);
	if (same && strcmp(same->path, path) == 0)
		return;
	if (same) {
		/* With both layouts a sensor appears twice; two chips with the same
		 * name are distinguished. */
		if (strncmp(same->path, path, strlen(c->folder) + 1) == 0)
			return;
		char chip[sizeof(ch.chip)];
		(void)snprintf(chip, sizeof(chip), "%.90s_%s", c->chip, c->folder);
		memcpy(ch.chip, chip, sizeof(chip));
		if (same_series(h, &ch))
			return;
	}
	char label_path[PATH_BYTES + 16];
	(void)snprintf(label_path, sizeof(label_path), "%s/%s_oem_info", dir, ch.name);
	if (read_sensor_text(h->dirfd, label_path, label, sizeof(label)) <= 0) {
		(void)snprintf(label_path, sizeof(label_path), "%s/%s_label", dir,
			       ch.name);
		(void)read_sensor_text(h->dirfd, label_path, label, sizeof(label));
	}
	ch.domain = domain_alone(h, &ch, label);
	struct sensor *s = new_sensor(h);
	if (!s)
		return;
	s->channel = ch;
	s->domain = ch.domain;
	memcpy(s->path, path, sizeof(path));
	s->counter.worst_uw = WORST_UW;
}

static void walk_folder(struct hwmon *h, const struct chip *c, const char *dir)
{
	int fd = fs_opendir_at(h->dirfd, dir, NULL);
	auto_closedir DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	unsigned seen = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *e = readdir(d); e && seen++ < ENTRIES_MAX;
	     e = readdir(d))
		add_sensor(h, c, dir, e->d_name);
}

/* Drops sensors whose file is gone */
static void forget_gone(struct hwmon *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < h->count; i++) {
		if (h->dirfd >= 0 &&
		    faccessat(h->dirfd, h->sensors[i].path, F_OK, 0) == 0)
			h->sensors[kept++] = h->sensors[i];
	}
	h->count = kept;
}

static int by_sensor(const void *a, const void *b)
{
	const struct source_channel *x = &((const struct sensor *)a)->channel;
	const struct source_channel *y = &((const struct sensor *)b)->channel;
	int c = strcmp(x->chip, y->chip);

	if (!c)
		c = strcmp(x->name, y->name);
	return c ? c : (int)x->kind - (int)y->kind;
}

/* Whether a better channel measures the same: energy counters are better than power,
 * and power better than an average of the same sensor. */
static bool is_doubled(const struct hwmon *h, const struct sensor *s)
{
	for (size_t i = 0; i < h->count; i++) {
		const struct sensor *o = &h->sensors[i];
		if (o->domain != s->domain ||
		    strcmp(o->channel.chip, s->channel.chip) != 0)
			continue;
		if (o->channel.kind == SOURCE_ENERGY &&
		    s->channel.kind != SOURCE_ENERGY)
			return true;
		if (o->channel.kind == SOURCE_POWER &&
		    s->channel.kind == SOURCE_POWER_AVG &&
		    strcmp(o->channel.name, s->channel.name) == 0)
			return true;
	}
	return false;
}

/* The sort key of GPUs: the PCI address at the end of the chip's name
 * ("..._0000:2d:00_0"). */
static const char *pci_of(const struct sensor *s)
{
	size_t n = strlen(s->channel.chip);
	return s->channel.chip + (n > PCI_BYTES ? n - PCI_BYTES : 0);
}

/* Numbers GPUs in PCI order, as their vendors' tools do. */
static void number_gpus(struct hwmon *h)
{
	for (size_t i = 0; i < h->count; i++) {
		struct sensor *s = &h->sensors[i];
		const char *last = "";
		s->channel.index = 0;
		if (s->domain != SOURCE_DOMAIN_GPU)
			continue;
		/* by chip, so that a chip's sensors are consecutive */
		for (size_t k = 0; k < h->count; k++) {
			const struct sensor *o = &h->sensors[k];
			if (o->domain == SOURCE_DOMAIN_GPU &&
			    strcmp(o->channel.chip, last) != 0) {
				last = o->channel.chip;
				s->channel.index +=
					(strcmp(pci_of(o), pci_of(s)) < 0) ? 1u : 0u;
			}
		}
	}
}

static void choose_domains(struct hwmon *h)
{
	for (size_t i = 0; i < h->count; i++) {
		struct sensor *s = &h->sensors[i];
		s->channel.domain = is_doubled(h, s) ? SOURCE_DOMAIN_NONE : s->domain;
	}
}

static void walk_chips(struct hwmon *h)
{
	int fd = fs_opendir_at(h->env->sysfd, ROOT, NULL);
	unsigned chips = 0;

	/* after a removed class has come back the old fd sees nothing */
	if (h->dirfd >= 0)
		close(h->dirfd);
	h->dirfd = fd;
	forget_gone(h);
	if (fd < 0)
		return;
	int list = fs_opendir_at(fd, ".", NULL);
	auto_closedir DIR *d = list >= 0 ? fdopendir(list) : NULL;
	if (!d) {
		if (list >= 0)
			close(list);
		return;
	}
	for (const struct dirent *e = readdir(d); e && chips < CHIPS_MAX;
	     e = readdir(d)) {
		struct chip c = {0};
		char device[80];
		size_t len = strlen(e->d_name);
		if (e->d_name[0] == '.' || len >= sizeof(c.folder))
			continue;
		chips++;
		memcpy(c.folder, e->d_name, len + 1);
		name_chip(h, &c);
		walk_folder(h, &c, c.folder);
		(void)snprintf(device, sizeof(device), "%s/device", c.folder);
		walk_folder(h, &c, device);
	}
	choose_domains(h);
	if (h->count)
		qsort(h->sensors, h->count, sizeof(*h->sensors), by_sensor);
	number_gpus(h);
}

static int hwmon_open(const struct env *env, void **ret_state, struct err *err)
{
	struct hwmon *h = calloc(1, sizeof(*h));

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->env = env;
	h->dirfd = -1;
	walk_chips(h);
	h->walk_ns = env->boottime_ns() + WALK_NS;
	if (!h->count) {
		hwmon_close(h);
		return err_set(err, -ENODEV, "no power or energy sensor in " ROOT);
	}
	*ret_state = h;
	return 0;
}

static int read_sensor(struct hwmon *h, struct sensor *s)
{
	char text[128];
	uint64_t v;
	ssize_t n = h->dirfd >= 0
			    ? read_sensor_text(h->dirfd, s->path, text, sizeof(text))
			    : -ENODEV;

	if (n <= 0)
		return n < 0 ? (int)n : -ENODATA;
	int rc = parse_u64(text, &v);
	if (rc < 0)
		return rc;
	uint64_t now_ns = h->env->boottime_ns();
	s->channel.raw = s->channel.value = v;
	if (s->channel.kind == SOURCE_ENERGY) {
		if (energy_counter_take(&s->counter, v, now_ns) == ENERGY_STEP_RESET)
			h->resets++;
		s->channel.value = s->counter.total_uj;
	}
	s->channel.measured_ns = now_ns;
	return 0;
}

static int hwmon_sample(void *state, struct source_snapshot *out, struct err *err)
{
	struct hwmon *h = state;
	uint64_t now_ns = h->env->boottime_ns();
	int last_rc = -ENODEV;
	size_t read = 0;

	if (now_ns >= h->walk_ns) {
		walk_chips(h);
		h->walk_ns = now_ns + WALK_NS;
	}
	for (size_t i = 0; i < h->count; i++) {
		struct sensor *s = &h->sensors[i];
		int rc = read_sensor(h, s);
		if (rc < 0) {
			last_rc = rc;
			(void)err_set(&out->partial, rc, ROOT "/%s: %s", s->path,
				      strerror(-rc));
		}
		read += rc == 0;
		/* a measured value stays, ageing */
		if (!s->channel.measured_ns)
			continue;
		struct source_channel *c = source_snapshot_add(out);
		if (!c)
			return err_set(err, -ENOMEM, "out of memory");
		*c = s->channel;
		c->worst_uw = s->counter.worst_uw;
	}
	out->resets = h->resets;
	if (!read)
		return err_set(err, last_rc, "%s",
			       h->count ? out->partial.text
					: "no sensor is left that can be read");
	check_declared(h, &out->partial);
	return 0;
}

const struct source source_hwmon = {
	.name = "hwmon",
	.open = hwmon_open,
	.sample = hwmon_sample,
	.close = hwmon_close,
};
