/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names, types and help texts of the compute units' metrics, and writing them. */
#include "daemon/export.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/env.h"
#include "daemon/units.h"
#include "lib/cgroup.h"

#define NS 9 /* decimals of a value in nanoseconds that is exported in seconds */

struct export_column {
	struct prom_family family;
	unsigned decimals;
};

/* Names and types of the peer are kept (doc/compat.md), even where a cumulative value
 * is called a gauge. */
static const struct export_column unit_columns[UNIT_COLUMNS] = {
	[COL_CPU_USER] = {{"ceems_compute_unit_cpu_user_seconds_total", PROM_COUNTER,
			   "User CPU time of the unit's steps (v1 cpuacct.usage split "
			   "by its ticks, v2 cpu.stat)"},
			  NS},
	[COL_CPU_SYSTEM] = {{"ceems_compute_unit_cpu_system_seconds_total",
			     PROM_COUNTER,
			     "System CPU time of the unit's steps (v1 cpuacct.usage "
			     "split by its ticks, v2 cpu.stat)"},
			    NS},
	[COL_CPU_THROTTLED] = {{"ceems_compute_unit_cpu_throttled_seconds_total",
				PROM_COUNTER,
				"Time for which the unit's steps were throttled "
				"(cpu.stat)"},
			       NS},
	[COL_CPU_THROTTLED_PERIODS] =
		{{"ceems_compute_unit_cpu_throttled_periods_total", PROM_COUNTER,
		  "Periods in which the unit's steps were throttled (cpu.stat)"},
		 0},
	[COL_CPUS] = {{"ceems_compute_unit_cpus", PROM_GAUGE,
		       "CPUs of the unit (cpuset, else what Slurm allocated)"},
		      3},
	[COL_CPU_PSI] = {{"ceems_compute_unit_cpu_psi_seconds", PROM_GAUGE,
			  "Time for which all tasks of the unit waited for CPU "
			  "(cpu.pressure full)"},
			 NS},
	[COL_CPU_PSI_SOME] = {{"ceems_compute_unit_cpu_psi_some_seconds", PROM_GAUGE,
			       "Time for which some task of the unit waited for CPU "
			       "(cpu.pressure some)"},
			      NS},
	[COL_MEMORY_RSS] = {{"ceems_compute_unit_memory_rss_bytes", PROM_GAUGE,
			     "Anonymous memory of the unit (memory.stat: v1 total_rss, "
			     "v2 anon)"},
			    0},
	[COL_MEMORY_CACHE] = {{"ceems_compute_unit_memory_cache_bytes", PROM_GAUGE,
			       "Page cache of the unit (memory.stat: v1 total_cache, "
			       "v2 file)"},
			      0},
	[COL_MEMORY_USED] = {{"ceems_compute_unit_memory_used_bytes", PROM_GAUGE,
			      "Memory in use by the unit (v1 memory.usage_in_bytes, v2 "
			      "memory.current)"},
			     0},
	[COL_MEMORY_TOTAL] = {{"ceems_compute_unit_memory_total_bytes", PROM_GAUGE,
			       "Memory limit of the unit; without one what Slurm "
			       "allocated, else the machine's memory (v1 "
			       "memory.limit_in_bytes, v2 memory.max)"},
			      0},
	[COL_MEMORY_PEAK] = {{"ceems_compute_unit_memory_peak_bytes", PROM_GAUGE,
			      "Highest memory use of the unit so far (v1 "
			      "memory.max_usage_in_bytes, v2 memory.peak)"},
			     0},
	[COL_MEMORY_FAIL_COUNT] = {{"ceems_compute_unit_memory_fail_count", PROM_GAUGE,
				    "Times the unit met its memory limit (v1 "
				    "memory.failcnt, v2 oom of memory.events)"},
				   0},
	[COL_MEMORY_PSI] = {{"ceems_compute_unit_memory_psi_seconds", PROM_GAUGE,
			     "Time for which all tasks of the unit waited for memory "
			     "(memory.pressure full)"},
			    NS},
	[COL_MEMORY_PSI_SOME] = {{"ceems_compute_unit_memory_psi_some_seconds",
				  PROM_GAUGE,
				  "Time for which some task of the unit waited for "
				  "memory (memory.pressure some)"},
				 NS},
	[COL_MEMSW_USED] = {{"ceems_compute_unit_memsw_used_bytes", PROM_GAUGE,
			     "Swap in use by the unit (v1 memory and swap: "
			     "memory.memsw.usage_in_bytes, v2 memory.swap.current)"},
			    0},
	[COL_MEMSW_TOTAL] = {{"ceems_compute_unit_memsw_total_bytes", PROM_GAUGE,
			      "Swap limit of the unit, without one the machine's (v1 "
			      "memory and swap: memory.memsw.limit_in_bytes, v2 "
			      "memory.swap.max)"},
			     0},
	[COL_MEMSW_FAIL_COUNT] = {{"ceems_compute_unit_memsw_fail_count", PROM_GAUGE,
				   "Times the unit met its swap limit (v1 "
				   "memory.memsw.failcnt, v2 max of "
				   "memory.swap.events)"},
				  0},
	[COL_IO_PSI] = {{"ceems_compute_unit_io_psi_seconds", PROM_GAUGE,
			 "Time for which all tasks of the unit waited for IO "
			 "(io.pressure full)"},
			NS},
	[COL_IO_PSI_SOME] = {{"ceems_compute_unit_io_psi_some_seconds", PROM_GAUGE,
			      "Time for which some task of the unit waited for IO "
			      "(io.pressure some)"},
			     NS},
	[COL_OOM_KILLS] = {{"ceems_compute_unit_oom_kills_total", PROM_COUNTER,
			    "Processes of the unit that were killed for memory (v1 "
			    "memory.oom_control, v2 memory.events)"},
			   0},
	[COL_PIDS] = {{"ceems_compute_unit_pids", PROM_GAUGE,
		       "Processes and threads of the unit (pids.current)"},
		      0},
	[COL_GPU_OBSERVED] = {{"ceems_compute_unit_gpu_observed_seconds_total",
			       PROM_COUNTER,
			       "Time for which the devices that the unit holds as a "
			       "whole were read, each counted"},
			      NS},
	[COL_GPU_BUSY] = {{"ceems_compute_unit_gpu_busy_seconds_total", PROM_COUNTER,
			   "Of this time, that in which a kernel ran"},
			  NS},
	[COL_GPU_IDLE] = {{"ceems_compute_unit_gpu_idle_seconds_total", PROM_COUNTER,
			   "Time in which no kernel ran on devices that the unit holds "
			   "as a whole, each counted"},
			  NS},
	[COL_GPU_MEMORY_PEAK] =
		{{"ceems_compute_unit_gpu_memory_peak_bytes", PROM_GAUGE,
		  "Most memory that was in use of the unit's devices at "
		  "a reading, of all together"},
		 0},
	[COL_COLLECT_ERROR] = {{"ceems_compute_collect_error", PROM_GAUGE,
				"1 for a unit whose control group could not be read at "
				"this scrape; its other samples are missing"},
			       0},
};

