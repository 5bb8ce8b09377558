/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/gpus/driver_gpus.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "daemon/gpus/gpus_question.h"
#include "daemon/sources/child_link.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define LOOK_NS NSEC_PER_SEC
#define FILES_NS (60 * NSEC_PER_SEC) /* a driver that resets devices may hang there */
#define PATIENCE_MS 250
#define END_MS 10000
#define DRM_FILE_BYTES 32

/* A device, or an instance of one; its numbers are those of `of` at the same place. */
struct driver_gpu {
	char name[CHILD_GPU_UUID_BYTES]; /* of an instance: "MIG-..."; else "" */
	uint32_t holders;                /* pods that run with it */
};

struct driver_gpus {
	const struct env *env;
	uint64_t looked_ns, files_ns; /* 0: never */
	struct gpus_question *asked;  /* the driver's files; NULL: they are not read */
	bool told;
	struct gpus of; /* whole devices first, by the driver's number */
	struct driver_gpu more[GPUS_MAX];
	union {
		struct child_gpu gpu;
		struct child_gpu_instances m;
		char bytes[sizeof(struct child_gpu_instances) +
			   CHILD_GPU_INSTANCES_MAX * sizeof(struct child_gpu_instance)];
	} in;
};

/* What the unit table keeps of a device */
struct gpu_number {
	uint32_t device, instance, compute; /* GPUS_NONE: all of it */
};

struct driver_gpus *driver_gpus_new(const struct env *env)
{
	struct driver_gpus *d = calloc(1, sizeof(*d));

	if (d)
		d->env = env;
	return d;
}

void driver_gpus_free(struct driver_gpus *d)
{
	if (!d || gpus_question_done(d->asked, END_MS) < 0)
		return; /* its thread still uses d's env */
	free(d);
}

bool driver_gpus_told(const struct driver_gpus *d)
{
	return d && d->told;
}

/* ---- which devices there are ----------------------------------------------------- */

static struct gpu *add_whole_or_part(struct driver_gpus *d, uint32_t device)
{
	struct gpu *g = &d->of.gpu[d->of.count];

	if (d->of.count == GPUS_MAX)
		return NULL;
	d->more[d->of.count++] = (struct driver_gpu){.name = ""};
	*g = (struct gpu){.index = device,
			  .smi_index = device,
			  .minor = d->of.device[device].minor,
			  .instance = GPUS_NONE,
			  .compute = GPUS_NONE};
	memcpy(g->uuid, d->of.device[device].uuid, sizeof(g->uuid));
	return g;
}

static void add_parts(struct driver_gpus *d, uint32_t device)
{
	const struct child_gpu_instances *m = &d->in.m;
	char name[CHILD_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "gpu%u", device);
	if (!d->env->gpu || child_link_get(d->env->gpu, CHILD_GPU_INSTANCES, name,
					   &d->in, sizeof(d->in)) <= 0)
		return;
	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_instance *in = &m->items[i];
		struct gpu *g = add_whole_or_part(d, device);
		if (!g)
			return;
		g->instance = in->gi;
		g->compute = in->ci;
		g->parts = m->head.count;
		for (uint32_t k = 0; k < m->head.count; k++)
			g->siblings += m->items[k].gi == in->gi;
		(void)snprintf(d->more[d->of.count - 1].name, CHILD_GPU_UUID_BYTES,
			       "%s", in->uuid);
	}
}

/* ceems-gpu's word, and where it has none the driver's files */
static void hear_of_devices(struct driver_gpus *d)
{
	struct child_gpu *m = &d->in.gpu;
	char name[CHILD_NAME_BYTES];

	for (uint32_t i = 0; d->env->gpu && i < CHILD_GPUS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "gpu%u", i);
		if (child_link_get(d->env->gpu, CHILD_GPU, name, &d->in,
				   sizeof(d->in)) <= 0)
			continue;
		while (d->of.device_count <= i)
			d->of.device[d->of.device_count++] =
				(struct gpu_device){.minor = GPUS_NONE};
		struct gpu_device *device = &d->of.device[i];
		device->minor = m->minor;
		(void)snprintf(device->uuid, sizeof(device->uuid), "%s", m->uuid);
		(void)snprintf(device->pci, sizeof(device->pci), "%.23s", m->pci);
	}
}

/* Those of before where there is no answer yet; without a driver there is none. */
static void read_driver_files(struct driver_gpus *d, uint64_t now_ns)
{
	unsigned patience_ms = 0;

	if (!d->asked && (!d->files_ns || now_ns >= d->files_ns + FILES_NS)) {
		d->files_ns = now_ns;
		d->asked = gpus_question_new(d->env, NULL, "");
		patience_ms = PATIENCE_MS;
	}
	if (!d->asked || !gpus_question_wait(d->asked, patience_ms))
		return;
	d->of = d->asked->gpus;
	(void)gpus_question_done(d->asked, END_MS);
	d->asked = NULL;
}

