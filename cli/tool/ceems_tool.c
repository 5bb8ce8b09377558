/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ceems_tool: helpers for operators. One row of a table per subcommand. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/check.h"
#include "cli/tool/spool.h"
#include "cli/tool/tool.h"
#include "lib/records/ring.h"

struct command {
	const char *words; /* "check slurm" */
	const char *help;
	int (*run)(int argc, char **argv); /* argv[0] is the last of words */
	const char *options;               /* lines; NULL: it has none */
};

static int run_check_slurm(int argc, char **argv);
static int run_check_ring(int argc, char **argv);

#define SERVER_OPTIONS                                                                 \
	"  --url URL            default: that of cacct.yaml\n"                         \
	"  --config.file FILE   default: cacct.yaml of cacct(1)\n"

#define SETUP_OPTIONS                                                                  \
	"  --defaults           asks nothing\n"                                        \
	"  --no-start           starts nothing\n"                                      \
	"  --force              replaces a file that was edited\n"                     \
	"  --config-dir DIR     default: /etc/ceems; with another nothing is "         \
	"started\n"

#define GPU_OPTIONS "  --path.rundir DIR    ceemsd's, default: /run/ceems\n"

static const struct command commands[] = {
	{"doctor", "everything between a job and its joule on this host, in order",
	 tool_doctor,
	 "  --json               for programs; the exit status is a check's\n"
	 "  --config.file FILE   ceemsd's, default: /etc/ceems/ceemsd.yaml\n"
	 "  --slurm-conf PATH    default: SLURM_CONF, then the usual places\n"
	 "  --path.procfs, --path.sysfs, --path.cgroupfs, --path.rundir DIR\n"},
	{"setup node", "configures this node by four questions", tool_setup_node,
	 "  --aggregator URL     where records go; -: nowhere\n"
	 "  --listen ADDR:PORT   where metrics are read, default: 127.0.0.1:9010\n"
	 "  --controller yes|no  does slurmctld run here? default: as slurm.conf says\n"
	 "  --slurm yes|no       add our lines to Slurm's files here? default: no\n"
	 "  --ca-file FILE       verifies the aggregator's "
	 "certificate\n" SETUP_OPTIONS},
	{"setup aggregator", "configures the aggregator by four questions",
	 tool_setup_aggregator,
	 "  --database URL       postgresql://..., default: a private one\n"
	 "  --listen ADDR:PORT   where nodes and users ask, default: 127.0.0.1:9020\n"
	 "  --front-end ADDRESS  of load balancer and Grafana, default: 127.0.0.1\n"
	 "  --admins LOGIN,...   who may see everything, default: "
	 "root\n" SETUP_OPTIONS},
	{"setup lb", "configures the load balancer by four questions", tool_setup_lb,
	 "  --cluster NAME       default: ClusterName of slurm.conf\n"
	 "  --prometheus URL     default: http://127.0.0.1:9090\n"
	 "  --aggregator URL     default: http://127.0.0.1:9020\n"
	 "  --grafana ADDRESS    default: 127.0.0.1\n"
	 "  --ca-file FILE       verifies the aggregator's "
	 "certificate\n" SETUP_OPTIONS},
	{"check slurm",
	 "is this host's Slurm configured so that every job is recorded?",
	 run_check_slurm,
	 "  --slurm-conf PATH    default: SLURM_CONF, then the usual places\n"
	 "  --plugstack PATH     default: as slurm.conf says\n"
	 "  --cgroup-conf PATH   default: beside slurm.conf\n"
	 "  --ring PATH          the ring that ceemsd makes, default: the plugin's\n"
	 "  --plugin-dir DIR     where else plugins are; may be repeated\n"
	 "  --slurm-version V    default: ask slurmd, slurmctld or srun\n"},
	{"check ring", "is the ring there, and is ceemsd reading it?", run_check_ring,
	 "  --ring PATH          default: " RING_PATH_DEFAULT "\n"},
	{"check config", "does a program accept its configuration?", tool_check_config,
	 "  PROGRAM [FILE]       such as ceemsd /etc/ceems/ceemsd.yaml\n"},
	{"check web-config", "do servers accept these files for --web.config.file?",
	 tool_check_web_config, "  FILE ...\n"},
	{"check health", "does a server of ours answer?", tool_check_health,
	 "  URL                  such as http://127.0.0.1:9010\n"},
	{"check api", "does the aggregator answer us, and refuse strangers?",
	 tool_check_api, SERVER_OPTIONS},
	{"check lb", "does the load balancer answer us, and refuse strangers?",
	 tool_check_lb,
	 SERVER_OPTIONS "  --around URL         a server behind it; may be repeated\n"},
	{"config create-web-config",
	 "a password and a certificate for --web.config.file", tool_create_web_config,
	 "  --output-dir DIR     default: config\n  --file NAME          default: "
	 "web-config.yaml\n  --user NAME          default: ceems; --no-basic-auth: "
	 "none\n  --tls                with a self-signed certificate\n  --tls.host "
	 "NAME      may be repeated, default: this host, localhost\n  --tls.validity D "
	 "    default: 8760h\n  --force              overwrite files that exist\n"},
	{"gpu release", "have ceemsd let the GPU driver go, until resume",
	 tool_gpu_release, GPU_OPTIONS},
	{"gpu resume", "have ceemsd read GPUs again", tool_gpu_resume, GPU_OPTIONS},
	{"migrate config", "from service files of CEEMS' programs to files of ours",
	 tool_migrate_config,
	 "  SERVICE ...          such as /etc/systemd/system/ceems_exporter.service; "
	 "or\n"
	 "  -- PROGRAM FLAG ...  a command line\n"
	 "  --dry-run            write nothing, say what has no counterpart\n"
	 "  --output-dir DIR     default: /etc/ceems\n"
	 "  --root DIR           files that are named are below it\n"
	 "  --force              replace files that exist and are others\n"},
	{"migrate database", "the units of a CEEMS API server, into our aggregator",
	 tool_migrate_database,
	 "  FILE                 its database, such as /var/lib/ceems/ceems.db\n"
	 "  --dry-run            read everything, say what has no counterpart\n"
	 "  --config.file FILE   of ceems_aggregator, default: its own\n"
	 "  --pue N              kWh are divided by it, default: 1\n"
	 "  --output FILE        write the units there, - for standard output\n"},
	{"ring", "the ring as lines of JSON: ceems-ringdump", tool_ring,
	 "  [OPTION ...] [RING]  as of ceems-ringdump --help\n"},
	{"spool", "what waits in a spool to be sent, as lines of JSON", run_spool,
	 "  [--stats] FOLDER     such as /var/spool/ceems/ceemsd\n"},
	{"prometheus rules",
	 "recording rules with the names that dashboards of CEEMS use",
	 tool_prometheus_rules,
	 "  --pue N              power usage effectiveness of the building, default: "
	 "1\n  --scrape-interval D  watts are of the last four, default: 30s\n  --gpu "
	 "KIND           dcgm, amd-smi, amd-device-metrics; default: none\n  "
	 "--country-code XX    grams by the factors of this zone, default: each node's "
	 "own\n  --providers LIST     of these, default: owid,rte,emaps,wt\n"},
	{"prometheus alerts", "alerting rules for operators", tool_prometheus_alerts,
	 NULL},
	{"prometheus relabel", "relabelling rules for dcgm-exporter's and AMD's series",
	 tool_prometheus_relabel, "  dcgm|amd-smi|amd-device-metrics\n"},
	{"prometheus scrape-config", "the scrape job of ceemsd",
	 tool_prometheus_scrape_config, "  [--cluster NAME] HOST:PORT ...\n"},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* Lists the commands that begin with that word, or all. */
static void list_commands(FILE *out, const char *word)
{
	size_t len = word ? strlen(word) : 0;

	for (size_t i = 0; i < COMMANDS; i++) {
		const char *words = commands[i].words;
		if (word && !(strncmp(words, word, len) == 0 && words[len] == ' '))
			continue;
		fprintf(out, "  %-25s %s\n", words, commands[i].help);
	}
}

static bool is_group(const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < COMMANDS; i++)
		if (strncmp(commands[i].words, word, len) == 0 &&
		    commands[i].words[len] == ' ')
			return true;
	return false;
}

