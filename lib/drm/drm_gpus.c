/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/drm/drm_gpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define DRIVERS "bus/pci/drivers/"
#define NODES "class/kfd/kfd/topology/nodes"
#define ENTRIES_MAX 4096u /* per folder */
#define NODES_MAX 1024u
#define BANKS_MAX 8u       /* of memory, per node */
#define PARTITION_SHIFT 28 /* of a node's location_id, since Linux 6.7 */
#define FUNCTION_MASK 7u   /* where the partition was before */

static const char *const drm_driver_names[DRM_DRIVERS] = {"amdgpu", "xe", "i915"};

typedef bool drm_entry_f(const char *name, void *arg); /* false: stop */

static int walk_drm_folder(int sysfd, const char *path, drm_entry_f *each, void *arg)
{
	int fd = fs_opendir_at(sysfd, path, NULL);
	auto_closedir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	uint32_t seen = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -ENOENT;
	}
	for (const struct dirent *e = readdir(dir); e && seen++ < ENTRIES_MAX;
	     e = readdir(dir))
		if (e->d_name[0] != '.' && !each(e->d_name, arg))
			break;
	return 0;
}

/* The number after prefix, if that is all of name */
static uint32_t number_after(const char *name, const char *prefix)
{
	uint32_t v;
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 && parse_u32(name + n, &v) == 0 ? v
									     : DRM_NONE;
}

void drm_gpu_folder(const struct drm_gpu *g, char ret[DRM_FOLDER_BYTES])
{
	(void)snprintf(ret, DRM_FOLDER_BYTES, "bus/pci/devices/%s", g->pci);
}

static bool take_drm_node(const char *name, void *arg)
{
	struct drm_gpu *g = arg;
	uint32_t render = number_after(name, "renderD");
	uint32_t card = number_after(name, "card");

	g->render = render != DRM_NONE ? render : g->render;
	g->card = card != DRM_NONE ? card : g->card;
	return true;
}

static bool take_hwmon(const char *name, void *arg)
{
	uint32_t *least = arg, n = number_after(name, "hwmon");

	*least = n < *least ? n : *least;
	return true;
}

int drm_gpu_hwmon(int sysfd, const struct drm_gpu *g, char ret[DRM_HWMON_BYTES])
{
	char folder[DRM_FOLDER_BYTES], path[DRM_HWMON_BYTES];
	uint32_t n = DRM_NONE;

	drm_gpu_folder(g, folder);
	(void)snprintf(path, sizeof(path), "%s/hwmon", folder);
	if (walk_drm_folder(sysfd, path, take_hwmon, &n) < 0 || n == DRM_NONE)
		return -ENOENT;
	(void)snprintf(ret, DRM_HWMON_BYTES, "%s/hwmon/hwmon%u", folder, n);
	return 0;
}

static bool has_drm_energy(int sysfd, const struct drm_gpu *g)
{
	char hwmon[DRM_HWMON_BYTES], path[DRM_HWMON_BYTES + 32];

	if (drm_gpu_hwmon(sysfd, g, hwmon) < 0)
		return false;
	for (unsigned i = 1; i <= 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/energy%u_input", hwmon, i);
		if (faccessat(sysfd, path, R_OK, 0) == 0)
			return true;
	}
	return false;
}

static bool is_pci_address(const char *name)
{
	size_t n = strlen(name);

	return n >= 12 && n < DRM_PCI_BYTES &&
	       strspn(name, "0123456789abcdef:.") == n && name[n - 2] == '.' &&
	       name[n - 5] == ':' && name[n - 8] == ':';
}

struct drm_search {
	int sysfd;
	enum drm_driver driver;
	struct drm_gpus *gpus;
};

static bool take_pci_device(const char *name, void *arg)
{
	struct drm_search *s = arg;
	struct drm_gpu g = {.driver = s->driver, .render = DRM_NONE, .card = DRM_NONE};
	char folder[DRM_FOLDER_BYTES], path[DRM_FOLDER_BYTES + 16], text[32];

	if (!is_pci_address(name))
		return true;
	memcpy(g.pci, name, strlen(name) + 1);
	if (s->driver != DRM_AMDGPU && !has_drm_energy(s->sysfd, &g))
		return true;
	if (s->gpus->count == DRM_GPUS_MAX) {
		s->gpus->left_out++;
		return true;
	}
	drm_gpu_folder(&g, folder);
	(void)snprintf(path, sizeof(path), "%s/drm", folder);
	(void)walk_drm_folder(s->sysfd, path, take_drm_node, &g);
	(void)snprintf(path, sizeof(path), "%s/device", folder);
	if (fs_read_at(s->sysfd, path, text, sizeof(text), NULL) > 0)
		g.device_id = (uint32_t)strtoul(text, NULL, 16);
	s->gpus->gpu[s->gpus->count++] = g;
	return true;
}

