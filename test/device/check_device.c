/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What nobody can make up: NVIDIA devices themselves. Run by `make check-device` on a
 * machine that has one; changes no clock, no MIG layout and no accounting. Each line is
 * a result as of TAP, or a figure as of test/bench.
 *
 *	check_device TRACER [LIBRARY]
 *
 * CHECK_DEVICE_QUICK: fewer and shorter rounds, for the test of this program.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/device.h"
#include "lib/clock.h"
#include "test/device/cuda_load.h"

#define ROUNDS 5u
#define ENERGY_MS 5000u
#define PAIRS 40u
#define PAIR_MS 400u /* of one kernel */

struct checking {
	unsigned number, failed;
	unsigned rounds;
	uint64_t energy_ms;
	struct device *devices;
	uint32_t count;
	/* the second reader of energy, beside the tracer */
	int (*energy)(nvml_device d, unsigned long long *mj);
	int (*handle)(unsigned index, nvml_device *ret);
};

static void tell_result(struct checking *c, bool ok, const char *what)
{
	printf("%sok %u - %s\n", ok ? "" : "not ", ++c->number, what);
	c->failed += !ok;
	(void)fflush(stdout);
}

static void tell_skip(struct checking *c, const char *what, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", ++c->number, what, why);
}

static void tell_figure(const char *metric, double value, const char *unit)
{
	printf("{\"bench\":\"device\",\"metric\":\"%s\",\"value\":%.4g,\"unit\":\"%s\"}"
	       "\n",
	       metric, value, unit);
}

static void end_lost(const struct err *why)
{
	printf("Bail out! %s\n", why->text);
	_exit(1);
}

static int open_all(struct checking *c, const char *tracer)
{
	struct nvml *n = NULL;
	struct err err = {""};
	uint32_t count = 0;
	int rc = nvml_open(tracer, &n, &err);

	if (rc == 0)
		rc = nvml_count(n, &count, &err);
	if (rc < 0 || count == 0) {
		printf("1..0 # SKIP no NVIDIA device here: %s\n",
		       rc < 0 ? err.text : "none");
		return -ENODEV;
	}
	count = count < CHILD_GPUS_MAX ? count : CHILD_GPUS_MAX;
	c->devices = calloc(count, sizeof(*c->devices));
	printf("# driver %s\n", nvml_driver(n));
	for (uint32_t i = 0; i < count && c->devices; i++) {
		struct device *d = &c->devices[c->count];
		*d = (struct device){
			.nvml = n, .link = -1, .period_ms = 100, .lost = end_lost};
		if (device_open(d, i, &err) == 0)
			c->count++;
		else
			printf("# device %" PRIu32 ": %s\n", i, err.text);
	}
	tell_result(c, c->count == count, "every device can be opened");
	return c->count ? 0 : -ENODEV;
}

/* ---- a round of readings --------------------------------------------------------- */

static void rest_ms(uint64_t ms)
{
	struct timespec t = {.tv_sec = (time_t)(ms / 1000),
			     .tv_nsec = (long)(ms % 1000 * NSEC_PER_MSEC)};

	(void)nanosleep(&t, NULL);
}

static void check_rounds(struct checking *c)
{
	uint64_t cpu_ns = 0, wall_ns = 0;
	bool well = true;

	for (unsigned r = 0; r < c->rounds; r++) {
		for (uint32_t i = 0; i < c->count; i++) {
			struct err err = {""};
			uint64_t cpu = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
			uint64_t wall = clock_read_ns(CLOCK_MONOTONIC);
			c->devices[i].out.m.read_ns = 0;
			int rc = device_read(&c->devices[i], &err);
			cpu_ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
			wall_ns += clock_read_ns(CLOCK_MONOTONIC) - wall;
			if (rc < 0)
				printf("# %s: %s\n", c->devices[i].out.m.uuid,
				       err.text);
			well = well && rc == 0;
		}
		rest_ms(1000);
	}
	tell_result(c, well, "every device can be read again and again");
	tell_figure("round_cpu_per_device", (double)cpu_ns / c->rounds / c->count / 1e3,
		    "us");
	tell_figure("round_wall_per_device",
		    (double)wall_ns / c->rounds / c->count / 1e3, "us");
}

