/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of CPU families behind the energy model. All its figures are averages that
 * the project Cloud Carbon Footprint publishes in its package
 * @cloud-carbon-footprint/azure 1.8.0 (Apache-2.0, src/domain/
 * AzureFootprintEstimationConstants.ts), which made them from servers' published
 * SPECpower_ssj2008 reports: watts of a whole server per thread. doc/energy.md has the
 * rows with their source. CPUs are told apart as the kernel does it
 * (arch/x86/include/asm/intel-family.h, arch/x86/kernel/cpu/amd.c). */
#include "daemon/sources/power_model.h"

#include <stdio.h>
#include <string.h>

#define INTEL "GenuineIntel"
#define AMD "AuthenticAMD"

#define GB 1000000000ull
#define MEMORY_UW_PER_GB 392000ull /* 0.000392 kWh per GB and hour */

struct row {
	const char *name;
	uint32_t idle_mw, max_mw; /* milliwatts per thread */
	uint32_t socket_centi_gb; /* memory per socket that is in them, GB / 100 */
};

static const struct row rows[] = {
	{"Sandy Bridge", 2170, 8580, 1670},     {"Ivy Bridge", 3040, 8250, 967},
	{"Haswell", 1000, 4740, 2771},          {"Broadwell", 710, 3690, 6965},
	{"Skylake", 650, 4260, 8132},           {"Cascade Lake", 640, 3970, 9812},
	{"Coffee Lake", 1140, 5420, 1956},      {"AMD EPYC 1st Gen", 820, 2550, 8960},
	{"AMD EPYC 2nd Gen", 470, 1690, 12978}, {"AMD EPYC 3rd Gen", 450, 2020, 12800},
	{"average", 740, 3540, 8047},
};
enum {
	SANDY_BRIDGE,
	IVY_BRIDGE,
	HASWELL,
	BROADWELL,
	SKYLAKE,
	CASCADE_LAKE,
	COFFEE_LAKE,
	EPYC_1,
	EPYC_2,
	EPYC_3,
	AVERAGE,
};

static const struct {
	const char *vendor;
	uint32_t family, model, stepping_min, stepping_max;
	int row;
} cpus[] = {
	{INTEL, 6, 0x2a, 0, 15, SANDY_BRIDGE}, {INTEL, 6, 0x2d, 0, 15, SANDY_BRIDGE},
	{INTEL, 6, 0x3a, 0, 15, IVY_BRIDGE},   {INTEL, 6, 0x3e, 0, 15, IVY_BRIDGE},
	{INTEL, 6, 0x3c, 0, 15, HASWELL},      {INTEL, 6, 0x3f, 0, 15, HASWELL},
	{INTEL, 6, 0x45, 0, 15, HASWELL},      {INTEL, 6, 0x46, 0, 15, HASWELL},
	{INTEL, 6, 0x3d, 0, 15, BROADWELL},    {INTEL, 6, 0x47, 0, 15, BROADWELL},
	{INTEL, 6, 0x4f, 0, 15, BROADWELL},    {INTEL, 6, 0x56, 0, 15, BROADWELL},
	{INTEL, 6, 0x4e, 0, 15, SKYLAKE},      {INTEL, 6, 0x5e, 0, 15, SKYLAKE},
	{INTEL, 6, 0x55, 0, 4, SKYLAKE},       {INTEL, 6, 0x55, 5, 7, CASCADE_LAKE},
	{INTEL, 6, 0x9e, 10, 13, COFFEE_LAKE}, {AMD, 0x17, 0x01, 0, 15, EPYC_1},
	{AMD, 0x17, 0x31, 0, 15, EPYC_2},      {AMD, 0x19, 0x01, 0, 15, EPYC_3},
};

static int find_row(const struct proc_cpu *c)
{
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		if (strcmp(cpus[i].vendor, c->vendor) == 0 &&
		    cpus[i].family == c->family && cpus[i].model == c->model &&
		    c->stepping >= cpus[i].stepping_min &&
		    c->stepping <= cpus[i].stepping_max)
			return cpus[i].row;
	}
	return AVERAGE;
}

/* The row's watts include the memory of the servers it was made from. */
static uint64_t extra_memory_uw(const struct row *r, uint32_t sockets, uint64_t bytes)
{
	uint64_t held = (uint64_t)r->socket_centi_gb * sockets * (GB / 100);

	if (bytes <= held)
		return 0;
	return (uint64_t)((unsigned __int128)(bytes - held) * MEMORY_UW_PER_GB / GB);
}

void power_model_choose(const struct options *o, const struct proc_cpu *cpu,
			uint64_t memory_bytes, struct power_model *ret)
{
	struct power_model m = {.guest = o->energy_model == ENERGY_MODEL_VM};

	if (o->energy_model == ENERGY_MODEL_AUTO)
		m.guest = cpu->guest;
	if (power_configured(o->model_idle_watts, o->model_max_watts, o->model_curve,
			     &m.curve, NULL) > 0) {
		m.curve_cpus = m.guest ? (uint32_t)o->model_host_cpus : 0;
		(void)snprintf(m.coefficients, sizeof(m.coefficients), "configured");
	} else {
		int row = find_row(cpu);
		const struct row *r = &rows[row];
		m.guessed = row == AVERAGE;
		m.curve_cpus = 1;
		power_linear(r->idle_mw * 1000ull, r->max_mw * 1000ull, &m.curve);
		(void)snprintf(m.coefficients, sizeof(m.coefficients), "%s", r->name);
		if (!m.guest)
			m.memory_uw = extra_memory_uw(r, cpu->sockets, memory_bytes);
	}
	*ret = m;
}

uint64_t power_model_at(const struct power_model *m, uint32_t cpus_now, uint64_t busy,
			uint64_t total)
{
	unsigned __int128 uw = power_at(&m->curve, busy, total);

	if (m->curve_cpus)
		uw = uw * cpus_now / m->curve_cpus;
	return (uint64_t)uw + m->memory_uw;
}
