/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVML by dlopen() */
#include "gpu/nvml_impl.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MW_UW 1000u
#define PERCENT_PPM 10000u
#define DEGREE_MILLI 1000u
#define MHZ_HZ 1000000u
/* what nvml_identify() has found */
#define CONSTANT                                                                       \
	(1ull << CHILD_GPU_SM_COUNT | 1ull << CHILD_GPU_SLOWDOWN_TEMPERATURE |         \
	 1ull << CHILD_GPU_SHUTDOWN_TEMPERATURE)

/* The newest version of each; without a needed one the library is of no use. */
static const struct nvml_symbol {
	const char *name;
	size_t at;
	bool needed;
} symbols[] = {
	{"nvmlInit_v2", offsetof(struct nvml, init), true},
	{"nvmlShutdown", offsetof(struct nvml, shutdown), true},
	{"nvmlErrorString", offsetof(struct nvml, error), false},
	{"nvmlSystemGetDriverVersion", offsetof(struct nvml, driver_version), false},
	{"nvmlDeviceGetCount_v2", offsetof(struct nvml, count), true},
	{"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, handle), true},
	{"nvmlDeviceGetUUID", offsetof(struct nvml, uuid), true},
	{"nvmlDeviceGetName", offsetof(struct nvml, name), false},
	{"nvmlDeviceGetPciInfo_v3", offsetof(struct nvml, pci), false},
	{"nvmlDeviceGetMinorNumber", offsetof(struct nvml, minor), false},
	{"nvmlDeviceGetMigMode", offsetof(struct nvml, mig), false},
	{"nvmlDeviceGetTotalEnergyConsumption", offsetof(struct nvml, energy), false},
	{"nvmlDeviceGetPowerUsage", offsetof(struct nvml, power), false},
	{"nvmlDeviceGetEnforcedPowerLimit", offsetof(struct nvml, limit), false},
	{"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, utilization), false},
	{"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory), false},
	{"nvmlDeviceGetMemoryInfo_v2", offsetof(struct nvml, memory_v2), false},
	{"nvmlDeviceGetTemperature", offsetof(struct nvml, temperature), false},
	{"nvmlDeviceGetClockInfo", offsetof(struct nvml, clock), false},
	{"nvmlDeviceGetTemperatureThreshold", offsetof(struct nvml, threshold), false},
	{"nvmlDeviceGetNumGpuCores", offsetof(struct nvml, cores), false},
	{"nvmlDeviceGetCudaComputeCapability", offsetof(struct nvml, capability),
	 false},
	{"nvmlDeviceGetEncoderUtilization", offsetof(struct nvml, encoder), false},
	{"nvmlDeviceGetDecoderUtilization", offsetof(struct nvml, decoder), false},
	{"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml, reasons),
	 false},
	{"nvmlDeviceGetViolationStatus", offsetof(struct nvml, violation), false},
	{"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml, ecc), false},
	{"nvmlDeviceGetRemappedRows", offsetof(struct nvml, rows), false},
	{"nvmlDeviceGetPcieReplayCounter", offsetof(struct nvml, replays), false},
	{"nvmlDeviceGetFieldValues", offsetof(struct nvml, fields), false},
	{"nvmlDeviceGetSamples", offsetof(struct nvml, samples), false},
	{"nvmlDeviceGetMaxMigDeviceCount", offsetof(struct nvml, mig_count), false},
	{"nvmlDeviceGetMigDeviceHandleByIndex", offsetof(struct nvml, mig_handle),
	 false},
	{"nvmlDeviceGetGpuInstanceId", offsetof(struct nvml, gi_id), false},
	{"nvmlDeviceGetComputeInstanceId", offsetof(struct nvml, ci_id), false},
	{"nvmlDeviceGetAttributes_v2", offsetof(struct nvml, attributes), false},
	{"nvmlDeviceGetGpuInstanceProfileInfo", offsetof(struct nvml, gi_profile),
	 false},
	{"nvmlGpmQueryDeviceSupport", offsetof(struct nvml, gpm_support), false},
	{"nvmlGpmSampleAlloc", offsetof(struct nvml, gpm_alloc), false},
	{"nvmlGpmSampleFree", offsetof(struct nvml, gpm_free), false},
	{"nvmlGpmSampleGet", offsetof(struct nvml, gpm_sample), false},
	{"nvmlGpmMigSampleGet", offsetof(struct nvml, gpm_mig_sample), false},
	{"nvmlGpmMetricsGet", offsetof(struct nvml, gpm_metrics), false},
	{"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml, compute),
	 false},
	{"nvmlDeviceGetGraphicsRunningProcesses_v3", offsetof(struct nvml, graphics),
	 false},
	{"nvmlDeviceGetMPSComputeRunningProcesses_v3", offsetof(struct nvml, mps),
	 false},
	{"nvmlDeviceGetProcessUtilization", offsetof(struct nvml, process_use), false},
	{"nvmlDeviceGetAccountingMode", offsetof(struct nvml, accounting_mode), false},
	{"nvmlDeviceSetAccountingMode", offsetof(struct nvml, set_accounting), false},
	{"nvmlDeviceGetAccountingStats", offsetof(struct nvml, accounting), false},
	{"nvmlDeviceGetActiveVgpus", offsetof(struct nvml, vgpus), false},
	{"nvmlVgpuInstanceGetVmID", offsetof(struct nvml, vgpu_vm), false},
	{"nvmlVgpuInstanceGetFbUsage", offsetof(struct nvml, vgpu_used), false},
	{"nvmlVgpuInstanceGetGpuInstanceId", offsetof(struct nvml, vgpu_gi), false},
	{"nvmlVgpuInstanceGetType", offsetof(struct nvml, vgpu_type), false},
	{"nvmlVgpuTypeGetName", offsetof(struct nvml, vgpu_type_name), false},
	{"nvmlVgpuTypeGetFramebufferSize", offsetof(struct nvml, vgpu_type_size),
	 false},
	{"nvmlDeviceGetVgpuUtilization", offsetof(struct nvml, vgpu_use), false},
	{"nvmlEventSetCreate", offsetof(struct nvml, event_set), false},
	{"nvmlDeviceRegisterEvents", offsetof(struct nvml, event_register), false},
	{"nvmlEventSetWait_v2", offsetof(struct nvml, event_wait), false},
};

static int find_symbols(void *library, const char *path, struct nvml *n,
			struct err *err)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		const struct nvml_symbol *s = &symbols[i];
		void *found = dlsym(library, s->name);
		if (!found && s->needed)
			return err_set(err, -EPROTO, "%s has no %s", path, s->name);
		memcpy((char *)n + s->at, &found, sizeof(found));
	}
	return 0;
}

int nvml_errno(int rc)
{
	switch (rc) {
	case NVML_SUCCESS:
		return 0;
	case NVML_ERROR_NOT_SUPPORTED:
	case NVML_ERROR_FUNCTION_NOT_FOUND:
		return -EOPNOTSUPP;
	case NVML_ERROR_NO_PERMISSION:
		return -EACCES;
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
		return -EPROTO;
	case NVML_ERROR_UNINITIALIZED:
	case NVML_ERROR_DRIVER_NOT_LOADED:
	case NVML_ERROR_GPU_IS_LOST:
	case NVML_ERROR_RESET_REQUIRED:
	case NVML_ERROR_NOT_FOUND:
		return -ENODEV;
	default:
		return -EIO;
	}
}

int nvml_fail(const struct nvml *n, int rc, const char *what, struct err *err)
{
	const char *text = n->error ? n->error(rc) : NULL;

	return err_set(err, nvml_errno(rc), "%s: %s (NVML error %d)", what,
		       text ? text : "failed", rc);
}

int nvml_open(const char *path, struct nvml **ret, struct err *err)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return err_set(err, -ENOENT, "%s", dlerror());
	struct nvml *n = calloc(1, sizeof(*n));
	if (!n)
		return err_set(err, -ENOMEM, "out of memory");
	int rc = find_symbols(library, path, n, err);
	if (rc == 0) {
		int got = n->init();
		if (got != NVML_SUCCESS)
			rc = nvml_fail(n, got, "nvmlInit", err);
	}
	if (rc < 0) {
		free(n);
		return rc;
	}
	if (n->driver_version &&
	    n->driver_version(n->driver, sizeof(n->driver)) != NVML_SUCCESS)
		n->driver[0] = '\0';
	*ret = n;
	return 0;
}

void nvml_close(struct nvml *n)
{
	if (!n)
		return;
	(void)n->shutdown();
	free(n);
}

const char *nvml_driver(const struct nvml *n)
{
	return n->driver;
}

int nvml_count(struct nvml *n, uint32_t *ret, struct err *err)
{
	unsigned count = 0;
	int rc = n->count(&count);

	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetCount", err);
	*ret = count;
	return 0;
}

void nvml_copy_text(char *to, size_t size, const char *from, size_t from_size)
{
	size_t n = strnlen(from, from_size);

	if (n >= size)
		n = size - 1;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)from[i];
		to[i] = (char)(c < 0x20 || c >= 0x7f ? '?' : c);
	}
	to[n] = '\0';
}