static void learn_devices(struct driver_gpus *d)
{
	uint64_t now_ns = d->env->boottime_ns();

	if (d->looked_ns && now_ns < d->looked_ns + LOOK_NS)
		return;
	d->looked_ns = now_ns;
	read_driver_files(d, now_ns);
	d->of.managed = true;
	d->of.count = 0;
	hear_of_devices(d);
	for (uint32_t i = 0; i < d->of.device_count; i++)
		(void)add_whole_or_part(d, i);
	for (uint32_t i = 0; i < d->of.device_count; i++)
		add_parts(d, i);
}

/* ---- from a device plugin's name to numbers -------------------------------------- */

/* The device file of what the kernel has in this folder: "/dev/dri/renderD129" */
static bool find_render_file(int sysfd, const char *folder, char ret[DRM_FILE_BYTES])
{
	int fd = fs_opendir_at(sysfd, folder, NULL);
	struct dirent *e;

	if (fd < 0)
		return false;
	auto_closedir DIR *dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return false;
	}
	while ((e = readdir(dir))) {
		size_t len = strlen(e->d_name);
		if (strncmp(e->d_name, "renderD", 7) != 0 || len > 16)
			continue;
		(void)snprintf(ret, DRM_FILE_BYTES, "/dev/dri/%.16s", e->d_name);
		return true;
	}
	return false;
}

/* "card0-0" of Intel's plugin, "amdgpu_xcp_1" and an address of AMD's */
static bool drm_file_of(const struct driver_gpus *d, const struct record_device *dev,
			char ret[DRM_FILE_BYTES])
{
	char folder[96];
	const char *name = *dev->pci ? dev->pci : dev->uuid;
	size_t card = strspn(name, "card0123456789");

	if (strspn(name, "0123456789abcdefxmgpu_cdr:.-") != strlen(name))
		return false;
	if (!*dev->pci && strncmp(name, "card", 4) == 0 && card <= 16) {
		(void)snprintf(ret, DRM_FILE_BYTES, "/dev/dri/%.*s", (int)card, name);
		return true;
	}
	if (!*dev->pci && strncmp(name, "amdgpu_xcp_", 11) != 0)
		return false;
	(void)snprintf(folder, sizeof(folder), "%s/%s/drm",
		       *dev->pci ? "bus/pci/devices" : "devices/platform", name);
	return find_render_file(d->env->sysfd, folder, ret);
}

static bool number_of_drm(const struct driver_gpus *d, const struct record_device *dev,
			  struct gpu_number *ret)
{
	char file[DRM_FILE_BYTES];
	auto_free struct gpus *one = NULL;

	if (!drm_file_of(d, dev, file) || !(one = calloc(1, sizeof(*one))))
		return false;
	one->count = 1;
	one->gpu[0] = (struct gpu){.smi_index = GPUS_NONE, .instance = GPUS_NONE};
	memcpy(one->gpu[0].file, file, sizeof(file));
	(void)gpus_resolve(one, d->env->procfd, d->env->sysfd, NULL);
	*ret = (struct gpu_number){one->gpu[0].smi_index, one->gpu[0].instance,
				   GPUS_NONE};
	return ret->device != GPUS_NONE;
}

/* NVML writes eight digits of the domain, the kernel four. */
static bool is_same_address(const char *a, const char *b)
{
	a += strspn(a, "0");
	b += strspn(b, "0");
	return strcasecmp(a, b) == 0;
}

/* A whole device, by UUID or address */
static uint32_t device_of(const struct driver_gpus *d, const char *uuid,
			  const char *pci)
{
	for (uint32_t i = 0; i < d->of.device_count; i++) {
		const struct gpu_device *known = &d->of.device[i];
		if (*uuid && strcasecmp(known->uuid, uuid) == 0)
			return i;
		if (*pci && is_same_address(known->pci, pci))
			return i;
	}
	return GPUS_NONE;
}

/* "1/0" */
static bool scan_instance(const char *text, struct gpu_number *ret)
{
	const char *p = text, *end = text + strlen(text);
	uint64_t instance, compute;

	if (scan_u64(&p, end, &instance) < 0 || p == end || *p++ != '/' ||
	    scan_u64(&p, end, &compute) < 0 || p != end || instance >= GPUS_NONE ||
	    compute >= GPUS_NONE)
		return false;
	ret->instance = (uint32_t)instance;
	ret->compute = (uint32_t)compute;
	return true;
}

