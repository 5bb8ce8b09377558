/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the API's JSON to the columns. Names are those of doc/api.md; the peer's server
 * has fewer of them, and the rest is unknown. */
#include "cli/cacct/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cacct/kind.h"
#include "lib/http/json.h"
#include "lib/parse.h"
#include "lib/records/job.h"
#include "lib/rfc3339.h"

#define NUMBER_MAX 1e19 /* larger numbers are not meaningful here */

static const struct {
	enum unit_text to;
	const char *from;
} texts[] = {
	{UNIT_CLUSTER, "cluster_id"},
	{UNIT_MANAGER, "resource_manager"},
	{UNIT_FLAVOUR, "tags.flavour|allocation.name"},
	{UNIT_NAMESPACE, "tags.namespace"},
	{UNIT_UUID, "uuid"},
	{UNIT_NAME, "name"},
	{UNIT_ACCOUNT, "project"},
	{UNIT_USER, "username"},
	{UNIT_GROUP, "groupname"},
	{UNIT_STATE, "state"},
	{UNIT_REASON, "reason|tags.reason"},
	{UNIT_PARTITION, "partition|tags.partition"},
	{UNIT_QOS, "qos|tags.qos"},
	{UNIT_RESERVATION, "reservation|tags.reservation"},
	{UNIT_WCKEY, "wckey|tags.wckey"},
	{UNIT_NODE_LIST, "node_list|tags.nodelist"},
	{UNIT_ALLOC_TRES, "tres_allocated|tags.tres_allocated|allocation.tres"},
	{UNIT_REQ_TRES, "tres_requested|tags.tres_requested"},
	{UNIT_WORK_DIR, "work_dir|tags.workdir"},
	{UNIT_COMMENT, "comment|tags.comment"},
	{UNIT_SLUID, "sluid|tags.sluid"},
	{UNIT_SOURCES, "energy_sources|tags.energy_sources"},
	{UNIT_EXIT, "tags.exit_code"},
	{UNIT_DERIVED_EXIT, "tags.derived_exit_code"},
	{UNIT_FLAGS, "slurm.flags"},
	{UNIT_ADMIN_COMMENT, "slurm.admin_comment"},
	{UNIT_SYSTEM_COMMENT, "slurm.system_comment"},
	{UNIT_EXTRA, "slurm.extra"},
	{UNIT_CONTAINER, "slurm.container"},
	{UNIT_CONSTRAINTS, "slurm.constraints"},
	{UNIT_LICENSES, "slurm.licenses"},
	{UNIT_QOS_REQUESTED, "slurm.qos_requested"},
	{UNIT_FAILED_NODE, "slurm.failed_node"},
	{UNIT_SUBMIT_LINE, "slurm.submit_line"},
	{UNIT_PEAK_NODE, "memory_peak_node"},
};

