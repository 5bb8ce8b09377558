/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CEEMS_JOBCOMP_TRES_H
#define CEEMS_JOBCOMP_TRES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/buf.h"

/* The name of a TRES whose number is the site's own (GRES, licenses): into buf, or
 * NULL. */
typedef const char *(*tres_name_f)(void *arg, uint32_t id, char buf[64]);

/* Slurm's plain TRES ("1=4,2=400,4=1,5=4,1002=2") as sacct prints it
 * ("cpu=4,mem=400M,node=1,billing=4,gres/gpu=2"), appended to out. Unknown (NO_VAL64)
 * and infinite (INFINITE64) amounts are left out, as are non-numbers, and energy, which
 * is not settled yet. simple may be NULL. */
void tres_text(const char *simple, tres_name_f name, void *arg, struct buf *out);

/* Joins the GRES of each node: equal neighbours once with "*COUNT", nodes separated by
 * ";". Entries may be NULL. At most max bytes plus one entry. */
void tres_join_gres(char *const *per_node, uint32_t count, size_t max, struct buf *out);

#endif
