/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and columns of each kind of unit, so that nobody reads of partitions where
 * there are none. */
#include "cli/cacct/kind.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "cli/cacct/api.h"

static const struct {
	const char *name; /* of the API */
	enum kind kind;
} managers[] = {
	{"slurm", KIND_JOB},
	{"libvirt", KIND_VM},
	{"openstack", KIND_VM},
	{"k8s", KIND_POD},
};
#define MANAGERS (sizeof(managers) / sizeof(managers[0]))

static const char *const words[KINDS][2] = {
	[KIND_JOB] = {"job", "jobs"},
	[KIND_VM] = {"VM", "VMs"},
	[KIND_POD] = {"pod", "pods"},
	[KIND_UNIT] = {"unit", "units"},
};

#define USE "State,Elapsed,CPUs,CPUEff,MemAvgEff,GPUUtil,EnergyWh,Grams,Coverage"
#define MORE                                                                           \
	"Cluster,User,State,Created,Start,End,Elapsed,CPUs,Memory,GPUs,TotalCPU,"      \
	"CPUEff,MemAvgEff,MemPeak,GPUUtil,GPUMem,IORead,IOWrite,NetIn,NetOut,"         \
	"EnergyWh,EnergyPackage,EnergyDram,EnergyGPU,EnergyHost,EnergyOther,Source,"   \
	"Grams,Coverage"
#define SUMS                                                                           \
	"CPUHours,CPUEff,MemAvgEff,GPUUtil,WastedCPUHours,EnergyWh,WastedEnergy,"      \
	"Grams,Coverage"
#define SUMS_MORE                                                                      \
	",TotalCPU,EnergyPackage,EnergyDram,EnergyGPU,EnergyHost,EnergyOther,IORead,"  \
	"IOWrite,NetIn,NetOut"

/* default, long, usage, long usage */
static const char *const columns_of[KINDS][4] = {
	[KIND_JOB] = {"JobID,JobName,Account,State,Elapsed,AllocCPUS,CPUEff,MemEff,"
		      "GPUUtil,EnergyWh,Grams,Coverage",
		      "JobID,JobIDRaw,JobName,User,Account,Partition,QOS,State,"
		      "ExitCode,Submit,Start,End,Elapsed,NNodes,AllocCPUS,AllocMem,"
		      "AllocGPUS,CPUTime,TotalCPU,CPUEff,MemEff,MemPeak,GPUUtil,"
		      "GPUMem,IORead,IOWrite,NetIn,NetOut,EnergyWh,EnergyPackage,"
		      "EnergyDram,EnergyGPU,EnergyHost,EnergyOther,Source,Grams,"
		      "Coverage,NodeList",
		      "Period,Cluster,Account,User,Jobs," SUMS,
		      "Period,Cluster,Account,User,Jobs," SUMS SUMS_MORE},
	[KIND_VM] = {"VMName,VMID,Flavour,Project,User," USE,
		     "VMName,VMID,Flavour,Project," MORE,
		     "Period,Cluster,Project,User,VMs," SUMS,
		     "Period,Cluster,Project,User,VMs," SUMS SUMS_MORE},
	[KIND_POD] = {"Namespace,PodName,PodUID,User," USE,
		      "Namespace,PodName,PodUID,Project," MORE,
		      "Period,Cluster,Project,User,Pods," SUMS,
		      "Period,Cluster,Project,User,Pods," SUMS SUMS_MORE},
	[KIND_UNIT] = {"Manager,Cluster,UnitName,UnitID,Project,User," USE,
		       "Manager,UnitName,UnitID,Flavour,Namespace,Project," MORE,
		       "Period,Cluster,Manager,Project,User,Units," SUMS,
		       "Period,Cluster,Manager,Project,User,Units," SUMS SUMS_MORE},
};

/* The kind of all managers of a set. */
static enum kind find_kind(unsigned set)
{
	enum kind k = KINDS;

	for (size_t i = 0; i < MANAGERS; i++) {
		if (!(set & 1u << i))
			continue;
		if (k != KINDS && k != managers[i].kind)
			return KIND_UNIT;
		k = managers[i].kind;
	}
	return k == KINDS ? KIND_JOB : k;
}

static unsigned find_manager(const char *text, size_t len)
{
	unsigned set = 0;

	for (size_t i = 0; i < MANAGERS; i++)
		if (strlen(managers[i].name) == len &&
		    strncasecmp(text, managers[i].name, len) == 0)
			set = 1u << i;
	/* OpenStack's VMs are libvirt's as well */
	return set == 2 ? 2 | 4 : set;
}

int kind_parse(const char *text, struct kind_set *ret, struct err *err)
{
	unsigned set = ret->managers;

	for (size_t len; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		unsigned one = find_manager(text, len);
		if (len && !one)
			return err_set(err, -EINVAL,
				       "--manager: \"%.*s\" is not slurm, libvirt, "
				       "openstack or k8s",
				       (int)(len < 40 ? len : 40), text);
		set |= one;
	}
	if (!set)
		return err_set(err, -EINVAL, "--manager: the list is empty");
	ret->managers = set;
	ret->kind = find_kind(set);
	return 0;
}

void kind_put_params(const struct kind_set *s, struct buf *target)
{
	for (size_t i = 0; i < MANAGERS; i++)
		if (s->managers & 1u << i)
			api_put_param(target, "resource_manager", managers[i].name);
}

bool kind_has(const struct kind_set *s, const char *resource_manager)
{
	if (!s->managers || !resource_manager)
		return true;
	for (size_t i = 0; i < MANAGERS; i++)
		if (s->managers & 1u << i &&
		    strcmp(resource_manager, managers[i].name) == 0)
			return true;
	return false;
}

enum kind kind_of_manager(const char *resource_manager)
{
	for (size_t i = 0; resource_manager && i < MANAGERS; i++)
		if (strcmp(resource_manager, managers[i].name) == 0)
			return managers[i].kind;
	return KIND_JOB;
}

const char *kind_word(enum kind k, uint64_t count)
{
	return words[k][count != 1];
}

const char *kind_title(enum kind k)
{
	static const char *const titles[KINDS] = {"Job", "VM", "Pod", "Unit"};

	return titles[k];
}

const char *kind_member(enum kind k)
{
	return k == KIND_JOB ? "\"jobs\":" : "\"units\":";
}

const char *kind_columns(enum kind k, bool long_form)
{
	return columns_of[k][long_form];
}

const char *kind_usage_columns(enum kind k, bool long_form)
{
	return columns_of[k][2 + long_form];
}