static const struct {
	enum unit_number to;
	double scale;
	const char *from;
} numbers[] = {
	{UNIT_ID, 1, "id"},
	{UNIT_RESTARTS, 1, "restarts|tags.restarts"},
	{UNIT_UID, 1, "uid|tags.uid"},
	{UNIT_GID, 1, "gid|tags.gid"},
	{UNIT_ARRAY_JOB, 1, "array_job|tags.array_job"},
	{UNIT_ARRAY_TASK, 1, "array_task|tags.array_task"},
	{UNIT_HET_JOB, 1, "het_job|tags.het_job"},
	{UNIT_HET_OFFSET, 1, "het_offset|tags.het_offset"},
	{UNIT_SUBMITTED, 1e-3, "created_at_ts"},
	{UNIT_ELIGIBLE, 1e-3, "eligible_at_ts"},
	{UNIT_STARTED, 1e-3, "started_at_ts"},
	{UNIT_ENDED, 1e-3, "ended_at_ts"},
	{UNIT_ELAPSED_S, 1, "elapsed_seconds|total_time_seconds.walltime"},
	{UNIT_LIMIT_S, 1, "time_limit_s|tags.time_limit_s"},
	{UNIT_SUSPENDED_S, 1, "suspended_seconds"},
	{UNIT_TASKS, 1, "tasks"},
	{UNIT_PRIORITY, 1, "slurm.priority"},
	{UNIT_NODES, 1, "allocation.nodes"},
	{UNIT_CPUS, 1, "allocation.cpus|allocation.vcpus"},
	{UNIT_MEMORY_BYTES, 1, "allocation.mem"},
	{UNIT_GPUS, 1, "allocation.gpus|allocation.vgpus"},
	{UNIT_CPU_USER_S, 1, "cpu_user_seconds"},
	{UNIT_CPU_SYSTEM_S, 1, "cpu_system_seconds"},
	{UNIT_CPU_ALLOC_S, 1, "cpu_alloc_seconds|total_time_seconds.alloc_cputime"},
	{UNIT_CPU_RATIO, 1e-2, "avg_cpu_usage.global"},
	{UNIT_MEMORY_RATIO, 1e-2, "avg_cpu_mem_usage.global"},
	{UNIT_MEMORY_MEAN_BYTES, 1, "memory_mean_bytes"},
	{UNIT_MEMORY_PEAK_BYTES, 1, "memory_peak_bytes"},
	{UNIT_MEMORY_PEAKS_BYTES, 1, "memory_peaks_bytes"},
	{UNIT_GPU_RATIO, 1e-2, "avg_gpu_usage.global"},
	{UNIT_GPU_MEMORY_RATIO, 1e-2, "avg_gpu_mem_usage.global"},
	{UNIT_GPU_ALLOC_S, 1, "total_time_seconds.alloc_gputime"},
	{UNIT_GPU_IDLE_S, 1, "gpu_idle_seconds"},
	{UNIT_GPU_MEMORY_MEAN_BYTES, 1, "gpu_memory_mean_bytes"},
	{UNIT_GPU_MEMORY_PEAK_BYTES, 1, "gpu_memory_peak_bytes"},
	{UNIT_GPU_SM_RATIO, 1, "gpu_profile.sm_active"},
	{UNIT_GPU_OCCUPANCY_RATIO, 1, "gpu_profile.sm_occupancy"},
	{UNIT_GPU_TENSOR_RATIO, 1, "gpu_profile.tensor_active"},
	{UNIT_GPU_FP64_RATIO, 1, "gpu_profile.fp64_active"},
	{UNIT_GPU_FP32_RATIO, 1, "gpu_profile.fp32_active"},
	{UNIT_GPU_FP16_RATIO, 1, "gpu_profile.fp16_active"},
	{UNIT_GPU_DRAM_RATIO, 1, "gpu_profile.dram_active"},
	{UNIT_IO_READ_BYTES, 1, "total_io_read_stats.bytes_total"},
	{UNIT_IO_WRITE_BYTES, 1, "total_io_write_stats.bytes_total"},
	{UNIT_NET_RX_BYTES, 1, "total_ingress_stats.bytes_total|counts.net_rx_bytes"},
	{UNIT_NET_TX_BYTES, 1, "total_egress_stats.bytes_total|counts.net_tx_bytes"},
	{UNIT_FILE_READ_BYTES, 1, "counts.read_bytes"},
	{UNIT_FILE_READS, 1, "counts.read_calls"},
	{UNIT_FILE_READ_ERRORS, 1, "counts.read_errors"},
	{UNIT_FILE_WRITE_BYTES, 1, "counts.write_bytes"},
	{UNIT_FILE_WRITES, 1, "counts.write_calls"},
	{UNIT_FILE_WRITE_ERRORS, 1, "counts.write_errors"},
	{UNIT_FILE_OPENS, 1, "counts.opens"},
	{UNIT_FILE_CREATES, 1, "counts.creates"},
	{UNIT_FILE_UNLINKS, 1, "counts.unlinks"},
	{UNIT_NET_RX_PACKETS, 1, "counts.net_rx_packets"},
	{UNIT_NET_TX_PACKETS, 1, "counts.net_tx_packets"},
	{UNIT_NET_RESENT_PACKETS, 1, "counts.net_resent_packets"},
	{UNIT_MINOR_FAULTS, 1, "counts.minor_faults"},
	{UNIT_MAJOR_FAULTS, 1, "counts.major_faults"},
	{UNIT_SWITCHES, 1, "counts.context_switches"},
	{UNIT_MIGRATIONS, 1, "counts.cpu_migrations"},
	{UNIT_CYCLES, 1, "counts.cpu_cycles"},
	{UNIT_INSTRUCTIONS, 1, "counts.instructions"},
	{UNIT_CACHE_MISSES, 1, "counts.cache_misses"},
	{UNIT_FP_OPERATIONS, 1, "counts.fp_operations"},
	{UNIT_DRAM_READ_BYTES, 1, "counts.dram_read_bytes"},
	{UNIT_CPU_S, 1, "cpu_seconds"},
	{UNIT_ENERGY_J, 1, "energy_joules.total"},
	{UNIT_CPU_SIDE_J, 3.6e6, "total_cpu_energy_usage_kwh.total"},
	{UNIT_GPU_SIDE_J, 3.6e6, "total_gpu_energy_usage_kwh.total"},
	{UNIT_PACKAGE_J, 1, "energy_joules.package"},
	{UNIT_DRAM_J, 1, "energy_joules.dram"},
	{UNIT_PSYS_J, 1, "energy_joules.psys"},
	{UNIT_GPU_J, 1, "energy_joules.gpu"},
	{UNIT_HOST_J, 1, "energy_joules.host"},
	{UNIT_OTHER_J, 1, "energy_joules.other"},
	{UNIT_COVERAGE, 1, "coverage"},
	{UNIT_AS_OF, 1e-3, "as_of_ts"},
	{UNIT_ENDED_ON_NODES, 1e-3, "ended_on_nodes_ts"},
	{UNIT_AWAITED_UNTIL, 1e-3, "record_awaited_until_ts"},
};

