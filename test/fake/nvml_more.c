/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second half of the made-up library: what not every device has. */
#include "test/fake/nvml_machine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KB_LINK 7000000ull

/* A call that every device answers with one number */
#define NUMBER(name, type, v)                                                          \
	EXPORT int name(void *handle, type *ret);                                      \
	EXPORT int name(void *handle, type *ret)                                       \
	{                                                                              \
		struct fake_device d = {0};                                            \
		int rc = find_device(handle, &d, __func__);                            \
		*ret = v;                                                              \
		return rc;                                                             \
	}
/* ... and one of an instance only */
#define OF_INSTANCE(name, type, v)                                                     \
	EXPORT int name(void *handle, type *ret);                                      \
	EXPORT int name(void *handle, type *ret)                                       \
	{                                                                              \
		struct fake_device d = {0};                                            \
		int rc = find_device(handle, &d, __func__);                            \
		if (rc == OK && !d.self)                                               \
			return INVALID;                                                \
		if (rc == OK)                                                          \
			*ret = v;                                                      \
		return rc;                                                             \
	}

struct attributes {
	unsigned int sms, copy, decoders, encoders, jpegs, ofas, gi_slices, ci_slices;
	unsigned long long memory_mib;
};

NUMBER(nvmlDeviceGetNumGpuCores, unsigned int, 132 * 128)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, 0x44)
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned int, 3)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned int, INSTANCES - 1)
OF_INSTANCE(nvmlDeviceGetGpuInstanceId, unsigned int, d.self->gi)
OF_INSTANCE(nvmlDeviceGetComputeInstanceId, unsigned int, d.self->ci)
OF_INSTANCE(nvmlDeviceGetAttributes_v2, struct attributes,
	    ((struct attributes){.sms = d.self->ci_slices * 16,
				 .gi_slices = d.self->slices,
				 .ci_slices = d.self->ci_slices,
				 .memory_mib = d.self->slices * 10240ull}))

EXPORT int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor);
EXPORT int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
	struct fake_device d = {0};

	*major = 9;
	*minor = 0;
	return find_device(handle, &d, __func__);
}

EXPORT int nvmlDeviceGetTemperatureThreshold(void *handle, int type, unsigned int *ret);
EXPORT int nvmlDeviceGetTemperatureThreshold(void *handle, int type, unsigned int *ret)
{
	struct fake_device d = {0};

	*ret = type == 0 ? 95 : 89;
	return find_device(handle, &d, __func__);
}

EXPORT int nvmlDeviceGetEncoderUtilization(void *handle, unsigned int *ret,
					   unsigned int *period);
EXPORT int nvmlDeviceGetEncoderUtilization(void *handle, unsigned int *ret,
					   unsigned int *period)
{
	struct fake_device d = {0};

	*ret = 2;
	*period = 167000;
	return find_device(handle, &d, __func__);
}

EXPORT int nvmlDeviceGetDecoderUtilization(void *handle, unsigned int *ret,
					   unsigned int *period);
EXPORT int nvmlDeviceGetDecoderUtilization(void *handle, unsigned int *ret,
					   unsigned int *period)
{
	struct fake_device d = {0};

	*ret = 4;
	*period = 167000;
	return find_device(handle, &d, __func__);
}

struct violation {
	unsigned long long reference, violation;
};

EXPORT int nvmlDeviceGetViolationStatus(void *handle, int policy,
					struct violation *ret);
EXPORT int nvmlDeviceGetViolationStatus(void *handle, int policy, struct violation *ret)
{
	struct fake_device d = {0};

	*ret = (struct violation){1, policy == 0 ? 2500000000ull : 0};
	return find_device(handle, &d, __func__);
}

EXPORT int nvmlDeviceGetTotalEccErrors(void *handle, int type, int counter,
				       unsigned long long *ret);
EXPORT int nvmlDeviceGetTotalEccErrors(void *handle, int type, int counter,
				       unsigned long long *ret)
{
	struct fake_device d = {0};

	*ret = (type == 0 ? 5 : 1) + (counter ? 10 : 0);
	return find_device(handle, &d, __func__);
}

EXPORT int nvmlDeviceGetRemappedRows(void *handle, unsigned int *corrected,
				     unsigned int *uncorrected, unsigned int *pending,
				     unsigned int *failed);
