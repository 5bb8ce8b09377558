/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks across options: collectors by name, options that need or exclude each other,
 * and which may change at run time. */
#include <ctype.h>
#include <errno.h>
#include <regex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/energy_options.h"
#include "daemon/options.h"
#include "daemon/perf_kinds.h"
#include "daemon/power_curve.h"
#include "daemon/profiling_file.h"
#include "lib/cleanup.h"
#include "lib/emission_options.h"
#include "lib/emissions/emission.h"

static const struct conf_opt *find_option_with_prefix(const char *prefix,
						      const char *name)
{
	size_t n = strlen(prefix);
	for (size_t i = 0; i < options_count; i++) {
		if (strncmp(options_table[i].name, prefix, n) == 0 &&
		    strcmp(options_table[i].name + n, name) == 0)
			return &options_table[i];
	}
	return NULL;
}

bool options_collector(const struct options *o, const char *name)
{
	const struct conf_opt *opt = find_option_with_prefix("collector.", name);
	if (!opt || opt->kind != CONF_BOOL)
		return false;
	return *(const bool *)((const char *)o + opt->off);
}

/* "collector.<name>" without a further dot: the switch of a whole collector */
static bool is_collector(const struct conf_opt *opt)
{
	const char *prefix = "collector.";
	return opt->kind == CONF_BOOL &&
	       strncmp(opt->name, prefix, strlen(prefix)) == 0 &&
	       !strchr(opt->name + strlen(prefix), '.') && opt->def &&
	       strcmp(opt->def, "true") == 0;
}

/* In POSIX \d is the letter d, so a pattern for another engine matches nothing. Returns
 * the first such letter; NULL: none. */
static const char *find_foreign(const char *pattern)
{
	for (const char *p = pattern; (p = strchr(p, '\\')) && p[1]; p += 2)
		if (isalpha((unsigned char)p[1]) && !strchr("wWsSbB", p[1]))
			return p + 1;
	return NULL;
}

static int check_option_pattern(const char *name, const char *pattern, struct err *err)
{
	const char *foreign = find_foreign(pattern);
	regex_t re;

	if (foreign)
		return err_set(err, -EINVAL,
			       "--%s=%s: \\%c is not known to POSIX extended regular "
			       "expressions%s",
			       name, pattern, *foreign,
			       *foreign == 'd' ? " (write [0-9])" : "");
	char text[128];
	int rc = *pattern ? regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) : 0;

	if (rc != 0) {
		regerror(rc, &re, text, sizeof(text));
		return err_set(err, -EINVAL, "--%s=%s: %s", name, pattern, text);
	}
	if (*pattern)
		regfree(&re);
	return 0;
}

static int check_sensors(const struct conf_list *l, struct err *err)
{
	for (size_t i = 0; i < l->count; i++) {
		const char *slash = strrchr(l->items[i], '/');
		if (!slash || slash == l->items[i] ||
		    (strncmp(slash + 1, "power", 5) != 0 &&
		     strncmp(slash + 1, "energy", 6) != 0))
			return err_set(err, -EINVAL,
				       "--collector.hwmon.host-sensor=%s: not "
				       "CHIP/powerN or CHIP/energyN",
				       l->items[i]);
	}
	return 0;
}

static int check_providers(const char *name, const struct conf_list *l, struct err *err)
{
	for (size_t i = 0; i < l->count; i++) {
		if (emission_provider_find(l->items[i]) < 0)
			return err_set(err, -EINVAL,
				       "--%s=%s: no such provider (there are owid, "
				       "global, rte, emaps, wt and file)",
				       name, l->items[i]);
	}
	return 0;
}

static int check_emissions(const struct options *o, struct err *err)
{
	int rc = check_providers("collector.emissions.provider",
				 &o->emissions_providers, err);

	if (rc == 0)
		rc = check_providers("emissions.prefer", &o->emissions_prefer, err);
	for (size_t i = 0; rc == 0 && i < o->emissions_zones.count; i++) {
		if (!emission_zone_valid(o->emissions_zones.items[i]))
			return err_set(err, -EINVAL, "--emissions.zone=%s: not a zone",
				       o->emissions_zones.items[i]);
	}
	return rc;
}

static int check_hardware_names(const char *option, const struct conf_list *names,
				uint32_t allowed, const char *allowed_names,
				struct err *err)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!hardware_kind_mask(names->items[i], allowed))
			return err_set(err, -EINVAL, "--%s=%s: must be one of %s",
				       option, names->items[i], allowed_names);
	}
	return 0;
}

static int check_perf_names(const struct options *o, struct err *err)
{
	for (size_t i = 0; i < o->perf_software_profilers.count; i++) {
		const char *name = o->perf_software_profilers.items[i];
		if (!perf_kind_mask(name))
			return err_set(err, -EINVAL,
				       "--collector.perf.software-profilers=%s: must "
				       "be one of " PERF_KIND_NAMES,
				       name);
	}
	int rc = check_hardware_names("collector.perf.hardware-profilers",
				      &o->perf_hardware_profilers,
				      HARDWARE_GENERAL_MASK, HARDWARE_KIND_NAMES, err);
	if (!rc)
		rc = check_hardware_names("collector.perf.cache-profilers",
					  &o->perf_cache_profilers, HARDWARE_CACHE_MASK,
					  CACHE_KIND_NAMES, err);
	return rc;
}