static void describe_device(const struct device *d)
{
	const struct child_gpu *m = &d->out.m;

	printf("# %u %s %s \"%s\"%s values %" PRIx64 " figures %x instances %u "
	       "processes %u\n",
	       m->index, m->uuid, m->pci, m->model, m->mig ? " MIG" : "", m->have,
	       m->profile.have, d->more ? d->more->instance_count : 0,
	       d->more ? d->more->processes.list.count : 0);
}

/* ---- energy beside another reader ------------------------------------------------ */

/* Reads our counter, another reader's, and ours again: the other is between them, or
 * one refresh away. */
static void check_energy(struct checking *c, struct device *d)
{
	uint64_t end_ns = clock_boottime_ns() + c->energy_ms * NSEC_PER_MSEC;
	uint64_t refreshes = 0, step_uj = 0, last_uj = 0, first_uj = 0, second_uj = 0;
	unsigned long long mj = 0;
	nvml_device other = NULL;
	struct err err = {""};
	bool well = true;

	if (!c->energy || !c->handle || c->handle(d->out.m.index, &other) != 0 ||
	    nvml_energy(d->nvml, d->handle, &last_uj, &err) < 0) {
		tell_skip(c, "energy beside a second reader", "no counter");
		return;
	}
	while (clock_boottime_ns() < end_ns || !refreshes) {
		if (nvml_energy(d->nvml, d->handle, &first_uj, &err) < 0 ||
		    c->energy(other, &mj) != 0 ||
		    nvml_energy(d->nvml, d->handle, &second_uj, &err) < 0)
			break;
		if (second_uj > last_uj) {
			uint64_t step = second_uj - last_uj;
			step_uj = step > step_uj ? step : step_uj;
			refreshes++;
		}
		well = well && mj * 1000 + step_uj >= first_uj &&
		       mj * 1000 <= second_uj + step_uj;
		last_uj = second_uj;
		rest_ms(5);
		if (clock_boottime_ns() > end_ns + 10 * NSEC_PER_SEC)
			break;
	}
	tell_result(c, refreshes > 0 && well,
		    "energy is what a second reader sees, within one refresh");
	if (refreshes)
		tell_figure("energy_refresh", (double)c->energy_ms / (double)refreshes,
			    "ms");
}

/* ---- performance counters beside a known load ------------------------------------ */

static void check_figures(struct checking *c, struct device *d, struct cuda_load *load,
			  unsigned parts)
{
	const struct child_gpu_profile *p = &d->out.m.profile;
	unsigned blocks = load->sm_count / parts;
	struct err err = {""};
	char what[96];

	(void)snprintf(what, sizeof(what),
		       "SM activity with 1 of %u multiprocessors busy", parts);
	if (cuda_load_start(load, blocks, 3500) < 0) {
		tell_result(c, false, what);
		return;
	}
	rest_ms(700);
	for (unsigned i = 0; i < 2; i++) {
		d->out.m.read_ns = 0;
		(void)device_read(d, &err);
		rest_ms(1200);
	}
	(void)cuda_load_wait(load);
	if (!(p->have >> CHILD_GPU_SM & 1)) {
		tell_skip(c, what, "the device tells no performance counters");
		return;
	}
	double sm = p->ppm[CHILD_GPU_SM] / 1e6, want = (double)blocks / load->sm_count;
	tell_figure(what, sm, "ratio");
	tell_figure("sm_occupancy", p->ppm[CHILD_GPU_OCCUPANCY] / 1e6, "ratio");
	tell_figure("fp32_active", p->ppm[CHILD_GPU_FP32] / 1e6, "ratio");
	tell_result(c, sm > want - 0.1 && sm < want + 0.1, what);
}

