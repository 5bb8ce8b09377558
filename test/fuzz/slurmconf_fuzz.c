/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as slurm.conf and its like. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/slurmconf.h"

static int note(void *data, const char *name, unsigned line)
{
	if (!*name || !line)
		abort();
	return ++*(unsigned *)data > 1000 ? -E2BIG : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slurmconf c = {0};
	struct err err = {""};
	unsigned includes = 0, last = 0;

	slurmconf_parse(&c, (const char *)data, size, "f", note, &includes, &err);
	for (size_t i = 0; i < c.count; i++) {
		const struct slurmconf_pair *p = &c.pairs[i];
		if (!*p->key || p->line < last || strchr(p->value, '\n'))
			abort();
		last = p->line;
		slurmconf_names(p->value, "task/", "cgroup");
	}
	slurmconf_get(&c, "ProctrackType");
	slurmconf_done(&c);
	return 0;
}
