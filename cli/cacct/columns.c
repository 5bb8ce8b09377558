/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of columns, and the formatting of values. */
#include "cli/cacct/columns.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/cacct/text.h"
#include "cli/cacct/when.h"
#include "lib/parse.h"
#include "lib/spelling.h"

#define C(name_, peer_, kind_, width_, from_, help_)                                   \
	{                                                                              \
		.name = name_, .peer = peer_, .kind = COLUMN_##kind_, .width = width_, \
		.from = UNIT_##from_, .help = help_                                    \
	}

static const struct column table[] = {
	C("Account", "project", TEXT, 10, ACCOUNT, "account, the API's project"),
	C("AdminComment", NULL, TEXT, 15, ADMIN_COMMENT, "comment of an administrator"),
	C("AllocCPUS", NULL, PARTS, 10, CPUS, "allocated CPUs"),
	C("AllocGPUS", NULL, COUNT, 9, GPUS, "allocated GPUs"),
	C("AllocMem", NULL, BYTES, 10, MEMORY_BYTES, "allocated memory"),
	C("AllocNodes", NULL, COUNT, 10, NODES, "allocated nodes"),
	C("AllocTRES", NULL, TEXT, 10, ALLOC_TRES,
	  "all that was allocated, in Slurm's words"),
	C("ArrayJobID", NULL, COUNT, 12, ARRAY_JOB, "job id of the array"),
	C("ArrayTaskID", NULL, COUNT, 12, ARRAY_TASK, "task of the array"),
	C("AsOf", NULL, TIME, 19, AS_OF, "when the sums of this row were made"),
	C("AveCPU", NULL, SPAN, 10, AVE_CPU_S, "CPU time of a step, by tasks"),
	C("AveRSS", NULL, BYTES, 10, AVE_RSS_BYTES,
	  "memory peaks of a step's nodes, by tasks"),
	C("BranchMissRate", NULL, RATIO, 14, BRANCH_MISS_RATIO,
	  "branches that its CPUs predicted wrongly"),
	C("CacheMissRate", NULL, RATIO, 13, CACHE_MISS_RATIO,
	  "accesses to the last cache that found nothing there"),
	C("Cluster", NULL, TEXT, 10, CLUSTER, "cluster"),
	C("Comment", NULL, TEXT, 14, COMMENT, "comment"),
	C("Constraints", NULL, TEXT, 19, CONSTRAINTS,
	  "features of nodes that it asked for"),
	C("ConsumedEnergy", NULL, JOULES, 14, ENERGY_J,
	  "energy in joules, with K, M, G"),
	C("ConsumedEnergyRaw", NULL, JOULES, 17, ENERGY_J, "energy in joules"),
	C("Container", NULL, TEXT, 19, CONTAINER, "folder of its OCI container"),
	C("Coverage", NULL, RATIO, 8, COVERAGE,
	  "share of the job's life that was observed"),
	C("CPUCycles", NULL, COUNT, 16, CYCLES, "cycles of its CPUs"),
	C("CPUEff", "cpuUsage", RATIO, 6, CPU_RATIO,
	  "CPU time used of CPU time allocated"),
	C("CPUFreq", NULL, DECIMAL, 7, FREQUENCY_GHZ,
	  "mean frequency of its CPUs while they ran it, in GHz"),
	C("CPUHours", NULL, HOURS, 9, CPU_ALLOC_S,
	  "allocated CPUs times elapsed time, in hours"),
	C("CPUMigrations", NULL, COUNT, 13, MIGRATIONS,
	  "times its threads were moved to another CPU"),
	C("CPUs", NULL, PARTS, 6, CPUS, "CPUs of a VM, a pod or a job"),
	C("CPUTime", NULL, SPAN, 10, CPU_ALLOC_S, "allocated CPUs times elapsed time"),
	C("CPUTimeRAW", NULL, COUNT, 10, CPU_ALLOC_S, "the same in seconds"),
	C("Created", NULL, TIME, 19, SUBMITTED, "when a VM, a pod or a job was made"),
	C("CtxSwitches", NULL, COUNT, 11, SWITCHES,
	  "times its threads gave up or lost their CPU"),
	C("DerivedExitCode", NULL, TEXT, 15, DERIVED_EXIT,
	  "highest exit code of the steps"),
	C("DRAMRead", NULL, BYTES, 10, DRAM_READ_BYTES,
	  "bytes that its CPUs read from memory"),
	C("Elapsed", NULL, SPAN, 10, ELAPSED_S, "time since the start, until the end"),
	C("ElapsedRaw", NULL, COUNT, 10, ELAPSED_S, "the same in seconds"),
	C("Eligible", NULL, TIME, 19, ELIGIBLE, "when it might have started"),
	C("End", "endedAt", TIME, 19, ENDED, "when it ended"),
	C("EnergyDram", NULL, WH, 10, DRAM_J, "Wh of memory"),
	C("EnergyGPU", NULL, WH, 10, GPU_J, "Wh of GPUs"),
	C("EnergyHost", NULL, WH, 10, HOST_J,
	  "Wh of the whole node that was its share"),
	C("EnergyOther", NULL, WH, 11, OTHER_J, "Wh of the node beside the parts"),
	C("EnergyPackage", NULL, WH, 13, PACKAGE_J, "Wh of processors"),
	C("EnergyPsys", NULL, WH, 10, PSYS_J, "Wh of the platform as RAPL has it"),
	C("EnergyWh", NULL, WH, 9, ENERGY_J, "Wh of all of it"),
	C("EventsEff", NULL, RATIO, 9, EVENTS_RATIO,
	  "share of its CPU time in which CPU events were counted"),
	C("ExitCode", NULL, TEXT, 8, EXIT, "exit code and signal"),
	C("Extra", NULL, TEXT, 14, EXTRA, "what --extra said"),
	C("FailedNode", NULL, TEXT, 8, FAILED_NODE, "node whose failure ended it"),
	C("FileCreates", NULL, COUNT, 11, FILE_CREATES,
	  "files and folders that it made"),
	C("FileOpens", NULL, COUNT, 10, FILE_OPENS,
	  "files that it opened, or tried to"),
	C("FileRead", NULL, BYTES, 10, FILE_READ_BYTES,
	  "bytes that it read from files, also from caches"),
	C("FileReadErrors", NULL, COUNT, 14, FILE_READ_ERRORS,
	  "calls to read that failed"),
	C("FileReads", NULL, COUNT, 10, FILE_READS, "calls to read from files"),
	C("FileUnlinks", NULL, COUNT, 11, FILE_UNLINKS,
	  "files and folders that it removed, or tried to"),
	C("FileWrite", NULL, BYTES, 10, FILE_WRITE_BYTES,
	  "bytes that it wrote to files, also into caches"),
	C("FileWriteErrors", NULL, COUNT, 15, FILE_WRITE_ERRORS,
	  "calls to write that failed"),
	C("FileWrites", NULL, COUNT, 10, FILE_WRITES, "calls to write to files"),
	C("Flags", NULL, TEXT, 19, FLAGS, "which scheduler started it"),
	C("Flavour", NULL, TEXT, 14, FLAVOUR, "flavour of a VM"),
	C("FPOps", NULL, COUNT, 16, FP_OPERATIONS, "floating point operations"),
	C("GFlops", NULL, DECIMAL, 8, GFLOPS,
	  "thousand millions of these in a second of its elapsed time"),
	C("GID", NULL, COUNT, 6, GID, "group id"),
	C("GPUDRAM", NULL, RATIO, 7, GPU_DRAM_RATIO,
	  "bandwidth of its GPUs' memory that was in use"),
	C("GPUEnergy", "gpuEnergy", KWH, 10, GPU_SIDE_J,
	  "kWh of GPUs, as the peer has it"),
	C("GPUFP16", NULL, RATIO, 7, GPU_FP16_RATIO, "FP16 units of its GPUs in use"),
	C("GPUFP32", NULL, RATIO, 7, GPU_FP32_RATIO, "FP32 units of its GPUs in use"),
	C("GPUFP64", NULL, RATIO, 7, GPU_FP64_RATIO, "FP64 units of its GPUs in use"),
	C("GPUIdle", NULL, SPAN, 10, GPU_IDLE_S,
	  "time in which nothing ran on its GPUs, each counted"),
	C("GPUMem", "gpuMemoryUsage", RATIO, 6, GPU_MEMORY_RATIO, "GPU memory used"),
	C("GPUMemAvg", NULL, BYTES, 10, GPU_MEMORY_MEAN_BYTES,
	  "mean of the memory used of all its GPUs"),
	C("GPUMemPeak", NULL, BYTES, 10, GPU_MEMORY_PEAK_BYTES,
	  "highest memory of the GPUs of one node"),
	C("GPUs", NULL, COUNT, 5, GPUS, "GPUs of a VM, a pod or a job"),
	C("GPUSM", NULL, RATIO, 6, GPU_SM_RATIO,
	  "multiprocessors of its GPUs with a warp"),
	C("GPUSMOccupancy", NULL, RATIO, 14, GPU_OCCUPANCY_RATIO,
	  "warps on the multiprocessors of its GPUs, of those that fit"),
	C("GPUTensor", NULL, RATIO, 9, GPU_TENSOR_RATIO,
	  "tensor cores of its GPUs in use"),
	C("GPUUtil", "gpuUsage", RATIO, 7, GPU_RATIO,
	  "GPU time used of GPU time allocated"),
	C("Grams", "hostEmissions", GRAMS, 10, ID,
	  "grams of CO2e, one column per provider; Grams<provider>: of one"),
	C("Group", NULL, TEXT, 9, GROUP, "group"),
	C("HostEnergy", "hostEnergy", KWH, 10, CPU_SIDE_J,
	  "kWh beside GPUs, as the peer has it"),
	C("Instructions", NULL, COUNT, 16, INSTRUCTIONS,
	  "instructions that its CPUs executed"),
	C("IORead", NULL, BYTES, 10, IO_READ_BYTES, "bytes read"),
	C("IOWrite", NULL, BYTES, 10, IO_WRITE_BYTES, "bytes written"),
	C("IPC", NULL, DECIMAL, 6, IPC, "instructions per cycle"),
	C("JobID", NULL, JOB_ID, 12, UUID, "job, array task or step"),
	C("JobIDRaw", "uuid", TEXT, 12, UUID, "job id as a number"),
	C("JobName", "Name", TEXT, 10, NAME, "name"),
	C("Jobs", NULL, COUNT, 8, JOBS, "jobs of a row of cacct usage"),
	C("L1MissRate", NULL, RATIO, 10, L1_MISS_RATIO,
	  "reads from the first cache that found nothing there"),
	C("Licenses", NULL, TEXT, 10, LICENSES, "licences"),
	C("LLCMissRate", NULL, RATIO, 11, LLC_MISS_RATIO,
	  "reads from the last cache that found nothing there"),
	C("MajorFaults", NULL, COUNT, 11, MAJOR_FAULTS,
	  "page faults that read from a device"),
	C("Manager", NULL, TEXT, 9, MANAGER,
	  "resource manager: slurm, openstack, libvirt or k8s"),
	C("MaxRSS", NULL, BYTES, 10, MEMORY_PEAK_BYTES, "highest memory on one node"),
	C("MaxRSSNode", NULL, TEXT, 10, PEAK_NODE, "node of a step's highest memory"),
	C("MemAvg", NULL, BYTES, 10, MEMORY_MEAN_BYTES, "mean of the memory used"),
	C("MemAvgEff", "cpuMemoryUsage", RATIO, 9, MEMORY_RATIO,
	  "mean of the memory used, of memory allocated"),
	C("MemEff", NULL, RATIO, 6, MEMORY_PEAK_RATIO,
	  "highest memory on one node, of memory requested there"),
	C("Memory", NULL, BYTES, 10, MEMORY_BYTES, "memory of a VM, a pod or a job"),
	C("MemPeak", NULL, BYTES, 10, MEMORY_PEAK_BYTES, "highest memory on one node"),
	C("MinorFaults", NULL, COUNT, 11, MINOR_FAULTS, "page faults that did not"),
	C("Namespace", NULL, TEXT, 15, NAMESPACE, "namespace of a pod"),
	C("NCPUS", NULL, PARTS, 10, CPUS, "allocated CPUs"),
	C("NetIn", NULL, BYTES, 10, NET_RX_BYTES, "bytes received"),
	C("NetOut", NULL, BYTES, 10, NET_TX_BYTES, "bytes sent"),
	C("NetPacketsIn", NULL, COUNT, 12, NET_RX_PACKETS,
	  "TCP segments and UDP datagrams received"),
	C("NetPacketsOut", NULL, COUNT, 13, NET_TX_PACKETS,
	  "TCP segments and UDP datagrams sent"),
	C("NetResent", NULL, COUNT, 9, NET_RESENT_PACKETS,
	  "TCP segments that were sent again"),
	C("NNodes", NULL, COUNT, 8, NODES, "nodes"),
	C("NodeList", NULL, TEXT, 15, NODE_LIST, "nodes by name"),
	C("NTasks", NULL, COUNT, 8, TASKS, "tasks of a step"),
	C("Partition", NULL, TEXT, 10, PARTITION, "partition"),
	C("Period", NULL, TEXT, 10, PERIOD, "day, week or month of cacct usage"),
	C("Planned", NULL, SPAN, 10, PLANNED_S,
	  "time from when it might have started until it did"),
	C("PlannedCPU", NULL, SPAN, 10, PLANNED_CPU_S,
	  "that time, times the requested CPUs"),
	C("PlannedCPURAW", NULL, COUNT, 13, PLANNED_CPU_S, "the same in seconds"),
	C("PodName", NULL, TEXT, 24, NAME, "name of a pod"),
	C("Pods", NULL, COUNT, 8, JOBS, "pods of a row of cacct usage"),
	C("PodUID", NULL, TEXT, 36, UUID, "id of a pod, that of its control group"),
	C("Priority", NULL, COUNT, 10, PRIORITY, "the scheduler's priority"),
	C("Project", NULL, TEXT, 15, ACCOUNT,
	  "project of a VM, project or namespace of a pod, account of a job"),
	C("QOS", NULL, TEXT, 10, QOS, "quality of service"),
	C("QOSREQ", NULL, TEXT, 10, QOS_REQUESTED, "requested qualities of service"),
	C("Reason", NULL, TEXT, 22, REASON, "why it waited or ended"),
	C("ReqCPUS", NULL, COUNT, 8, REQ_CPUS, "requested CPUs"),
	C("ReqMem", NULL, BYTES, 10, REQ_MEMORY_BYTES, "requested memory"),
	C("ReqNodes", NULL, COUNT, 8, REQ_NODES, "requested nodes"),
	C("ReqTRES", NULL, TEXT, 10, REQ_TRES,
	  "all that was requested, in Slurm's words"),
	C("Reservation", NULL, TEXT, 20, RESERVATION, "reservation"),
	C("Restarts", NULL, COUNT, 8, RESTARTS, "how often it was requeued"),
	C("SLUID", NULL, TEXT, 18, SLUID, "Slurm's lasting id"),
	C("Source", NULL, TEXT, 28, SOURCES, "what measured the energy"),
	C("Start", "startedAt", TIME, 19, STARTED, "when it started"),
	C("State", NULL, TEXT, 10, STATE, "state"),
	C("Submit", "createdAt", TIME, 19, SUBMITTED, "when it was submitted"),
	C("SubmitLine", NULL, TEXT, 20, SUBMIT_LINE,
	  "command line, where the site keeps them; of one's own jobs"),
	C("Suspended", NULL, SPAN, 10, SUSPENDED_S,
	  "how long it was suspended, no part of Elapsed"),
	C("SystemComment", NULL, TEXT, 15, SYSTEM_COMMENT, "comment of slurmctld"),
	C("SystemCPU", NULL, CPU_SPAN, 10, CPU_SYSTEM_S,
	  "CPU time of the kernel for it"),
	C("TCPIn", NULL, BYTES, 10, TCP_RX_BYTES, "bytes received by TCP"),
	C("TCPOut", NULL, BYTES, 10, TCP_TX_BYTES, "bytes sent by TCP"),
	C("TimeEff", NULL, RATIO, 7, TIME_RATIO, "time used of the time limit"),
	C("Timelimit", NULL, SPAN, 10, LIMIT_S, "time limit"),
	C("TimelimitRaw", NULL, MINUTES, 10, LIMIT_S, "the same in minutes"),
	C("TotalCPU", NULL, CPU_SPAN, 10, CPU_S, "CPU time used"),
	C("UDPIn", NULL, BYTES, 10, UDP_RX_BYTES, "bytes received by UDP"),
	C("UDPOut", NULL, BYTES, 10, UDP_TX_BYTES, "bytes sent by UDP"),
	C("UID", NULL, COUNT, 6, UID, "user id"),
	C("UnitID", NULL, TEXT, 36, UUID, "id of a VM, a pod or a job"),
	C("UnitName", NULL, TEXT, 20, NAME, "name of a VM, a pod or a job"),
	C("Units", NULL, COUNT, 8, JOBS, "VMs, pods and jobs of a row of cacct usage"),
	C("User", "username", TEXT, 9, USER, "user"),
	C("UserCPU", NULL, CPU_SPAN, 10, CPU_USER_S, "CPU time of its programs"),
	C("VMID", NULL, TEXT, 36, UUID, "id of a VM, libvirt's and Nova's"),
	C("VMName", NULL, TEXT, 20, NAME, "name of a VM"),
	C("VMs", NULL, COUNT, 8, JOBS, "VMs of a row of cacct usage"),
	C("WastedCPUHours", NULL, HOURS, 14, WASTED_CPU_S,
	  "hours of allocated CPUs that were not used"),
	C("WastedEnergy", NULL, JOULES, 12, WASTED_J,
	  "joules while CPUs and GPUs were idle, by their unused share"),
	C("WastedGPUEnergy", NULL, JOULES, 15, WASTED_GPU_J,
	  "joules of GPUs by their unused share, part of WastedEnergy"),
	C("WastedGPUHours", NULL, HOURS, 14, WASTED_GPU_S,
	  "hours of allocated GPUs in which they were not used"),
	C("WCKey", NULL, TEXT, 10, WCKEY, "workload characterisation key"),
	C("WorkDir", NULL, TEXT, 20, WORK_DIR, "working folder"),
};
#define TABLE (sizeof(table) / sizeof(table[0]))