/* ---- what reading costs a kernel ------------------------------------------------- */

static void *read_along(void *arg)
{
	struct device *d = arg;
	struct err err = {""};

	while (!atomic_load(&d->thread.stopping)) {
		(void)device_read(d, &err);
		rest_ms(d->period_ms);
	}
	return NULL;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Ratios of pairs, alternating which of them is first. Their median is the overhead;
 * the bound is the ratio of the sign test's rank (26 of 40: one-sided 95 %). */
static void check_overhead(struct checking *c, struct device *d, struct cuda_load *load)
{
	double ratio[PAIRS];

	for (unsigned i = 0; i < PAIRS; i++) {
		double took[2];
		for (unsigned k = 0; k < 2; k++) {
			bool reads = (i + k) & 1;
			pthread_t thread;
			atomic_store(&d->thread.stopping, !reads);
			if (reads && pthread_create(&thread, NULL, read_along, d) != 0)
				return;
			int rc = cuda_load_start(load, load->sm_count, PAIR_MS);
			took[reads] = rc < 0 ? -1 : cuda_load_wait(load);
			atomic_store(&d->thread.stopping, true);
			if (reads)
				(void)pthread_join(thread, NULL);
		}
		if (took[0] <= 0 || took[1] <= 0) {
			tell_result(c, false, "pairs of kernels run");
			return;
		}
		ratio[i] = took[1] / took[0] - 1;
	}
	qsort(ratio, PAIRS, sizeof(ratio[0]), compare_doubles);
	tell_figure("overhead_median", ratio[PAIRS / 2] * 100, "%");
	tell_figure("overhead_upper_95", ratio[25] * 100, "%");
	tell_result(c, ratio[25] < 0.005, "reading costs a kernel less than 0.5 %");
}

static void check_with_load(struct checking *c)
{
	struct device *d = &c->devices[0];
	struct cuda_load load;
	char why[128] = "";

	if (d->out.m.mig ||
	    cuda_load_open(&load, d->out.m.uuid, why, sizeof(why)) < 0) {
		tell_skip(c, "performance counters beside a known load",
			  *why ? why : "the device is divided");
		tell_skip(c, "overhead on a kernel",
			  *why ? why : "the device is divided");
		return;
	}
	check_figures(c, d, &load, 1);
	check_figures(c, d, &load, 2);
	check_overhead(c, d, &load);
}

static void close_all(struct checking *c)
{
	struct nvml *n = c->count ? c->devices[0].nvml : NULL;

	for (uint32_t i = 0; i < c->count; i++)
		device_nvml_free(c->devices[i].more, n);
	nvml_close(n);
	free(c->devices);
}

int main(int argc, char *argv[])
{
	bool quick = getenv("CHECK_DEVICE_QUICK") != NULL;
	struct checking c = {.rounds = quick ? 2 : ROUNDS,
			     .energy_ms = quick ? 500 : ENERGY_MS};

	if (argc < 2)
		return 2;
	const char *library = argc > 2 ? argv[2] : "libnvidia-ml.so.1";
	void *real = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!real) {
		printf("1..0 # SKIP no NVIDIA driver here: %s\n", dlerror());
		return 0;
	}
	void *energy = dlsym(real, "nvmlDeviceGetTotalEnergyConsumption"),
	     *handle = dlsym(real, "nvmlDeviceGetHandleByIndex_v2");
	memcpy(&c.energy, &energy, sizeof(energy));
	memcpy(&c.handle, &handle, sizeof(handle));
	(void)setenv("NVML_TRACE_REAL", library, 1);
	if (open_all(&c, argv[1]) < 0) {
		close_all(&c);
		return c.number ? 1 : 0;
	}
	check_rounds(&c);
	for (uint32_t i = 0; i < c.count; i++) {
		describe_device(&c.devices[i]);
		check_energy(&c, &c.devices[i]);
	}
	check_with_load(&c);
	printf("1..%u\n", c.number);
	close_all(&c);
	return c.failed ? 1 : 0;
}
