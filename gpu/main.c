/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems-gpu: runs the vendor's library for ceemsd, which starts it with a socket,
 * starts it again when it dies, and never waits for it. A driver call may hang, leak or
 * crash: all of that stays here. Exit status 2: the command line is wrong; 1: there is
 * no device to read, or one was lost. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gpu/device.h"
#include "gpu/kernel_device.h"
#include "gpu/kfd.h"
#include "gpu/nvidia_files.h"
#include "gpu/options.h"
#include "lib/cleanup.h"
#include "lib/clock.h"
#include "lib/conf/program.h"
#include "lib/drm/drm_gpus.h"
#include "lib/fs.h"

#define SOURCE "gpu"
#define AGAIN_S 300u

struct gpu_program {
	struct options options;
	int link; /* -1: none */
	struct nvml *nvml;
	struct device *devices;
	struct kernel_device *kernel_devices;
	uint32_t count, left_out;
	int procfd, devfd; /* -1: not there */
	struct device_watch watch;
};

static int link_of_program = -1; /* for device_lost(), on any thread */

static void send_health(int link, int rc, const char *text)
{
	struct child_health m = {.rc = rc, .since_ns = clock_boottime_ns()};

	(void)snprintf(m.text, sizeof(m.text), "%s", text);
	for (char *c = m.text; *c; c++)
		*c = (char)((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c);
	child_msg_head(&m.head, CHILD_HEALTH, SOURCE, 0, sizeof(m));
	if (link >= 0)
		(void)send(link, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The process ends at once, without nvmlShutdown(): other threads may be in calls that
 * never return. The kernel lets the driver go. */
static void device_lost(const struct err *why)
{
	log_warn("%s: starting anew", why->text);
	send_health(link_of_program, -ENODEV, why->text);
	_exit(PROGRAM_CANNOT);
}

/* ceemsd sends nothing: when there is something to read, it is gone. */
static uint64_t watch_link(void *arg)
{
	const struct gpu_program *g = arg;
	struct pollfd p = {.fd = g->link, .events = POLLIN};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	_exit(PROGRAM_OK);
}

/* The UUID is the key of everything that is said of a device. */
static bool is_double(const struct gpu_program *g, const struct device *d)
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (strcmp(g->devices[i].out.m.uuid, d->out.m.uuid) == 0)
			return true;
	}
	return false;
}

static struct device *new_device(struct gpu_program *g)
{
	struct device *d = &g->devices[g->count];

	*d = (struct device){.link = g->link,
			     .period_ms = g->options.period_ms,
			     .lost = device_lost};
	return d;
}

/* It tells of processes that no sample has seen. Never unless the site wants it. */
static void look_after_accounting(const struct gpu_program *g, const struct device *d)
{
	struct err err = {""};

	if (g->options.accounting && !g->options.once &&
	    nvml_enable_accounting(d->nvml, d->handle, &err) < 0)
		log_warn("%s: %s: `nvidia-smi -am 1` as root switches it on",
			 d->out.m.uuid, err.text);
}

static int open_nvml_device(struct gpu_program *g, uint32_t index, struct err *err)
{
	struct device *d = new_device(g);

	d->nvml = g->nvml;
	int rc = device_open(d, index, err);
	if (rc == 0)
		look_after_accounting(g, d);
	if (rc == 0 && is_double(g, d))
		rc = err_set(err, -EEXIST, "another one has its UUID, too: %s",
			     d->out.m.uuid);
	return rc;
}

/* The library leaves out what it may not read, without a word. */
static void look_at_monitoring(const struct gpu_program *g)
{
	struct err err = {""};

	for (uint32_t i = 0; i < g->count; i++) {
		if (!g->devices[i].out.m.mig)
			continue;
		if (!nvidia_may_monitor(g->procfd, g->devfd, &err))
			log_warn("%s", err.text);
		return;
	}
}

static void open_nvml_devices(struct gpu_program *g, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct err err = {""};
		if (open_nvml_device(g, i, &err) < 0) {
			log_warn("device %" PRIu32 ": %s: it is not read", i, err.text);
			g->left_out++;
		} else {
			g->count++;
		}
	}
	look_at_monitoring(g);
}

