/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of cacct: sacct's options, a few more, and the peer's. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/cacct/cacct.h"
#include "cli/cacct/when.h"
#include "lib/parse.h"
#include "lib/spelling.h"

#define FORMAT_BRIEF "JobID,State,ExitCode"
#define FORMAT_COUNTS                                                                  \
	"JobID,JobName,State,Elapsed,FileRead,FileReads,FileWrite,FileWrites,"         \
	"FileOpens,NetIn,NetOut,NetResent,MinorFaults,MajorFaults,CtxSwitches,"        \
	"CPUMigrations,IPC,CPUFreq,CacheMissRate"

enum {
	OPT_JSON = 256,
	OPT_CSV,
	OPT_COUNTS,
	OPT_HTML,
	OPT_MARKDOWN,
	OPT_DELIMITER,
	OPT_UNITS,
	OPT_NOCONVERT,
	OPT_NAME,
	OPT_STEPS,
	OPT_TS,
	OPT_TS_DIR,
	OPT_TS_STEP,
	OPT_CONFIG,
	OPT_API,
	OPT_TSDB,
	OPT_FLAME,
	OPT_PROFILES,
	OPT_COLOR,
	OPT_USAGE,
	OPT_MARKDOWN_HELP,
	OPT_SORT,
	OPT_BY,
	OPT_MANAGER,
	OPT_IGNORED,
};

#define LONGS_MAX 64
static const struct option longs[] = {
	{"allusers", no_argument, NULL, 'a'},
	{"accounts", required_argument, NULL, 'A'},
	{"projects", required_argument, NULL, 'A'},
	{"project", required_argument, NULL, 'A'},
	{"namespaces", required_argument, NULL, 'A'},
	{"namespace", required_argument, NULL, 'A'},
	{"account", required_argument, NULL, 'A'},
	{"allocations", no_argument, NULL, 'X'},
	{"brief", no_argument, NULL, 'b'},
	{"counts", no_argument, NULL, OPT_COUNTS},
	{"clusters", required_argument, NULL, 'M'},
	{"cluster", required_argument, NULL, 'M'},
	{"allclusters", no_argument, NULL, 'L'},
	{"duplicates", no_argument, NULL, OPT_IGNORED},
	{"endtime", required_argument, NULL, 'E'},
	{"starttime", required_argument, NULL, 'S'},
	{"format", required_argument, NULL, 'o'},
	{"group", required_argument, NULL, 'g'},
	{"gid", required_argument, NULL, 'g'},
	{"help", no_argument, NULL, 'h'},
	{"helpformat", no_argument, NULL, 'e'},
	{"jobs", required_argument, NULL, 'j'},
	{"job", required_argument, NULL, 'j'},
	{"long", no_argument, NULL, 'l'},
	{"manager", required_argument, NULL, OPT_MANAGER},
	{"name", required_argument, NULL, OPT_NAME},
	{"noheader", no_argument, NULL, 'n'},
	{"noconvert", no_argument, NULL, OPT_NOCONVERT},
	{"parsable", no_argument, NULL, 'p'},
	{"parsable2", no_argument, NULL, 'P'},
	{"delimiter", required_argument, NULL, OPT_DELIMITER},
	{"partition", required_argument, NULL, 'r'},
	{"qos", required_argument, NULL, 'q'},
	{"state", required_argument, NULL, 's'},
	{"truncate", no_argument, NULL, 'T'},
	{"units", required_argument, NULL, OPT_UNITS},
	{"user", required_argument, NULL, 'u'},
	{"uid", required_argument, NULL, 'u'},
	{"usage", no_argument, NULL, OPT_USAGE},
	{"version", no_argument, NULL, 'V'},
	{"json", no_argument, NULL, OPT_JSON},
	{"csv", no_argument, NULL, OPT_CSV},
	{"html", optional_argument, NULL, OPT_HTML},
	{"markdown", no_argument, NULL, OPT_MARKDOWN},
	{"by", required_argument, NULL, OPT_BY},
	{"sort", required_argument, NULL, OPT_SORT},
	{"steps", no_argument, NULL, OPT_STEPS},
	{"ts", no_argument, NULL, OPT_TS},
	{"ts.out-dir", required_argument, NULL, OPT_TS_DIR},
	{"ts.step", required_argument, NULL, OPT_TS_STEP},
	{"tsdb.url", required_argument, NULL, OPT_TSDB},
	{"flame", optional_argument, NULL, OPT_FLAME},
	{"profiles.url", required_argument, NULL, OPT_PROFILES},
	{"config.file", required_argument, NULL, OPT_CONFIG},
	{"api.url", required_argument, NULL, OPT_API},
	{"color", required_argument, NULL, OPT_COLOR},
	{"help-markdown", no_argument, NULL, OPT_MARKDOWN_HELP},
	{NULL, 0, NULL, 0}};

