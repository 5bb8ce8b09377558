/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for NVIDIA's management library, which needs their hardware: a shared
 * object with the entry points, codes and structs of NVIDIA's published API, declared
 * here anew, so that it does not share a mistake with gpu/nvml_abi.h. No trace of a
 * real library was taken: what this does is what the documents say.
 *
 * The file NVML_FAKE, read at each call, says what the machine is like, a line each:
 *
 *	init CODE			what nvmlInit answers
 *	device INDEX WATTS [WORD...]	a device that draws so much since it was booted;
 *					words: error=CODE hang=SECONDS dead (no energy
 *					counter) mj=ADD lost mig gpm accounting
 *					busy=PERCENT refresh=MS used=MIB xid=NUMBER
 *					uuid=INDEX (of another one) nameless
 *					module=WATTS (it is on one with a processor)
 *	instance INDEX GI CI SLICES BUSY MIB [CI_SLICES]	of a divided one
 *	process INDEX PID BUSY MIB GI		on a device; GI: on a whole one 0
 *	vgpu INDEX ID GI BUSY MIB SIZE_MIB VM	on a device; VM: a UUID, or a number
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/fake/nvml_machine.h"

struct utilization {
	unsigned int gpu, memory;
};
struct memory {
	unsigned long long total, free, used;
};
struct memory2 {
	unsigned int version;
	unsigned long long total, reserved, free, used;
};
struct pci {
	char legacy[16];
	unsigned int domain, bus, device, id, subsystem;
	char bus_id[32];
};

static int ready;

static void read_word(struct fake_device *d, const char *word)
{
	unsigned long long v = 0;

	(void)sscanf(word, "%*[a-z]=%llu", &v);
	if (strncmp(word, "error=", 6) == 0)
		d->error = (int)v;
	else if (strncmp(word, "hang=", 5) == 0)
		d->hang_s = (unsigned int)v;
	else if (strncmp(word, "mj=", 3) == 0)
		d->add_mj = v;
	else if (strncmp(word, "busy=", 5) == 0)
		d->busy = (unsigned int)v;
	else if (strncmp(word, "refresh=", 8) == 0)
		d->refresh_ms = v;
	else if (strncmp(word, "module=", 7) == 0)
		d->module_watts = (unsigned int)v;
	else if (strncmp(word, "used=", 5) == 0)
		d->used_mib = v;
	else if (strcmp(word, "dead") == 0)
		d->dead = 1;
	else if (strcmp(word, "lost") == 0)
		d->lost = 1;
	else if (strcmp(word, "mig") == 0)
		d->mig = 1;
	else if (strcmp(word, "gpm") == 0)
		d->gpm = 1;
	else if (strcmp(word, "accounting") == 0)
		d->accounting = 1;
	else if (strcmp(word, "nameless") == 0)
		d->nameless = 1;
	else if (strncmp(word, "uuid=", 5) == 0)
		d->uuid = (unsigned int)v + 1;
	else if (strncmp(word, "xid=", 4) == 0)
		d->xid = (unsigned int)v;
}

static void read_instance_line(const char *line, struct fake_device devices[DEVICES])
{
	struct fake_instance g = {0};
	unsigned int index = 0;

	int n = sscanf(line, "instance %u %u %u %u %u %llu %u", &index, &g.gi, &g.ci,
		       &g.slices, &g.busy, &g.used_mib, &g.ci_slices);
	if (n == 6)
		g.ci_slices = g.slices;
	if (n >= 6 && index < DEVICES && devices[index].instance_count < INSTANCES)
		devices[index].instance[devices[index].instance_count++] = g;
}

static void read_process_line(const char *line, struct fake_device devices[DEVICES])
{
	struct fake_process p = {0};
	unsigned int index = 0;

	if (sscanf(line, "process %u %u %u %llu %u", &index, &p.pid, &p.busy,
		   &p.used_mib, &p.gi) == 5 &&
	    index < DEVICES && devices[index].process_count < PROCESSES)
		devices[index].process[devices[index].process_count++] = p;
}

static void read_vgpu_line(const char *line, struct fake_device devices[DEVICES])
{
	struct fake_vgpu v = {0};
	unsigned int index = 0;

	if (sscanf(line, "vgpu %u %u %u %u %llu %llu %47s", &index, &v.id, &v.gi,
		   &v.busy, &v.used_mib, &v.size_mib, v.vm) == 7 &&
	    index < DEVICES && devices[index].vgpu_count < VGPUS)
		devices[index].vgpu[devices[index].vgpu_count++] = v;
}

