/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cluster's name, found automatically so that one configuration serves several. */
#include "daemon/reports/cluster_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/slurmconf.h"

static const char *const usual[] = {"/etc/slurm/slurm.conf",
				    "/etc/slurm-llnl/slurm.conf",
				    "/run/slurm/conf/slurm.conf"};

int cluster_name_of(const char *path, char *ret, size_t size)
{
	auto_slurmconf struct slurmconf c = {0};
	int rc = slurmconf_read(&c, path, NULL);
	const struct slurmconf_pair *pair = slurmconf_get(&c, "ClusterName");
	size_t len = pair ? strlen(pair->value) : 0;

	if (!len || len >= size) /* even if an include is missing */
		return rc < 0 ? rc : -ENOENT;
	for (size_t i = 0; i <= len; i++)
		ret[i] = (char)tolower((unsigned char)pair->value[i]);
	return 0;
}

void cluster_name(const char *configured, char *ret, size_t size)
{
	const char *named = getenv("SLURM_CONF");

	if (*configured) {
		(void)snprintf(ret, size, "%s", configured);
		return;
	}
	if (named && *named && cluster_name_of(named, ret, size) == 0)
		return;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (cluster_name_of(usual[i], ret, size) == 0)
			return;
	}
	(void)snprintf(ret, size, "default");
}