struct json_object *unit_json_at(struct json_object *o, const char *paths)
{
	char name[64];

	while (*paths) {
		struct json_object *at = o;
		size_t len = strcspn(paths, "|");
		const char *end = paths + len;
		while (at && paths < end) {
			size_t n = strcspn(paths, ".|");
			if (n >= sizeof(name))
				at = NULL;
			else {
				memcpy(name, paths, n);
				name[n] = '\0';
				at = http_json_get_any(at, name);
			}
			paths += n + (paths + n < end);
		}
		if (at)
			return at;
		paths = end + (*end == '|');
	}
	return NULL;
}

/* A number, or a string with one: the peer writes some as strings. */
static double number_of(struct json_object *o)
{
	double v;

	if (json_object_is_type(o, json_type_int))
		return (double)json_object_get_int64(o);
	if (json_object_is_type(o, json_type_double)) {
		v = json_object_get_double(o);
		return fabs(v) < NUMBER_MAX ? v : NAN;
	}
	if (json_object_is_type(o, json_type_string) &&
	    parse_f64(json_object_get_string(o), &v) == 0 && fabs(v) < NUMBER_MAX)
		return v;
	return NAN;
}

double unit_json_number(struct json_object *o, const char *paths)
{
	struct json_object *at = unit_json_at(o, paths);

	return at ? number_of(at) : NAN;
}

const char *unit_json_text(struct json_object *o, const char *paths)
{
	return http_json_as_text(unit_json_at(o, paths));
}

static void put_unit_grams(struct unit *u, const char *name, double grams)
{
	struct unit_grams new = {.grams = grams};
	size_t i = 0, len = strlen(name);

	if (len > 6 && strcmp(name + len - 6, "_total") == 0)
		len -= 6;
	if (isnan(grams) || !len || len >= sizeof(new.provider))
		return;
	memcpy(new.provider, name, len);
	while (i < u->grams_count && strcmp(u->grams[i].provider, new.provider) < 0)
		i++;
	if (i < u->grams_count && strcmp(u->grams[i].provider, new.provider) == 0) {
		u->grams[i].grams += grams; /* the peer has two maps: CPU and GPU */
		return;
	}
	if (u->grams_count == UNIT_PROVIDERS_MAX)
		return;
	memmove(&u->grams[i + 1], &u->grams[i],
		(u->grams_count - i) * sizeof(u->grams[0]));
	u->grams[i] = new;
	u->grams_count++;
}

/* {"owid_total": 1.5} or {"owid": 1.5} */
void unit_read_grams(struct unit *u, struct json_object *map)
{
	if (!map || !json_object_is_type(map, json_type_object))
		return;
	json_object_object_foreach(map, key, value) if (value)
		put_unit_grams(u, key, number_of(value));
}