/* Those of AMD and Intel, numbered from base on */
static void open_kernel_devices(struct gpu_program *g, int sysfd,
				const struct drm_gpus *found, uint32_t base)
{
	for (uint32_t i = 0; i < found->count; i++) {
		struct kernel_device *k = &g->kernel_devices[i];
		kernel_device_open(k, sysfd, &found->gpu[i]);
		if (found->gpu[i].driver == DRM_AMDGPU)
			k->kfd = calloc(1, sizeof(*k->kfd));
	}
	amd_find_neighbours(g->kernel_devices, found->count);
	for (uint32_t i = 0; i < found->count && base + i < CHILD_GPUS_MAX; i++) {
		kernel_device_start(new_device(g), &g->kernel_devices[i], base + i);
		g->count++;
	}
}

/* How many devices NVIDIA's library knows; 0 without it, if there are others. */
static int count_nvml_devices(struct gpu_program *g, bool is_needed, uint32_t *ret,
			      struct err *err)
{
	int rc = nvml_open(g->options.nvml_path, &g->nvml, err);

	if (rc == 0)
		rc = nvml_count(g->nvml, ret, err);
	if (rc < 0 && rc != -ENOENT)
		rc = nvidia_files_explain(g->procfd, g->devfd, rc, err);
	if (rc < 0 && !is_needed) {
		log_debug("%s: AMD's and Intel's devices are read without it",
			  err->text);
		rc = 0;
	}
	return rc;
}

static int open_devices(struct gpu_program *g, struct err *err)
{
	auto_free struct drm_gpus *found = calloc(1, sizeof(*found));
	int sysfd = fs_opendir_at(AT_FDCWD, g->options.path_sysfs, NULL);
	uint32_t count = 0;

	g->procfd = fs_opendir_at(AT_FDCWD, g->options.path_procfs, NULL);
	g->devfd = fs_opendir_at(AT_FDCWD, g->options.path_devfs, NULL);
	if (!found)
		return err_set(err, -ENOMEM, "out of memory");
	if (sysfd >= 0)
		(void)drm_gpus_find(sysfd, found, NULL);
	bool is_needed = !found->count || drm_gpus_base(g->procfd, 0);
	int rc = count_nvml_devices(g, is_needed, &count, err);
	if (rc < 0 && !found->count)
		return rc;
	if (rc < 0)
		log_warn("%s: NVIDIA's devices are not read", err->text);
	uint32_t base = drm_gpus_base(g->procfd, count);
	if (base + found->count + found->left_out > CHILD_GPUS_MAX)
		log_warn("%" PRIu32 " devices, of which %u are read",
			 base + found->count + found->left_out, CHILD_GPUS_MAX);
	count = count < CHILD_GPUS_MAX ? count : CHILD_GPUS_MAX;
	g->devices = calloc(CHILD_GPUS_MAX, sizeof(*g->devices));
	g->kernel_devices = calloc(DRM_GPUS_MAX, sizeof(*g->kernel_devices));
	if (!g->devices || !g->kernel_devices)
		return err_set(err, -ENOMEM, "out of memory");
	open_nvml_devices(g, count);
	open_kernel_devices(g, sysfd, found, base);
	return g->count ? 0 : err_set(err, -ENODEV, "no device");
}

static void print_value(const struct child_gpu *m, enum child_gpu_value which,
			const char *name, double scale, const char *unit)
{
	if (child_gpu_has(m, which))
		printf(" %s=%.10g%s", name, (double)m->value[which] / scale, unit);
}

static enum program_status print_devices(struct gpu_program *g)
{
	enum program_status status = PROGRAM_OK;