/* aliases that are not columns of their own */
static const struct {
	const char *name, *means;
} aliases[] = {
	{"gpuEmissions", "Grams"},  {"endedAt", "End"},
	{"Nodes", "NodeList"},      {"EnergyJ", "ConsumedEnergyRaw"},
	{"RestartCnt", "Restarts"}, {"Reserved", "Planned"}, /* Slurm before 23.02 */
	{"ResvCPU", "PlannedCPU"},  {"ResvCPURAW", "PlannedCPURAW"}};

static bool is_name(const char *text, size_t len, const char *name)
{
	return name && strlen(name) == len && strncasecmp(text, name, len) == 0;
}

static const struct column *find_column(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (is_name(text, len, aliases[i].name)) {
			text = aliases[i].means;
			len = strlen(text);
			break;
		}
	}
	for (size_t i = 0; i < TABLE; i++)
		if (is_name(text, len, table[i].name))
			return &table[i];
	for (size_t i = 0; i < TABLE; i++)
		if (is_name(text, len, table[i].peer))
			return &table[i];
	return NULL;
}

static void use_of(const struct column *c, struct column_use *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->c = c;
	ret->width = (size_t)c->width;
	ret->left = c->kind == COLUMN_JOB_ID || /* as sacct */
		    (c->kind == COLUMN_TEXT && c->from == UNIT_UUID);
	(void)snprintf(ret->title, sizeof(ret->title), "%s", c->name);
}