EXPORT int nvmlDeviceGetRemappedRows(void *handle, unsigned int *corrected,
				     unsigned int *uncorrected, unsigned int *pending,
				     unsigned int *failed)
{
	struct fake_device d = {0};

	*corrected = 2;
	*uncorrected = 1;
	*pending = 1;
	*failed = 0;
	return find_device(handle, &d, __func__);
}

struct field {
	unsigned int id, scope;
	long long at, latency;
	int type, rc;
	unsigned long long value; /* of all types: this is a little-endian machine */
};

EXPORT int nvmlDeviceGetFieldValues(void *handle, int count, struct field *f);
EXPORT int nvmlDeviceGetFieldValues(void *handle, int count, struct field *f)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	for (int i = 0; i < count && rc == OK; i++) {
		f[i].type = 3;
		f[i].rc = OK;
		switch (f[i].id) {
		case 82:
			f[i].type = 1;
			f[i].value = 52;
			break;
		case 138:
		case 139:
			f[i].value = KB_LINK;
			f[i].rc = f[i].scope == 0xffffffffu ? OK : INVALID;
			break;
		case 186:
			f[i].type = 1;
			f[i].value = f[i].scope == 1 ? d.module_watts * 1000ull
						     : d.milliwatts + 1000;
			if (f[i].scope > 1 || (f[i].scope == 1 && !d.module_watts))
				f[i].rc = NOT_SUPPORTED;
			break;
		case 197:
		case 198:
			f[i].value = 4096;
			break;
		default:
			f[i].rc = NOT_SUPPORTED;
		}
	}
	return rc;
}

unsigned long long now_us(void)
{
	const char *given = getenv("NVML_FAKE_NOW_US");
	struct timespec t;

	if (given)
		return strtoull(given, NULL, 10);
	(void)clock_gettime(CLOCK_REALTIME, &t);
	return (unsigned long long)t.tv_sec * 1000000 +
	       (unsigned long long)t.tv_nsec / 1000;
}

struct sample {
	unsigned long long at_us;
	unsigned long long value;
};

/* A sample each 100 ms */
EXPORT int nvmlDeviceGetSamples(void *handle, int type, unsigned long long last_seen,
				int *value_type, unsigned int *count,
				struct sample *ret);
EXPORT int nvmlDeviceGetSamples(void *handle, int type, unsigned long long last_seen,
				int *value_type, unsigned int *count,
				struct sample *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);
	unsigned int room = *count;
	unsigned long long now = now_us(), at = now - 1000000;

	if (rc != OK)
		return rc;
	if (type != 1 || d.mig)
		return NOT_SUPPORTED;
	*value_type = 1;
	*count = 0;
	for (at -= at % 100000; at <= now && *count < room; at += 100000) {
		if (at > last_seen)
			ret[(*count)++] = (struct sample){at, d.busy};
	}
	return *count ? OK : NOT_FOUND;
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int index,
					       void **ret);
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned int index,
					       void **ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	if (rc == OK && (d.self || index >= INSTANCES))
		return INVALID;
	if (rc == OK && index >= d.instance_count)
		return NOT_FOUND;
	*ret = (void *)((size_t)handle | (index + 1ul) << 8);
	return rc;
}

struct gi_profile {
	unsigned int id, p2p, slices, instances, sms, copy, decoders, encoders, jpegs,
		ofas;
	unsigned long long memory_mib;
};

EXPORT int nvmlDeviceGetGpuInstanceProfileInfo(void *handle, unsigned int profile,
					       struct gi_profile *ret);
EXPORT int nvmlDeviceGetGpuInstanceProfileInfo(void *handle, unsigned int profile,
					       struct gi_profile *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	*ret = (struct gi_profile){.slices = 7, .sms = 112};
	return rc == OK && profile != 4 ? NOT_SUPPORTED : rc;
}

/* ---- performance counters -------------------------------------------------------- */

struct gpm_sample {
	int is_taken;
	unsigned int gi, busy;
	void *parent;
};
struct gpm_support {
	unsigned int version, is_supported;
};
struct gpm_metric {
	unsigned int id;
	int rc;
	double value;
	char *names[3];
};
struct gpm_metrics {
	unsigned int version, count;
	struct gpm_sample *first, *second;
	struct gpm_metric metrics[98];
};

