/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual machines. ceems-libvirt (contrib/libvirt) tells of them by the ring; a domain
 * is one control group from its start to its end, and the unit goes on with the next
 * one when it is started again. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/collector_slurm.h"
#include "daemon/env.h"
#include "daemon/guests/guest_figures.h"
#include "daemon/options.h"

struct libvirt_collector {
	const struct env *env;
	void *units; /* of unit_collector_open() */
};

static void close_libvirt(void *state)
{
	struct libvirt_collector *l = state;

	if (l)
		unit_collector_close(l->units);
	free(l);
}

static int open_libvirt(const struct env *env, void **ret_state, struct err *err)
{
	const struct options *o = env->options;
	const struct unit_collector which = {.manager = MANAGER_LIBVIRT,
					     .swap = o->libvirt_swap,
					     .psi = o->libvirt_psi,
					     .blkio = o->libvirt_blkio};
	struct libvirt_collector *l = calloc(1, sizeof(*l));

	if (!l)
		return err_set(err, -ENOMEM, "no memory");
	l->env = env;
	int rc = unit_collector_open(env, &which, &l->units, err);
	if (rc < 0) {
		free(l);
		return rc;
	}
	*ret_state = l;
	return 0;
}

static int collect_libvirt(void *state, struct prom *out, struct err *err)
{
	struct libvirt_collector *l = state;
	const struct env *env = l->env;
	int rc = unit_collector_collect(l->units, out, err);

	if (rc == 0 && env->guests && env->options->libvirt_guest)
		guest_figures_export(env->guests, env, MANAGER_LIBVIRT, out);
	return rc;
}

const struct collector collector_libvirt = {
	.name = "libvirt",
	.open = open_libvirt,
	.collect = collect_libvirt,
	.close = close_libvirt,
};
