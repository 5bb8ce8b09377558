/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual machines. ceems-libvirt (contrib/libvirt) tells of them by the ring; a domain
 * is one control group from its start to its end, and the unit goes on with the next
 * one when it is started again. */
#include "daemon/collector_slurm.h"
#include "daemon/env.h"
#include "daemon/options.h"

static int libvirt_open(const struct env *env, void **ret_state, struct err *err)
{
	const struct options *o = env->options;

	return unit_collector_open(env,
				   &(struct unit_collector){.manager = MANAGER_LIBVIRT,
							    .swap = o->libvirt_swap,
							    .psi = o->libvirt_psi,
							    .blkio = o->libvirt_blkio},
				   ret_state, err);
}

const struct collector collector_libvirt = {
	.name = "libvirt",
	.open = libvirt_open,
	.collect = unit_collector_collect,
	.close = unit_collector_close,
};
