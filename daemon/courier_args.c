/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes options on to ceems-courier, which has the same names. Secrets are not among
 * them: those come from files, or by the environment, which is inherited. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/courier_args.h"
#include "daemon/emissions.h"
#include "daemon/options.h"
#include "lib/cleanup.h"
#include "lib/exec.h"

#define CHECK_MS 10000u
#include "lib/fs.h"

#define REDFISH_FILE_BYTES (64u << 10)

/* Collectors that run in the courier, by their names in options.c */
static const char *const switches[] = {"collector.redfish"};

static const char *const shared[] = {
	"log.level",
	"log.format",
	"collector.redfish",
	"collector.redfish.config.file",
	"collector.redfish.config.file.expand-env-vars",
	"collector.redfish.interval",
	"collector.redfish.bmc-address",
	"collector.emissions",
	"collector.emissions.provider",
	"emissions.zone",
	"emissions.file",
	"emissions.rte-url",
	"emissions.emaps-url",
	"emissions.emaps-token-file",
	"emissions.wt-url",
	"emissions.wt-user",
	"emissions.wt-password-file",
	"emissions.wt-region",
	"emissions.ca-file",
	"aggregator.url",
	"aggregator.token-file",
	"aggregator.cert-file",
	"aggregator.key-file",
	"aggregator.ca-file",
	"aggregator.munge-socket",
	"aggregator.timeout",
	"profiles.spool",
	"profiles.url",
	"profiles.api",
	"profiles.tenant",
	"profiles.token-file",
	"profiles.ca-file",
	"profiles.max-age",
	"debuginfod.folder",
	"debuginfod.max-bytes",
	"debuginfod.max-file",
	"debuginfod.timeout",
	"debuginfod.ca-file",
};

static const struct conf_opt *find_courier_option(const char *name)
{
	for (size_t i = 0; i < options_count; i++) {
		if (strcmp(options_table[i].name, name) == 0)
			return &options_table[i];
	}
	return NULL;
}

bool courier_fetches_debug_files(const struct options *o)
{
	return o->debuginfod_urls.count && o->profiling_policy != PROFILING_DENY;
}

bool courier_wanted(const struct options *o)
{
	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		const struct conf_opt *opt = find_courier_option(switches[i]);
		if (opt && *(const bool *)((const char *)o + opt->off))
			return true;
	}
	if (o->aggregator_urls.count || (*o->profiles_spool && *o->profiles_url))
		return true;
	if (courier_fetches_debug_files(o))
		return true;
	/* tables need no courier */
	for (size_t i = 0; o->collector_emissions && i < emission_providers_count;
	     i++) {
		if (emission_providers[i].fetched && emissions_enabled(o, i))
			return true;
	}
	return false;
}

static int add_courier_arg(struct conf_list *list, struct buf *arg)
{
	return buf_error(arg) ? -ENOMEM : conf_list_add(list, arg->data);
}

static int add_list(struct conf_list *ret, const char *name,
		    const struct conf_list *values)
{
	int rc = 0;

	for (size_t i = 0; i < values->count && rc == 0; i++) {
		auto_buf struct buf arg = BUF_INIT;
		buf_printf(&arg, "--%s=%s", name, values->items[i]);
		rc = add_courier_arg(ret, &arg);
	}
	return rc;
}

static int add_option(struct conf_list *ret, const struct conf_opt *opt,
		      const void *value)
{
	auto_buf struct buf arg = BUF_INIT;
	const char *text = opt->kind == CONF_STRING ? *(char *const *)value : NULL;

	switch (opt->kind) {
	case CONF_BOOL:
		buf_printf(&arg, "--%s%s", *(const bool *)value ? "" : "no-",
			   opt->name);
		break;
	case CONF_U64:
	case CONF_BYTES:
		buf_printf(&arg, "--%s=%" PRIu64, opt->name, *(const uint64_t *)value);
		break;
	case CONF_DURATION:
		buf_printf(&arg, "--%s=%" PRIu64 "ms", opt->name,
			   *(const uint64_t *)value);
		break;
	case CONF_ENUM:
		buf_printf(&arg, "--%s=%s", opt->name,
			   opt->choices[*(const int *)value]);
		break;
	case CONF_STRING:
		if (!text || !*text)
			return 0;
		buf_printf(&arg, "--%s=%s", opt->name, text);
		break;
	case CONF_LIST:
		return add_list(ret, opt->name, value);
	}
	return add_courier_arg(ret, &arg);
}