static void read_device_line(const char *line, struct fake_device devices[DEVICES])
{
	unsigned int index = 0, watts = 0;
	char words[256];
	int used = 0;

	if (sscanf(line, "device %u %u%n", &index, &watts, &used) != 2 ||
	    index >= DEVICES)
		return;
	struct fake_device *d = &devices[index];
	*d = (struct fake_device){
		.there = 1, .milliwatts = watts * 1000ull, .refresh_ms = 20};
	(void)snprintf(words, sizeof(words), "%s", line + used);
	char *rest = NULL;
	for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
		read_word(d, w);
}

/* What is in the file NVML_FAKE */
static void read_text(char *text, size_t size)
{
	const char *path = getenv("NVML_FAKE");
	FILE *f = path ? fopen(path, "re") : NULL;
	size_t n = 0;

	if (f) {
		n = fread(text, 1, size - 1, f);
		(void)fclose(f);
	}
	text[n] = '\0';
}

/* Returns what nvmlInit answers. */
static int read_machine(struct fake_device devices[DEVICES])
{
	static _Thread_local struct {
		char text[16384];
		const struct fake_device *of;
		int init;
	} last;
	const char *given = getenv("NVML_FAKE_TEXT");
	char text[16384], *rest = NULL;
	int init = OK;

	if (!given)
		read_text(text, sizeof(text));
	/* as before: what a call costs is to be little beside what is measured */
	if (last.of == devices && strcmp(last.text, given ? given : text) == 0)
		return last.init;
	if (given)
		(void)snprintf(text, sizeof(text), "%s", given);
	memcpy(last.text, text, strlen(text) + 1);
	memset(devices, 0, DEVICES * sizeof(devices[0]));
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		read_device_line(line, devices);
		read_instance_line(line, devices);
		read_process_line(line, devices);
		read_vgpu_line(line, devices);
		(void)sscanf(line, "init %d", &init);
	}
	last.of = devices;
	last.init = init;
	return init;
}

int fault(const char *caller)
{
	const char *fail = getenv("NVML_FAKE_FAIL");
	size_t n = strlen(caller);

	return fail && strncmp(fail, caller, n) == 0 && fail[n] == '='
		       ? (int)strtol(fail + n + 1, NULL, 10)
		       : OK;
}

const struct fake_device *look_at_device(unsigned int n)
{
	static _Thread_local struct fake_device devices[DEVICES];

	if (n >= DEVICES || !ready)
		return NULL;
	(void)read_machine(devices);
	return devices[n].there ? &devices[n] : NULL;
}

/* Handles are indices plus 1; with 256 x (number + 1) of an instance. */
int find_device(void *handle, struct fake_device *ret, const char *caller)
{
	static _Thread_local struct fake_device devices[DEVICES];
	size_t n = (size_t)handle & 0xff, instance = (size_t)handle >> 8;

	if (!ready)
		return UNINITIALIZED;
	(void)read_machine(devices);
	if (n == 0 || n > DEVICES || !devices[n - 1].there)
		return INVALID;
	struct fake_device *d = &devices[n - 1];
	if (instance > d->instance_count)
		return INVALID;
	*ret = *d;
	ret->self = instance ? &d->instance[instance - 1] : NULL;
	if (ret->hang_s)
		sleep(ret->hang_s);
	if (ret->lost)
		return LOST;
	return ret->error ? ret->error : fault(caller);
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
	static _Thread_local struct fake_device devices[DEVICES];
	int rc = fault(__func__);

	if (rc == OK)
		rc = read_machine(devices);
	ready = rc == OK;
	return rc;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void)
{
	ready = 0;
	return OK;
}

EXPORT const char *nvmlErrorString(int rc);
EXPORT const char *nvmlErrorString(int rc)
{
	switch (rc) {
	case 9:
		return "Driver Not Loaded";
	case LOST:
		return "GPU is lost";
	case 18:
		return "Driver/library version mismatch";
	default:
		return "Unknown Error";
	}
}

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned int size);
EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned int size)
{
	(void)snprintf(text, size, "570.00.01");
	return fault(__func__);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned int *ret);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *ret)
{
	static _Thread_local struct fake_device devices[DEVICES];

	(void)read_machine(devices);
	*ret = 0;
	for (unsigned int i = 0; i < DEVICES; i++)
		*ret = devices[i].there ? i + 1 : *ret;
	return fault(__func__);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **ret);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **ret)
{
	struct fake_device d = {0};

	*ret = (void *)(size_t)(index + 1);
	int rc = fault(__func__);
	if (rc == OK && find_device(*ret, &d, "") == INVALID)
		rc = INVALID;
	return rc;
}

