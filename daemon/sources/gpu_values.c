/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The families of a GPU's values: which one, its unit, and what tells its values apart.
 * What a device does not tell has no sample. */
#include "daemon/sources/gpu_values.h"

#include <stdio.h>
#include <string.h>

#include "lib/buf.h"

static const struct prom_family gpu_power = {"ceems_gpu_power_watts", PROM_GAUGE,
					     "Power of the device, as its driver says"};
static const struct prom_family gpu_power_now = {
	"ceems_gpu_power_now_watts", PROM_GAUGE,
	"Power of the device at the moment, where the driver tells it beside a mean"};
static const struct prom_family gpu_power_limit = {
	"ceems_gpu_power_limit_watts", PROM_GAUGE,
	"Power limit in force on the device"};
static const struct prom_family gpu_busy_ratio = {
	"ceems_gpu_busy_ratio", PROM_GAUGE,
	"Share of the driver's last sample period in which a kernel ran on the device"};
static const struct prom_family gpu_busy_seconds = {
	"ceems_gpu_busy_seconds_total", PROM_COUNTER,
	"Time in which a kernel ran on the device, by the driver's samples, since "
	"ceems-gpu started"};
static const struct prom_family gpu_memory_busy = {
	"ceems_gpu_memory_busy_ratio", PROM_GAUGE,
	"Share of the driver's last sample period in which the device's memory was "
	"read or written"};
static const struct prom_family gpu_encoder = {
	"ceems_gpu_encoder_busy_ratio", PROM_GAUGE,
	"How busy the device's video encoder is"};
static const struct prom_family gpu_decoder = {
	"ceems_gpu_decoder_busy_ratio", PROM_GAUGE,
	"How busy the device's video decoder is"};
static const struct prom_family gpu_memory_used = {
	"ceems_gpu_memory_used_bytes", PROM_GAUGE, "Memory of the device in use"};
static const struct prom_family gpu_memory_size = {"ceems_gpu_memory_size_bytes",
						   PROM_GAUGE, "Memory of the device"};
static const struct prom_family gpu_temperature = {
	"ceems_gpu_temperature_celsius", PROM_GAUGE, "Temperature of the device"};
static const struct prom_family gpu_memory_temperature = {
	"ceems_gpu_memory_temperature_celsius", PROM_GAUGE,
	"Temperature of the device's memory"};
static const struct prom_family gpu_temperature_limit = {
	"ceems_gpu_temperature_limit_celsius", PROM_GAUGE,
	"Temperature at which the device slows down, or shuts down"};
static const struct prom_family gpu_sm_clock = {
	"ceems_gpu_sm_clock_hertz", PROM_GAUGE,
	"Clock of the device's multiprocessors"};
static const struct prom_family gpu_memory_clock = {
	"ceems_gpu_memory_clock_hertz", PROM_GAUGE, "Clock of the device's memory"};
static const struct prom_family gpu_multiprocessors = {
	"ceems_gpu_multiprocessors", PROM_GAUGE,
	"Multiprocessors, or compute units, of the device"};
static const struct prom_family gpu_throttled = {
	"ceems_gpu_throttled_seconds_total", PROM_COUNTER,
	"Time in which power or temperature held the device down, as its driver counts "
	"it"};
static const struct prom_family gpu_clock_limited = {
	"ceems_gpu_clock_limited", PROM_GAUGE,
	"1: the device's clocks are low for this reason"};
static const struct prom_family gpu_ecc = {
	"ceems_gpu_ecc_errors_total", PROM_COUNTER,
	"Errors of the device's memory since its driver was loaded"};
static const struct prom_family gpu_ecc_ever = {
	"ceems_gpu_ecc_errors_lifetime_total", PROM_COUNTER,
	"Errors of the device's memory in its life"};
static const struct prom_family gpu_rows = {
	"ceems_gpu_remapped_rows", PROM_GAUGE,
	"Rows of the device's memory that were replaced for such errors"};
static const struct prom_family gpu_rows_pending = {
	"ceems_gpu_remapped_rows_pending", PROM_GAUGE,
	"1: a reset of the device will replace rows"};
static const struct prom_family gpu_rows_failed = {
	"ceems_gpu_remapped_rows_failed", PROM_GAUGE,
	"1: a row of the device's memory could not be replaced"};
static const struct prom_family gpu_xids = {
	"ceems_gpu_xid_errors_total", PROM_COUNTER,
	"Errors (Xid) that the driver reported, since ceems-gpu started"};