static int by_kind_and_pci(const void *a, const void *b)
{
	const struct drm_gpu *x = a, *y = b;
	int intel = (x->driver != DRM_AMDGPU) - (y->driver != DRM_AMDGPU);

	return intel ? intel : strcmp(x->pci, y->pci);
}

/* ---- kfd ------------------------------------------------------------------------- */

struct kfd_node {
	uint64_t domain, location, render, simds, simds_per_unit, dies, memory_bytes;
	uint32_t gpu_id;
};

struct kfd_property {
	const char *name;
	uint64_t *to;
};

/* Of a file of lines "name value"; what it does not have is left as it is. */
static int read_properties(int sysfd, const char *path,
			   const struct kfd_property *wanted, size_t count)
{
	char text[8192];
	ssize_t got = fs_read_at(sysfd, path, text, sizeof(text), NULL);
	const char *at = text, *line;
	size_t len;

	if (got < 0)
		return (int)got;
	while (scan_line(&at, text + got, &line, &len)) {
		const char *space = memchr(line, ' ', len);
		size_t name = space ? (size_t)(space - line) : 0;
		for (size_t i = 0; i < count && space; i++) {
			const char *v = space + 1;
			uint64_t number;
			if (strlen(wanted[i].name) == name &&
			    memcmp(line, wanted[i].name, name) == 0 &&
			    scan_u64(&v, line + len, &number) == 0)
				*wanted[i].to = number;
		}
	}
	return 0;
}

/* Of all banks of a node */
static uint64_t read_memory_bytes(int sysfd, uint32_t number)
{
	char path[sizeof(NODES) + 48];
	uint64_t all = 0;

	for (unsigned i = 0; i < BANKS_MAX; i++) {
		uint64_t bytes = 0;
		const struct kfd_property wanted = {"size_in_bytes", &bytes};
		(void)snprintf(path, sizeof(path), NODES "/%u/mem_banks/%u/properties",
			       number, i);
		if (read_properties(sysfd, path, &wanted, 1) < 0 ||
		    __builtin_add_overflow(all, bytes, &all))
			break;
	}
	return all;
}

static int read_kfd_node(int sysfd, uint32_t number, struct kfd_node *ret)
{
	char path[sizeof(NODES) + 32];
	struct kfd_node n = {.render = DRM_NONE};
	const struct kfd_property wanted[] = {
		{"domain", &n.domain},
		{"location_id", &n.location},
		{"drm_render_minor", &n.render},
		{"simd_count", &n.simds},
		{"simd_per_cu", &n.simds_per_unit},
		{"num_xcc", &n.dies},
	};
	uint64_t id = 0;

	(void)snprintf(path, sizeof(path), NODES "/%u/gpu_id", number);
	if (fs_read_u64_at(sysfd, path, &id, NULL) < 0 || !id || id > UINT32_MAX)
		return -ENODEV; /* a processor */
	n.gpu_id = (uint32_t)id;
	(void)snprintf(path, sizeof(path), NODES "/%u/properties", number);
	int rc = read_properties(sysfd, path, wanted,
				 sizeof(wanted) / sizeof(wanted[0]));
	if (rc < 0)
		return rc;
	n.memory_bytes = read_memory_bytes(sysfd, number);
	*ret = n;
	return 0;
}

/* Whose node it is, by bus, device and function: in older kernels the function holds
 * the partition. */
static struct drm_gpu *gpu_of_node(struct drm_gpus *g, const struct kfd_node *n,
				   uint32_t mask)
{
	char pci[DRM_PCI_BYTES + 16];
	uint32_t at = (uint32_t)n->location & 0xffff & ~mask;

	(void)snprintf(pci, sizeof(pci), "%04x:%02x:%02x.%x", (uint32_t)n->domain,
		       at >> 8, at >> 3 & 0x1f, at & 7);
	for (uint32_t i = 0; i < g->count; i++)
		if (g->gpu[i].driver == DRM_AMDGPU && strcmp(g->gpu[i].pci, pci) == 0)
			return &g->gpu[i];
	return NULL;
}