EXPORT int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size);
EXPORT int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size)
{
	struct fake_device d = {0};
	size_t number = (size_t)handle - 1;

	if (find_device(handle, &d, "") == OK && d.uuid)
		number = d.uuid - 1;
	(void)snprintf(text, size, "%s-00000000-0000-0000-0000-%012zu",
		       (size_t)handle >> 8 ? "MIG" : "GPU", number);
	if (d.nameless)
		text[0] = '\0';
	return fault(__func__);
}

EXPORT int nvmlDeviceGetName(void *handle, char *text, unsigned int size);
EXPORT int nvmlDeviceGetName(void *handle, char *text, unsigned int size)
{
	(void)handle;
	(void)snprintf(text, size, "NVIDIA Fake 100");
	return fault(__func__);
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *ret);
EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->bus = (unsigned int)(size_t)handle;
	(void)snprintf(ret->bus_id, sizeof(ret->bus_id), "00000000:%02X:00.0",
		       ret->bus);
	return fault(__func__);
}

EXPORT int nvmlDeviceGetMinorNumber(void *handle, unsigned int *ret);
EXPORT int nvmlDeviceGetMinorNumber(void *handle, unsigned int *ret)
{
	*ret = (unsigned int)(size_t)handle - 1;
	return fault(__func__);
}

EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned int *now, unsigned int *pending);
EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned int *now, unsigned int *pending)
{
	struct fake_device d = {0};

	int rc = find_device(handle, &d, __func__);
	*now = *pending = (unsigned int)d.mig;
	return rc;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj)
{
	struct fake_device d = {0};
	struct timespec t;
	int rc = find_device(handle, &d, __func__);

	if (rc != OK)
		return rc;
	if (d.dead)
		return NOT_SUPPORTED;
	(void)clock_gettime(CLOCK_BOOTTIME, &t);
	unsigned long long ms = (unsigned long long)t.tv_sec * 1000 +
				(unsigned long long)t.tv_nsec / 1000000;
	ms -= ms % (d.refresh_ms ? d.refresh_ms : 1);
	*mj = ms * d.milliwatts / 1000 + d.add_mj;
	return OK;
}

EXPORT int nvmlDeviceGetPowerUsage(void *handle, unsigned int *mw);
EXPORT int nvmlDeviceGetPowerUsage(void *handle, unsigned int *mw)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	*mw = (unsigned int)d.milliwatts;
	return rc;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned int *mw);
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned int *mw)
{
	(void)handle;
	*mw = 700000;
	return fault(__func__);
}

EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *ret);
EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	*ret = (struct utilization){d.busy, d.busy / 2};
	return rc == OK && d.mig ? NOT_SUPPORTED : rc;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *ret);
EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);
	unsigned long long used = (d.used_mib + 512) << 20, total = 81920ull << 20;

	if (d.self) {
		used = d.self->used_mib << 20;
		total = d.self->slices * 10240ull << 20;
	}
	*ret = (struct memory){total, total - used, used};
	return rc;
}

/* Version 2 tells apart what the driver reserves. */
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory2 *ret);
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory2 *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);
	unsigned long long used = d.used_mib << 20, total = 81920ull << 20;

	if (ret->version != (sizeof(*ret) | 2u << 24))
		return 25; /* argument version mismatch */
	ret->total = total;
	ret->reserved = 512ull << 20;
	ret->used = used;
	ret->free = total - used - ret->reserved;
	return rc;
}

EXPORT int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned int *ret);
EXPORT int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned int *ret)
{
	(void)handle;
	*ret = 41;
	return sensor == 0 ? fault(__func__) : INVALID;
}

EXPORT int nvmlDeviceGetClockInfo(void *handle, int type, unsigned int *mhz);
EXPORT int nvmlDeviceGetClockInfo(void *handle, int type, unsigned int *mhz)
{
	(void)handle;
	*mhz = type == 2 ? 2619 : 1980;
	return type >= 0 && type < 4 ? fault(__func__) : INVALID;
}