int nvml_identify(struct nvml *n, uint32_t index, nvml_device *ret, struct child_gpu *m,
		  struct err *err)
{
	char text[NVML_UUID_BYTES > NVML_NAME_BYTES ? NVML_UUID_BYTES
						    : NVML_NAME_BYTES] = "";
	struct nvml_pci pci = {0};
	unsigned number = 0, pending = 0;

	int rc = n->handle(index, ret);
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetHandleByIndex", err);
	rc = n->uuid(*ret, text, NVML_UUID_BYTES);
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetUUID", err);
	nvml_copy_text(m->uuid, sizeof(m->uuid), text, sizeof(text));
	if (!*m->uuid) /* the key of everything that is said of it */
		return err_set(err, -EPROTO, "device %u has no UUID", index);
	if (n->name && n->name(*ret, text, NVML_NAME_BYTES) == NVML_SUCCESS)
		nvml_copy_text(m->model, sizeof(m->model), text, sizeof(text));
	if (n->pci && n->pci(*ret, &pci) == NVML_SUCCESS)
		nvml_copy_text(m->pci, sizeof(m->pci), pci.bus_id, sizeof(pci.bus_id));
	m->minor = n->minor && n->minor(*ret, &number) == NVML_SUCCESS ? number
								       : UINT32_MAX;
	m->mig = n->mig && n->mig(*ret, &number, &pending) == NVML_SUCCESS && number;
	m->index = index;
	nvml_identify_more(n, *ret, m);
	return 0;
}