static const char usage_text[] =
	"Usage: cacct [OPTION ...]\n"
	"       cacct report JOBID [--html FILE | --json | --flame]\n"
	"       cacct usage [--by LIST] [-S TIME] [-E TIME] [OPTION ...]\n"
	"\n"
	"Jobs (default: today's jobs that you may see, running ones included):\n"
	"  -j, --jobs LIST        these jobs: 12, 12_3, 12_[1-4], 12+1, 12.batch\n"
	"  -u, --user LIST        jobs of these users (others than you: operators "
	"only)\n"
	"  -a, --allusers         jobs of all users (operators only; their default)\n"
	"  -A, --accounts LIST    jobs of these accounts\n"
	"  -g, --group LIST       jobs of these groups\n"
	"  -S, --starttime TIME   jobs that existed after TIME; default 00:00 today\n"
	"  -E, --endtime TIME     jobs that existed before TIME; default now\n"
	"  -T, --truncate         cut times and sums to this window\n"
	"  -s, --state LIST       jobs in these states: CD, F, TO, OOM, RUNNING, ...;\n"
	"                         without -S and -E: that are in them now\n"
	"  -r, --partition LIST   -q, --qos LIST   --name LIST\n"
	"  -M, --clusters LIST    -L, --allclusters\n"
	"      --manager LIST     slurm, libvirt (VMs), openstack, k8s (pods), with\n"
	"                         columns of these; --projects, --namespaces: as -A\n"
	"Columns:\n"
	"  -o, --format LIST      NAME[%[-]WIDTH],...; ALL for all columns\n"
	"  -l, --long             many columns     -b, --brief   few\n"
	"      --counts           what the kernel counted: files, network, events\n"
	"  -e, --helpformat       list the names of all columns\n"
	"      --steps            also print the steps; -X: no steps, the default\n"
	"      --sort [-]NAME,... sort by these columns; -: highest first\n"
	"Sums of all jobs in the window (usage; -S, -E, -u, -a, -A, -M, -L,\n"
	"--manager):\n"
	"      --by LIST          one row for each cluster, account, user (default), "
	"day,\n"
	"                         week or month; account alone: all users together\n"
	"Output:\n"
	"  -n, --noheader         neither header nor summary\n"
	"  -p, --parsable         a '|' after each field; -P, --parsable2: between\n"
	"      --delimiter TEXT   instead of '|'\n"
	"      --json, --csv, --html, --markdown\n"
	"      --units K|M|G|T|P  numbers in this unit; --noconvert: unscaled\n"
	"      --color auto|always|never\n"
	"Time series of jobs (-j), as CSV files:\n"
	"      --ts [--ts.out-dir DIR] [--ts.step SECONDS] [--tsdb.url URL]\n"
	"Profiles of jobs (report):\n"
	"      --flame[=off-cpu] [--profiles.url URL]   the functions that took the "
	"time\n"
	"Server:\n"
	"      --api.url URL      CEEMS_API_URL; --config.file FILE; see cacct(1)\n"
	"  -h, --help, --usage    -V, --version\n"
	"\n"
	"Times: HH:MM[:SS] [AM|PM], MMDD[YY], MM/DD[/YY], MM.DD[.YY],\n"
	"       YYYY-MM-DD[THH:MM[:SS]], today, midnight, noon, fika, teatime,\n"
	"       now[{+|-}COUNT[seconds|minutes|hours|days|weeks]]\n";

static int add_list(struct cacct_list *l, const char *text, struct err *err)
{
	char *copy, *save = NULL;

	if (l->texts == sizeof(l->text) / sizeof(l->text[0]) || !(copy = strdup(text)))
		return err_set(err, -E2BIG, "too many lists");
	l->text[l->texts++] = copy;
	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		if (l->count == CACCT_LIST_MAX)
			return err_set(err, -E2BIG, "more than %d in a list",
				       CACCT_LIST_MAX);
		l->items[l->count++] = p;
	}
	return 0;
}