	if (g->nvml)
		printf("driver %s\n", nvml_driver(g->nvml));
	for (uint32_t i = 0; i < g->count; i++) {
		struct device *d = &g->devices[i];
		const struct child_gpu *m = &d->out.m;
		struct err err;
		printf("%u %s %s \"%s\"%s", m->index, m->uuid, m->pci, m->model,
		       m->mig ? " MIG" : "");
		if (device_read(d, &err) < 0) {
			printf(" %s\n", err.text);
			status = PROGRAM_CANNOT;
			continue;
		}
		if (m->head.count)
			printf(" energy=%" PRIu64 ".%03uJ",
			       m->points[m->head.count - 1].uj / 1000000,
			       (unsigned)(m->points[m->head.count - 1].uj / 1000 %
					  1000));
		print_value(m, CHILD_GPU_POWER, "power", 1e6, "W");
		print_value(m, CHILD_GPU_POWER_LIMIT, "limit", 1e6, "W");
		print_value(m, CHILD_GPU_BUSY, "busy", 1e4, "%");
		print_value(m, CHILD_GPU_MEMORY_USED, "memory", 1048576, "MiB");
		print_value(m, CHILD_GPU_MEMORY_TOTAL, "of", 1048576, "MiB");
		print_value(m, CHILD_GPU_TEMPERATURE, "temperature", 1e3, "C");
		printf("\n");
	}
	return status;
}

static enum program_status run_devices(struct gpu_program *g)
{
	struct err err = {""};

	send_health(g->link, 0, "");
	log_info("%s%s%s%" PRIu32 " devices", g->nvml ? "driver " : "",
		 g->nvml ? nvml_driver(g->nvml) : "", g->nvml ? ", " : "", g->count);
	g->watch = (struct device_watch){
		.nvml = g->nvml, .devices = g->devices, .count = g->count};
	if (g->nvml && device_watch_start(&g->watch, &err) < 0)
		log_info("%s: Xids are not counted", err.text);
	for (uint32_t i = 0; i < g->count; i++) {
		if (device_start(&g->devices[i], &err) < 0) {
			log_error("%s: %s", g->devices[i].out.m.uuid, err.text);
			return PROGRAM_CANNOT;
		}
	}
	/* watch_link() and device_lost() end it; so do devices that were left out,
	 * which only a fresh library finds when they are back */
	do
		sleep(AGAIN_S);
	while (!g->left_out);
	log_info("looking again for %" PRIu32 " devices", g->left_out);
	return PROGRAM_OK;
}

/* Tells `ceems_tool gpu release` that the driver is in use, until the process ends. */
static int take_gpu_lock(const char *path, struct err *err)
{
	if (!*path)
		return 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

int main(int argc, char *argv[])
{
	const struct program program = {
		.name = "ceems-gpu",
		.options = gpu_options,
		.option_count = gpu_options_count,
	};
	auto_buf struct buf warnings = BUF_INIT;
	struct gpu_program g = {.link = -1};
	struct periodic watch;
	enum program_status status;
	struct err err = {""};

	if (!program_options(&program, argc, argv, &g.options, &warnings, &status))
		return status;
	program_log("ceems-gpu", g.options.log_format, g.options.log_level, &warnings);
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!g.options.link_fd && !g.options.once) {
		log_error("ceemsd starts it; --once shows the devices");
		return PROGRAM_USAGE;
	}
	if (g.options.link_fd) {
		link_of_program = g.link = (int)g.options.link_fd;
		periodic_init(&watch);
		if (periodic_start(&watch, 0, watch_link, NULL, &g) < 0)
			return PROGRAM_CANNOT;
	}
	status = PROGRAM_CANNOT;
	int rc = take_gpu_lock(g.options.lock_path, &err);
	if (rc == 0)
		rc = open_devices(&g, &err);
	if (rc < 0) {
		send_health(g.link, rc, err.text);
		log_error("%s", err.text);
	} else {
		status = g.options.once ? print_devices(&g) : run_devices(&g);
	}
	/* no nvml_close() and no free() with a thread about: the end lets all go */
	_exit(fflush(stdout) == 0 ? (int)status : (int)PROGRAM_CANNOT);
}
