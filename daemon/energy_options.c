/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the --energy options for the attribution. */
#include "daemon/energy_options.h"

#include <errno.h>
#include <string.h>

#include "daemon/power_curve.h"

static int domain_by_name(const char *name, size_t len)
{
	for (int d = 0; d < ENERGY_DOMAINS; d++) {
		const char *is = energy_domain_name((enum energy_domain)d);
		if (d != ENERGY_HOST && strlen(is) == len && !memcmp(is, name, len))
			return d;
	}
	return -EINVAL;
}

/* "domain:watts,..." */
static int idle_watts(const char *text, struct energy_config *c, struct err *err)
{
	const char *p = text;

	while (*p) {
		const char *end = p + strcspn(p, ","),
			   *colon = memchr(p, ':', (size_t)(end - p));
		int d = colon ? domain_by_name(p, (size_t)(colon - p)) : -EINVAL;
		uint64_t uw = 0;
		if (d < 0 ||
		    power_parse_watts(colon + 1, (size_t)(end - colon - 1), &uw) < 0)
			return err_set(err, -EINVAL,
				       "--energy.idle-watts: \"%.*s\" is not "
				       "DOMAIN:WATTS (package, dram, psys, gpu, other)",
				       (int)(end - p), p);
		c->idle_uw[d] = uw;
		p = *end ? end + 1 : end;
	}
	return 0;
}

const char *energy_host_source(const struct options *o)
{
	for (size_t i = 0; i < options_count; i++) {
		if (strcmp(options_table[i].name, "energy.host-source") == 0)
			return options_table[i].choices[o->energy_host_source];
	}
	return "auto";
}

int energy_options(const struct options *o, struct energy_config *ret, struct err *err)
{
	struct energy_config c;

	energy_config_defaults(&c);
	c.idle = (enum energy_idle)o->energy_idle;
	c.host_includes_gpu = o->energy_host_includes_gpu;
	int rc = idle_watts(o->energy_idle_watts, &c, err);
	if (rc < 0)
		return rc;
	*ret = c;
	return 0;
}