static void free_list(struct cacct_list *l)
{
	for (size_t i = 0; i < l->texts; i++)
		free(l->text[i]);
}

/* sacct's abbreviations of states; states of VMs (Nova's) and pods have none */
static const char *const states[][2] = {
	{"BF", "BOOT_FAIL"},
	{"CA", "CANCELLED"},
	{"CD", "COMPLETED"},
	{"DL", "DEADLINE"},
	{"F", "FAILED"},
	{"NF", "NODE_FAIL"},
	{"OOM", "OUT_OF_MEMORY"},
	{"PD", "PENDING"},
	{"PR", "PREEMPTED"},
	{"R", "RUNNING"},
	{"RQ", "REQUEUED"},
	{"RS", "RESIZING"},
	{"RV", "REVOKED"},
	{"S", "SUSPENDED"},
	{"TO", "TIMEOUT"},
	{"", "ACTIVE"},
	{"", "BUILD"},
	{"", "DELETED"},
	{"", "ERROR"},
	{"", "HARD_REBOOT"},
	{"", "MIGRATING"},
	{"", "PAUSED"},
	{"", "REBOOT"},
	{"", "REBUILD"},
	{"", "RESCUE"},
	{"", "RESIZE"},
	{"", "SHELVED"},
	{"", "SHELVED_OFFLOADED"},
	{"", "SHUTOFF"},
	{"", "SOFT_DELETED"},
	{"", "UNKNOWN"},
	{"", "VERIFY_RESIZE"},
};

static int refuse_state(const char *text, struct err *err)
{
	const char *meant = NULL;
	size_t best = spelling_most(strlen(text)) + 1;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		size_t d = spelling_distance(text, strlen(text), states[i][1],
					     strlen(states[i][1]));
		if (d < best) {
			best = d;
			meant = states[i][1];
		}
	}
	if (meant)
		return err_set(err, -EINVAL, "Invalid job state: %s (did you mean %s?)",
			       text, meant);
	return err_set(err, -EINVAL,
		       "Invalid job state: %s (such as CD, F, TO or RUNNING)", text);
}

static int add_states(struct cacct *c, const char *text, struct err *err)
{
	const size_t n = sizeof(states) / sizeof(states[0]);
	size_t first = c->states.count;
	int rc = add_list(&c->states, text, err);

	for (size_t i = first; rc == 0 && i < c->states.count; i++) {
		size_t k = 0;
		while (k < n && strcasecmp(c->states.items[i], states[k][0]) != 0 &&
		       strcasecmp(c->states.items[i], states[k][1]) != 0)
			k++;
		if (k == n)
			return refuse_state(c->states.items[i], err);
		c->states.items[i] = (char *)states[k][1];
	}
	return rc;
}

static int set_units(struct cacct *c, const char *text, struct err *err)
{
	if (!text[0] || text[1] || !strchr("KMGTP", toupper((unsigned char)*text)))
		return err_set(err, -EINVAL,
			       "--units: \"%.40s\" is not K, M, G, T or P", text);
	c->style.numbers.unit = (char)toupper((unsigned char)*text);
	return 0;
}

static int set_color(struct cacct *c, const char *text, struct err *err)
{
	if (strcmp(text, "always") == 0)
		c->color = true;
	else if (strcmp(text, "never") == 0)
		c->color = false;
	else if (strcmp(text, "auto") != 0)
		return err_set(err, -EINVAL, "--color: auto, always or never: %s",
			       text);
	return 0;
}

/* The last one given counts. */
static int set_form(struct cacct *c, enum table_form form)
{
	c->json = false;
	c->style.form = form;
	return 0;
}

static int set_html(struct cacct *c, const char *file, struct err *err)
{
	if (c->command != CACCT_REPORT && file)
		return err_set(err, -EINVAL, "--html takes a file only with report");
	c->html_file = file;
	return set_form(c, TABLE_HTML);
}

static int set_step(struct cacct *c, const char *text, struct err *err)
{
	uint32_t v;

	if (parse_u32(text, &v) < 0 || v < 1 || v > 86400)
		return err_set(err, -EINVAL, "--ts.step: seconds from 1 to 86400: %s",
			       text);
	c->step_s = v;
	return 0;
}