_Static_assert(UNIT_COLUMNS <= 32, "struct unit_values.has is 32 bits wide");

static const struct export_column step_columns[STEP_COLUMNS] = {
	[STEP_CPU_USER] = {{"ceems_compute_unit_step_cpu_user_seconds_total",
			    PROM_COUNTER,
			    "User CPU time of a step (v1 cpuacct.usage split by its "
			    "ticks, v2 cpu.stat)"},
			   NS},
	[STEP_CPU_SYSTEM] = {{"ceems_compute_unit_step_cpu_system_seconds_total",
			      PROM_COUNTER,
			      "System CPU time of a step (v1 cpuacct.usage split by "
			      "its ticks, v2 cpu.stat)"},
			     NS},
	[STEP_MEMORY_PEAK] = {{"ceems_compute_unit_step_memory_peak_bytes", PROM_GAUGE,
			       "Highest memory use of a step so far (v1 "
			       "memory.max_usage_in_bytes, v2 memory.peak)"},
			      0},
	[STEP_OOM_KILLS] = {{"ceems_compute_unit_step_oom_kills_total", PROM_COUNTER,
			     "Processes of a step that were killed for memory (v1 "
			     "memory.oom_control, v2 memory.events)"},
			    0},
};

static void put_column_value(struct prom *out, const struct export_column *c,
			     const struct buf *labels, uint64_t v)
{
	if (c->decimals)
		prom_put_block_scaled(out, labels, v, c->decimals);
	else
		prom_put_block_u64(out, labels, v);
}

void export_units(struct prom *out, const struct unit_values *units, size_t n)
{
	for (size_t c = 0; c < UNIT_COLUMNS; c++) {
		prom_family(out, &unit_columns[c].family);
		for (size_t i = 0; i < n; i++) {
			if (units[i].has & 1u << c)
				put_column_value(out, &unit_columns[c], units[i].labels,
						 units[i].v[c]);
		}
	}
}

void export_steps(struct prom *out, const struct step_values *steps, size_t n)
{
	for (size_t c = 0; c < STEP_COLUMNS; c++) {
		prom_family(out, &step_columns[c].family);
		for (size_t i = 0; i < n; i++) {
			if (steps[i].has & 1u << c)
				put_column_value(out, &step_columns[c], steps[i].labels,
						 steps[i].v[c]);
		}
	}
}

static const struct prom_family family_units = {
	"ceems_compute_units", PROM_GAUGE,
	"Units that run on this node now (unit table of ceemsd)"};
static const struct prom_family family_cpu = {
	"ceems_units_cpu_seconds_total", PROM_COUNTER,
	"CPU time of all units that ever were on this node since it booted (unit table "
	"of ceemsd)"};