/* "GramsOWID": for one provider */
static int find_grams(const char *text, size_t len, struct column_use *ret)
{
	const size_t n = strlen("grams");

	if (len <= n || strncasecmp(text, "grams", n) != 0 ||
	    len - n >= sizeof(ret->provider) ||
	    strspn(text + n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "0123456789_-") < len - n)
		return -EINVAL;
	use_of(find_column("Grams", n), ret);
	(void)snprintf(ret->title, sizeof(ret->title), "Grams%.*s", (int)(len - n),
		       text + n);
	(void)snprintf(ret->provider, sizeof(ret->provider), "%.*s", (int)(len - n),
		       text + n);
	return 0;
}

/* Up to four names that begin with the text, of which somebody knows the beginning
 * only. */
static void suggest_longer_names(const char *text, size_t len, char *ret, size_t size)
{
	const size_t room = size - strlen("? ") - 1;
	size_t found = 0, at = 0;

	for (size_t i = 0; len > 2 && i < TABLE && found < 4; i++) {
		if (strncasecmp(table[i].name, text, len) != 0)
			continue;
		int n = snprintf(ret + at, size - at, "%s\"%s\"",
				 found ? ", " : "did you mean ", table[i].name);
		if (n < 0 || at + (size_t)n > room)
			break;
		at += (size_t)n;
		found++;
	}
	(void)snprintf(ret + at, size - at, "%s", found ? "? " : "");
}

