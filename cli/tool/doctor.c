/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool doctor: everything between a job and its joule on this host, in order, for
 * a person at night and for a node health check. */
#include "cli/tool/doctor.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/check.h"
#include "cli/tool/tool.h"
#include "lib/cleanup.h"
#include "lib/conf/dropins.h"
#include "lib/records/ring.h"

enum {
	OPT_JSON = 256,
	OPT_CONFIG,
	OPT_SLURM_CONF,
	OPT_PROCFS,
	OPT_SYSFS,
	OPT_CGROUPFS,
	OPT_RUNDIR
};

struct doctor {
	const char *config_file; /* NULL: the packaged one, if it is there */
	const char *slurm_conf;
	struct doctor_paths paths;
	struct findings f;
};

#define options doctor_config /* for the rows */
#define ROW CONF_ROW
static const struct conf_opt config_rows[] = {
	ROW("config.file", CONF_STRING, config_file, "", "", .flags = CONF_OTHERS),
	ROW("reports.enabled", CONF_BOOL, reports, "false", ""),
	ROW("reports.spool", CONF_STRING, reports_spool, "/var/spool/ceems/ceemsd", ""),
	ROW("reports.interval", CONF_DURATION, reports_interval_ms, "5m", ""),
	ROW("collector.perf", CONF_BOOL, perf, "false", ""),
	ROW("collector.ebpf", CONF_BOOL, ebpf, "false", ""),
	ROW("collector.libvirt", CONF_BOOL, libvirt, "false", ""),
	ROW("collector.k8s", CONF_BOOL, k8s, "false", ""),
	SHIP_OPTION_ROWS,
};
#undef options
#define CONFIG_ROWS (sizeof(config_rows) / sizeof(config_rows[0]))

static int parse_doctor_options(int argc, char **argv, struct doctor *d)
{
	static const struct option longs[] = {
		{"json", no_argument, NULL, OPT_JSON},
		{"config.file", required_argument, NULL, OPT_CONFIG},
		{"slurm-conf", required_argument, NULL, OPT_SLURM_CONF},
		{"path.procfs", required_argument, NULL, OPT_PROCFS},
		{"path.sysfs", required_argument, NULL, OPT_SYSFS},
		{"path.cgroupfs", required_argument, NULL, OPT_CGROUPFS},
		{"path.rundir", required_argument, NULL, OPT_RUNDIR},
		{NULL, 0, NULL, 0}};
	const char **const texts[] = {&d->config_file,    &d->slurm_conf,
				      &d->paths.procfs,   &d->paths.sysfs,
				      &d->paths.cgroupfs, &d->paths.rundir};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		if (c == OPT_JSON)
			d->f.json = true;
		else if (c >= OPT_CONFIG && c <= OPT_RUNDIR)
			*texts[c - OPT_CONFIG] = optarg;
		else
			return tool_usage_error(c == ':' ? "needs a value: "
							 : "unknown option: ",
						argv[optind - 1]);
	}
	return optind < argc ? tool_usage_error("unexpected argument: ", argv[optind])
			     : 0;
}

/* Whoever can write there decides what ceemsd does while it is still root. */
static void check_closed(const char *path, struct findings *f)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	if (st.st_mode & 0022)
		finding(f, LEVEL_FAIL, "chmod go-w, and look at what lies there",
			"%s: mode %04o: others than root can change what ceemsd does",
			path, st.st_mode & 07777U);
	else if (st.st_uid != 0 && st.st_uid != geteuid())
		finding(f, LEVEL_FAIL, "chown root, and look at what lies there",
			"%s: owned by user %u, who can change what ceemsd does", path,
			st.st_uid);
}

static void check_config_modes(const char *file, struct findings *f)
{
	char folder[4096];
	const char *slash = strrchr(file, '/');

	check_closed(file, f);
	if (dropins_folder(file, folder, sizeof(folder)) == 0)
		check_closed(folder, f);
	(void)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - file) : 1,
		       slash ? file : ".");
	check_closed(folder, f);
}

/* Whether ceemsd accepts its configuration, and the values of interest here. */
static void load_doctor_config(struct doctor *d, struct doctor_config *ret)
{
	char option[4096 + 16];
	char *argv[] = {(char *)"ceems_tool", option, NULL};
	auto_buf struct buf out = BUF_INIT, warnings = BUF_INIT;
	struct err err;

	if (!d->config_file && access(DOCTOR_CONFIG, F_OK) == 0)
		d->config_file = DOCTOR_CONFIG;
	(void)snprintf(option, sizeof(option), "--config.file=%s",
		       d->config_file ? d->config_file : "");
	if (conf_load(config_rows, CONFIG_ROWS, "ceems_tool", d->config_file ? 2 : 1,
		      argv, ret, &out, &warnings, &err) < 0) {
		finding(&d->f, LEVEL_FAIL, "correct it, then restart ceemsd", "%s",
			err.text);
		memset(ret, 0, sizeof(*ret));
		return;
	}
	if (!d->config_file) {
		finding(&d->f, LEVEL_WARN,
			"name it by --config.file, if this host has one",
			DOCTOR_CONFIG " is not there: defaults are assumed");
		return;
	}
	check_config_modes(d->config_file, &d->f);
	tool_check_program_config("ceemsd", d->config_file, &d->f);
}

static void check_slurm_host(const struct doctor *d, struct findings *f)
{
	char ring[4096];
	struct check_options o = {.slurm_conf = d->slurm_conf, .ring = ring};

	(void)snprintf(ring, sizeof(ring), "%s/%s", d->paths.rundir,
		       strrchr(RING_PATH_DEFAULT, '/') + 1);
	if (d->slurm_conf || access(check_find_slurm_conf(&o), F_OK) == 0) {
		check_slurm(&o, f);
		return;
	}
	finding(f, LEVEL_OK, NULL, "no slurm.conf: this host is not one of Slurm's");
	check_ring(ring, 0, true, f);
}

int tool_doctor(int argc, char **argv)
{
	struct doctor d = {.paths = {"/proc", "/sys", "/sys/fs/cgroup", "/run/ceems"},
			   .f = {.out = stdout}};
	struct doctor_config config = {.config_file = NULL};
	int rc = parse_doctor_options(argc, argv, &d);

	if (rc)
		return rc;
	findings_section(&d.f, "kernel", "Kernel");
	doctor_kernel(&d.paths, &d.f);
	findings_section(&d.f, "slurm", "Slurm and the ring");
	check_slurm_host(&d, &d.f);
	findings_section(&d.f, "ceemsd", "ceemsd");
	load_doctor_config(&d, &config);
	doctor_ceemsd(&d.paths, &config, &d.f);
	findings_section(&d.f, "records", "Records on their way");
	doctor_ship(&config, &d.f);
	findings_section(&d.f, NULL, "Altogether");
	conf_release(config_rows, CONFIG_ROWS, &config);
	return findings_end(&d.f);
}
