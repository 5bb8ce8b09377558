/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool: an operator's helpers. One row of a table per subcommand. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/check.h"
#include "cli/spool.h"
#include "cli/tool.h"
#include "lib/ring.h"

struct command {
	const char *words; /* "check slurm" */
	const char *help;
	int (*run)(int argc, char **argv); /* argv[0] is the last of words */
};

static int run_check_slurm(int argc, char **argv);
static int run_check_ring(int argc, char **argv);

static const struct command commands[] = {
	{"check slurm",
	 "is this host's Slurm configured so that every job is recorded?",
	 run_check_slurm},
	{"check ring", "is the ring there, and is ceemsd reading it?", run_check_ring},
	{"spool", "what waits in a spool to be sent, as lines of JSON", run_spool},
	{"check config", "does a program accept its configuration?", tool_check_config},
	{"check web-config", "do servers accept these files for --web.config.file?",
	 tool_check_web_config},
	{"check api", "does the aggregator answer us, and refuse strangers?",
	 tool_check_api},
	{"check lb", "does the load balancer answer us, and refuse strangers?",
	 tool_check_lb},
	{"config create-web-config",
	 "a password and a certificate for --web.config.file", tool_create_web_config},
	{"ring", "the ring as lines of JSON: ceems-ringdump", tool_ring},
	{"prometheus rules",
	 "recording rules with the names that dashboards of CEEMS use",
	 tool_prometheus_rules},
	{"prometheus alerts", "what an operator should be told",
	 tool_prometheus_alerts},
	{"prometheus relabel", "labels of dcgm-exporter's and AMD's series",
	 tool_prometheus_relabel},
	{"prometheus scrape-config", "the scrape job of ceemsd",
	 tool_prometheus_scrape_config},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	fputs("Usage: ceems_tool COMMAND [OPTION ...]\n\nCommands:\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-25s %s\n", commands[i].words, commands[i].help);
	fputs("\nOptions of check slurm:\n"
	      "  --slurm-conf PATH    default: SLURM_CONF, then the usual places\n"
	      "  --plugstack PATH     default: as slurm.conf says\n"
	      "  --cgroup-conf PATH   default: beside slurm.conf\n"
	      "  --ring PATH          the ring that ceemsd makes, default: the "
	      "plugin's\n"
	      "  --plugin-dir DIR     where else plugins are; may be repeated\n"
	      "  --slurm-version V    default: ask slurmd, slurmctld or srun\n"
	      "Options of check ring:\n"
	      "  --ring PATH          default: " RING_PATH_DEFAULT "\n"
	      "Arguments of spool:\n"
	      "  [--stats] FOLDER     such as /var/spool/ceems/ceemsd\n"
	      "check config PROGRAM [FILE]\n"
	      "check web-config FILE ...\n"
	      "Options of check api and check lb:\n"
	      "  --url URL            default: of cacct.yaml\n"
	      "  --config.file FILE   default: cacct.yaml of cacct(1)\n"
	      "  --around URL         check lb: a server behind it; may be repeated\n"
	      "Options of config create-web-config:\n"
	      "  --output-dir DIR     default: config\n"
	      "  --user NAME          default: ceems; --no-basic-auth: none\n"
	      "  --tls                with a certificate that vouches for itself\n"
	      "  --tls.host NAME      may be repeated, default: this host, localhost\n"
	      "  --tls.validity D     default: 8760h\n"
	      "  --force              over what is there\n"
	      "Options of prometheus rules:\n"
	      "  --pue N                  what the building adds, default: 1\n"
	      "  --scrape-interval D      watts are of the last four, default: 30s\n"
	      "  --gpu KIND               dcgm, amd-smi, amd-device-metrics; default: "
	      "none\n"
	      "  --country-code XX        grams by the factors of this zone, default: "
	      "each node's own\n"
	      "  --providers LIST         of these, default: owid,rte,emaps,wt\n"
	      "prometheus alerts\n"
	      "prometheus relabel dcgm|amd-smi|amd-device-metrics\n"
	      "prometheus scrape-config [--cluster NAME] HOST:PORT ...\n"
	      "\nceems_tool --help, --version\n"
	      "Exit status of a check: 0 all well, 1 something to look at, 2 something "
	      "wrong;\n3: the command line is wrong. See ceems_tool(1).\n",
	      out);
}

