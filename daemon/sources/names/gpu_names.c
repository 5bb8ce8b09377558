/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names that other exporters of GPUs use. Their counters are typed unknown, since
 * their names do not end as OpenMetrics wants it. */
#include "daemon/sources/names/gpu_names.h"

#include <stdio.h>
#include <string.h>

#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/parse.h"

#define MIB (1u << 20)
#define LABELS_MAX 8u

/* value x times / 10^decimals */
struct name_column {
	enum child_gpu_value value;
	struct prom_family family;
	uint64_t times, over;
	unsigned decimals;
};

#define DCGM(value, name, type, help, times, over, decimals)                           \
	{                                                                              \
		CHILD_GPU_##value, {"DCGM_FI_" name, type, help}, times, over,         \
			decimals                                                       \
	}
static const struct name_column dcgm_columns[] = {
	DCGM(SM_CLOCK, "DEV_SM_CLOCK", PROM_GAUGE, "SM clock, MHz", 1, 1, 6),
	DCGM(MEMORY_CLOCK, "DEV_MEM_CLOCK", PROM_GAUGE, "Memory clock, MHz", 1, 1, 6),
	DCGM(MEMORY_TEMPERATURE, "DEV_MEMORY_TEMP", PROM_GAUGE,
	     "Temperature of the memory, Celsius", 1, 1, 3),
	DCGM(TEMPERATURE, "DEV_GPU_TEMP", PROM_GAUGE,
	     "Temperature of the device, Celsius", 1, 1, 3),
	DCGM(POWER, "DEV_POWER_USAGE", PROM_GAUGE, "Power, W", 1, 1, 6),
	DCGM(PCIE_REPLAYS, "DEV_PCIE_REPLAY_COUNTER", PROM_UNKNOWN, "PCIe replays", 1,
	     1, 0),
	DCGM(BUSY, "DEV_GPU_UTIL", PROM_GAUGE, "Utilization, per cent", 1, 1, 4),
	DCGM(MEMORY_BUSY, "DEV_MEM_COPY_UTIL", PROM_GAUGE,
	     "Utilization of the memory, per cent", 1, 1, 4),
	DCGM(ENCODER_BUSY, "DEV_ENC_UTIL", PROM_GAUGE,
	     "Utilization of the encoder, per cent", 1, 1, 4),
	DCGM(DECODER_BUSY, "DEV_DEC_UTIL", PROM_GAUGE,
	     "Utilization of the decoder, per cent", 1, 1, 4),
	DCGM(XID_LAST, "DEV_XID_ERRORS", PROM_GAUGE, "The last XID error", 1, 1, 0),
	DCGM(ROWS_UNCORRECTED, "DEV_UNCORRECTABLE_REMAPPED_ROWS", PROM_UNKNOWN,
	     "Rows remapped for uncorrectable errors", 1, 1, 0),
	DCGM(ROWS_CORRECTED, "DEV_CORRECTABLE_REMAPPED_ROWS", PROM_UNKNOWN,
	     "Rows remapped for correctable errors", 1, 1, 0),
	DCGM(ROWS_FAILED, "DEV_ROW_REMAP_FAILURE", PROM_GAUGE,
	     "Whether remapping of rows has failed", 1, 1, 0),
};
static const struct prom_family dcgm_energy = {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
					       PROM_UNKNOWN,
					       "The device's energy counter, mJ"};
static const struct prom_family dcgm_used = {"DCGM_FI_DEV_FB_USED", PROM_GAUGE,
					     "Memory in use, MiB"};
static const struct prom_family dcgm_free = {
	"DCGM_FI_DEV_FB_FREE", PROM_GAUGE,
	"Memory that is not in use, MiB (with what the driver reserves)"};
