/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes on a device, with their memory and the device's time that they took. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/nvml_impl.h"
#include "lib/clock.h"

#define PROCESSES CHILD_GPU_PROCESSES_MAX
/* An ended one is told for so long, so that its last figures are not missed. */
#define ENDED_NS CHILD_GPU_STALE_NS
/* The driver's samples are not older than this. */
#define SAMPLE_MAX_US 10000000u

static int compare_processes(const void *a, const void *b)
{
	const struct child_gpu_process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->gi != y->gi)
		return x->gi < y->gi ? -1 : 1;
	return (x->ci > y->ci) - (x->ci < y->ci);
}

static struct child_gpu_process *find_process(struct nvml_processes *l,
					      const struct child_gpu_process *key)
{
	return bsearch(key, l->item, l->count, sizeof(l->item[0]), compare_processes);
}

/* Puts it into its place, or joins it with what is there of it. */
static void add_process(struct nvml_processes *l, const struct child_gpu_process *p)
{
	struct child_gpu_process *known = find_process(l, p);
	uint32_t at = l->count;

	if (known) {
		known->have |= p->have;
		known->seen_ns = p->seen_ns;
		known->ended = 0;
		known->memory_bytes = p->memory_bytes;
		return;
	}
	if (l->count == PROCESSES) {
		l->left_out++;
		return;
	}
	while (at && compare_processes(&l->item[at - 1], p) > 0)
		at--;
	memmove(&l->item[at + 1], &l->item[at], (l->count - at) * sizeof(l->item[0]));
	l->item[at] = *p;
	l->count++;
}

static int list_kind(struct nvml *n,
		     int (*call)(nvml_device, unsigned *, struct nvml_process *),
		     nvml_device d, const struct nvml_instance *instance,
		     struct nvml_processes *l, struct err *err)
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
			add_process(l, &p);
	}
	return 0;
}

static int list_processes(struct nvml *n, nvml_device d,
			  const struct nvml_instance *instance,
			  struct nvml_processes *l, struct err *err)
{
	int rc = list_kind(n, n->compute, d, instance, l, err);

	if (rc == 0 || rc == -EOPNOTSUPP)
		rc = list_kind(n, n->graphics, d, instance, l, err);
	if (rc == 0 || rc == -EOPNOTSUPP)
		rc = list_kind(n, n->mps, d, instance, l, err);
	return rc == -EOPNOTSUPP ? 0 : rc;
}

static void forget_processes(struct nvml_processes *l)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct child_gpu_process *p = &l->item[i];
		p->ended = p->seen_ns != l->now_ns;
		if (l->now_ns - p->seen_ns <= ENDED_NS)
			l->item[kept++] = *p;
	}
	l->count = kept;
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
		struct child_gpu_process *p = find_process(l, &key);
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

int nvml_list_processes(struct nvml *n, nvml_device d,
			const struct nvml_instance *instances, uint32_t instance_count,
			struct nvml_processes *l, struct err *err)
{
	int rc = 0;

	l->now_ns = clock_boottime_ns();
	l->left_out = 0;
	if (!instances)
		rc = list_processes(n, d, NULL, l, err);
	for (uint32_t i = 0; i < instance_count && instances && rc == 0; i++)
		rc = list_processes(n, instances[i].handle, &instances[i], l, err);
	if (rc == 0)
		forget_processes(l);
	if (rc == 0 && !instances)
		rc = read_process_use(n, d, l, err);
	return rc;
}