static int check_options_fit(const struct options *o, struct err *err)
{
	for (size_t i = 0; i < o->ebpf_mount_points.count; i++) {
		const char *path = o->ebpf_mount_points.items[i];
		if (*path != '/')
			return err_set(err, -EINVAL,
				       "--collector.ebpf.fs-mount-point=%s: must begin "
				       "with /",
				       path);
	}
	int rc = check_perf_names(o, err);
	if (rc < 0)
		return rc;
	if (o->ebpf_slots & (o->ebpf_slots - 1))
		return err_set(err, -EINVAL,
			       "--collector.ebpf.slots=%llu: must be a power of two",
			       (unsigned long long)o->ebpf_slots);
	if (o->ring_slots & (o->ring_slots - 1))
		return err_set(err, -EINVAL,
			       "--ring.slots=%llu: must be a power of two",
			       (unsigned long long)o->ring_slots);
	if (*o->netdev_include && *o->netdev_exclude)
		return err_set(err, -EINVAL,
			       "--collector.netdev.device-include and --collector."
			       "netdev.device-exclude exclude each other");
	rc = check_option_pattern("collector.netdev.device-include", o->netdev_include,
				  err);
	if (rc == 0)
		rc = check_option_pattern("collector.netdev.device-exclude",
					  o->netdev_exclude, err);
	if (rc < 0)
		return rc;
	rc = check_sensors(&o->hwmon_host_sensors, err);
	if (rc < 0)
		return rc;
	struct power_curve curve;
	rc = power_configured(o->model_idle_watts, o->model_max_watts, o->model_curve,
			      &curve, err);
	if (rc < 0)
		return rc;
	struct energy_config energy;
	int energy_rc = energy_options(o, &energy, err);
	if (energy_rc < 0)
		return energy_rc;
	if (o->model_host_cpus && rc == 0)
		return err_set(err, -EINVAL,
			       "--energy.model.host-cpus: says whose "
			       "--energy.model.max-watts or .curve it is, and there is "
			       "none");
	rc = check_emissions(o, err);
	if (rc < 0)
		return rc;
	if (*o->ipmi_dcmi_cmd && o->ipmi_dcmi_cmd[0] != '/')
		return err_set(err, -EINVAL,
			       "--collector.ipmi_dcmi.cmd=%s: must begin with an "
			       "absolute path",
			       o->ipmi_dcmi_cmd);
	if (o->telemetry_path[0] != '/')
		return err_set(err, -EINVAL,
			       "--web.telemetry-path=%s: must begin with /",
			       o->telemetry_path);
	if (!o->listen_addresses.count && !o->systemd_socket)
		return err_set(err, -EINVAL, "--web.listen-address: none given");
	return 0;
}

int options_load(int argc, char *const argv[], struct options *ret, struct buf *out,
		 struct buf *warnings, struct err *err)
{
	struct options o = {0};
	int rc = conf_load(options_table, options_count, "ceemsd", argc, argv, &o, out,
			   warnings, err);
	if (rc)
		return rc;
	if (o.disable_defaults) {
		/* Which options were given explicitly is found by reading again with
		 * another default, so rows need not record who set them. */
		auto_free struct conf_opt *table =
			calloc(options_count, sizeof(*table));
		if (!table) {
			options_release(&o);
			return err_set(err, -ENOMEM, "out of memory");
		}
		memcpy(table, options_table, options_count * sizeof(*table));
		for (size_t i = 0; i < options_count; i++) {
			if (is_collector(&table[i]))
				table[i].def = "false";
		}
		conf_release(options_table, options_count, &o);
		memset(&o, 0, sizeof(o));
		buf_reset(warnings);
		rc = conf_load(table, options_count, "ceemsd", argc, argv, &o, out,
			       warnings, err);
		if (rc)
			return rc;
	}
	/* with an aggregator's URL something must be sent */
	if (o.aggregator_urls.count)
		o.reports_enabled = true;
	if (o.perf_software || o.perf_hardware || o.perf_cache || *o.perf_raw_file)
		o.collector_perf = true;
	if (o.rdma_stats)
		o.collector_rdma = true;
	if (o.ebpf_io_latency)
		o.ebpf_io = true;
	if (o.ebpf_io || o.ebpf_network || o.collector_perf)
		o.collector_ebpf = true;
	rc = profiling_apply(&o, warnings, err);
	rc = rc ? rc : check_options_fit(&o, err);
	if (rc) {
		options_release(&o);
		return rc;
	}
	*ret = o;
	return 0;
}

void options_release(struct options *o)
{
	conf_release(options_table, options_count, o);
	memset(o, 0, sizeof(*o));
}

static size_t member_size(enum conf_kind kind)
{
	switch (kind) {
	case CONF_BOOL:
		return sizeof(bool);
	case CONF_U64:
	case CONF_DURATION:
	case CONF_BYTES:
		return sizeof(uint64_t);
	case CONF_STRING:
		return sizeof(char *);
	case CONF_LIST:
		return sizeof(struct conf_list);
	case CONF_ENUM:
		return sizeof(int);
	}
	return 0;
}

static void name_it(struct buf *b, const char *name)
{
	if (b->len)
		buf_puts(b, ", ");
	buf_puts(b, name);
}

void options_reload(struct options *o, struct options *from, struct buf *applied,
		    struct buf *restart)
{
	for (size_t i = 0; i < options_count; i++) {
		const struct conf_opt *opt = &options_table[i];
		char *mine = (char *)o + opt->off, *theirs = (char *)from + opt->off;
		if (opt->alias_of || conf_equal(opt, o, from))
			continue;
		if (!(opt->flags & CONF_RELOAD)) {
			name_it(restart, opt->name);
			continue;
		}
		/* swap: what was ours is freed with `from` */
		char old[sizeof(struct conf_list)];
		size_t n = member_size(opt->kind);
		memcpy(old, mine, n);
		memcpy(mine, theirs, n);
		memcpy(theirs, old, n);
		name_it(applied, opt->name);
	}
}
