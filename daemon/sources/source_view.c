/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the collectors of energy sources. */
#include "daemon/sources/source_view.h"

#include <errno.h>
#include <stdlib.h>

int source_view_open(const struct env *env, const struct source *source,
		     void **ret_state, struct err *err)
{
	int rc = sampler_is_open(env->sampler, source, err);

	if (rc < 0)
		return rc;
	struct source_view *v = calloc(1, sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	v->env = env;
	v->source = source;
	*ret_state = v;
	return 0;
}

int source_view_read(struct source_view *v, struct err *err)
{
	return sampler_get(v->env->sampler, v->source, &v->last, err);
}

void source_view_close(void *state)
{
	struct source_view *v = state;

	if (!v)
		return;
	source_snapshot_done(&v->last);
	free(v);
}