/* The reports' folder and interval */
static int add_spool(const struct options *o, const char *spool, struct conf_list *ret)
{
	auto_buf struct buf folder = BUF_INIT, interval = BUF_INIT;

	if (!o->aggregator_urls.count)
		return 0;
	buf_printf(&folder, "--ship.spool=%s", spool);
	buf_printf(&interval, "--ship.interval=%" PRIu64 "ms", o->reports_interval_ms);
	int rc = add_courier_arg(ret, &folder);
	return rc ? rc : add_courier_arg(ret, &interval);
}

int courier_args(const struct options *o, const char *bmc_address, const char *spool,
		 struct conf_list *ret)
{
	auto_buf struct buf address = BUF_INIT;
	int rc = 0;

	*ret = (struct conf_list){0};
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]) && rc == 0; i++) {
		const struct conf_opt *opt = find_courier_option(shared[i]);
		if (opt)
			rc = add_option(ret, opt, (const char *)o + opt->off);
	}
	if (rc == 0)
		rc = add_spool(o, spool, ret);
	if (rc == 0 && courier_fetches_debug_files(o))
		rc = add_list(ret, "debuginfod.url", &o->debuginfod_urls);
	if (rc == 0 && *bmc_address && !*o->redfish_bmc_address) {
		buf_printf(&address, "--collector.redfish.bmc-address=%s", bmc_address);
		rc = add_courier_arg(ret, &address);
	}
	if (rc < 0)
		conf_list_done(ret);
	return rc;
}

bool courier_names_bmc(const struct options *o)
{
	static const char key[] = "hostname:";
	auto_buf struct buf text = BUF_INIT;

	if (!*o->redfish_config_file ||
	    fs_read_buf_at(AT_FDCWD, o->redfish_config_file, REDFISH_FILE_BYTES, &text,
			   NULL) < 0 ||
	    !text.data)
		return false;
	for (const char *p = text.data; p && *p;) {
		p += strspn(p, " \t\n");
		bool named = strncmp(p, key, sizeof(key) - 1) == 0;
		const char *value = p + (named ? sizeof(key) - 1 : 0);
		value += strspn(value, " \t\"'");
		if (named && !strchr("\n#", *value))
			return true;
		p = strchr(p, '\n');
	}
	return false;
}

void courier_path(const struct options *o, char *ret, size_t size)
{
	exec_beside(o->courier_path, "ceems-courier", ret, size);
}

static int run_check(const char *path, const struct conf_list *args, struct err *err)
{
	const char **argv = calloc(args->count + 3, sizeof(*argv));
	auto_buf struct buf out = {.max = 16384}, errout = {.max = 16384};
	int status = 0;

	if (!argv)
		return err_set(err, -ENOMEM, "out of memory");
	argv[0] = path;
	argv[1] = "--check-config";
	for (size_t i = 0; i < args->count; i++)
		argv[i + 2] = args->items[i];
	int rc = exec_run(argv, (const char *const *)environ, CHECK_MS, &out, &errout,
			  &status, err);
	free(argv);
	if (rc < 0 || status == 0)
		return rc;
	size_t n = errout.len;
	while (n && errout.data[n - 1] == '\n')
		n--;
	return err_set(err, -EINVAL, "%.*s", (int)n, n ? errout.data : "");
}

int courier_check(const struct options *o, struct err *err)
{
	struct conf_list args;
	char path[4096];

	/* a collector without its file is off, which is allowed */
	if (!courier_wanted(o) ||
	    (!*o->redfish_config_file && !o->aggregator_urls.count &&
	     !courier_fetches_debug_files(o)))
		return 0;
	courier_path(o, path, sizeof(path));
	if (access(path, X_OK) < 0)
		return err_set(err, -ENOENT, "courier: %s: %s", path, strerror(errno));
	int rc = courier_args(o, "", o->reports_spool, &args);
	if (rc < 0)
		return err_set(err, rc, "courier: %s", strerror(-rc));
	rc = run_check(path, &args, err);
	conf_list_done(&args);
	return rc;
}
