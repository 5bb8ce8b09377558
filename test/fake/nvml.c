/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for NVIDIA's management library, which needs their hardware: a shared
 *object with the entry points, codes and structs of NVIDIA's published API, declared
 *here anew, so that it does not share a mistake with gpu/nvml_abi.h. No trace of a real
 *library was taken: what this does is what the documents say.
 *
 * The file NVML_FAKE, read at each call, says what the machine is like, a line each:
 *
 *	init CODE			what nvmlInit answers
 *	device INDEX WATTS [WORD...]	a device that draws so much since it was booted;
 *					words: error=CODE hang=SECONDS dead (no energy
 *counter) mj=ADD lost mig busy=PERCENT refresh=MS used=MIB
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 64

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, LOST = 15 };

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

struct fake_device {
	int there, error, dead, lost, mig;
	unsigned long long milliwatts, add_mj, refresh_ms, used_mib;
	unsigned int busy, hang_s;
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
	else if (strncmp(word, "used=", 5) == 0)
		d->used_mib = v;
	else if (strcmp(word, "dead") == 0)
		d->dead = 1;
	else if (strcmp(word, "lost") == 0)
		d->lost = 1;
	else if (strcmp(word, "mig") == 0)
		d->mig = 1;
}

/* Returns what nvmlInit answers. */
static int read_machine(struct fake_device devices[DEVICES])
{
	const char *path = getenv("NVML_FAKE");
	FILE *f = path ? fopen(path, "re") : NULL;
	char line[256];
	int init = OK;

	memset(devices, 0, DEVICES * sizeof(devices[0]));
	while (f && fgets(line, sizeof(line), f)) {
		unsigned int index = 0, watts = 0;
		int used = 0;
		if (sscanf(line, "init %d", &init) == 1 ||
		    sscanf(line, "device %u %u%n", &index, &watts, &used) != 2 ||
		    index >= DEVICES)
			continue;
		struct fake_device *d = &devices[index];
		*d = (struct fake_device){
			.there = 1, .milliwatts = watts * 1000ull, .refresh_ms = 20};
		char *rest = NULL;
		for (char *w = strtok_r(line + used, " \n", &rest); w;
		     w = strtok_r(NULL, " \n", &rest))
			read_word(d, w);
	}
	if (f)
		(void)fclose(f);
	return init;
}

/* The device as it is now, after it has hung as long as it should. Handles are indices
 * plus 1. */
static int find_device(void *handle, struct fake_device *ret)
{
	struct fake_device devices[DEVICES];
	size_t n = (size_t)handle;

	if (!ready)
		return UNINITIALIZED;
	(void)read_machine(devices);
	if (n == 0 || n > DEVICES || !devices[n - 1].there)
		return INVALID;
	*ret = devices[n - 1];
	if (ret->hang_s)
		sleep(ret->hang_s);
	return ret->lost ? LOST : ret->error;
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
	struct fake_device devices[DEVICES];
	int rc = read_machine(devices);

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
	return OK;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned int *ret);
EXPORT int nvmlDeviceGetCount_v2(unsigned int *ret)
{
	struct fake_device devices[DEVICES];

	(void)read_machine(devices);
	*ret = 0;
	for (unsigned int i = 0; i < DEVICES; i++)
		*ret = devices[i].there ? i + 1 : *ret;
	return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **ret);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **ret)
{
	struct fake_device d;

	*ret = (void *)(size_t)(index + 1);
	return find_device(*ret, &d) == INVALID ? INVALID : OK;
}

EXPORT int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size);
EXPORT int nvmlDeviceGetUUID(void *handle, char *text, unsigned int size)
{
	(void)snprintf(text, size, "GPU-00000000-0000-0000-0000-%012zu",
		       (size_t)handle - 1);
	return OK;
}

EXPORT int nvmlDeviceGetName(void *handle, char *text, unsigned int size);
EXPORT int nvmlDeviceGetName(void *handle, char *text, unsigned int size)
{
	(void)handle;
	(void)snprintf(text, size, "NVIDIA Fake 100");
	return OK;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *ret);
EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->bus = (unsigned int)(size_t)handle;
	(void)snprintf(ret->bus_id, sizeof(ret->bus_id), "00000000:%02X:00.0",
		       ret->bus);
	return OK;
}

EXPORT int nvmlDeviceGetMinorNumber(void *handle, unsigned int *ret);
EXPORT int nvmlDeviceGetMinorNumber(void *handle, unsigned int *ret)
{
	*ret = (unsigned int)(size_t)handle - 1;
	return OK;
}

EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned int *now, unsigned int *pending);
EXPORT int nvmlDeviceGetMigMode(void *handle, unsigned int *now, unsigned int *pending)
{
	struct fake_device d;

	int rc = find_device(handle, &d);
	*now = *pending = (unsigned int)d.mig;
	return rc;
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj);
EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *mj)
{
	struct fake_device d;
	struct timespec t;
	int rc = find_device(handle, &d);

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
	struct fake_device d;
	int rc = find_device(handle, &d);

	*mw = (unsigned int)d.milliwatts;
	return rc;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned int *mw);
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned int *mw)
{
	(void)handle;
	*mw = 700000;
	return OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *ret);
EXPORT int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *ret)
{
	struct fake_device d;
	int rc = find_device(handle, &d);

	*ret = (struct utilization){d.busy, d.busy / 2};
	return rc == OK && d.mig ? NOT_SUPPORTED : rc;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *ret);
EXPORT int nvmlDeviceGetMemoryInfo(void *handle, struct memory *ret)
{
	struct fake_device d;
	int rc = find_device(handle, &d);
	unsigned long long used = (d.used_mib + 512) << 20, total = 81920ull << 20;

	*ret = (struct memory){total, total - used, used};
	return rc;
}

/* Version 2 tells apart what the driver reserves. */
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory2 *ret);
EXPORT int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory2 *ret)
{
	struct fake_device d;
	int rc = find_device(handle, &d);
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
	return sensor == 0 ? OK : INVALID;
}

EXPORT int nvmlDeviceGetClockInfo(void *handle, int type, unsigned int *mhz);
EXPORT int nvmlDeviceGetClockInfo(void *handle, int type, unsigned int *mhz)
{
	(void)handle;
	*mhz = type == 2 ? 2619 : 1980;
	return type >= 0 && type < 4 ? OK : INVALID;
}