static const struct prom_family family_started = {
	"ceems_units_started_total", PROM_COUNTER,
	"Units that started on this node (unit table of ceemsd)"};
static const struct prom_family family_ended = {
	"ceems_units_ended_total", PROM_COUNTER,
	"Units that ended on this node, by how (unit table of ceemsd)"};
static const struct prom_family family_steps_started = {
	"ceems_steps_started_total", PROM_COUNTER,
	"Steps that started on this node (unit table of ceemsd)"};
static const struct prom_family family_steps_ended = {
	"ceems_steps_ended_total", PROM_COUNTER,
	"Steps that ended on this node (unit table of ceemsd)"};
static const struct prom_family family_short = {
	"ceems_short_units_total", PROM_COUNTER,
	"Units that were too short or too many for series of their own (unit table of "
	"ceemsd)"};
static const struct prom_family family_short_cpu = {
	"ceems_short_units_cpu_seconds_total", PROM_COUNTER,
	"CPU time of units that were too short or too many for series of their own "
	"(unit table of ceemsd)"};

static void put_cpu(struct prom *out, const struct prom_family *family,
		    struct prom_label *labels, const struct unit_totals *t)
{
	prom_family(out, family);
	labels[2] = (struct prom_label){"mode", "user"};
	prom_put_scaled(out, labels, 3, t->cpu_user_ns, NS);
	labels[2] = (struct prom_label){"mode", "system"};
	prom_put_scaled(out, labels, 3, t->cpu_system_ns, NS);
}

static void put_ended(struct prom *out, struct prom_label *labels,
		      const struct node_totals *t)
{
	static const char *const states[UNIT_END_STATES] = {
		[UNIT_END_COMPLETED] = "completed",
		[UNIT_END_FAILED] = "failed",
		[UNIT_END_OOM] = "oom",
		[UNIT_END_LOST] = "lost",
	};

	prom_family(out, &family_ended);
	for (size_t i = UNIT_END_NONE + 1; i < UNIT_END_STATES; i++) {
		labels[2] = (struct prom_label){"state", states[i]};
		prom_put_u64(out, labels, 3, t->ended[i]);
	}
}

void export_node(struct prom *out, const char *manager, const char *hostname,
		 uint64_t running, const struct node_totals *t)
{
	struct prom_label labels[3] = {{"manager", manager}, {"hostname", hostname}};

	prom_family(out, &family_units);
	prom_put_u64(out, labels, 2, running);
	prom_family(out, &family_started);
	prom_put_u64(out, labels, 2, t->started);
	prom_family(out, &family_steps_started);
	prom_put_u64(out, labels, 2, t->steps_started);
	prom_family(out, &family_steps_ended);
	prom_put_u64(out, labels, 2, t->steps_ended);
	prom_family(out, &family_short);
	prom_put_u64(out, labels, 2, t->short_units);
	put_cpu(out, &family_cpu, labels, &t->units);
	put_cpu(out, &family_short_cpu, labels, &t->short_totals);
	put_ended(out, labels, t);
}

/* "sda", as /sys/dev/block names it; else its number, "8:0" */
static void name_block_device(const struct env *env, const struct cgroup_io_device *d,
			      char *ret, size_t size)
{
	char path[64], link[512];

	(void)snprintf(path, sizeof(path), "dev/block/%u:%u", d->major, d->minor);
	ssize_t n = readlinkat(env->sysfd, path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	const char *slash = strrchr(link, '/');
	if (slash && slash[1])
		(void)snprintf(ret, size, "%s", slash + 1);
	else
		(void)snprintf(ret, size, "%u:%u", d->major, d->minor);
}

void export_devices(const struct env *env, const char *manager, const struct unit *unit,
		    const struct cgroup_io *io, struct prom *out)
{
	static const struct prom_family families[] = {
		{"ceems_compute_unit_blkio_read_total_bytes", PROM_GAUGE,
		 "Bytes that the unit read from the device"},
		{"ceems_compute_unit_blkio_write_total_bytes", PROM_GAUGE,
		 "Bytes that it wrote to the device"},
		{"ceems_compute_unit_blkio_read_total_requests", PROM_GAUGE,
		 "Requests to read from the device"},
		{"ceems_compute_unit_blkio_write_total_requests", PROM_GAUGE,
		 "Requests to write to the device"},
	};

	for (uint32_t i = 0; i < io->count; i++) {
		const struct cgroup_io_device *d = &io->devices[i];
		const uint64_t values[] = {d->read_bytes, d->written_bytes, d->reads,
					   d->writes};
		char name[256];
		name_block_device(env, d, name, sizeof(name));
		const struct prom_label labels[] = {
			{"manager", manager},
			{"hostname", env->hostname},
			{"cgrouphostname", unit->node},
			{"uuid", unit->id},
			{"device", name},
		};
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			prom_family(out, &families[k]);
			prom_put_u64(out, labels, 5, values[k]);
		}
	}
}