static const struct prom_family gpu_xid_last = {
	"ceems_gpu_xid_last", PROM_GAUGE, "Number of the last of these errors (Xid)"};
static const struct prom_family gpu_replays = {"ceems_gpu_pcie_replays_total",
					       PROM_COUNTER,
					       "Packets that PCIe had to send again"};
static const struct prom_family gpu_pcie = {
	"ceems_gpu_pcie_bytes_total", PROM_COUNTER,
	"Bytes that the device sent and received over PCIe"};
static const struct prom_family gpu_link = {
	"ceems_gpu_link_bytes_total", PROM_COUNTER,
	"Bytes that the device sent to and received from others (NVLink)"};

/* label and its value, where a family has several of a device's values; decimals: of
 * the value as it is sent */
static const struct gpu_column {
	const struct prom_family *family;
	unsigned decimals;
	const char *label, *value;
} gpu_columns[CHILD_GPU_VALUES] = {
	[CHILD_GPU_POWER] = {&gpu_power, 6, NULL, NULL},
	[CHILD_GPU_POWER_NOW] = {&gpu_power_now, 6, NULL, NULL},
	[CHILD_GPU_POWER_LIMIT] = {&gpu_power_limit, 6, NULL, NULL},
	[CHILD_GPU_BUSY] = {&gpu_busy_ratio, 6, NULL, NULL},
	[CHILD_GPU_BUSY_NS] = {&gpu_busy_seconds, 9, NULL, NULL},
	[CHILD_GPU_MEMORY_BUSY] = {&gpu_memory_busy, 6, NULL, NULL},
	[CHILD_GPU_ENCODER_BUSY] = {&gpu_encoder, 6, NULL, NULL},
	[CHILD_GPU_DECODER_BUSY] = {&gpu_decoder, 6, NULL, NULL},
	[CHILD_GPU_MEMORY_USED] = {&gpu_memory_used, 0, NULL, NULL},
	[CHILD_GPU_MEMORY_TOTAL] = {&gpu_memory_size, 0, NULL, NULL},
	[CHILD_GPU_TEMPERATURE] = {&gpu_temperature, 3, NULL, NULL},
	[CHILD_GPU_MEMORY_TEMPERATURE] = {&gpu_memory_temperature, 3, NULL, NULL},
	[CHILD_GPU_SLOWDOWN_TEMPERATURE] = {&gpu_temperature_limit, 3, "limit",
					    "slowdown"},
	[CHILD_GPU_SHUTDOWN_TEMPERATURE] = {&gpu_temperature_limit, 3, "limit",
					    "shutdown"},
	[CHILD_GPU_SM_CLOCK] = {&gpu_sm_clock, 0, NULL, NULL},
	[CHILD_GPU_MEMORY_CLOCK] = {&gpu_memory_clock, 0, NULL, NULL},
	[CHILD_GPU_SM_COUNT] = {&gpu_multiprocessors, 0, NULL, NULL},
	[CHILD_GPU_POWER_THROTTLED] = {&gpu_throttled, 9, "reason", "power"},
	[CHILD_GPU_THERMAL_THROTTLED] = {&gpu_throttled, 9, "reason", "thermal"},
	[CHILD_GPU_ECC_CORRECTED] = {&gpu_ecc, 0, "kind", "corrected"},
	[CHILD_GPU_ECC_UNCORRECTED] = {&gpu_ecc, 0, "kind", "uncorrected"},
	[CHILD_GPU_ECC_CORRECTED_EVER] = {&gpu_ecc_ever, 0, "kind", "corrected"},
	[CHILD_GPU_ECC_UNCORRECTED_EVER] = {&gpu_ecc_ever, 0, "kind", "uncorrected"},
	[CHILD_GPU_ROWS_CORRECTED] = {&gpu_rows, 0, "kind", "corrected"},
	[CHILD_GPU_ROWS_UNCORRECTED] = {&gpu_rows, 0, "kind", "uncorrected"},
	[CHILD_GPU_ROWS_PENDING] = {&gpu_rows_pending, 0, NULL, NULL},
	[CHILD_GPU_ROWS_FAILED] = {&gpu_rows_failed, 0, NULL, NULL},
	[CHILD_GPU_XIDS] = {&gpu_xids, 0, NULL, NULL},
	[CHILD_GPU_XID_LAST] = {&gpu_xid_last, 0, NULL, NULL},
	[CHILD_GPU_PCIE_REPLAYS] = {&gpu_replays, 0, NULL, NULL},
	[CHILD_GPU_PCIE_TX] = {&gpu_pcie, 0, "direction", "tx"},
	[CHILD_GPU_PCIE_RX] = {&gpu_pcie, 0, "direction", "rx"},
	[CHILD_GPU_LINK_TX] = {&gpu_link, 0, "direction", "tx"},
	[CHILD_GPU_LINK_RX] = {&gpu_link, 0, "direction", "rx"},
};