void unit_put_grams(struct buf *out, const struct unit_grams *grams, size_t count)
{
	buf_puts(out, ",\"grams\":{");
	for (size_t i = 0; i < count; i++) {
		buf_puts(out, i ? "," : "");
		buf_put_json(out, grams[i].provider, strlen(grams[i].provider));
		buf_putc(out, ':');
		buf_put_f64(out, grams[i].grams);
	}
	buf_putc(out, '}');
}

/* A wait status as Slurm shows it. */
static void read_exit(struct unit *u, struct json_object *o, const char *path,
		      int which, enum unit_text to)
{
	double v = unit_json_number(o, path);

	if (u->text[to] || isnan(v) || v < 0 || v > 0xffffffff)
		return;
	unsigned status = (unsigned)v;
	(void)snprintf(u->exit_text[which], sizeof(u->exit_text[which]), "%u:%u",
		       status >> 8 & 0xff, status & 0x7f);
	u->text[to] = u->exit_text[which];
}

static double sum_known(double a, double b)
{
	if (isnan(a))
		return b;
	return isnan(b) ? a : a + b;
}

static bool is_time(double v)
{
	return !isnan(v) && v > 0;
}

static double requested_tres(const struct unit *u, const char *name)
{
	uint64_t v;

	return u->text[UNIT_REQ_TRES] &&
			       job_tres_get(u->text[UNIT_REQ_TRES], name, &v) == 0
		       ? (double)v
		       : NAN;
}

/* The idle share of something; NAN if its use is unknown. */
static double idle_share(double amount, double used_ratio)
{
	return used_ratio < 1 ? amount * (1 - used_ratio) : 0;
}

/* What a job requested, how long it waited and its time limit. */
static void read_request(struct unit *u, int64_t now)
{
	double *n = u->number;
	double since = isnan(n[UNIT_ELIGIBLE]) ? n[UNIT_SUBMITTED] : n[UNIT_ELIGIBLE];
	double until = isnan(n[UNIT_STARTED]) ? n[UNIT_ENDED] : n[UNIT_STARTED];

	n[UNIT_REQ_CPUS] = requested_tres(u, "cpu");
	n[UNIT_REQ_NODES] = requested_tres(u, "node");
	n[UNIT_REQ_MEMORY_BYTES] = requested_tres(u, "mem");
	n[UNIT_PLANNED_S] = fmax(0, (isnan(until) ? (double)now : until) - since);
	if (isnan(since) || u->is_step)
		n[UNIT_PLANNED_S] = NAN;
	n[UNIT_PLANNED_CPU_S] = n[UNIT_PLANNED_S] * n[UNIT_REQ_CPUS];
	if (n[UNIT_TASKS] > 0) {
		n[UNIT_AVE_CPU_S] = n[UNIT_CPU_S] / n[UNIT_TASKS];
		n[UNIT_AVE_RSS_BYTES] = n[UNIT_MEMORY_PEAKS_BYTES] / n[UNIT_TASKS];
	}
	if (n[UNIT_LIMIT_S] > 0)
		n[UNIT_TIME_RATIO] = n[UNIT_ELAPSED_S] / n[UNIT_LIMIT_S];
}

void unit_compare_use(struct unit *u)
{
	double *n = u->number, gpu_j = isnan(n[UNIT_GPU_J]) ? 0 : n[UNIT_GPU_J];
	/* requests and allocations are over all nodes, the peak is on one */
	double memory = n[UNIT_REQ_MEMORY_BYTES] > 0 ? n[UNIT_REQ_MEMORY_BYTES]
						     : n[UNIT_MEMORY_BYTES];

	if (memory > 0)
		n[UNIT_MEMORY_PEAK_RATIO] =
			n[UNIT_MEMORY_PEAK_BYTES] * fmax(1, n[UNIT_NODES]) / memory;
	n[UNIT_WASTED_CPU_S] = n[UNIT_WASTED_J] = NAN;
	n[UNIT_WASTED_GPU_S] = n[UNIT_WASTED_GPU_J] = NAN;
	if (!isnan(n[UNIT_GPU_RATIO])) {
		n[UNIT_WASTED_GPU_S] =
			idle_share(n[UNIT_GPU_ALLOC_S], n[UNIT_GPU_RATIO]);
		n[UNIT_WASTED_GPU_J] = idle_share(n[UNIT_GPU_J], n[UNIT_GPU_RATIO]);
	}
	if (isnan(n[UNIT_CPU_RATIO]))
		return;
	n[UNIT_WASTED_CPU_S] = idle_share(n[UNIT_CPU_ALLOC_S], n[UNIT_CPU_RATIO]);
	if (!isnan(n[UNIT_ENERGY_J]))
		n[UNIT_WASTED_J] = idle_share(fmax(0, n[UNIT_ENERGY_J] - gpu_j),
					      n[UNIT_CPU_RATIO]) +
				   idle_share(gpu_j, n[UNIT_GPU_RATIO]);
}