EXPORT int nvmlGpmQueryDeviceSupport(void *handle, struct gpm_support *ret);
EXPORT int nvmlGpmQueryDeviceSupport(void *handle, struct gpm_support *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	if (ret->version != 1)
		return 25; /* argument version mismatch */
	ret->is_supported = (unsigned int)d.gpm;
	return rc;
}

EXPORT int nvmlGpmSampleAlloc(struct gpm_sample **ret);
EXPORT int nvmlGpmSampleAlloc(struct gpm_sample **ret)
{
	int rc = fault(__func__);

	if (rc == OK)
		*ret = calloc(1, sizeof(**ret));
	return rc;
}

EXPORT int nvmlGpmSampleFree(struct gpm_sample *s);
EXPORT int nvmlGpmSampleFree(struct gpm_sample *s)
{
	free(s);
	return OK;
}

EXPORT int nvmlGpmSampleGet(void *handle, struct gpm_sample *s);
EXPORT int nvmlGpmSampleGet(void *handle, struct gpm_sample *s)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	if (rc == OK && d.self)
		return INVALID; /* of an instance by its own handle: never */
	if (rc == OK && (!d.gpm || d.mig))
		return NOT_SUPPORTED;
	*s = (struct gpm_sample){rc == OK, ~0u, d.busy, handle};
	return rc;
}

EXPORT int nvmlGpmMigSampleGet(void *handle, unsigned int gi, struct gpm_sample *s);
EXPORT int nvmlGpmMigSampleGet(void *handle, unsigned int gi, struct gpm_sample *s)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	if (rc != OK)
		return rc;
	if (d.self)
		return INVALID;
	if (!d.gpm || !d.mig)
		return NOT_SUPPORTED;
	for (unsigned int i = 0; i < d.instance_count; i++) {
		if (d.instance[i].gi != gi)
			continue;
		*s = (struct gpm_sample){1, gi, d.instance[i].busy, handle};
		return OK;
	}
	return NOT_FOUND;
}

/* Figures are parts of how busy it is, each its own. */
EXPORT int nvmlGpmMetricsGet(struct gpm_metrics *m);
EXPORT int nvmlGpmMetricsGet(struct gpm_metrics *m)
{
	const struct gpm_sample *a = m->first, *b = m->second;
	int rc = fault(__func__);

	if (rc != OK)
		return rc;
	if (m->version != 1 || !a || !b || !a->is_taken || !b->is_taken ||
	    a->gi != b->gi || a->parent != b->parent)
		return INVALID;
	for (unsigned int i = 0; i < m->count && i < 98; i++) {
		struct gpm_metric *g = &m->metrics[i];
		g->rc = OK;
		g->value = b->busy;
		if (g->id == 3)
			g->value = b->busy / 2.0;
		else if (g->id == 5)
			g->value = b->busy / 4.0;
		else if (g->id == 11)
			g->rc = NOT_SUPPORTED;
	}
	return OK;
}

/* ---- processes ------------------------------------------------------------------- */

struct process {
	unsigned int pid;
	unsigned long long memory;
	unsigned int gi, ci;
};

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count,
						   struct process *ret);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count,
						   struct process *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);
	unsigned int room = *count;

	if (rc != OK)
		return rc;
	*count = 0;
	for (unsigned int i = 0; i < d.process_count; i++) {
		const struct fake_process *p = &d.process[i];
		if (d.mig && (!d.self || d.self->gi != p->gi))
			continue;
		if (*count < room)
			ret[*count] =
				(struct process){p->pid, p->used_mib << 20, ~0u, ~0u};
		++*count;
	}
	return *count > room ? TOO_SMALL : OK;
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned int *count,
						    struct process *ret);
EXPORT int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned int *count,
						    struct process *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	(void)ret;
	*count = 0;
	return rc;
}

/* The same as the list of compute processes, as if all were clients of MPS */
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *handle, unsigned int *count,
						      struct process *ret);
EXPORT int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *handle, unsigned int *count,
						      struct process *ret)
{
	int rc = fault(__func__);

	return rc == OK ? nvmlDeviceGetComputeRunningProcesses_v3(handle, count, ret)
			: rc;
}

