/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes on a device, with their memory and the device's time that they took. */
#include <errno.h>

#include "gpu/nvml_impl.h"

#define PROCESSES CHILD_GPU_PROCESSES_MAX
/* The driver's samples are not older than this. */
#define SAMPLE_MAX_US 10000000u

static int list_kind(struct nvml *n,
		     int (*call)(nvml_device, unsigned *, struct nvml_process *),
		     nvml_device d, const struct nvml_instance *instance,
		     struct process_list *l, struct err *err)
{
	struct nvml_process found[PROCESSES];
	unsigned count = PROCESSES;

	if (!call)
		return 0;
	int rc = call(d, &count, found);
	if (rc == NVML_ERROR_INSUFFICIENT_SIZE) {
		l->left_out += count > PROCESSES ? count - PROCESSES : 1;
		return 0;
	}
	if (rc == NVML_ERROR_NOT_FOUND) /* none */
		return 0;
	if (rc != NVML_SUCCESS)
		return nvml_fail(n, rc, "list of processes", err);
	for (unsigned i = 0; i < count && i < PROCESSES; i++) {
		struct child_gpu_process p = {
			.pid = found[i].pid,
			.gi = instance ? instance->item.gi : CHILD_GPU_NONE,
			.ci = instance ? instance->item.ci : CHILD_GPU_NONE,
			.seen_ns = l->now_ns};
		if (found[i].memory != ~0ull) {
			p.memory_bytes = found[i].memory;
			p.have = 1u << CHILD_GPU_PROCESS_MEMORY;
		}
		if (p.pid)
			(void)process_list_add(l, &p);
	}
	return 0;
}

static int list_processes(struct nvml *n, nvml_device d,
			  const struct nvml_instance *instance, struct process_list *l,
			  struct err *err)
{
	int rc = list_kind(n, n->compute, d, instance, l, err);

	if (rc == 0 || rc == -EOPNOTSUPP)
		rc = list_kind(n, n->graphics, d, instance, l, err);
	if (rc == 0 || rc == -EOPNOTSUPP)
		rc = list_kind(n, n->mps, d, instance, l, err);
	return rc == -EOPNOTSUPP ? 0 : rc;
}

/* Utilisation since the last call. The driver tells one figure per process, of the time
 * since the last one; the first tells nothing of which time. */
static int read_process_use(struct nvml *n, nvml_device d, struct nvml_processes *l,
			    struct err *err)
{
	struct nvml_process_use use[PROCESSES];
	unsigned count = PROCESSES;
	unsigned long long last_us = l->last_us;

	if (!n->process_use)
		return 0;
	int rc = n->process_use(d, use, &count, last_us);
	/* none has run, as far as the driver's samples go */
	if (rc == NVML_ERROR_NOT_FOUND || rc == NVML_ERROR_INSUFFICIENT_SIZE)
		return 0;
	if (rc != NVML_SUCCESS)
		return nvml_errno(rc) == -EOPNOTSUPP
			       ? 0
			       : nvml_fail(n, rc, "nvmlDeviceGetProcessUtilization",
					   err);
	for (unsigned i = 0; i < count && i < PROCESSES; i++) {
		struct child_gpu_process key = {
			.pid = use[i].pid, .gi = CHILD_GPU_NONE, .ci = CHILD_GPU_NONE};
		struct child_gpu_process *p = process_list_find(&l->list, &key);
		unsigned percent = use[i].sm < 100 ? use[i].sm : 100;
		if (use[i].at_us > l->last_us)
			l->last_us = use[i].at_us;
		if (!p || use[i].at_us <= last_us)
			continue;
		uint64_t us = use[i].at_us - last_us;
		p->have |= 1u << CHILD_GPU_PROCESS_BUSY;
		if (last_us && us <= SAMPLE_MAX_US)
			p->busy_ns += us * 10 * percent;
	}
	return 0;
}

/* Where accounting mode is on the driver tells of processes that have ended what no
 * sample has seen. */
static int read_accounts(struct nvml *n, nvml_device d, struct process_list *l,
			 struct err *err)
{
	unsigned mode = 0;
	int rc = NVML_SUCCESS;

	if (!n->accounting || !n->accounting_mode ||
	    n->accounting_mode(d, &mode) != NVML_SUCCESS || mode != NVML_ACCOUNTING_ON)
		return 0;
	for (uint32_t i = 0; i < l->count && rc == NVML_SUCCESS; i++) {
		struct child_gpu_process *p = &l->item[i];
		struct nvml_accounting a = {0};
		if (!p->ended || p->have >> CHILD_GPU_PROCESS_PEAK & 1)
			continue;
		rc = n->accounting(d, p->pid, &a);
		if (rc == NVML_ERROR_NOT_FOUND || (rc == NVML_SUCCESS && !a.time_ms)) {
			rc = NVML_SUCCESS;
			continue;
		}
		if (rc != NVML_SUCCESS)
			break;
		unsigned percent = a.busy_percent < 100 ? a.busy_percent : 100;
		uint64_t busy_ns =
			a.time_ms < UINT32_MAX ? a.time_ms * 10000 * percent : 0;
		p->peak_bytes = a.peak;
		p->busy_ns = busy_ns > p->busy_ns ? busy_ns : p->busy_ns;
		p->have |= 1u << CHILD_GPU_PROCESS_PEAK | 1u << CHILD_GPU_PROCESS_BUSY;
	}
	return nvml_errno(rc) == -ENODEV
		       ? nvml_fail(n, rc, "nvmlDeviceGetAccountingStats", err)
		       : 0;
}

int nvml_enable_accounting(struct nvml *n, nvml_device d, struct err *err)
{
	unsigned mode = 0;

	if (!n->set_accounting || !n->accounting_mode)
		return err_set(err, -EOPNOTSUPP, "this release has no accounting mode");
	int rc = n->accounting_mode(d, &mode);
	if (rc == NVML_SUCCESS && mode != NVML_ACCOUNTING_ON)
		rc = n->set_accounting(d, NVML_ACCOUNTING_ON);
	return rc == NVML_SUCCESS
		       ? 0
		       : nvml_fail(n, rc, "nvmlDeviceSetAccountingMode", err);
}

int nvml_list_processes(struct nvml *n, nvml_device d,
			const struct nvml_instance *instances, uint32_t instance_count,
			struct nvml_processes *l, struct err *err)
{
	int rc = 0;

	process_list_begin(&l->list);
	if (!instances)
		rc = list_processes(n, d, NULL, &l->list, err);
	for (uint32_t i = 0; i < instance_count && instances && rc == 0; i++)
		rc = list_processes(n, instances[i].handle, &instances[i], &l->list,
				    err);
	if (rc == 0)
		process_list_end(&l->list);
	if (rc == 0 && !instances)
		rc = read_process_use(n, d, l, err);
	if (rc == 0 && !instances)
		rc = read_accounts(n, d, &l->list, err);
	return rc;
}
