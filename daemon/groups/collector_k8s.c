/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pods. ceems-k8s (contrib/k8s) tells of them by the ring. A pod is one control group,
 * with those of its containers inside, from its start to its end. */
#include "daemon/collector_slurm.h"
#include "daemon/env.h"
#include "daemon/options.h"

static int k8s_open(const struct env *env, void **ret_state, struct err *err)
{
	const struct options *o = env->options;

	return unit_collector_open(env,
				   &(struct unit_collector){.manager = MANAGER_K8S,
							    .steps = o->k8s_steps,
							    .swap = true,
							    .psi = o->k8s_psi},
				   ret_state, err);
}

const struct collector collector_k8s = {
	.name = "k8s",
	.open = k8s_open,
	.collect = unit_collector_collect,
	.close = unit_collector_close,
};