static int set_by(struct cacct *c, const char *text, struct err *err)
{
	static const struct {
		const char *name;
		enum cacct_period period;
		char owner;
	} words[] = {
		{"cluster", CACCT_BY_NONE, 'c'}, {"account", CACCT_BY_NONE, 'a'},
		{"project", CACCT_BY_NONE, 'a'}, {"user", CACCT_BY_NONE, 'u'},
		{"day", CACCT_BY_DAY, 0},        {"week", CACCT_BY_WEEK, 0},
		{"month", CACCT_BY_MONTH, 0},
	};
	const size_t n = sizeof(words) / sizeof(words[0]);

	c->has_by = true;
	if (!*text)
		return err_set(err, -EINVAL, "--by: the list is empty");
	for (size_t i, len; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		for (i = 0; i < n; i++)
			if (strlen(words[i].name) == len &&
			    strncasecmp(text, words[i].name, len) == 0)
				break;
		if (i == n)
			return err_set(err, -EINVAL,
				       "--by: \"%.*s\" is not cluster, account, user, "
				       "day, week or month",
				       (int)(len < 40 ? len : 40), text);
		if (words[i].period)
			c->by_period = words[i].period;
		c->by_cluster |= words[i].owner == 'c';
		c->by_account |= words[i].owner == 'a';
		c->by_user |= words[i].owner == 'u';
	}
	return 0;
}

/* Options that a file cannot have: those that select jobs */
static int apply_which(struct cacct *c, int opt, const char *arg, struct err *err)
{
	switch (opt) {
	case 'a':
		c->all_users = true;
		return 0;
	case 'A':
		return add_list(&c->accounts, arg, err);
	case 'g':
		return add_list(&c->groups, arg, err);
	case 'M':
		if (strcasecmp(arg, "all") == 0)
			c->all_clusters = true;
		return add_list(&c->clusters, arg, err);
	case 'L':
		c->all_clusters = true;
		return 0;
	case 'j':
		c->report_of = arg;
		return jobsel_parse(arg, &c->jobs, err);
	case 'q':
		return add_list(&c->qos, arg, err);
	case 'r':
		return add_list(&c->partitions, arg, err);
	case 's':
		return add_states(c, arg, err);
	case 'u':
		return add_list(&c->users, arg, err);
	case OPT_NAME:
		return add_list(&c->names, arg, err);
	case OPT_MANAGER:
		return kind_parse(arg, &c->kinds, err);
	case 'S':
		c->has_start = true;
		return when_parse(arg, c->now, &c->start, err);
	case 'E':
		c->has_end = true;
		return when_parse(arg, c->now, &c->end, err);
	case 'T':
		c->truncate = true;
		return 0;
	case 'X':
		c->steps = false;
		return 0;
	case OPT_STEPS:
		c->steps = true;
		return 0;
	default:
		return -ENOENT;
	}
}

/* Time series, and the servers that are asked. */
static int apply_source(struct cacct *c, int opt, const char *arg, struct err *err)
{
	switch (opt) {
	case OPT_TS:
		c->command = CACCT_SERIES;
		return 0;
	case OPT_TS_DIR:
		c->out_dir = arg;
		return 0;
	case OPT_TS_STEP:
		return set_step(c, arg, err);
	case OPT_API:
		c->site.api.url = arg;
		return 0;
	case OPT_TSDB:
		c->site.tsdb.url = arg;
		return 0;
	case OPT_PROFILES:
		c->site.profiles.url = arg;
		return 0;
	case OPT_FLAME:
		c->flame = true;
		c->off_cpu = arg && strcmp(arg, "off-cpu") == 0;
		return !arg || c->off_cpu || strcmp(arg, "cpu") == 0
			       ? 0
			       : err_set(err, -EINVAL,
					 "--flame: \"%s\" is not cpu or off-cpu", arg);
	default:
		return -ENOENT;
	}
}

