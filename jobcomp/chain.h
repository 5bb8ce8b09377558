/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_JOBCOMP_CHAIN_H
#define CEEMS_JOBCOMP_CHAIN_H

#include "jobcomp/slurm_headers.h"

#ifdef LOCATION_ARGUMENT
/* Another jobcomp plugin behind ours. It is called as Slurm would call it, under the
 * same locks, with JobCompLoc, JobCompParams, JobCompHost and so on of slurm.conf; its
 * result is ignored, and its messages go to Slurm's log. Calls are serialised by
 * Slurm. */
struct chain {
	plugin_context_t *context; /* NULL: none */
	struct chain_calls {
		set_location_f *set_location; /* in the order of the symbols */
		record_f *record_end;
		get_jobs_f *get_jobs;
#if HAVE_RECORD_START
		record_f *record_start;
#endif
	} calls;
};

void chain_load(struct chain *c, const char *type); /* "": none */
void chain_unload(struct chain *c);                 /* its fini() */
#endif

#endif