/* Derives values that the API does not have. */
static void complete_unit(struct unit *u, int64_t now)
{
	double *n = u->number;

	for (int t = UNIT_SUBMITTED; t <= UNIT_ENDED; t++)
		if (!is_time(n[t]))
			n[t] = NAN;
	if (isnan(n[UNIT_ELAPSED_S]) && is_time(n[UNIT_STARTED]))
		n[UNIT_ELAPSED_S] =
			(is_time(n[UNIT_ENDED]) ? n[UNIT_ENDED] : (double)now) -
			n[UNIT_STARTED];
	/* as in sacct: without the time it was suspended */
	if (n[UNIT_SUSPENDED_S] > 0)
		n[UNIT_ELAPSED_S] -= n[UNIT_SUSPENDED_S];
	if (n[UNIT_ELAPSED_S] < 0)
		n[UNIT_ELAPSED_S] = 0;
	if (n[UNIT_ELAPSED_S] > 0)
		n[UNIT_GFLOPS] = n[UNIT_FP_OPERATIONS] / n[UNIT_ELAPSED_S] / 1e9;
	if (isnan(n[UNIT_CPU_S]))
		n[UNIT_CPU_S] = sum_known(n[UNIT_CPU_USER_S], n[UNIT_CPU_SYSTEM_S]);
	/* as in sacct: the nodes' reports may be behind. VMs and pods are resized. */
	if ((kind_of_manager(u->text[UNIT_MANAGER]) == KIND_JOB ||
	     isnan(n[UNIT_CPU_ALLOC_S])) &&
	    !isnan(n[UNIT_CPUS] * n[UNIT_ELAPSED_S]))
		n[UNIT_CPU_ALLOC_S] = n[UNIT_CPUS] * n[UNIT_ELAPSED_S];
	if (isnan(n[UNIT_CPU_RATIO]) && n[UNIT_CPU_ALLOC_S] > 0)
		n[UNIT_CPU_RATIO] = n[UNIT_CPU_S] / n[UNIT_CPU_ALLOC_S];
	/* only for the peer's server, which has no other: includes the building's
	 * share */
	if (isnan(n[UNIT_ENERGY_J]))
		n[UNIT_ENERGY_J] = sum_known(n[UNIT_CPU_SIDE_J], n[UNIT_GPU_SIDE_J]);
	if (isnan(n[UNIT_ENERGY_J]))
		n[UNIT_ENERGY_J] = isnan(n[UNIT_HOST_J])
					   ? sum_known(sum_known(n[UNIT_PACKAGE_J],
								 n[UNIT_DRAM_J]),
						       n[UNIT_GPU_J])
					   : n[UNIT_HOST_J];
	read_request(u, now);
	unit_compare_use(u);
}

/* Of IPv4 and IPv6 */
static void read_both_families(struct unit *u, struct json_object *o)
{
	static const struct {
		enum unit_number to;
		const char *ipv4, *ipv6;
	} both[] = {
		{UNIT_TCP_RX_BYTES, "counts.tcp_ipv4_rx_bytes",
		 "counts.tcp_ipv6_rx_bytes"},
		{UNIT_TCP_TX_BYTES, "counts.tcp_ipv4_tx_bytes",
		 "counts.tcp_ipv6_tx_bytes"},
		{UNIT_UDP_RX_BYTES, "counts.udp_ipv4_rx_bytes",
		 "counts.udp_ipv6_rx_bytes"},
		{UNIT_UDP_TX_BYTES, "counts.udp_ipv4_tx_bytes",
		 "counts.udp_ipv6_tx_bytes"},
	};

	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++)
		u->number[both[i].to] = unit_json_number(o, both[i].ipv4) +
					unit_json_number(o, both[i].ipv6);
}