static const struct prom_family dcgm_figures[CHILD_GPU_FIGURES] = {
	[CHILD_GPU_GRAPHICS] = {"DCGM_FI_PROF_GR_ENGINE_ACTIVE", PROM_GAUGE,
				"Part of the time in which an engine was active"},
	[CHILD_GPU_SM] = {"DCGM_FI_PROF_SM_ACTIVE", PROM_GAUGE,
			  "Part of the multiprocessors with a warp"},
	[CHILD_GPU_OCCUPANCY] = {"DCGM_FI_PROF_SM_OCCUPANCY", PROM_GAUGE,
				 "Part of the warps that multiprocessors can have"},
	[CHILD_GPU_TENSOR] = {"DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", PROM_GAUGE,
			      "Part of what tensor cores can do"},
	[CHILD_GPU_FP64] = {"DCGM_FI_PROF_PIPE_FP64_ACTIVE", PROM_GAUGE,
			    "Part of what FP64 units can do"},
	[CHILD_GPU_FP32] = {"DCGM_FI_PROF_PIPE_FP32_ACTIVE", PROM_GAUGE,
			    "Part of what FP32 units can do"},
	[CHILD_GPU_FP16] = {"DCGM_FI_PROF_PIPE_FP16_ACTIVE", PROM_GAUGE,
			    "Part of what FP16 units can do"},
	[CHILD_GPU_DRAM] = {"DCGM_FI_PROF_DRAM_ACTIVE", PROM_GAUGE,
			    "Part of the bandwidth to memory"},
};

#define AMD(value, name, help, over, decimals)                                         \
	{                                                                              \
		CHILD_GPU_##value, {name, PROM_GAUGE, help}, 1, over, decimals         \
	}
static const struct name_column amd_columns[] = {
	AMD(POWER, "gpu_power_usage", "Power, W", 1, 6),
	AMD(BUSY, "gpu_gfx_activity", "Utilization, per cent", 1, 4),
	AMD(MEMORY_BUSY, "gpu_umc_activity", "Utilization of the memory, per cent", 1,
	    4),
	AMD(MEMORY_TOTAL, "gpu_total_vram", "Memory, MB", MIB, 0),
	AMD(MEMORY_USED, "gpu_used_vram", "Memory in use, MB", MIB, 0),
	AMD(MEMORY_TEMPERATURE, "gpu_memory_temperature",
	    "Temperature of the memory, Celsius", 1, 3),
	AMD(TEMPERATURE, "gpu_junction_temperature",
	    "Highest temperature of the device, Celsius", 1, 3),
};
static const struct prom_family amd_energy = {"gpu_energy_consumed", PROM_UNKNOWN,
					      "The device's energy counter, uJ"};

struct name_labels {
	char gpu[16], device[24], gi[16], profile[24];
	struct prom_label label[LABELS_MAX];
	size_t n;
};

static void put_named_columns(struct prom *out, const struct child_gpu *m,
			      const struct name_column *c, size_t n,
			      const struct name_labels *l)
{
	for (size_t i = 0; i < n; i++) {
		if (!child_gpu_has(m, c[i].value))
			continue;
		prom_family(out, &c[i].family);
		prom_put_scaled(out, l->label, l->n,
				m->value[c[i].value] * c[i].times / c[i].over,
				c[i].decimals);
	}
}

static void put_named_energy(struct prom *out, const struct child_gpu *m,
			     const struct prom_family *family, uint64_t over,
			     const struct name_labels *l)
{
	if (!m->head.count)
		return;
	prom_family(out, family);
	prom_put_u64(out, l->label, l->n, m->points[m->head.count - 1].uj / over);
}

static void put_named_memory(struct prom *out, uint64_t used, uint64_t total,
			     const struct name_labels *l)
{
	prom_family(out, &dcgm_used);
	prom_put_u64(out, l->label, l->n, used / MIB);
	prom_family(out, &dcgm_free);
	prom_put_u64(out, l->label, l->n, (total > used ? total - used : 0) / MIB);
}

static void put_named_figures(struct prom *out, const struct child_gpu_profile *p,
			      const struct name_labels *l)
{
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++) {
		if (!(p->have >> i & 1))
			continue;
		prom_family(out, &dcgm_figures[i]);
		prom_put_scaled(out, l->label, l->n, p->ppm[i], 6);
	}
}

static void put_dcgm_device(struct prom *out, const struct child_gpu *m,
			    const struct name_labels *l)
{
	put_named_columns(out, m, dcgm_columns,
			  sizeof(dcgm_columns) / sizeof(dcgm_columns[0]), l);
	put_named_energy(out, m, &dcgm_energy, 1000, l);
}