int nvml_energy(struct nvml *n, nvml_device d, uint64_t *ret_uj, struct err *err)
{
	unsigned long long mj = 0;

	if (!n->energy)
		return err_set(err, -EOPNOTSUPP, "no energy counter in this release");
	int rc = n->energy(d, &mj);
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "nvmlDeviceGetTotalEnergyConsumption", err);
	*ret_uj = mj > UINT64_MAX / 1000 ? UINT64_MAX : mj * 1000;
	return 0;
}

int nvml_keep(struct nvml *n, struct child_gpu *m, enum child_gpu_value which, int rc,
	      uint64_t v, struct err *err)
{
	if (rc == NVML_SUCCESS) {
		m->value[which] = v;
		m->have |= 1ull << which;
	} else if (nvml_errno(rc) == -ENODEV) {
		return nvml_fail(n, rc, "device", err);
	}
	return 0;
}

static int read_memory(struct nvml *n, nvml_device d, struct child_gpu *m,
		       struct err *err)
{
	struct nvml_memory_v2 v2 = {.version = NVML_MEMORY_V2};
	struct nvml_memory v1 = {0};
	int rc = n->memory_v2 ? n->memory_v2(d, &v2) : NVML_ERROR_FUNCTION_NOT_FOUND;

	if (rc == NVML_SUCCESS) {
		v1 = (struct nvml_memory){.total = v2.total, .used = v2.used};
		/* documented both ways, so the sum tells */
		if (v2.free + v2.used == v2.total && v2.reserved <= v2.used)
			v1.used -= v2.reserved;
	} else if (n->memory) {
		rc = n->memory(d, &v1);
	}
	int gone = nvml_keep(n, m, CHILD_GPU_MEMORY_USED, rc, v1.used, err);
	return gone ? gone : nvml_keep(n, m, CHILD_GPU_MEMORY_TOTAL, rc, v1.total, err);
}