/* "" or the most likely names as a question */
static void suggest_name(const char *text, size_t len, char *ret, size_t size)
{
	size_t best = spelling_most(len) + 1;

	*ret = '\0';
	suggest_longer_names(text, len, ret, size);
	if (*ret)
		return;
	for (size_t i = 0; i < TABLE; i++) {
		size_t d = spelling_distance(text, len, table[i].name,
					     strlen(table[i].name));
		if (d >= best)
			continue;
		best = d;
		(void)snprintf(ret, size, "did you mean \"%s\"? ", table[i].name);
	}
}

static int parse_one_column(const char *text, size_t len, struct columns *ret,
			    struct err *err)
{
	size_t name_len = 0;

	while (name_len < len && text[name_len] != '%')
		name_len++;
	if (is_name(text, name_len, "all")) {
		for (size_t i = 0; i < TABLE && ret->count < COLUMNS_MAX; i++)
			use_of(&table[i], &ret->use[ret->count++]);
		return 0;
	}
	if (ret->count == COLUMNS_MAX)
		return err_set(err, -EINVAL, "more than %d fields", COLUMNS_MAX);
	struct column_use *use = &ret->use[ret->count];
	const struct column *c = find_column(text, name_len);
	if (c)
		use_of(c, use);
	else if (find_grams(text, name_len, use) < 0) {
		char near[128];
		suggest_name(text, name_len, near, sizeof(near));
		return err_set(
			err, -EINVAL,
			"Invalid field requested: \"%.*s\" (%s--helpformat lists "
			"all fields)",
			(int)(name_len < 40 ? name_len : 40), text, near);
	}
	if (name_len < len) {
		const char *p = text + name_len + 1, *end = text + len;
		uint64_t width;
		use->left = p < end && *p == '-';
		p += use->left;
		if (parse_u64_len(p, (size_t)(end - p), &width) < 0 || !width ||
		    width > 1000)
			return err_set(err, -EINVAL,
				       "not a width (1 to 1000; %%-N aligns left): "
				       "\"%.*s\"",
				       (int)(len < 40 ? len : 40), text);
		use->width = (size_t)width;
	}
	ret->count++;
	return 0;
}