static int apply_form(struct cacct *c, int opt, const char *arg, struct err *err)
{
	switch (opt) {
	case 'o':
		c->own_columns = true;
		return columns_parse(arg, &c->columns, err);
	case 'b':
		c->own_columns = true;
		return columns_parse(FORMAT_BRIEF, &c->columns, err);
	case OPT_COUNTS:
		c->own_columns = true;
		return columns_parse(FORMAT_COUNTS, &c->columns, err);
	case 'l':
		c->long_form = true;
		return 0;
	case 'n':
		c->style.header = false;
		return 0;
	case 'p':
		return set_form(c, TABLE_PARSABLE);
	case 'P':
		return set_form(c, TABLE_PARSABLE2);
	case OPT_DELIMITER:
		if (!*arg)
			return err_set(err, -EINVAL, "--delimiter: empty");
		c->style.separator = arg;
		return 0;
	case OPT_JSON:
		c->json = true;
		return 0;
	case OPT_CSV:
		return set_form(c, TABLE_CSV);
	case OPT_MARKDOWN:
		return set_form(c, TABLE_MARKDOWN);
	case OPT_HTML:
		return set_html(c, arg, err);
	case OPT_UNITS:
		return set_units(c, arg, err);
	case OPT_SORT:
		c->style.order = &c->order;
		return columns_parse_order(arg, &c->order, err);
	case OPT_BY:
		return set_by(c, arg, err);
	case OPT_NOCONVERT:
		c->style.numbers.exact = true;
		return 0;
	case OPT_COLOR:
		return set_color(c, arg, err);
	default:
		return apply_source(c, opt, arg, err);
	}
}

static bool print_help_for(struct cacct *c, int opt, struct buf *out)
{
	switch (opt) {
	case 'h':
	case OPT_USAGE:
		buf_puts(out, usage_text);
		break;
	case 'e':
		columns_help(out);
		break;
	case 'V':
		buf_puts(out, "cacct, version " CEEMS_VERSION "\n");
		break;
	case OPT_MARKDOWN_HELP:
		columns_markdown(out);
		break;
	default:
		return false;
	}
	c->command = CACCT_PRINTED;
	return true;
}

#define SHORTS ":aA:bDeE:g:hj:lLM:no:pPq:r:s:S:Tu:VX"

/* For a report --html takes the file's name. */
static void options_of(enum cacct_command command, struct option ret[LONGS_MAX])
{
	_Static_assert(sizeof(longs) <= LONGS_MAX * sizeof(longs[0]), "LONGS_MAX");
	memcpy(ret, longs, sizeof(longs));
	for (size_t i = 0; command == CACCT_REPORT && ret[i].name; i++)
		if (ret[i].val == OPT_HTML)
			ret[i].has_arg = required_argument;
}

/* The configuration is read before the rest of the command line, which may name its
 * file. */
static int load_site(int argc, char **argv, const struct option *options,
		     struct cacct *c, struct err *err)
{
	const char *file = NULL;
	int opt;

	opterr = 0;
	optind = 0;
	while ((opt = getopt_long(argc, argv, SHORTS, options, NULL)) >= 0)
		if (opt == OPT_CONFIG)
			file = optarg;
	return site_load(file, &c->site, err);
}

/* sacct's window: today; with -j all time; with -s now */
static int set_window(struct cacct *c, struct err *err)
{
	if (!c->has_start) {
		if (c->jobs.count)
			c->start = 0;
		else if (c->states.count)
			c->start = c->now;
		else
			c->start = when_midnight(c->now);
	}
	if (!c->has_end)
		c->end = c->now;
	if (c->start > c->end)
		return err_set(err, -EINVAL,
			       "the window ends before it begins (-S is after %s)",
			       c->has_end ? "-E" : "now");
	return 0;
}

/* Sums are over all jobs of a user: the server has no others. */
static int check_usage(struct cacct *c, struct err *err)
{
	if (c->command != CACCT_USAGE)
		return c->has_by ? err_set(err, -EINVAL, "--by is for cacct usage") : 0;
	if (c->jobs.count || c->states.count || c->partitions.count || c->qos.count ||
	    c->names.count || c->groups.count || c->steps || c->truncate)
		return err_set(err, -EINVAL,
			       "usage sums up all jobs in the window: it takes only "
			       "-S, -E, -u, -a, -A, -M, -L, --manager and --by");
	if (!c->has_by)
		c->by_cluster = c->by_account = c->by_user = true;
	return 0;
}

static const char *default_format(const struct cacct *c)
{
	if (c->command == CACCT_USAGE)
		return kind_usage_columns(c->kinds.kind, c->long_form);
	return kind_columns(c->kinds.kind, c->long_form);
}