struct process_use {
	unsigned int pid;
	unsigned long long at_us;
	unsigned int sm, memory, encoder, decoder;
};

EXPORT int nvmlDeviceGetProcessUtilization(void *handle, struct process_use *ret,
					   unsigned int *count,
					   unsigned long long last_seen);
EXPORT int nvmlDeviceGetProcessUtilization(void *handle, struct process_use *ret,
					   unsigned int *count,
					   unsigned long long last_seen)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);
	unsigned int room = *count;
	unsigned long long now = now_us();

	if (rc != OK)
		return rc;
	if (d.mig)
		return NOT_SUPPORTED;
	*count = 0;
	for (unsigned int i = 0; i < d.process_count && now > last_seen; i++) {
		if (!d.process[i].busy)
			continue;
		if (*count < room)
			ret[*count] = (struct process_use){.pid = d.process[i].pid,
							   .at_us = now,
							   .sm = d.process[i].busy};
		++*count;
	}
	if (*count > room)
		return TOO_SMALL;
	return *count ? OK : NOT_FOUND;
}

struct accounting {
	unsigned int busy, memory;
	unsigned long long peak, time_ms, started_us;
	unsigned int is_running, reserved[5];
};

NUMBER(nvmlDeviceGetAccountingMode, unsigned int, (unsigned int)d.accounting)

/* Nobody here is root. */
EXPORT int nvmlDeviceSetAccountingMode(void *handle, unsigned int mode);
EXPORT int nvmlDeviceSetAccountingMode(void *handle, unsigned int mode)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	(void)mode;
	return rc == OK ? 4 : rc;
}

/* Any process that is not there has ended: 2 s, a quarter busy. */
EXPORT int nvmlDeviceGetAccountingStats(void *handle, unsigned int pid,
					struct accounting *ret);
EXPORT int nvmlDeviceGetAccountingStats(void *handle, unsigned int pid,
					struct accounting *ret)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	*ret = (struct accounting){.busy = 25, .peak = 3ull << 30, .time_ms = 2000};
	for (unsigned int i = 0; i < d.process_count; i++) {
		if (d.process[i].pid == pid)
			*ret = (struct accounting){.is_running = 1};
	}
	return rc == OK && !d.accounting ? NOT_SUPPORTED : rc;
}

/* ---- events ---------------------------------------------------------------------- */

struct event {
	void *device;
	unsigned long long type, data;
	unsigned int gi, ci;
};
struct event_set {
	int is_in[DEVICES];
	unsigned int told[DEVICES];
};

EXPORT int nvmlEventSetCreate(struct event_set **ret);
EXPORT int nvmlEventSetCreate(struct event_set **ret)
{
	int rc = fault(__func__);

	if (rc == OK)
		*ret = calloc(1, sizeof(**ret));
	return rc;
}

EXPORT int nvmlDeviceRegisterEvents(void *handle, unsigned long long types,
				    struct event_set *set);
EXPORT int nvmlDeviceRegisterEvents(void *handle, unsigned long long types,
				    struct event_set *set)
{
	struct fake_device d = {0};
	int rc = find_device(handle, &d, __func__);

	if (rc == OK && (types & 8))
		set->is_in[(size_t)handle - 1] = 1;
	return rc;
}

/* An event is a number in the machine's file that was not there before. */
EXPORT int nvmlEventSetWait_v2(struct event_set *set, struct event *ret,
			       unsigned int timeout_ms);
EXPORT int nvmlEventSetWait_v2(struct event_set *set, struct event *ret,
			       unsigned int timeout_ms)
{
	int rc = fault(__func__);

	if (rc != OK)
		return rc;
	for (unsigned int waited = 0;; waited += 100) {
		for (size_t i = 0; i < DEVICES; i++) {
			struct fake_device d = {0};
			if (!set->is_in[i] ||
			    find_device((void *)(i + 1), &d, "") != OK ||
			    d.xid == set->told[i])
				continue;
			set->told[i] = d.xid;
			if (!d.xid)
				continue;
			*ret = (struct event){
				.device = (void *)(i + 1), .type = 8, .data = d.xid};
			return OK;
		}
		if (waited >= timeout_ms)
			return TIMEOUT;
		(void)usleep(100000);
	}
}