int columns_parse(const char *text, struct columns *ret, struct err *err)
{
	struct columns all = *ret;

	while (*text) {
		size_t len = strcspn(text, ",");
		int rc = len ? parse_one_column(text, len, &all, err) : 0;
		if (rc < 0)
			return rc;
		text += len + (text[len] == ',');
	}
	*ret = all;
	return 0;
}

int columns_parse_order(const char *text, struct columns_order *ret, struct err *err)
{
	static struct columns all;

	ret->count = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		bool down = *text == '-';
		size_t sign = down || *text == '+';
		all.count = 0;
		int rc = len > sign
				 ? parse_one_column(text + sign, len - sign, &all, err)
				 : 0;
		if (rc < 0)
			return rc;
		if (ret->count + all.count > COLUMNS_ORDER_MAX)
			return err_set(err, -EINVAL, "--sort takes %d fields at most",
				       COLUMNS_ORDER_MAX);
		if (all.count) {
			ret->by[ret->count] = all.use[0];
			ret->down[ret->count++] = down;
		}
		text += len + (text[len] == ',');
	}
	return ret->count ? 0 : err_set(err, -EINVAL, "--sort: the list is empty");
}

void columns_of_provider(const struct column_use *all, const char *provider,
			 struct column_use *ret)
{
	*ret = *all;
	(void)snprintf(ret->provider, sizeof(ret->provider), "%s", provider);
	(void)snprintf(ret->title, sizeof(ret->title), "Grams%s", provider);
	if (ret->width < strlen(ret->title))
		ret->width = strlen(ret->title);
}