static bool number_of_instance(const struct driver_gpus *d,
			       const struct record_device *dev, struct gpu_number *ret)
{
	for (uint32_t i = 0; i < d->of.count; i++) {
		const struct gpu *g = &d->of.gpu[i];
		if (!*d->more[i].name || strcasecmp(d->more[i].name, dev->uuid) != 0)
			continue;
		*ret = (struct gpu_number){g->smi_index, g->instance, g->compute};
		return true;
	}
	return false;
}

/* "nvidia0", "nvidia0/gi3" and "nvidia0/gi3/vgpu1" of Google's plugin: the number of
 * the device file, and the GPU instance */
static bool number_of_file(const struct driver_gpus *d, const char *name,
			   struct gpu_number *ret)
{
	const char *p = name + 6, *end = name + strlen(name);
	uint64_t minor, instance = GPUS_NONE;

	if (strncmp(name, "nvidia", 6) != 0 || scan_u64(&p, end, &minor) < 0)
		return false;
	if (strncmp(p, "/gi", 3) == 0) {
		p += 3;
		if (scan_u64(&p, end, &instance) < 0)
			return false;
	}
	if (p != end && strncmp(p, "/vgpu", 5) != 0)
		return false;
	for (uint32_t i = 0; i < d->of.count; i++) {
		const struct gpu *g = &d->of.gpu[i];
		if (g->minor != minor || g->instance != instance)
			continue;
		*ret = (struct gpu_number){g->smi_index, g->instance, g->compute};
		return true;
	}
	return false;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncasecmp(s, prefix, strlen(prefix)) == 0;
}

/* 1, 0: no GPU of any kind that is known, or an error. */
static int number_of(const struct driver_gpus *d, const struct record_device *dev,
		     struct gpu_number *ret, struct err *err)
{
	*ret = (struct gpu_number){GPUS_NONE, GPUS_NONE, GPUS_NONE};
	if (number_of_drm(d, dev, ret) || number_of_file(d, dev->uuid, ret))
		return 1;
	if (has_prefix(dev->uuid, "MIG-")) {
		return number_of_instance(d, dev, ret)
			       ? 1
			       : err_set(err, -EAGAIN,
					 "%s: ceems-gpu tells of no such "
					 "instance",
					 dev->uuid);
	}
	ret->device = device_of(d, dev->uuid, dev->pci);
	if (ret->device == GPUS_NONE)
		return has_prefix(dev->uuid, "GPU-")
			       ? err_set(err, d->asked ? -EAGAIN : -ENODEV,
					 "%s: no driver of this host has "
					 "it",
					 dev->uuid)
			       : 0;
	if (*dev->mig && !scan_instance(dev->mig, ret))
		return err_set(err, -ENODEV, "%s: \"%s\" is no instance", dev->uuid,
			       dev->mig);
	return 1;
}

/* The next "1.3.0" of a unit's list; false: there are no more, or it is none. */
static bool scan_number(const char **at, const char *end, struct gpu_number *ret)
{
	uint32_t parts[3] = {GPUS_NONE, GPUS_NONE, GPUS_NONE};

	for (size_t i = 0; i < 3; i++) {
		uint64_t v;
		if (scan_u64(at, end, &v) < 0 || v >= GPUS_NONE)
			return false;
		parts[i] = (uint32_t)v;
		if (*at == end || **at != '.')
			break;
		++*at;
	}
	if (*at < end && *(*at)++ != ',')
		return false;
	*ret = (struct gpu_number){parts[0], parts[1], parts[2]};
	return true;
}

static bool has_number(const char *text, size_t len, const struct gpu_number *n)
{
	const char *at = text, *end = text + len;
	struct gpu_number one;

	while (at < end && scan_number(&at, end, &one)) {
		if (one.device == n->device && one.instance == n->instance &&
		    one.compute == n->compute)
			return true;
	}
	return false;
}

/* 1; 0: it is there already, by another name. */
static int put_number(char *text, size_t *len, const struct gpu_number *n)
{
	const size_t size = RECORD_GPUS_MAX;
	const uint32_t parts[] = {n->device, n->instance, n->compute};
	size_t at = *len;

	if (has_number(text, at, n))
		return 0;
	for (size_t i = 0; i < 3 && parts[i] != GPUS_NONE; i++) {
		const char *before = i ? "." : at ? "," : "";
		int w = snprintf(text + at, size - at, "%s%" PRIu32, before, parts[i]);
		if (w < 0 || (size_t)w >= size - at)
			return -ENOSPC;
		at += (size_t)w;
	}
	*len = at;
	return 1;
}