static const char *const gpu_reasons[CHILD_GPU_REASONS] = {
	[CHILD_GPU_REASON_IDLE] = "idle",
	[CHILD_GPU_REASON_SETTING] = "setting",
	[CHILD_GPU_REASON_POWER_CAP] = "power_cap",
	[CHILD_GPU_REASON_HARDWARE] = "hardware",
	[CHILD_GPU_REASON_SYNC] = "sync",
	[CHILD_GPU_REASON_THERMAL] = "thermal",
	[CHILD_GPU_REASON_THERMAL_HARDWARE] = "thermal_hardware",
	[CHILD_GPU_REASON_POWER_BRAKE] = "power_brake",
	[CHILD_GPU_REASON_DISPLAY] = "display",
};

static const struct prom_family gpu_figures[CHILD_GPU_FIGURES] = {
	[CHILD_GPU_GRAPHICS] =
		{"ceems_gpu_graphics_active_ratio", PROM_GAUGE,
		 "Any engine active, of what the device has (performance counters)"},
	[CHILD_GPU_SM] = {"ceems_gpu_sm_active_ratio", PROM_GAUGE,
			  "Multiprocessors with a warp, of what the device has "
			  "(performance counters)"},
	[CHILD_GPU_OCCUPANCY] = {"ceems_gpu_sm_occupancy_ratio", PROM_GAUGE,
				 "Warps on the multiprocessors, of what the device has "
				 "(performance counters)"},
	[CHILD_GPU_TENSOR] =
		{"ceems_gpu_tensor_active_ratio", PROM_GAUGE,
		 "Tensor cores in use, of what the device has (performance counters)"},
	[CHILD_GPU_FP64] =
		{"ceems_gpu_fp64_active_ratio", PROM_GAUGE,
		 "FP64 units in use, of what the device has (performance counters)"},
	[CHILD_GPU_FP32] =
		{"ceems_gpu_fp32_active_ratio", PROM_GAUGE,
		 "FP32 units in use, of what the device has (performance counters)"},
	[CHILD_GPU_FP16] =
		{"ceems_gpu_fp16_active_ratio", PROM_GAUGE,
		 "FP16 units in use, of what the device has (performance counters)"},
	[CHILD_GPU_DRAM] = {"ceems_gpu_dram_active_ratio", PROM_GAUGE,
			    "Bandwidth to memory in use, of what the device has "
			    "(performance counters)"},
};

static const struct prom_family gpu_instance_figures[CHILD_GPU_FIGURES] = {
	[CHILD_GPU_GRAPHICS] = {"ceems_gpu_instance_graphics_active_ratio", PROM_GAUGE,
				"Any engine active, of what the GPU instance has "
				"(performance counters)"},
	[CHILD_GPU_SM] = {"ceems_gpu_instance_sm_active_ratio", PROM_GAUGE,
			  "Multiprocessors with a warp, of what the GPU instance has "
			  "(performance counters)"},
	[CHILD_GPU_OCCUPANCY] = {"ceems_gpu_instance_sm_occupancy_ratio", PROM_GAUGE,
				 "Warps on the multiprocessors, of what the GPU "
				 "instance has (performance counters)"},
	[CHILD_GPU_TENSOR] = {"ceems_gpu_instance_tensor_active_ratio", PROM_GAUGE,
			      "Tensor cores in use, of what the GPU instance has "
			      "(performance counters)"},
	[CHILD_GPU_FP64] = {"ceems_gpu_instance_fp64_active_ratio", PROM_GAUGE,
			    "FP64 units in use, of what the GPU instance has "
			    "(performance counters)"},
	[CHILD_GPU_FP32] = {"ceems_gpu_instance_fp32_active_ratio", PROM_GAUGE,
			    "FP32 units in use, of what the GPU instance has "
			    "(performance counters)"},
	[CHILD_GPU_FP16] = {"ceems_gpu_instance_fp16_active_ratio", PROM_GAUGE,
			    "FP16 units in use, of what the GPU instance has "
			    "(performance counters)"},
	[CHILD_GPU_DRAM] = {"ceems_gpu_instance_dram_active_ratio", PROM_GAUGE,
			    "Bandwidth to memory in use, of what the GPU instance has "
			    "(performance counters)"},
};
static const struct prom_family gpu_instance_slices = {
	"ceems_gpu_instance_slices", PROM_GAUGE,
	"Slices of multiprocessors of a compute instance; of the device's there are "
	"ceems_gpu_slices"};
