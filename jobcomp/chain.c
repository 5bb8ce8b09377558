/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads another jobcomp plugin through Slurm's own loader, so that a site need not
 * choose between ours and its own. */
#include "jobcomp/slurm_headers.h"

#include "jobcomp/chain.h"

static const char *symbols[] = {
	"jobcomp_p_set_location",
#if HAVE_RECORD_START
	"jobcomp_p_record_job_end",
	"jobcomp_p_get_jobs",
	"jobcomp_p_record_job_start",
#else
	"jobcomp_p_log_record",
	"jobcomp_p_get_jobs",
#endif
};
_Static_assert(sizeof(symbols) / sizeof(symbols[0]) * sizeof(void (*)(void)) ==
		       sizeof(struct chain_calls),
	       "the loader fills the calls in the order of the symbols");

void chain_load(struct chain *c, const char *type)
{
	if (!*type || c->context)
		return;
	c->context = plugin_context_create("jobcomp", type, (void **)&c->calls, symbols,
					   sizeof(symbols));
	if (!c->context)
		error("ceems: %s cannot be loaded: it gets no records, ours are still "
		      "written",
		      type);
	else if (running_in_slurmctld())
		info("ceems: completion records go to %s, too", type);
}

void chain_unload(struct chain *c)
{
	if (c->context)
		plugin_context_destroy(c->context);
	c->context = NULL;
}