bool column_is_number(const struct column *c)
{
	return c->kind > COLUMN_TIME;
}

/* 1536 -> "1.50K" as in Slurm's convert_num_unit(): integers without decimals */
static void put_unit(struct buf *out, double v, double base,
		     const struct column_style *style)
{
	static const char units[] = " KMGTP";
	size_t u = 0;

	if (style->exact) {
		buf_printf(out, "%.0f", v);
		return;
	}
	const char *fixed = style->unit ? strchr(units, style->unit) : NULL;
	while (fixed ? units[u] != style->unit : (v >= base && u + 2 < sizeof(units))) {
		v /= base;
		u++;
	}
	if (v == floor(v) || u == 0)
		buf_printf(out, "%.0f", v);
	else
		buf_printf(out, "%.2f", v);
	if (u)
		buf_putc(out, units[u]);
}

static void put_column_cpu_span(struct buf *out, double s)
{
	char text[WHEN_SIZE];

	if (s >= 3600) {
		when_print_span(when_seconds(s), text);
		buf_puts(out, text);
		return;
	}
	uint64_t ms = (uint64_t)llround(s * 1e3);
	buf_printf(out, "%02u:%02u.%03u", (unsigned)(ms / 60000),
		   (unsigned)(ms / 1000 % 60), (unsigned)(ms % 1000));
}