static const struct prom_family gpu_slices = {
	"ceems_gpu_slices", PROM_GAUGE,
	"Slices of multiprocessors that the device can be divided into"};
static const struct prom_family gpu_instance_memory[CHILD_GPU_INSTANCE_VALUES] = {
	[CHILD_GPU_INSTANCE_USED] = {"ceems_gpu_instance_memory_used_bytes", PROM_GAUGE,
				     "Memory of a GPU instance in use"},
	[CHILD_GPU_INSTANCE_TOTAL] = {"ceems_gpu_instance_memory_size_bytes",
				      PROM_GAUGE, "Memory of a GPU instance"},
};

static void put_figures(struct prom *out, const struct prom_family *families,
			const struct child_gpu_profile *p, const struct buf *labels)
{
	for (unsigned i = 0; i < CHILD_GPU_FIGURES; i++) {
		if (!(p->have >> i & 1))
			continue;
		prom_family(out, &families[i]);
		prom_put_block_scaled(out, labels, p->ppm[i], 6);
	}
}

static void put_clock_reasons(struct prom *out, uint64_t bits, const struct buf *labels,
			      struct buf *more)
{
	prom_family(out, &gpu_clock_limited);
	for (unsigned i = 0; i < CHILD_GPU_REASONS; i++) {
		prom_render_more(more, labels, "reason", gpu_reasons[i]);
		prom_put_block_u64(out, more, bits >> i & 1);
	}
}

/* Labels are rendered once, not for each sample. */
void gpu_values_put(struct prom *out, const struct child_gpu *m,
		    const struct prom_label *labels, size_t n)
{
	auto_buf struct buf block = BUF_INIT, more = BUF_INIT;

	prom_render_labels(&block, labels, n);
	for (unsigned i = 0; i < CHILD_GPU_VALUES; i++) {
		const struct gpu_column *c = &gpu_columns[i];
		if (!child_gpu_has(m, i) || !c->family)
			continue;
		prom_family(out, c->family);
		if (c->label)
			prom_render_more(&more, &block, c->label, c->value);
		prom_put_block_scaled(out, c->label ? &more : &block, m->value[i],
				      c->decimals);
	}
	if (child_gpu_has(m, CHILD_GPU_CLOCK_REASONS))
		put_clock_reasons(out, m->value[CHILD_GPU_CLOCK_REASONS], &block,
				  &more);
	put_figures(out, gpu_figures, &m->profile, &block);
}

static void put_gpu_instance(struct prom *out, const struct child_gpu_instance *g,
			     const struct buf *labels)
{
	for (unsigned i = 0; i < CHILD_GPU_INSTANCE_VALUES; i++) {
		if (!(g->have >> i & 1))
			continue;
		prom_family(out, &gpu_instance_memory[i]);
		prom_put_block_u64(out, labels, g->value[i]);
	}
	put_figures(out, gpu_instance_figures, &g->profile, labels);
}

static void put_slices(struct prom *out, const struct child_gpu_instance *g,
		       const struct buf *labels)
{
	auto_buf struct buf compute = BUF_INIT, block = BUF_INIT;
	char ci[16];

	if (!g->ci_slices)
		return;
	(void)snprintf(ci, sizeof(ci), "%u", g->ci);
	prom_render_more(&compute, labels, "gpuciid", ci);
	prom_render_more(&block, &compute, "miguuid", g->uuid);
	prom_family(out, &gpu_instance_slices);
	prom_put_block_u64(out, &block, g->ci_slices);
}

void gpu_instances_put(struct prom *out, const struct child_gpu_instances *m,
		       const struct prom_label *labels, size_t n)
{
	auto_buf struct buf device = BUF_INIT, block = BUF_INIT;

	prom_render_labels(&device, labels, n);
	if (m->slices) {
		prom_family(out, &gpu_slices);
		prom_put_block_u64(out, &device, m->slices);
	}
	for (uint32_t i = 0; i < m->head.count; i++) {
		const struct child_gpu_instance *g = &m->items[i];
		char gi[16];
		(void)snprintf(gi, sizeof(gi), "%u", g->gi);
		prom_render_more(&block, &device, "gpuiid", gi);
		if (i == 0 || g[-1].gi != g->gi)
			put_gpu_instance(out, g, &block);
		put_slices(out, g, &block);
	}
}