/* Of events that the CPU counted at the same time */
static void read_event_ratios(struct unit *u, struct json_object *o)
{
	static const struct {
		enum unit_number to;
		const char *of, *by;
	} ratios[] = {
		{UNIT_IPC, "counts.instructions", "counts.cpu_cycles"},
		{UNIT_FREQUENCY_GHZ, "counts.cpu_cycles", "counts.events_enabled_ns"},
		{UNIT_CACHE_MISS_RATIO, "counts.cache_misses",
		 "counts.cache_references"},
		{UNIT_BRANCH_MISS_RATIO, "counts.branch_misses", "counts.branches"},
		{UNIT_L1_MISS_RATIO, "counts.l1d_read_misses", "counts.l1d_reads"},
		{UNIT_LLC_MISS_RATIO, "counts.llc_read_misses", "counts.llc_reads"},
	};

	for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
		double by = unit_json_number(o, ratios[i].by);
		if (by > 0)
			u->number[ratios[i].to] =
				unit_json_number(o, ratios[i].of) / by;
	}
	double covered_s = unit_json_number(o, "counts.events_enabled_ns") / 1e9;
	double cpu_s = unit_json_number(o, "cpu_seconds");
	if (cpu_s > 0) /* the two clocks differ by interrupts */
		u->number[UNIT_EVENTS_RATIO] =
			covered_s > cpu_s ? 1 : covered_s / cpu_s;
}

static void read_all(struct unit *u, struct json_object *o)
{
	for (size_t i = 0; i < UNIT_NUMBERS; i++)
		u->number[i] = NAN;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		u->text[texts[i].to] = unit_json_text(o, texts[i].from);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		u->number[numbers[i].to] =
			unit_json_number(o, numbers[i].from) * numbers[i].scale;
	read_both_families(u, o);
	read_event_ratios(u, o);
	read_exit(u, o, "exit_status", 0, UNIT_EXIT);
	read_exit(u, o, "derived_exit_status", 1, UNIT_DERIVED_EXIT);
	u->line_cut = json_object_get_boolean(unit_json_at(o, "slurm.submit_line_cut"));
	struct json_object *grams = unit_json_at(o, "grams");
	unit_read_grams(u, grams);
	if (!grams) {
		unit_read_grams(u, unit_json_at(o, "total_cpu_emissions_gms"));
		unit_read_grams(u, unit_json_at(o, "total_gpu_emissions_gms"));
	}
}

static void name_it(struct unit *u)
{
	const double *n = u->number;
	const char *raw = u->text[UNIT_UUID] ? u->text[UNIT_UUID] : "?";

	if (n[UNIT_ARRAY_JOB] > 0 && n[UNIT_ARRAY_TASK] >= 0)
		(void)snprintf(u->id, sizeof(u->id), "%.0f_%.0f", n[UNIT_ARRAY_JOB],
			       n[UNIT_ARRAY_TASK]);
	else if (n[UNIT_HET_JOB] > 0 && n[UNIT_HET_OFFSET] >= 0)
		(void)snprintf(u->id, sizeof(u->id), "%.0f+%.0f", n[UNIT_HET_JOB],
			       n[UNIT_HET_OFFSET]);
	else
		(void)snprintf(u->id, sizeof(u->id), "%.60s", raw);
}

static double whole_or_0(double v)
{
	return isnan(v) ? 0 : floor(v);
}

void unit_from_json(struct json_object *row, int64_t now, struct unit *ret)
{
	memset(ret, 0, sizeof(*ret));
	read_all(ret, row);
	complete_unit(ret, now);
	name_it(ret);
	const double *n = ret->number;
	bool known = !isnan(n[UNIT_SUBMITTED]);
	ret->submitted = whole_or_0(n[known ? UNIT_SUBMITTED : UNIT_STARTED]);
	ret->array_job = whole_or_0(n[UNIT_ARRAY_JOB]);
	ret->array_task = whole_or_0(n[UNIT_ARRAY_TASK]);
}

void unit_step_from_json(const struct unit *of, struct json_object *step, int64_t now,
			 struct unit *ret)
{
	static const enum unit_text kept[] = {UNIT_CLUSTER, UNIT_ACCOUNT, UNIT_SLUID};
	const char *name = unit_json_text(step, "step");
	double number = unit_json_number(step, "step");

