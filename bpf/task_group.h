/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_BPF_TASK_GROUP_H
#define CEEMS_BPF_TASK_GROUP_H

/* The control group that a task is counted for. */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Set by who loads it: on cgroup v1 it is the task's cpuacct group. */
const volatile bool by_cpuacct = false;

/* Plain loads, not bpf_probe_read_kernel(): this runs at each call that is counted. */
static __always_inline struct cgroup *counted_cgroup(struct task_struct *task)
{
	struct css_set *set = task->cgroups;

	if (!by_cpuacct)
		return set->dfl_cgrp;
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpuacct_cgrp_id))
		return NULL;
	struct cgroup_subsys_state **all = set->subsys;
	return all[bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id)]->cgroup;
}

/* The same of a task that the verifier knows nothing of */
static __always_inline struct cgroup *counted_cgroup_of_any(struct task_struct *task)
{
	if (!by_cpuacct)
		return BPF_CORE_READ(task, cgroups, dfl_cgrp);
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpuacct_cgrp_id))
		return NULL;
	return BPF_CORE_READ(
		task, cgroups,
		subsys[bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id)],
		cgroup);
}

/* On v1 libvirt makes no cpuacct group where that is mounted apart from cpu: its
 * machines are in the root there, and told apart by their unified groups. */
static __always_inline struct cgroup *unit_cgroup(struct task_struct *task,
						  bool *ret_unified)
{
	struct cgroup *cgrp = counted_cgroup(task);

	*ret_unified = !by_cpuacct || (cgrp && !cgrp->self.parent);
	return *ret_unified ? task->cgroups->dfl_cgrp : cgrp;
}

/* The same of a task that the verifier knows nothing of */
static __always_inline struct cgroup *unit_cgroup_of_any(struct task_struct *task,
							 bool *ret_unified)
{
	struct cgroup *cgrp = counted_cgroup_of_any(task);

	*ret_unified = !by_cpuacct || (cgrp && !BPF_CORE_READ(cgrp, self.parent));
	return *ret_unified ? BPF_CORE_READ(task, cgroups, dfl_cgrp) : cgrp;
}

#endif