static int finish_options(struct cacct *c, struct err *err)
{
	const char *no_color = getenv("NO_COLOR");
	int rc = check_usage(c, err);

	if (rc < 0)
		return rc;
	if (c->command == CACCT_REPORT && c->jobs.count != 1)
		return err_set(err, -EINVAL,
			       "report takes one job: cacct report JOBID");
	if (c->command == CACCT_REPORT && !c->json && c->style.form != TABLE_FIELDS &&
	    c->style.form != TABLE_HTML)
		return err_set(err, -EINVAL,
			       "report prints a screen, a page (--html FILE) or "
			       "--json, no other form");
	if (c->command != CACCT_REPORT && c->flame)
		return err_set(err, -EINVAL,
			       "--flame is for a report: cacct report JOBID --flame");
	if (c->truncate && (c->json || c->command != CACCT_TABLE))
		return err_set(
			err, -EINVAL,
			"-T is for tables: --json, report and --ts show whole jobs");
	if (c->json && c->style.order)
		return err_set(err, -EINVAL,
			       "--sort is for tables: --json keeps the server's order");
	if (c->command == CACCT_SERIES && !c->jobs.count)
		return err_set(err, -EINVAL, "--ts needs a list of jobs: -j LIST");
	if (!c->own_columns)
		rc = columns_parse(default_format(c), &c->columns, err);
	if (rc < 0)
		return rc;
	c->style.drop_empty = !c->own_columns && c->style.form != TABLE_PARSABLE &&
			      c->style.form != TABLE_PARSABLE2 &&
			      c->style.form != TABLE_CSV;
	c->style.color =
		c->color && !(no_color && *no_color) && c->style.form == TABLE_FIELDS;
	c->summary = c->style.header;
	return set_window(c, err);
}

static int apply_option(struct cacct *c, int opt, int index, char **argv,
			struct buf *out, struct err *err)
{
	if (opt == '?' || opt == ':')
		return err_set(err, -EINVAL, "%s: %s (see cacct --help)",
			       opt == ':' ? "needs a value" : "unknown option",
			       argv[index]);
	if (opt == OPT_CONFIG || opt == OPT_IGNORED || opt == 'D' ||
	    print_help_for(c, opt, out))
		return 0;
	int rc = apply_which(c, opt, optarg, err);
	if (rc == -ENOENT)
		rc = apply_form(c, opt, optarg, err);
	return rc;
}

/* A number is most likely a job, a word one of the commands. */
static int refuse_argument(const struct cacct *c, const char *text, struct err *err)
{
	if (c->command == CACCT_TABLE && isdigit((unsigned char)*text))
		return err_set(
			err, -EINVAL,
			"unexpected argument: %.60s (for one job: cacct -j JOBID, or "
			"cacct report JOBID)",
			text);
	return err_set(err, -EINVAL,
		       "unexpected argument: %.60s (the commands are report and usage; "
		       "see cacct --help)",
		       text);
}

int cacct_options(int argc, char **argv, time_t now, struct cacct *c, struct buf *out,
		  struct err *err)
{
	int opt;

	memset(c, 0, sizeof(*c));
	c->now = now;
	c->out_dir = "out";
	c->style.header = true;
	c->terminal = isatty(STDOUT_FILENO);
	c->color = c->terminal;
	if (argc > 1 &&
	    (strcmp(argv[1], "report") == 0 || strcmp(argv[1], "usage") == 0)) {
		c->command = argv[1][0] == 'r' ? CACCT_REPORT : CACCT_USAGE;
		argv++;
		argc--;
	}
	struct option options[LONGS_MAX];
	options_of(c->command, options);
	int rc = load_site(argc, argv, options, c, err);
	if (rc < 0)
		return rc;
	opterr = 0;
	optind = 0;
	while (c->command != CACCT_PRINTED &&
	       (opt = getopt_long(argc, argv, SHORTS, options, NULL)) >= 0) {
		rc = apply_option(c, opt, optind - 1, argv, out, err);
		if (rc < 0)
			return rc;
	}
	if (c->command == CACCT_PRINTED)
		return 0;
	for (; optind < argc; optind++) {
		if (c->command == CACCT_REPORT && !c->jobs.count) {
			c->report_of = argv[optind];
			rc = jobsel_parse(argv[optind], &c->jobs, err);
		} else {
			rc = refuse_argument(c, argv[optind], err);
		}
		if (rc < 0)
			return rc;
	}
	return finish_options(c, err);
}

void cacct_done(struct cacct *c)
{
	struct cacct_list *lists[] = {&c->users,      &c->accounts, &c->states,
				      &c->partitions, &c->clusters, &c->qos,
				      &c->names,      &c->groups};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		free_list(lists[i]);
	jobsel_done(&c->jobs);
	site_done(&c->site);
}