static void print_usage(FILE *out)
{
	fputs("Usage: ceems_tool COMMAND [OPTION ...]\n\nCommands:\n", out);
	list_commands(out, NULL);
	for (size_t i = 0; i < COMMANDS; i++)
		if (commands[i].options)
			fprintf(out, "%s%s:\n%s", i ? "" : "\nTheir options:\n",
				commands[i].words, commands[i].options);
	fputs("\nceems_tool --help, --version, COMMAND --help\n"
	      "Exit status of a check: 0 all well, 1 something to look at, 2 something "
	      "wrong;\n3: the command line is wrong. See ceems_tool(1).\n",
	      out);
}

static void usage_of(const struct command *c)
{
	printf("Usage: ceems_tool %s%s\n\n%s\n%s%s", c->words, c->options ? " ..." : "",
	       c->help, c->options ? "\n" : "", c->options ? c->options : "");
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
					"--slurm-version: must look like 22.05.8: ",
					optarg);
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

/* How many of argv's words are the command's, 0: another command. */
static int count_matching_words(const struct command *c, int argc, char **argv)
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

static int run_command(int argc, char **argv)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		int n = count_matching_words(&commands[i], argc - 1, argv + 1);
		if (!n)
			continue;
		for (int k = n + 1; k < argc; k++) {
			if (strcmp(argv[k], "--help") == 0) {
				usage_of(&commands[i]);
				return 0;
			}
		}
		return commands[i].run(argc - n, argv + n);
	}
	if (!is_group(argv[1]))
		return tool_usage_error("unknown command: ", argv[1]);
	if (argc > 2 && strcmp(argv[2], "--help") == 0) {
		list_commands(stdout, argv[1]);
		return 0;
	}
	fprintf(stderr, "ceems_tool: unknown command: %s%s%s; there are:\n", argv[1],
		argc > 2 ? " " : "", argc > 2 ? argv[2] : "");
	list_commands(stderr, argv[1]);
	return TOOL_USAGE;
}

int main(int argc, char **argv)
{
	int rc = 0;

	if (argc < 2) {
		print_usage(stderr);
		return TOOL_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		print_usage(stdout);
	else if (strcmp(argv[1], "--version") == 0)
		printf("ceems_tool, version %s\n", CEEMS_VERSION);
	else
		rc = run_command(argc, argv);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	(void)fprintf(stderr, "ceems_tool: cannot write the output\n");
	return TOOL_FAILED;
}