static int read_rates(struct nvml *n, nvml_device d, struct child_gpu *m,
		      struct err *err)
{
	struct nvml_utilization u = {0};

	if (!n->utilization)
		return 0;
	int rc = n->utilization(d, &u);
	int gone = nvml_keep(n, m, CHILD_GPU_BUSY, rc,
			     (uint64_t)(u.gpu < 100 ? u.gpu : 100) * PERCENT_PPM, err);
	if (gone)
		return gone;
	return nvml_keep(n, m, CHILD_GPU_MEMORY_BUSY, rc,
			 (uint64_t)(u.memory < 100 ? u.memory : 100) * PERCENT_PPM,
			 err);
}

static int read_clock(struct nvml *n, nvml_device d, unsigned type,
		      enum child_gpu_value which, struct child_gpu *m, struct err *err)
{
	unsigned mhz = 0;

	if (!n->clock)
		return 0;
	int rc = n->clock(d, type, &mhz);
	return nvml_keep(n, m, which, rc, (uint64_t)mhz * MHZ_HZ, err);
}

static int read_number(struct nvml *n, nvml_device d,
		       int (*call)(nvml_device, unsigned *), uint64_t scale,
		       enum child_gpu_value which, struct child_gpu *m, struct err *err)
{
	unsigned v = 0;

	if (!call)
		return 0;
	int rc = call(d, &v);
	return nvml_keep(n, m, which, rc, v * scale, err);
}

static int read_temperature(struct nvml *n, nvml_device d, struct child_gpu *m,
			    struct err *err)
{
	unsigned degrees = 0;

	if (!n->temperature)
		return 0;
	int rc = n->temperature(d, NVML_TEMPERATURE_GPU, &degrees);
	return nvml_keep(n, m, CHILD_GPU_TEMPERATURE, rc,
			 (uint64_t)degrees * DEGREE_MILLI, err);
}

int nvml_read(struct nvml *n, nvml_device d, struct child_gpu *m, struct err *err)
{
	m->have &= CONSTANT;
	int rc = read_number(n, d, n->power, MW_UW, CHILD_GPU_POWER, m, err);
	if (rc == 0)
		rc = read_number(n, d, n->limit, MW_UW, CHILD_GPU_POWER_LIMIT, m, err);
	if (rc == 0)
		rc = read_rates(n, d, m, err);
	if (rc == 0)
		rc = read_memory(n, d, m, err);
	if (rc == 0)
		rc = read_temperature(n, d, m, err);
	if (rc == 0)
		rc = read_clock(n, d, NVML_CLOCK_SM, CHILD_GPU_SM_CLOCK, m, err);
	if (rc == 0)
		rc = read_clock(n, d, NVML_CLOCK_MEM, CHILD_GPU_MEMORY_CLOCK, m, err);
	return rc == 0 ? nvml_read_more(n, d, m, err) : rc;
}