enum {
	OPT_SLURM_CONF = 256,
	OPT_PLUGSTACK,
	OPT_CGROUP_CONF,
	OPT_RING,
	OPT_PLUGIN_DIR,
	OPT_VERSION
};

int tool_usage_error(const char *what, const char *text)
{
	fprintf(stderr, "ceems_tool: %s%s (see ceems_tool --help)\n", what, text);
	return TOOL_USAGE;
}

static int parse_options(int argc, char **argv, const struct option *longs,
			 struct check_options *o)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:", longs, NULL)) >= 0) {
		switch (c) {
		case OPT_SLURM_CONF:
			o->slurm_conf = optarg;
			break;
		case OPT_PLUGSTACK:
			o->plugstack = optarg;
			break;
		case OPT_CGROUP_CONF:
			o->cgroup_conf = optarg;
			break;
		case OPT_RING:
			o->ring = optarg;
			break;
		case OPT_PLUGIN_DIR:
			if (o->plugin_dir_count == PLUGIN_DIRS_MAX)
				return tool_usage_error("too many --plugin-dir", "");
			o->plugin_dirs[o->plugin_dir_count++] = optarg;
			break;
		case OPT_VERSION:
			o->version = check_parse_version(optarg);
			if (!o->version)
				return tool_usage_error(
					"--slurm-version: not like 22.05.8: ", optarg);
			break;
		case ':':
			return tool_usage_error("needs a value: ", argv[optind - 1]);
		default:
			return tool_usage_error("unknown option: ", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return tool_usage_error("unexpected argument: ", argv[optind]);
	return 0;
}

static int run_check_slurm(int argc, char **argv)
{
	static const struct option longs[] = {
		{"slurm-conf", required_argument, NULL, OPT_SLURM_CONF},
		{"plugstack", required_argument, NULL, OPT_PLUGSTACK},
		{"cgroup-conf", required_argument, NULL, OPT_CGROUP_CONF},
		{"ring", required_argument, NULL, OPT_RING},
		{"plugin-dir", required_argument, NULL, OPT_PLUGIN_DIR},
		{"slurm-version", required_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0}};
	struct check_options o = {.slurm_conf = NULL};
	struct findings f = {.out = stdout};
	int rc = parse_options(argc, argv, longs, &o);

	if (rc)
		return rc;
	check_slurm(&o, &f);
	return findings_end(&f);
}

static int run_check_ring(int argc, char **argv)
{
	static const struct option longs[] = {
		{"ring", required_argument, NULL, OPT_RING}, {NULL, 0, NULL, 0}};
	struct check_options o = {.ring = RING_PATH_DEFAULT};
	struct findings f = {.out = stdout};
	int rc = parse_options(argc, argv, longs, &o);

	if (rc)
		return rc;
	check_ring(o.ring, 0, true, &f);
	return findings_end(&f);
}

/* How many of argv's words name the command, 0: another one. */
static int matches(const struct command *c, int argc, char **argv)
{
	const char *words = c->words;
	int n = 0;

	while (*words) {
		size_t len = strcspn(words, " ");
		if (n >= argc || strlen(argv[n]) != len ||
		    memcmp(argv[n], words, len) != 0)
			return 0;
		words += len + (words[len] == ' ');
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	if (argc > 1 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		usage(stdout);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "--version") == 0) {
		printf("ceems_tool, version %s\n", CEEMS_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMANDS; i++) {
		int n = matches(&commands[i], argc - 1, argv + 1);
		if (!n)
			continue;
		for (int k = n + 1; k < argc; k++) {
			if (strcmp(argv[k], "--help") == 0) {
				usage(stdout);
				return 0;
			}
		}
		int rc = commands[i].run(argc - n, argv + n);
		return fflush(stdout) == 0 ? rc : TOOL_USAGE;
	}
	if (argc < 2)
		usage(stderr);
	else
		tool_usage_error("unknown command: ", argv[1]);
	return TOOL_USAGE;
}