static int by_render(const void *a, const void *b)
{
	const struct drm_partition *x = a, *y = b;

	return (x->render > y->render) - (x->render < y->render);
}

static bool take_node_number(const char *name, void *arg)
{
	struct drm_search *s = arg;
	struct kfd_node n;
	uint32_t number;

	if (parse_u32(name, &number) < 0 || number >= NODES_MAX ||
	    read_kfd_node(s->sysfd, number, &n) < 0)
		return true;
	struct drm_gpu *g = gpu_of_node(s->gpus, &n, 0);
	if (!g)
		g = gpu_of_node(s->gpus, &n, FUNCTION_MASK);
	if (!g || g->partition_count == DRM_PARTITIONS_MAX)
		return true;
	g->partitions[g->partition_count++] = (struct drm_partition){
		.gpu_id = n.gpu_id,
		.render = n.render < DRM_NONE ? (uint32_t)n.render : DRM_NONE,
		.units = n.simds_per_unit ? (uint32_t)(n.simds / n.simds_per_unit) : 0,
		.dies = n.dies < 256 ? (uint32_t)n.dies : 0,
		.memory_bytes = n.memory_bytes,
	};
	return true;
}

static bool count_entry(const char *name, void *arg)
{
	uint32_t *count = arg;

	(void)name;
	++*count;
	return true;
}

uint32_t drm_gpus_base(int procfd, uint32_t nvidia_count)
{
	uint32_t count = 0;

	(void)walk_drm_folder(procfd, "driver/nvidia/gpus", count_entry, &count);
	return count > nvidia_count ? count : nvidia_count;
}

static bool note_pci_device(const char *name, void *arg)
{
	bool *found = arg;

	*found = is_pci_address(name);
	return !*found;
}

bool drm_gpus_are_there(int sysfd)
{
	char path[sizeof(DRIVERS) + 16];
	bool found = false;

	for (unsigned i = 0; i < DRM_DRIVERS && !found; i++) {
		(void)snprintf(path, sizeof(path), DRIVERS "%s", drm_driver_names[i]);
		(void)walk_drm_folder(sysfd, path, note_pci_device, &found);
	}
	return found;
}

int drm_gpus_find(int sysfd, struct drm_gpus *ret, struct err *err)
{
	auto_free struct drm_gpus *g = calloc(1, sizeof(*g));
	struct drm_search s = {.sysfd = sysfd, .gpus = g};
	char path[sizeof(DRIVERS) + 16];

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < DRM_DRIVERS; i++) {
		s.driver = (enum drm_driver)i;
		(void)snprintf(path, sizeof(path), DRIVERS "%s", drm_driver_names[i]);
		(void)walk_drm_folder(sysfd, path, take_pci_device, &s);
	}
	qsort(g->gpu, g->count, sizeof(g->gpu[0]), by_kind_and_pci);
	(void)walk_drm_folder(sysfd, NODES, take_node_number, &s);
	/* kfd makes them in the order of the partitions */
	for (uint32_t i = 0; i < g->count; i++)
		qsort(g->gpu[i].partitions, g->gpu[i].partition_count,
		      sizeof(g->gpu[i].partitions[0]), by_render);
	*ret = *g;
	return 0;
}

uint32_t drm_gpus_of_file(const struct drm_gpus *g, const char *file,
			  uint32_t *ret_partition)
{
	const char *dri = strstr(file, "/dri/");
	uint32_t render = number_after(dri ? dri : "", "/dri/renderD");
	uint32_t card = number_after(dri ? dri : "", "/dri/card");

	*ret_partition = DRM_NONE;
	for (uint32_t i = 0; i < g->count; i++) {
		const struct drm_gpu *d = &g->gpu[i];
		for (uint32_t k = 0; d->partition_count > 1 && render != DRM_NONE &&
				     k < d->partition_count;
		     k++) {
			if (d->partitions[k].render != render)
				continue;
			*ret_partition = k;
			return i;
		}
		if ((render != DRM_NONE && d->render == render) ||
		    (card != DRM_NONE && d->card == card))
			return i;
	}
	return DRM_NONE;
}