static void put_column_number(struct buf *out, const struct column *c, double v,
			      const struct column_style *style)
{
	char text[WHEN_SIZE];

	switch (c->kind) {
	case COLUMN_TIME:
		when_print((time_t)when_seconds(v), text);
		buf_puts(out, text);
		break;
	case COLUMN_SPAN:
		when_print_span(when_seconds(v), text);
		buf_puts(out, text);
		break;
	case COLUMN_CPU_SPAN:
		put_column_cpu_span(out, v);
		break;
	case COLUMN_MINUTES:
		buf_printf(out, "%.0f", v / 60);
		break;
	case COLUMN_BYTES:
		put_unit(out, v, 1024, style);
		break;
	case COLUMN_RATIO:
		buf_printf(out, "%.1f%%", v * 100);
		break;
	case COLUMN_PARTS:
		buf_printf(out, "%.12g", v);
		break;
	case COLUMN_DECIMAL:
		buf_printf(out, "%.2f", v);
		break;
	case COLUMN_JOULES:
		if (strcmp(c->name, "ConsumedEnergyRaw") == 0)
			buf_printf(out, "%.0f", v);
		else
			put_unit(out, v, 1000, style);
		break;
	case COLUMN_WH:
	case COLUMN_HOURS:
		text_put_short(out, v / 3600);
		break;
	case COLUMN_KWH:
		buf_printf(out, "%.6f", v / 3.6e6);
		break;
	default:
		buf_printf(out, "%.0f", v);
	}
}

static void put_column_grams(struct buf *out, const struct column_use *use,
			     const struct unit *u)
{
	for (size_t i = 0; i < u->grams_count; i++) {
		if (strcasecmp(u->grams[i].provider, use->provider) == 0) {
			text_put_short(out, u->grams[i].grams);
			return;
		}
	}
}

double column_value(const struct column_use *use, const struct unit *u)
{
	if (use->c->kind != COLUMN_GRAMS)
		return column_is_number(use->c) || use->c->kind == COLUMN_TIME
			       ? u->number[use->c->from]
			       : NAN;
	for (size_t i = 0; i < u->grams_count; i++)
		if (!use->provider[0] ||
		    strcasecmp(u->grams[i].provider, use->provider) == 0)
			return u->grams[i].grams;
	return NAN;
}

void column_put(struct buf *out, const struct column_use *use, const struct unit *u,
		const struct column_style *style)
{
	const struct column *c = use->c;

	if (c->kind == COLUMN_JOB_ID) {
		buf_puts(out, u->id);
	} else if (c->kind == COLUMN_TEXT) {
		if (u->text[c->from])
			buf_puts(out, u->text[c->from]);
		if (u->line_cut && c->from == UNIT_SUBMIT_LINE)
			buf_puts(out, "...");
	} else if (c->kind == COLUMN_GRAMS) {
		put_column_grams(out, use, u);
	} else if (!isnan(u->number[c->from]) && u->number[c->from] >= 0) {
		put_column_number(out, c, u->number[c->from], style);
	} else if (c->kind == COLUMN_TIME) {
		buf_puts(out, "Unknown");
	}
}

void columns_help(struct buf *out)
{
	for (size_t i = 0; i < TABLE; i++) {
		bool last = i % 4 == 3 || i + 1 == TABLE;
		buf_printf(out, last ? "%s\n" : "%-19s", table[i].name);
	}
}

void columns_markdown(struct buf *out)
{
	buf_puts(out,
		 "| column | the peer's name | width | what |\n|---|---|---|---|\n");
	for (size_t i = 0; i < TABLE; i++)
		buf_printf(out, "| `%s` | %s%s%s | %d | %s |\n", table[i].name,
			   table[i].peer ? "`" : "", table[i].peer ? table[i].peer : "",
			   table[i].peer ? "`" : "", table[i].width, table[i].help);
}