static void fill_dcgm_labels(struct name_labels *l, const struct child_gpu *m,
			     const struct child_gpu_instance *g, const char *hostname)
{
	*l = (struct name_labels){.n = 0};
	(void)snprintf(l->gpu, sizeof(l->gpu), "%u", m->index);
	(void)snprintf(l->device, sizeof(l->device), "nvidia%u", m->minor);
	l->label[l->n++] = (struct prom_label){"gpu", l->gpu};
	l->label[l->n++] = (struct prom_label){"UUID", m->uuid};
	l->label[l->n++] = (struct prom_label){"pci_bus_id", m->pci};
	l->label[l->n++] = (struct prom_label){"device", l->device};
	l->label[l->n++] = (struct prom_label){"modelName", m->model};
	if (g) {
		uint64_t gb = g->value[CHILD_GPU_INSTANCE_TOTAL] >> 30;
		(void)snprintf(l->gi, sizeof(l->gi), "%u", g->gi);
		(void)snprintf(l->profile, sizeof(l->profile), "%ug.%llugb", g->slices,
			       (unsigned long long)gb);
		l->label[l->n++] = (struct prom_label){"GPU_I_PROFILE", l->profile};
		l->label[l->n++] = (struct prom_label){"GPU_I_ID", l->gi};
	}
	l->label[l->n++] = (struct prom_label){"Hostname", hostname};
}

/* As dcgm-exporter, which has the device's values once for each instance */
static void put_dcgm_instances(struct prom *out, const struct child_gpu *m,
			       const struct child_gpu_instances *in,
			       const char *hostname)
{
	struct name_labels l;

	for (uint32_t i = 0; i < in->head.count; i++) {
		const struct child_gpu_instance *g = &in->items[i];
		if (i && in->items[i - 1].gi == g->gi)
			continue;
		fill_dcgm_labels(&l, m, g, hostname);
		put_dcgm_device(out, m, &l);
		if (g->have >> CHILD_GPU_INSTANCE_USED &
		    g->have >> CHILD_GPU_INSTANCE_TOTAL & 1)
			put_named_memory(out, g->value[CHILD_GPU_INSTANCE_USED],
					 g->value[CHILD_GPU_INSTANCE_TOTAL], &l);
		put_named_figures(out, &g->profile, &l);
	}
}

static void put_amd_names(struct prom *out, const struct child_gpu *m,
			  const char *hostname)
{
	struct name_labels l = {.n = 3};

	(void)snprintf(l.gpu, sizeof(l.gpu), "%u", m->index);
	l.label[0] = (struct prom_label){"gpu_id", l.gpu};
	l.label[1] = (struct prom_label){"hostname", hostname};
	l.label[2] = (struct prom_label){"card_model", m->model};
	put_named_columns(out, m, amd_columns,
			  sizeof(amd_columns) / sizeof(amd_columns[0]), &l);
	put_named_energy(out, m, &amd_energy, 1, &l);
}

void gpu_names_put(struct prom *out, const struct child_gpu *m,
		   const struct child_gpu_instances *instances, const char *hostname)
{
	struct name_labels l;

	if (m->vendor == CHILD_GPU_AMD)
		put_amd_names(out, m, hostname);
	if (m->vendor != CHILD_GPU_NVIDIA)
		return;
	if (m->mig && instances) {
		put_dcgm_instances(out, m, instances, hostname);
		return;
	}
	fill_dcgm_labels(&l, m, NULL, hostname);
	put_dcgm_device(out, m, &l);
	if (child_gpu_has(m, CHILD_GPU_MEMORY_USED) &&
	    child_gpu_has(m, CHILD_GPU_MEMORY_TOTAL))
		put_named_memory(out, m->value[CHILD_GPU_MEMORY_USED],
				 m->value[CHILD_GPU_MEMORY_TOTAL], &l);
	put_named_figures(out, &m->profile, &l);
}

/* "  0: 00000000:24B8 00000000:0000 0A ...": a local port of 9400, listening */
static bool has_listener(int procfd, const char *path)
{
	auto_buf struct buf text = BUF_INIT;
	const char *line;
	size_t n;

	if (fs_read_buf_at(procfd, path, 1 << 20, &text, NULL) < 0 || !text.data)
		return false;
	for (const char *at = text.data;
	     scan_line(&at, text.data + text.len, &line, &n);) {
		const char *port = memmem(line, n, ":24B8 ", 6);
		const char *state = memmem(line, n, " 0A ", 4);
		if (port && state && port < state &&
		    !memchr(port + 6, ' ', (size_t)(state - port - 6)))
			return true;
	}
	return false;
}

bool gpu_names_are_taken(int procfd)
{
	return has_listener(procfd, "net/tcp") || has_listener(procfd, "net/tcp6");
}