int driver_gpus_take(struct driver_gpus *d, struct record *r, struct err *err)
{
	char text[RECORD_GPUS_MAX] = "";
	bool shared = false;
	size_t len = 0;
	int n = 0, missing = 0;

	if (!d || !r->device_count)
		return 0;
	learn_devices(d);
	for (uint32_t i = 0; i < r->device_count && i < RECORD_DEVICES_MAX; i++) {
		const struct record_device *dev = &r->devices[i];
		struct gpu_number number;
		int rc = number_of(d, dev, &number, err);
		bool known = rc > 0;
		if (known)
			rc = put_number(text, &len, &number);
		if (rc == -ENOSPC)
			(void)err_set(err, rc, "the list of its GPUs is too long");
		if (rc == -ENODEV) {
			missing = rc;
			continue;
		}
		if (rc < 0)
			return rc;
		n += rc;
		shared |= known &&
			  (dev->share_permille < 1000 || strstr(dev->uuid, "/vgpu"));
	}
	if (!n)
		return missing;
	memcpy(r->gpus, text, sizeof(text));
	(void)snprintf(r->gpu_share, sizeof(r->gpu_share), "%s",
		       shared ? DRIVER_GPUS_SHARED : "");
	r->flags |= RECORD_GPUS_TRUSTED;
	return n;
}

/* ---- from numbers to devices ----------------------------------------------------- */

uint32_t driver_gpus_count(const char *gpus)
{
	const char *at = gpus, *end = at + strlen(at);
	struct gpu_number n;
	uint32_t count = 0;

	while (at < end && scan_number(&at, end, &n))
		count++;
	return count;
}

/* Its place in d->of, GPUS_NONE: it is not there */
static uint32_t find_numbered(const struct driver_gpus *d, const struct gpu_number *n)
{
	for (uint32_t i = 0; i < d->of.count; i++) {
		const struct gpu *g = &d->of.gpu[i];
		if (g->smi_index == n->device && g->instance == n->instance &&
		    (n->compute == GPUS_NONE || g->compute == n->compute))
			return i;
	}
	return GPUS_NONE;
}

static void count_holders(struct driver_gpus *d, const struct unit *unit)
{
	const char *at = unit->gpus, *end = at + strlen(at);
	struct gpu_number n;

	while (at < end && scan_number(&at, end, &n)) {
		uint32_t i = find_numbered(d, &n);
		if (i != GPUS_NONE)
			d->more[i].holders++;
	}
}

static bool has_pods_with_gpus(struct units *u)
{
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit *unit = units_get(u, i);
		if (unit->manager == MANAGER_K8S && unit->gpus[0])
			return true;
	}
	return false;
}

void driver_gpus_look(struct driver_gpus *d, struct units *u)
{
	if (!d || !has_pods_with_gpus(u))
		return;
	learn_devices(d);
	for (uint32_t i = 0; i < d->of.count; i++)
		d->more[i].holders = 0;
	for (uint32_t i = units_next(u, 0); i != UNITS_NONE; i = units_next(u, i + 1)) {
		const struct unit *unit = units_get(u, i);
		if (unit->manager != MANAGER_K8S || !unit->gpus[0])
			continue;
		d->told = true;
		if (unit->state == UNIT_RUNNING)
			count_holders(d, unit);
	}
}

int driver_gpus_of(const struct driver_gpus *d, const struct unit *unit,
		   struct gpu_use *ret, size_t max, struct err *err)
{
	bool holds = unit->state == UNIT_RUNNING ||
		     strcmp(unit->gpu_share, DRIVER_GPUS_SHARED) == 0;
	const char *at = unit->gpus, *end = at + strlen(at);
	size_t count = 0;

	if (!d)
		return err_set(err, -ENOENT, "no GPU is known");
	while (at < end && count < max) {
		struct gpu_number n;
		if (!scan_number(&at, end, &n))
			return err_set(err, -EINVAL, "gpu list \"%.80s\"", unit->gpus);
		uint32_t i = find_numbered(d, &n);
		if (i == GPUS_NONE && n.instance != GPUS_NONE)
			return err_set(err, -EAGAIN, "ceems-gpu has not told of it");
		if (i == GPUS_NONE)
			return err_set(err, -ERANGE,
				       "gpu %" PRIu32 ": the driver has "
				       "%" PRIu32,
				       n.device, d->of.device_count);
		uint32_t holders = holds ? d->more[i].holders : 1;
		ret[count++] =
			(struct gpu_use){&d->of.gpu[i], 1.0 / (holders ? holders : 1)};
	}
	return (int)count;
}