	memset(ret, 0, sizeof(*ret));
	read_all(ret, step);
	ret->is_step = true;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		ret->text[kept[i]] = of->text[kept[i]];
	ret->text[UNIT_USER] = NULL; /* empty as in sacct */
	if (isnan(ret->number[UNIT_CPUS]))
		ret->number[UNIT_CPUS] = unit_json_number(step, "cpus");
	if (isnan(ret->number[UNIT_NODES]))
		ret->number[UNIT_NODES] = unit_json_number(step, "nodes");
	complete_unit(ret, now);
	if (!isnan(number))
		(void)snprintf(ret->id, sizeof(ret->id), "%.40s.%.0f", of->id, number);
	else
		(void)snprintf(ret->id, sizeof(ret->id), "%.40s.%.20s", of->id,
			       name ? name : "?");
	(void)snprintf(ret->raw_id, sizeof(ret->raw_id), "%.40s%s",
		       of->text[UNIT_UUID] ? of->text[UNIT_UUID] : "?",
		       strrchr(ret->id, '.'));
	ret->text[UNIT_UUID] = ret->raw_id;
	ret->submitted = of->submitted;
	ret->array_job = of->array_job;
	ret->array_task = of->array_task;
	if (!ret->text[UNIT_STATE]) {
		double status = unit_json_number(step, "exit_status");
		if (isnan(ret->number[UNIT_ENDED]))
			ret->text[UNIT_STATE] = "RUNNING";
		else if (!isnan(status))
			ret->text[UNIT_STATE] = status == 0 ? "COMPLETED" : "FAILED";
	}
	if (!ret->text[UNIT_NAME] && isnan(number))
		ret->text[UNIT_NAME] = name; /* batch, extern */
}

/* Slurm gives named steps numbers below 0, in this order. */
static double step_order(struct json_object *step)
{
	static const char *const names[] = {"extern", "batch", "interactive"};
	const char *name = unit_json_text(step, "step");
	double number = unit_json_number(step, "step");

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return -1 - (double)i;
	return isnan(number) ? INFINITY : number;
}

static int by_step(const void *a, const void *b)
{
	double x = step_order(*(struct json_object *const *)a);
	double y = step_order(*(struct json_object *const *)b);

	return (x > y) - (x < y);
}

struct json_object *unit_steps(struct json_object *detail)
{
	struct json_object *list = unit_json_at(detail, "steps");

	if (!list || !json_object_is_type(list, json_type_array))
		return NULL;
	json_object_array_sort(list, by_step);
	return list;
}

/* "package=rapl,dram=rapl,host=redfish" */
void unit_energy_source(const struct unit *u, const char *domain, char *ret,
			size_t size)
{
	const char *p = u->text[UNIT_SOURCES];
	size_t n = strlen(domain);

	*ret = '\0';
	while (p && *p) {
		size_t len = strcspn(p, ",");
		if (len > n && memcmp(p, domain, n) == 0 && p[n] == '=') {
			(void)snprintf(ret, size, "%.*s", (int)(len - n - 1),
				       p + n + 1);
			return;
		}
		p += len + (p[len] == ',');
	}
}

double unit_modelled_joules(const struct unit *u)
{
	static const struct {
		enum unit_number n;
		const char *domain;
	} parts[] = {{UNIT_PACKAGE_J, "package"},
		     {UNIT_DRAM_J, "dram"},
		     {UNIT_GPU_J, "gpu"}};
	const double *n = u->number;
	char source[16];
	double sum = 0;

	/* the whole node's covers all of it, if known */
	unit_energy_source(u, "host", source, sizeof(source));
	if (!isnan(n[UNIT_HOST_J]))
		return strcmp(source, "model") == 0 ? n[UNIT_HOST_J] : 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		unit_energy_source(u, parts[i].domain, source, sizeof(source));
		if (strcmp(source, "model") == 0 && !isnan(n[parts[i].n]))
			sum += n[parts[i].n];
	}
	return sum;
}

bool unit_is_running(const struct unit *u)
{
	return isnan(u->number[UNIT_ENDED]);
}

bool unit_is_awaited(const struct unit *u)
{
	return !u->is_step && unit_is_running(u) &&
	       !isnan(u->number[UNIT_ENDED_ON_NODES]);
}
